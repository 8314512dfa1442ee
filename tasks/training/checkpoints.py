"""The run folder: arguments, log, checkpoints and the state from which a run goes on.

    RUN/arguments.json   every argument and setting, the data, versions
    RUN/log.jsonl        one line per checkpoint
    RUN/best/ RUN/last/  checkpoints that `zoo.load_model` reads; best/progress.json says which one it is
    RUN/state-NNNNNN/    what `--resume` reads: parameters, optimiser, random numbers, progress
    RUN/finished.json    only once training has ended: why, and a digest of the parameters

A kill at any moment must leave a run that resumes. So every file and folder is written under a temporary name
(which starts with a dot) and then renamed, and the state comes first: a checkpoint is saved in the state, and
only then written to log.jsonl, best/ and last/. These are therefore never ahead of the state, and resuming
from a state that lies at a checkpoint writes them once more, with the same content.
"""

import dataclasses
import hashlib
import json
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import gather_object, load
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.files import read_object, write_json, write_text
from tasks.tokenization import save_tokenizer
from tasks.training.arguments import flag
from tasks.training.carried_state import CarriedState
from tasks.training.schedule import Plateau
from zoo.errors import UserError

# What a resumed run may change: budgets, where it runs, how it reports, where the same data lie. All else would make it
# another run.
FREE = {"output", "resume", "threads", "save_minutes", "score_during", "tensorboard", "code_version", "versions"}
FREE |= {"max_examples", "max_minutes", "max_epochs", "data_dir", "data"}

# Temporary names: of folders here, of files in `write_text`.
LEFTOVER = r"\.(state|(best|last)(\.old)?|[0-9a-f]{32})\.tmp"


@dataclass
class Progress:
    """How far a run has come; everything that is not in the model, the optimiser or the random numbers."""

    plateau: Plateau
    step: int = 0  # updates made
    examples: int = 0  # training examples seen, over all processes
    epoch: int = 0  # whole epochs behind
    epoch_step: int = 0  # updates made in the current epoch
    seconds: float = 0.0  # of training, over all resumptions
    checkpoint: int = 0  # checkpoints taken; the first has number 1
    loss: float = 0.0  # summed over the strings seen since the last checkpoint
    strings: int = 0  # those strings
    saves: int = 0  # states saved
    record: dict[str, Any] = field(default_factory=dict)  # the log line of the last checkpoint

    @property
    def at_checkpoint(self) -> bool:
        """Whether nothing was trained since the last checkpoint."""
        return self.record.get("step") == self.step


