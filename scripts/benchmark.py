"""Speed of training and of the stacks, as ratios within one run.

    python scripts/benchmark.py [--only ROW ...] [--data DIR] [--threads N] [--json FILE]

Rows: models (training speed of every model beside `tf`), 1 to 9, 10 (tree edit distance), 11 (sampling), scoring, each
with its own denominator, and memory (of one step of training). What is compared takes turns, round by round, so that a
change of the machine's speed hits all alike; seconds and ratios are medians over rounds. Training is forward, backward,
clipping and Adam on batches of at most 1,024 tokens, at 200,000 parameters. "Layer" is a pre-norm
`torch.nn.TransformerEncoderLayer`, d=68, 4 heads, feedforward 136, forward and backward on a batch of that shape.
Leave the machine alone meanwhile: with busy cores, threads wait for each other.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from tasks.benchmarking.common import Row, machine
from tasks.benchmarking.evaluation import sampling_row, scoring_row
from tasks.benchmarking.guig import path_attention_row
from tasks.benchmarking.memory import memory_row
from tasks.benchmarking.on_lstm import on_lstm_row
from tasks.benchmarking.operators import operator_row
from tasks.benchmarking.training import encoder_row, models_row, stack_row
from tasks.benchmarking.trees import distance_row
from tasks.command_line import exit_status
from tasks.files import write_text

ROWS: dict[str, Callable[..., list[Row]]] = {
    "models": models_row,
    "1": stack_row("tf-nd", "tf", ">= 0.9", ">= 0.4"),
    "2": stack_row("lstm-nd-r", "lstm", ">= 0.35", ""),
    "3": stack_row("tf-sup", "tf", ">= 0.95", ">= 0.8"),
    "4": operator_row("nondeterministic", 40, 25, "<= 0.3"),
    "5": operator_row("nondeterministic", 20, 50, "<= 1"),
    "6": operator_row("superposition", 40, 25, "<= 0.1"),
    "7": encoder_row,
    "8": on_lstm_row,
    "9": path_attention_row,
    "10": distance_row,
    "11": sampling_row,
    "scoring": scoring_row,
    "memory": memory_row,
}


def main() -> int:
    """Exit status: 0, 2 (bad input), 130 (interrupted)."""
    return exit_status(benchmark)


def benchmark() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=ROWS, help=f"any of: {', '.join(ROWS)}")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="published files, or a folder with a test.jsonl of parsed pairs (default: generated sentences)",
    )
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds, after one that warms up (default: 5)")
    parser.add_argument("--batches", type=int, default=8, help="batches of a training round (default: 8)")
    parser.add_argument("--threads", type=int, help="threads of torch (default: its own choice)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    rows: list[Row] = []
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items() if name != "versions"))
    for name in arguments.only or ROWS:
        found = ROWS[name](name, arguments)
        print_rows(found)
        rows += found
    if arguments.json:
        report = {"machine": facts, "rows": [asdict(row) for row in rows]}
        write_text(arguments.json, json.dumps(report, indent=2) + "\n")


def print_rows(rows: list[Row]) -> None:
    print(f"\n{'row':<8}{'what':<46}{'ms':>9}{'examples/s':>12}{'GFLOP':>8}{'MiB':>7}  ratio")
    for row in rows:
        speed = f"{row.examples_per_second:.0f}" if row.examples_per_second else ""
        gflop = f"{row.gflop:.2f}" if row.gflop else ""
        memory = f"{row.mebibytes:.0f}" if row.mebibytes is not None else ""
        end = f"{row.ratio:.2f} of {row.denominator}" if row.ratio is not None else ""
        aim = f" (aim {row.aim})" if row.aim else ""
        figures = f"{1000 * row.seconds:>9.1f}{speed:>12}{gflop:>8}{memory:>7}"
        print(f"{row.row:<8}{row.what:<46}{figures}  {end}{aim}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
