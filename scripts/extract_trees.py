"""Trees of the sentences of a text file, from the levels of a trained model: brackets and pictures.

    python scripts/extract_trees.py runs/on-lstm --input sentences.txt

Reads one sentence a line, words parted by blanks; blank lines are left out. For each layer and method that is asked
for, writes FOLDER/NAME.layer-L.METHOD.txt, one tree a line, such as (X a (X b c)), and pictures of the first sentences
with the level of each word. Of equal levels the leftmost counts, so a sentence with one level throughout makes the
tree (a (b (c d))). A word that the vocabulary lacks is read in lower case, as N if it is a number, or else as <unk>.
"""

import argparse
import sys
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.command_line import exit_status
from tasks.evaluation.processes import process_state
from tasks.files import write_text
from tasks.language_modeling.levels import Levels, check_levels, encode_words, middle_layer, sentence_levels
from tasks.language_modeling.picture import draw_tree
from tasks.language_modeling.text import read_sentences
from tasks.language_modeling.trees import METHODS, bracketed, level_spans
from zoo import load_model
from zoo.errors import UserError

BATCH_TOKENS = 2048


def main(argv: list[str] | None = None) -> int:
    """Exit status: 0, 2 (bad input) or 130 (interrupted)."""
    return exit_status(lambda: extract(parse_arguments(argv)), "interrupted; the files named above are whole.")


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "run", metavar="RUN", type=Path, help="run folder (its best checkpoint), or a checkpoint folder"
    )
    parser.add_argument("--input", metavar="FILE", type=Path, required=True, help="text file, UTF-8, also .gz")
    parser.add_argument("--output", metavar="FOLDER", type=Path, help="(default: the folder trees in RUN)")
    parser.add_argument(
        "--layer", default="middle", metavar="L", help="a number from 1, all, or middle, the authors' choice (default)"
    )
    parser.add_argument(
        "--method",
        choices=[*METHODS, "both"],
        default="split",
        help="split: the rule of the paper, which leans to the right; binary: without that bias (default: %(default)s)",
    )
    parser.add_argument(
        "--pictures", type=int, default=10, metavar="N", help="of the first N sentences (default: %(default)s)"
    )
    return parser.parse_args(argv)


def extract(arguments: argparse.Namespace) -> None:
    if arguments.pictures < 0:
        raise UserError(f"--pictures is {arguments.pictures}; allowed: 0 or more.")
    sentences = [line.split() for line in read_sentences(arguments.input)]
    best = arguments.run / "best"
    model, tokenizer = load_model(best if best.is_dir() else arguments.run)
    check_levels(model, f"the model in {arguments.run}")
    levels = read_levels(model, tokenizer, sentences)
    folder = arguments.run / "trees" if arguments.output is None else arguments.output
    methods = METHODS if arguments.method == "both" else (arguments.method,)
    layers = choose_layers(arguments.layer, len(levels[0]))
    folder.mkdir(parents=True, exist_ok=True)
    stem = arguments.input.name.partition(".")[0]
    for layer in layers:
        for method in methods:
            write_trees(folder / f"{stem}.layer-{layer}.{method}", sentences, levels, layer, method, arguments.pictures)


def read_levels(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: list[list[str]]) -> list[Levels]:
    model.to(process_state().device).eval()
    return sentence_levels(model, [encode_words(tokenizer, words) for words in sentences], BATCH_TOKENS)


def choose_layers(text: str, layers: int) -> list[int]:
    """Layers, counted from 1, of a model that has so many."""
    if text in ("middle", "all"):
        return [middle_layer(layers)] if text == "middle" else list(range(1, layers + 1))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= layers):
        raise UserError(f"--layer is {text}; allowed: 1 to {layers}, middle, all.")
    return [int(text)]


def write_trees(
    base: Path, sentences: list[list[str]], levels: list[Levels], layer: int, method: str, pictures: int
) -> None:
    """One file of brackets, and a picture of each of the first sentences."""
    rows = [of_sentence[layer - 1] for of_sentence in levels]
    trees = [level_spans(row, method) for row in rows]
    lines = [bracketed(words, spans) for words, spans in zip(sentences, trees, strict=True)]
    text_file = base.with_name(f"{base.name}.txt")
    write_text(text_file, "\n".join(lines) + "\n")
    print(text_file)
    title = f"tree from the levels of layer {layer} of {len(levels[0])}, method {method}"
    for number, (words, spans, row) in enumerate(list(zip(sentences, trees, rows, strict=True))[:pictures], start=1):
        picture = base.with_name(f"{base.name}.{number:03d}.svg")
        write_text(picture, draw_tree(words, spans, row, title))
        print(picture)


if __name__ == "__main__":
    sys.exit(main())
