"""Publish a finished run on the Hugging Face Hub: weights, configuration, tokenizer, code, model card and picture.

    python scripts/push_to_hub.py runs/tf-nd --repo USER/NAME
    python scripts/push_to_hub.py runs/tf-nd --repo USER/NAME --dry-run DIR      (writes the folder, pushes nothing)

Score the run first (evaluate.py), so that the card has its figures. The token is that of `hf auth login`, or HF_TOKEN.
Without network or token the folder is complete in RUN/hub, and the same command pushes it later: exit status 3.
"""

import argparse
import os
import sys
from pathlib import Path

from transformers.utils import logging

from tasks.command_line import exit_status
from tasks.evaluation.run_folder import read_run
from tasks.publishing.folder import OPTIONAL, rows_of, write_folder
from tasks.publishing.upload import NotPushed, Place, check_repository, upload

PAPER = Path(__file__).resolve().parents[1] / "results" / "paper.csv"
NOT_PUSHED = 3


def main() -> int:
    """Exit status: 0, 2 (bad input), 3 (the folder is written but not pushed), 130 (interrupted)."""
    arguments = parse_arguments()
    if os.environ.get("RANK", "0") != "0":
        return 0  # one process publishes, however many there are
    logging.disable_progress_bar()
    place = Place(arguments.repo, arguments.branch)
    status = exit_status(lambda: prepare(arguments, place))
    return status or push(arguments, place)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder that train.py finished")
    parser.add_argument("--repo", required=True, metavar="USER/NAME", help="repository on the Hub, made if it is new")
    parser.add_argument("--private", action="store_true", help="a new repository is private")
    parser.add_argument("--branch", help="push to this branch, made if it is new (default: main)")
    parser.add_argument("--dry-run", type=Path, metavar="DIR", help="write the folder here and push nothing")
    parser.add_argument("--license", default="apache-2.0", help="licence of the weights (default: %(default)s)")
    return parser.parse_args()


def folder_of(arguments: argparse.Namespace) -> Path:
    return arguments.dry_run or arguments.run / "hub"


def prepare(arguments: argparse.Namespace, place: Place) -> None:
    check_repository(place.repository)
    run = read_run(arguments.run)
    if not rows_of(run):
        print(
            f"note: not scored yet, the card has no figures: python scripts/evaluate.py {run.folder}", file=sys.stderr
        )
    write_folder(run, folder_of(arguments), place, arguments.license, PAPER)
    print(f"written: {folder_of(arguments)}")


def push(arguments: argparse.Namespace, place: Place) -> int:
    if arguments.dry_run is not None:
        return 0
    folder = folder_of(arguments)
    later = f"{folder} is complete; give the same command to push it."
    message = f"Run {arguments.run.resolve().name}"
    try:
        address = upload(folder, place, private=arguments.private, message=message, replaced=OPTIONAL)
    except NotPushed as error:
        print(f"not pushed: {error}. {later}", file=sys.stderr)
        return NOT_PUSHED
    except KeyboardInterrupt:
        print(f"interrupted, not pushed. {later}", file=sys.stderr)
        return 130
    print(f"pushed: {address}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
