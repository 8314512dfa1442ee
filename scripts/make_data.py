"""Write the generated sets of a transformation task as TSV files, as the published ones are.

python scripts/make_data.py --task question_formation --output data --sizes train=1000,test=100
"""

import argparse
import sys
from pathlib import Path

from tasks import load_task
from tasks.command_line import exit_status
from tasks.files import write_text
from tasks.transformation.files import SUFFIXES
from zoo.errors import UserError


def main(argv: list[str] | None = None) -> int:
    """Exit status: 0, 2 (bad input), 130 (interrupted)."""
    return exit_status(lambda: make_data(argv), "interrupted; give the same command again.")


def make_data(argv: list[str] | None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True, help="a transformation task, e.g. question_formation")
    parser.add_argument("--output", required=True, type=Path, help="folder of the files TASK.train, .dev, .test, .gen")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", default="", help="lines a set, e.g. train=1000,validation=100; else the full sets")
    parser.add_argument("--force", action="store_true", help="write over files that are there")
    arguments = parser.parse_args(argv)
    sizes = parse_sizes(arguments.sizes)
    for path in write_sets(arguments.task, arguments.output, arguments.seed, sizes, arguments.force):
        print(path)


def parse_sizes(text: str) -> dict[str, int]:
    """Lines by split from `train=1000,test=100`; UserError for anything else."""
    sizes = {}
    for part in filter(None, text.split(",")):
        split, _, size = part.strip().partition("=")
        if split in sizes:
            raise UserError(f"--sizes {text!r} has two numbers for {split}; leave one of them.")
        if not size.isdecimal() or len(size) > 9:
            raise UserError(
                f"--sizes {text!r}: {part!r} is not SPLIT=NUMBER (at most 9 digits); write e.g. train=1000,test=100."
            )
        sizes[split] = int(size)
    return sizes


def write_sets(name: str, folder: Path, seed: int, sizes: dict[str, int], force: bool) -> list[Path]:
    """Write one file a set and return their paths.

    Raises UserError where one is there and `force` is not set, and where a file can never be.
    """
    task = load_task(name)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--output is {folder}, which is a file; give a folder.")
    paths = {split: folder / f"{name}.{suffix}" for split, suffix in SUFFIXES.items()}
    there = [str(path) for path in paths.values() if path.exists()]
    if there and not force:
        raise UserError(f"{', '.join(there)} would be written over; choose another --output or add --force.")
    for path in paths.values():
        if path.is_dir():
            raise UserError(f"{path} is a folder, which is never written over; choose another --output.")
    data = task.load_data(seed=seed, sizes=sizes)
    folder.mkdir(parents=True, exist_ok=True)
    for split, path in paths.items():
        write_text(path, "".join(f"{source}\t{target}\n" for source, target in data.sets[split]))
    return list(paths.values())


if __name__ == "__main__":
    sys.exit(main())
