"""The figures of tables 1 to 7 of "Bearing Syntactic Fruit with Stack-Augmented Neural Networks" (seed 000).

Other papers' rows have no figures of models: what of them is said in words only.
"""

import csv
from pathlib import Path

from tasks.comparison.summary import Figures, Statistic
from zoo.errors import UserError

RUNS = 5  # each figure of the paper is a mean of so many runs, trained to convergence


def read_paper(path: Path) -> dict[tuple[str, str], Figures]:
    """Figures by (task, model), without what the paper cites from prior work or says in words."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            records = list(csv.DictReader(file))
    except OSError as error:
        raise UserError(f"cannot read the paper's figures: {error}. They lie in results/ of the repository.") from None
    figures: dict[tuple[str, str], Figures] = {}
    for record in records:
        if record["model"] and record["value"]:
            statistic = Statistic(float(record["value"]), float(record["standard_deviation"]), RUNS, RUNS)
            key = (record["metric"], record["set"])
            figures.setdefault((record["task"], record["model"]), {})[key] = statistic
    return figures
