"""Score the best checkpoint of finished runs; writes RUN/results.json, one row per figure.

    python scripts/evaluate.py runs/tf-nd          (or a folder of runs, as train.py --seeds makes)
    torchrun --nproc_per_node 2 scripts/evaluate.py runs/tf-nd      (two processes, also on a CPU)

By default on the validation and test sets of the data that the run was trained on, and on the generalization set of
transformation tasks, with the outputs of the hierarchical and of the linear rule. The trees of a language model that
has levels (on-lstm) are scored against gold trees: --trees, or those of the grammars that its text was drawn from.
"""

import argparse
import contextlib
import dataclasses
import sys
from pathlib import Path

from tasks.command_line import exit_status
from tasks.evaluation.evaluation import EvaluationSettings, evaluate_run
from tasks.evaluation.processes import process_state
from tasks.evaluation.report import results_tables
from tasks.evaluation.rows import write_csv_rows, write_json_rows
from tasks.evaluation.run_folder import read_runs, seeds_together
from tasks.evaluation.sets import SPLITS
from tasks.processes import leave_group
from tasks.publishing.download import local_runs
from zoo.errors import UserError, unknown_name

# Option, least, most.
RANGES = (
    ("limit", 1, 2**31),
    ("samples", 1, 100_000),
    ("batch_tokens", 1, 2**31),
    ("seed", 0, 2**32 - 1),
    ("beams", 1, 1000),
)


def main() -> int:
    """Exit status: 0, 2 (bad input) or 130 (interrupted)."""
    return exit_status(
        lambda: evaluate(parse_arguments()), "interrupted; runs reported above are scored, the others are not."
    )


def parse_arguments() -> argparse.Namespace:
    defaults = EvaluationSettings()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folder that train.py finished, a folder of such, or a repository USER/NAME of the Hub",
    )
    parser.add_argument("--data", metavar="DIR", help="other data than the training's, as for train.py")
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", help=f"any of: {', '.join(SPLITS)} (default: all that the task has)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="score only the first N lines of each set")
    parser.add_argument(
        "--samples",
        type=int,
        default=defaults.samples,
        help="outputs sampled per input where no narrow interval is found (default: %(default)s)",
    )
    parser.add_argument(
        "--sample-all",
        action="store_true",
        help="sample every input, as the paper does, instead of computing intervals that hold partial accuracy",
    )
    parser.add_argument("--seed", type=int, default=defaults.seed, help="of the samples (default: %(default)s)")
    parser.add_argument(
        "--batch-tokens",
        type=int,
        default=defaults.batch_tokens,
        help="most tokens in a batch, padding counted; changes speed, not results (default: %(default)s)",
    )
    parser.add_argument(
        "--trees", metavar="PATH", help="treebank to score trees against: a bracketed file, or a folder of such files"
    )
    parser.add_argument(
        "--keep-punctuation",
        action="store_true",
        help="count punctuation as words of a tree (default: it is left out before constituents are compared)",
    )
    parser.add_argument(
        "--given",
        nargs="+",
        default=list(defaults.given),
        metavar="CONDITION",
        help="paraphrases: what guides them, any of target (the target's parse), template, expanded, exemplar "
        "(default: target)",
    )
    parser.add_argument(
        "--parser",
        help="paraphrases: what parses the outputs: stanza, benepar, grammar, or command:PROGRAM (default: grammar for "
        "generated data)",
    )
    parser.add_argument("--beams", type=int, default=defaults.beams, help="paraphrases: beams (default: greedy)")
    parser.add_argument(
        "--expander", metavar="RUN", help="paraphrases: the run (or USER/NAME) that expands, for --given expanded"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the rows of all RUNs here (.json or .csv) instead"
    )
    return parser.parse_args()


def settings_of(arguments: argparse.Namespace) -> EvaluationSettings:
    for name in arguments.sets or ():
        if name not in SPLITS:
            raise unknown_name("set", name, SPLITS)
    for name, least, most in RANGES:
        value = getattr(arguments, name)
        if value is not None and not least <= value <= most:
            raise UserError(f"--{name.replace('_', '-')} is {value}; allowed: {least} to {most}.")
    if arguments.output is not None and arguments.output.suffix not in (".json", ".csv"):
        raise UserError(f"--output is {arguments.output}; allowed: a name that ends in .json or .csv.")
    if arguments.output is not None and not arguments.output.parent.is_dir():
        raise UserError(f"--output is {arguments.output}, but {arguments.output.parent} is no folder; make it first.")
    if arguments.output is not None:
        with contextlib.suppress(FileNotFoundError):
            arguments.output.lstat()  # raises for an impossible name, before anything is scored
    return EvaluationSettings(
        arguments.data,
        arguments.sets and tuple(name for name in SPLITS if name in arguments.sets),
        arguments.limit,
        arguments.samples,
        arguments.seed,
        arguments.sample_all,
        arguments.batch_tokens,
        arguments.trees,
        arguments.keep_punctuation,
        tuple(arguments.given),
        arguments.parser,
        arguments.beams,
        arguments.expander,
    )


def evaluate(arguments: argparse.Namespace) -> None:
    settings = settings_of(arguments)
    runs, left_out = read_runs(local_runs(arguments.runs))  # all are checked before the first is scored
    if settings.expander is not None:
        (expander,) = local_runs([settings.expander])
        settings = dataclasses.replace(settings, expander=str(expander))
    state = process_state()
    if state.is_main_process:
        for reason in left_out:
            print(f"note: left out: {reason}", file=sys.stderr)
    collected = []
    try:
        for seeds in seeds_together(runs):
            rows = []
            for run in seeds:
                found = evaluate_run(run, settings)
                rows += found
                if state.is_main_process and arguments.output is None:
                    write_json_rows(run.folder / "results.json", found)
                    print(f"written: {run.folder / 'results.json'}")
            collected += rows
            if state.is_main_process:
                print(f"{results_tables(rows)}\n")
        if state.is_main_process and arguments.output is not None:
            write = write_csv_rows if arguments.output.suffix == ".csv" else write_json_rows
            write(arguments.output, collected)
            print(f"written: {arguments.output}")
        state.wait_for_everyone()  # all leave the group of processes at about the same time
    finally:
        leave_group()


if __name__ == "__main__":
    sys.exit(main())
