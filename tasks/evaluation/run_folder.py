"""What evaluation reads of a finished run."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.files import read_object
from tasks.training.schedule import Protocol, protocol_for
from zoo import get_entry
from zoo.errors import UserError


@dataclass(frozen=True)
class FinishedRun:
    """A run folder whose training has ended; its best checkpoint is what is scored."""

    folder: Path
    arguments: dict[str, Any]  # arguments.json
    progress: dict[str, Any]  # best/progress.json
    finished: dict[str, Any]  # finished.json

    @property
    def checkpoint(self) -> Path:
        """best/ of a run, or the folder itself if it is one that push_to_hub.py made."""
        return checkpoint_of(self.folder)

    @property
    def is_published(self) -> bool:
        """Whether push_to_hub.py made this folder, so that it may have come from another machine."""
        return self.checkpoint == self.folder

    @property
    def settings(self) -> str:
        """What differs from the default configuration and protocol, as text; empty if nothing does."""
        return settings_of(self.arguments)

    @property
    def condition(self) -> tuple[str, ...]:
        """What is the same in runs that differ in nothing but their seed."""
        arguments = self.arguments
        return arguments["model"], arguments["task"], self.settings, self.finished["budget"], arguments["data"]


def seeds_together(runs: Iterable[FinishedRun]) -> list[list[FinishedRun]]:
    """The runs, those that differ in nothing but their seed in one list."""
    groups: dict[tuple[str, ...], list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(run.condition, []).append(run)
    return list(groups.values())


def checkpoint_of(folder: Path) -> Path:
    """Where the best checkpoint of a run lies."""
    return folder if (folder / "config.json").is_file() else folder / "best"


def settings_of(arguments: dict[str, Any]) -> str:
    """What of an arguments.json differs from the default configuration and protocol, as text."""
    changes = sorted([*(arguments["overrides"] or []), *(arguments.get("task_options") or [])])
    for name in ("parameters", "train_size", "validation_size"):
        if arguments[name] is not None:
            changes.append(f"{name}={arguments[name]}")
    default = dataclasses.asdict(protocol_for(get_entry(arguments["model"]).preset))
    used = dataclasses.asdict(protocol_of(arguments))
    changes += [f"{name}={value}" for name, value in used.items() if value != default[name]]
    if arguments["processes"] != 1:
        changes.append(f"processes={arguments['processes']}")
    if arguments.get("mixed_precision", "no") != "no":
        changes.append(f"mixed_precision={arguments['mixed_precision']}")
    return ", ".join(changes)


def protocol_of(arguments: dict[str, Any]) -> Protocol:
    """The protocol of an arguments.json."""
    default = protocol_for(get_entry(arguments["model"]).preset)
    # A run of an earlier version lacks what came into the protocol later.
    recorded = {name: arguments[name] for name in dataclasses.asdict(default) if name in arguments}
    return dataclasses.replace(default, **recorded)


def runs_inside(path: Path) -> list[Path]:
    """The runs in a folder of runs (such as `train.py --seeds` makes), seed-2 before seed-10; else the path itself."""
    if not path.is_dir() or _is_run(path):
        return [path]
    runs = [child for child in path.iterdir() if _is_run(child)]
    return sorted(runs, key=lambda run: (len(run.name), run.name)) or [path]


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("arguments.json", "results.json"))


def read_run(folder: Path) -> FinishedRun:
    """Raises UserError if the folder is no run, or its training has not ended."""
    if not (folder / "arguments.json").is_file():
        raise UserError(f"{folder} is no run folder: it has no arguments.json. Give the --output of a train.py call.")
    if not (folder / "finished.json").is_file():
        raise UserError(
            f"{folder} is not finished: it has no finished.json. End its training first: "
            "the same train.py call with --resume."
        )
    if not (checkpoint_of(folder) / "progress.json").is_file():
        raise UserError(f"{folder} has no best checkpoint: no validation cross-entropy was finite. Train it again.")
    arguments, progress, finished = (
        read_object(path, "Train this run again.")
        for path in (folder / "arguments.json", checkpoint_of(folder) / "progress.json", folder / "finished.json")
    )
    return FinishedRun(folder, arguments, progress, finished)


def read_runs(paths: Iterable[Path]) -> tuple[list[FinishedRun], list[str]]:
    """The finished runs, and why others in a folder of runs are left out: of several seeds, one may have failed.

    Raises UserError for a path that is itself no finished run, and for a folder of runs without one.
    """
    runs: list[FinishedRun] = []
    left_out: list[str] = []
    for path in paths:
        found, reasons = [], []
        for folder in runs_inside(path):
            try:
                found.append(read_run(folder))
            except UserError as error:
                reasons.append(str(error))
        if not found:
            raise UserError(" ".join(reasons))
        runs += found
        left_out += reasons
    return runs, left_out