def parameter_digest(model: nn.Module) -> str:
    """SHA-256 over the names and bytes of all parameters, in the order of their names."""
    digest = hashlib.sha256()
    for name, value in sorted(model.named_parameters()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


class RunFolder:
    """Reads and writes one run folder; only the main process writes, except in `save_state`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self, arguments: dict[str, Any], *, resume: bool) -> None:
        """Raises UserError if a new run would overwrite something, or a resumed one is not the same run."""
        file = self.path / "arguments.json"
        if not resume:
            if file.exists():
                raise UserError(f"{self.path} already holds a run. Add --resume, or choose another --output.")
            # Names with a dot may be left over from a run that was killed at its very beginning.
            if self.path.is_file() or any(not inside.name.startswith(".") for inside in self.path.glob("*")):
                raise UserError(f"{self.path} is not an empty folder. Choose another --output.")
            return
        if not file.exists():
            raise UserError(f"{self.path} holds no run to resume. Leave out --resume to start one there.")
        recorded = read_object(file, "Put a copy of it back, or choose another --output.")
        for name, value in arguments.items():
            if name not in FREE and recorded.get(name) != value:
                if name == "data_digest":
                    raise UserError(
                        f"{self.path} holds a run on other training or validation lines. Give the data that it began "
                        "with, or another --output."
                    )
                raise UserError(
                    f"{self.path} holds another run: {flag(name)} was {recorded.get(name)!r} there and is "
                    f"{value!r} now. Give the same arguments (only budgets may differ), or another --output."
                )

    def write_arguments(self, arguments: dict[str, Any]) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self.path} cannot be made: {error.strerror}. Choose another --output.") from None
        self._remove_leftovers()
        write_json(self.path / "arguments.json", arguments)

    def latest_state(self) -> Path | None:
        """The newest state, or None if the run was ended before it saved one."""
        return max(self._states(), key=lambda path: int(path.name.removeprefix("state-")), default=None)

    def save_state(self, accelerator: Accelerator, progress: Progress, carried: CarriedState | None = None) -> None:
        """Saves all that resuming needs, then removes older states."""
        progress.saves += 1
        temporary = self.path / ".state.tmp"
        if accelerator.is_main_process:
            shutil.rmtree(temporary, ignore_errors=True)
        accelerator.wait_for_everyone()
        accelerator.save_state(str(temporary), safe_serialization=False)  # which warns of tied weights
        if carried is not None:
            carried.save(temporary / f"carried_{accelerator.process_index}.pt")
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            write_json(temporary / "progress.json", dataclasses.asdict(progress))
            state = self.path / f"state-{progress.saves:06d}"
            os.replace(temporary, state)
            self._remove_states_before(state)
        accelerator.wait_for_everyone()  # so that none ends, and ends the others, before the state is there

    def load_state(self, accelerator: Accelerator, state: Path, carried: CarriedState | None = None) -> Progress:
        """Raises UserError, on every process, if a file of the state is missing or damaged for one of them."""
        problem, progress = None, None
        try:
            accelerator.load_state(str(state))
            load(state / f"random_states_{accelerator.process_index}.pkl")  # accelerate passes over a damaged one
            if carried is not None:
                carried.load(state / f"carried_{accelerator.process_index}.pt", accelerator.device)
            values = json.loads((state / "progress.json").read_text(encoding="utf-8"))
            progress = Progress(plateau=Plateau(**values.pop("plateau")), **values)
        except Exception as error:  # each kind of file has its own kinds
            problem = (str(error).strip().splitlines() or [type(error).__name__])[0]
        problems = [text for text in gather_object([problem]) if text is not None]
        if problems or progress is None:
            raise UserError(
                f"{state} cannot be read: {problems[0]}. If it is damaged, put a copy of it back, or remove it: "
                "--resume then begins the run anew."
            )
        return progress

    def publish(self, record: dict[str, Any], model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        """Writes a checkpoint to log.jsonl, last/ and, if it is the best so far, best/. May be repeated."""
        log = self.path / "log.jsonl"
        earlier = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        lines = [*earlier[: record["checkpoint"] - 1], json.dumps(record, allow_nan=False)]
        write_text(log, "\n".join(lines) + "\n")
        for name in ("best", "last") if record["best"] else ("last",):
            self._write_checkpoint(name, record, model, tokenizer)

    def finish(self, summary: dict[str, Any]) -> None:
        write_json(self.path / "finished.json", summary)

    def reopen(self) -> None:
        """The run goes on: it is no longer finished, and what a kill left behind is of no use."""
        (self.path / "finished.json").unlink(missing_ok=True)
        self._remove_leftovers()
        self._remove_states_before(self.latest_state())

    def _remove_leftovers(self) -> None:
        for leftover in self.path.glob(".*.tmp"):
            if re.fullmatch(LEFTOVER, leftover.name):
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()

    def _states(self) -> set[Path]:
        named = {path for path in self.path.glob("state-*") if path.name.removeprefix("state-").isdecimal()}
        return {path for path in named if path.is_dir()}

    def _remove_states_before(self, latest: Path | None) -> None:
        for older in self._states() - {latest}:
            shutil.rmtree(older)

    def _write_checkpoint(
        self, name: str, record: dict[str, Any], model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> None:
        temporary, old = self.path / f".{name}.tmp", self.path / f".{name}.old.tmp"
        for folder in (temporary, old):
            shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(temporary)
        save_tokenizer(tokenizer, temporary)
        keys = ("checkpoint", "step", "examples", "epoch", "validation_cross_entropy")
        write_json(temporary / "progress.json", {key: record[key] for key in keys})
        if (self.path / name).exists():  # a folder cannot be renamed onto another
            os.replace(self.path / name, old)
        os.replace(temporary, self.path / name)
        shutil.rmtree(old, ignore_errors=True)
