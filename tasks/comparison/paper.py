"""The figures of tables 1 to 7 of "Bearing Syntactic Fruit with Stack-Augmented Neural Networks" (seed 000).

Other papers' rows have no figures of models: what of them is said in words only.
"""

import csv
from pathlib import Path
from typing import NamedTuple

from tasks.comparison.summary import Figures, Statistic
from zoo.errors import UserError

RUNS = 5  # each figure of the paper is a mean of so many runs, trained to convergence


class PriorWork(NamedTuple):
    """Figures of another paper, by (metric, set); notes: what is said of them."""

    label: str
    source: str
    notes: str
    figures: dict[tuple[str, str], float]


def read_prior(path: Path) -> dict[str, list[PriorWork]]:
    """What the paper cites from prior work, by task, in its order."""
    works: dict[str, dict[tuple[str, str], PriorWork]] = {}
    for record in _records(path):
        notes = record["notes"].split("; ")
        if notes[0] == "prior work" and record["value"]:
            key = (record["row"], record["label"])
            new = PriorWork(record["label"], record["source"], "; ".join(notes[1:]), {})
            work = works.setdefault(record["task"], {}).setdefault(key, new)
            work.figures[record["metric"], record["set"]] = float(record["value"])
    return {task: list(found.values()) for task, found in works.items()}


def read_paper(path: Path) -> dict[tuple[str, str], Figures]:
    """Figures by (task, model), without what the paper cites from prior work or says in words."""
    figures: dict[tuple[str, str], Figures] = {}
    for record in _records(path):
        if record["model"] and record["value"]:
            statistic = Statistic(float(record["value"]), float(record["standard_deviation"]), RUNS, RUNS)
            key = (record["metric"], record["set"])
            figures.setdefault((record["task"], record["model"]), {})[key] = statistic
    return figures


def _records(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise UserError(f"cannot read the paper's figures: {error}. They lie in results/ of the repository.") from None
