"""Make pairs of sentences ready for --task paraphrase: trees, filters, sub-word tokenizer, 90/10 split.

    python scripts/prepare_paraphrase.py --input pairs --output prepared --parser stanza --workers 8
    accelerate launch scripts/train.py --model guig --task paraphrase --data prepared --output runs/guig

--input is a folder with train.jsonl (objects with source, target and, if there are trees, source_parse and
target_parse), or with files such as train.source.txt, train.target.txt, train.source.parse, train.target.parse, where
line k of each belongs to row k. SCPN's tab-separated files (columns tokens and parse) and the test files of Chen et al.
(test_input.txt, test_ref.txt) are read as well. Texts are lines of blank-separated tokens.

Training rows are dropped, and counted by reason, for non-ASCII text, more than 50 words or nodes (bos and eos do not
count), or a parse label that few rows have; rows whose tree is missing, broken, too deep or of other words are dropped
from every set, and for validation and test named in prepared.json. A test set, and a validation set if there is one,
is not filtered otherwise; without the latter, one training row in ten becomes validation. Given again after a stop, the
same command goes on from what is done.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tasks.command_line import exit_status
from tasks.paraphrase.filters import FUNCTION_WORDS
from tasks.paraphrase.preparation import Preparation, prepare
from tasks.paraphrase.task import PREPARED
from zoo.errors import UserError


def main(argv: list[str] | None = None) -> int:
    """Exit status: 0, 2 (bad input) or 130 (interrupted)."""
    return exit_status(lambda: run(parse_arguments(argv)), "interrupted; the same command goes on from what is done.")


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    default = Preparation()
    add("--input", metavar="FOLDER", type=Path, required=True)
    add("--output", metavar="FOLDER", type=Path, required=True)
    add("--parser", metavar="NAME", help="for missing trees: stanza, benepar, grammar or command:PROGRAM")
    add("--levels", type=int, default=default.levels, help="of trees and vocabulary (default: %(default)s)")
    add("--max-length", type=int, default=default.max_length, help="words, and nodes (default: %(default)s)")
    add("--rare", type=int, default=default.rare, help="drop rows with a label of fewer rows (default: %(default)s)")
    add("--keep-non-ascii", action="store_true", help="as for languages other than English")
    add("--filter", action="store_true", help="drop copies, copies but for case and punctuation, other languages")
    add("--language", default=default.language, help=f"of the text, for --filter: {', '.join(FUNCTION_WORDS)}")
    add("--pieces", type=int, default=default.pieces, help="of the tokenizer, at most (default: %(default)s)")
    add("--seed", type=int, default=default.seed, help="of the split (default: %(default)s)")
    add("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    add("--force", action="store_true", help="prepare anew what is there")
    return parser.parse_args(argv)


def run(arguments: argparse.Namespace) -> None:
    if arguments.workers < 1:
        raise UserError(f"--workers is {arguments.workers}; allowed: 1 or more.")
    if (arguments.output / PREPARED).exists() and not arguments.force:
        raise UserError(f"{arguments.output} is prepared already; choose another --output or add --force.")
    if arguments.input.resolve() == arguments.output.resolve():
        raise UserError(f"--output is {arguments.output}, the folder of the input; choose another.")
    settings = Preparation(
        parser=arguments.parser,
        levels=arguments.levels,
        max_length=arguments.max_length,
        ascii_only=not arguments.keep_non_ascii,
        rare=arguments.rare,
        drop_useless=arguments.filter,
        language=arguments.language,
        pieces=arguments.pieces,
        seed=arguments.seed,
    )
    show(prepare(arguments.input, arguments.output, settings, arguments.workers, bar), arguments.output)


def bar(parts: Any, total: int) -> Any:
    return tqdm(parts, total=total, desc="rows", unit="part", disable=not total)


def show(told: dict[str, Any], output: Path) -> None:
    for split, count in told["rows"].items():
        left_out = told["left_out"][split]
        print(f"{split}: {count:,} pairs, {sum(left_out.values()):,} rows left out")
        for reason, rows in left_out.items():
            print(f"  {rows:8,}  {reason}")
    print(f"{told['pieces']:,} pieces, {len(told['labels'])} labels: {' '.join(sorted(told['labels']))}")
    print(output)


if __name__ == "__main__":
    sys.exit(main())
