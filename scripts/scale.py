"""How long the paper's whole comparison takes: hours from measured training rates.

    python scripts/scale.py [--rates FILE] [--nodes N ...]

15 models x 7 tasks x (10 search trials of 5 epochs + 5 runs to convergence, 5 to 15 checkpoints of 80,000 examples).
Rates are those of the row `models` of `scripts/benchmark.py --only models --json FILE` on the machine in question; they
were measured on question formation, so that a task counts by its tokens per example. Prints Markdown.
"""

import argparse
import json
import sys
from pathlib import Path

import tasks
from tasks.command_line import exit_status
from zoo import UserError, get_entry

RATES = Path(__file__).resolve().parents[1] / "results" / "benchmark.json"
PAPER_MODEL = "tf"  # a model of the paper whose comparison is meant
MEASURED_ON = "question_formation"
SAMPLE = 2000  # sentences for the mean length of a task
TRIALS, TRIAL_EXAMPLES = 10, 5 * 100_000
SEEDS, CHECKPOINT = 5, 80_000
CHECKPOINTS = (5, 15)  # of a run to convergence: few, many
NODES = (1, 10, 100)


def main() -> int:
    """Exit status: 0, 2 (bad input), 130 (interrupted)."""
    return exit_status(print_hours)


def print_hours() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--rates", type=Path, default=RATES, metavar="FILE", help="default: results/benchmark.json")
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES, metavar="N", help="default: 1 10 100")
    arguments = parser.parse_args()
    if min(arguments.nodes) < 1:
        parser.error(f"--nodes {min(arguments.nodes)}: at least 1")
    print(report(read_rates(arguments.rates), tuple(arguments.nodes)))


def read_rates(path: Path) -> dict[str, float]:
    """Training examples a second of each model. UserError for a file without them."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        rates = {
            row["what"].removeprefix("training "): row["examples_per_second"] for row in rows if row["row"] == "models"
        }
        rates = {
            name: rate for name, rate in rates.items() if get_entry(name).citation == get_entry(PAPER_MODEL).citation
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: no benchmark report ({error}); make one by scripts/benchmark.py --json FILE"
        ) from None
    if not rates:
        raise UserError(f"{path} has no row `models`; make it by scripts/benchmark.py --only models --json FILE")
    return rates


def relative_lengths() -> dict[str, float]:
    """Tokens per training example of each transformation task, by those of the task the rates were measured on."""
    names = [name for name in tasks.list_tasks() if tasks.load_task(name).family == "transformation"]
    lengths = {name: mean_length(name) for name in names}
    return {name: length / lengths[MEASURED_ON] for name, length in lengths.items()}


def mean_length(name: str) -> float:
    pairs = tasks.load_task(name).sample("train", SAMPLE, 0)
    return sum(len(f"{source} {target}".split()) + 1 for source, target in pairs) / len(pairs)


def report(rates: dict[str, float], nodes: tuple[int, ...]) -> str:
    """A table of hours for each model, and one of the whole on several nodes."""
    tasks_worth = relative_lengths()
    trials = TRIALS * TRIAL_EXAMPLES
    few, many = (trials + SEEDS * count * CHECKPOINT for count in CHECKPOINTS)
    hours = {
        model: tuple(sum(tasks_worth.values()) * examples / rate / 3600 for examples in (few, many))
        for model, rate in rates.items()
    }
    total = [sum(column) for column in zip(*hours.values(), strict=True)]
    runs = len(rates) * len(tasks_worth) * (TRIALS + SEEDS)
    longest = CHECKPOINTS[1] * CHECKPOINT * max(tasks_worth.values()) / min(rates.values()) / 3600
    lines = [
        "| model | examples/s | hours, all tasks |",
        "|---|---:|---:|",
        *(f"| `{model}` | {rates[model]:.0f} | {low:.0f} to {high:.0f} |" for model, (low, high) in hours.items()),
        f"| all | | {total[0]:.0f} to {total[1]:.0f} |",
        "",
        "| task | tokens per example, by question formation's |",
        "|---|---:|",
        *(f"| `{task}` | {worth:.2f} |" for task, worth in tasks_worth.items()),
        "",
        "| nodes | hours |",
        "|---:|---:|",
        *(f"| {count:,} | {total[0] / count:.1f} to {total[1] / count:.1f} |" for count in nodes),
        "",
        f"{runs:,} independent runs; the longest takes up to {longest:.1f} hours, below which no number of nodes goes.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
