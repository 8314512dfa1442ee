"""Gathers rows from run folders, results.json and CSV files."""

from collections.abc import Iterable
from pathlib import Path

from tasks.evaluation.rows import Row, read_rows
from tasks.evaluation.run_folder import runs_inside
from zoo.errors import UserError


def find_sources(paths: Iterable[Path]) -> list[Path]:
    """The paths, with the runs inside a folder of runs instead of it. Raises UserError if one does not exist."""
    sources = []
    for path in paths:
        if not path.exists():
            raise UserError(f"{path} does not exist. Give run folders, results.json files or CSV files of rows.")
        sources += runs_inside(path)
    return sources


def collect_rows(paths: Iterable[Path], *, required: bool = True) -> tuple[list[Row], list[str]]:
    """Rows, each once, and notices about what could not be used.

    A row that stands in two of the paths (a run folder and a CSV made from it) counts once. Raises UserError for
    a path that does not exist, for a damaged file, and, if they are `required`, if there are no rows at all.
    """
    rows: list[Row] = []
    notices = []
    for path in find_sources(paths):
        file = path / "results.json" if path.is_dir() else path
        if file.exists():
            rows += read_rows(file)
        elif (path / "arguments.json").exists():
            notices.append(f"{path} is left out: not scored yet (python scripts/evaluate.py {path})")
        else:
            notices.append(f"{path} is left out: no run folder")
    if required and not rows:
        raise UserError(". ".join(["no rows to compare", *notices]) + ".")
    distinct = list({_figure(row): row for row in rows}.values())
    _check_scored_once(distinct)
    return distinct, notices + _repeated_seeds(distinct)


def _figure(row: Row) -> tuple[object, ...]:
    """What makes two rows the same figure of the same run, whatever its folder is called."""
    return (*_condition(row), row.seed, row.step, row.set, row.metric, row.value, row.n)


def _check_scored_once(rows: Iterable[Row]) -> None:
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        other = found.setdefault((row.run, *_condition(row), row.seed, row.set, row.metric), row)
        if other is not row:
            raise UserError(
                f"{row.run} has two values of {row.metric} on the {row.set} set, {other.value} and {row.value}: "
                "it was scored twice. Give only the newer file."
            )


def _condition(row: Row) -> tuple[object, ...]:
    return (row.task, row.model, row.settings, row.parameters, row.budget, row.data)


def _repeated_seeds(rows: Iterable[Row]) -> list[str]:
    runs: dict[tuple[object, ...], dict[str, str]] = {}
    for row in rows:
        runs.setdefault((*_condition(row), row.seed), {})[row.run] = row.model
    return [
        f"{' and '.join(names)} are runs of {next(iter(names.values()))} with the same seed; each counts as a run"
        for names in runs.values()
        if len(names) > 1
    ]
