"""Gold trees: bracketed files with traces and function tags, and what of a tree is compared."""

import gzip
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tasks.brackets import EXAMPLE, TRACE, parse_trees, plain_label
from zoo.errors import UserError

if TYPE_CHECKING:
    from nltk.tree import Tree

SUFFIXES = (".mrg", ".prd", ".ptb", ".parse", ".tree", ".trees", ".txt")
WANTED = f"bracketed trees such as {EXAMPLE}, in files ending in {', '.join(SUFFIXES)}"
# Of English and German treebanks. Signs of currency are words.
PUNCTUATION_TAGS = {
    ",",
    ".",
    ":",
    "``",
    "''",
    "-LRB-",
    "-RRB-",
    "-LSB-",
    "-RSB-",
    "HYPH",
    "NFP",
    "$,",
    "$.",
    "$(",
    "PUNCT",
}


class Constituents(NamedTuple):
    """Words of a sentence, which of them are punctuation, and its labelled constituents, traces left out."""

    words: list[str]
    punctuation: list[bool]
    spans: list[tuple[str, int, int]]  # label without function tags, first word, after the last

    def without_punctuation(self) -> "Constituents":
        """The same without the words that are punctuation and the constituents that hold nothing else."""
        before = [0]  # words kept before each place
        for left_out in self.punctuation:
            before.append(before[-1] + (not left_out))
        spans = [(label, before[begin], before[end]) for label, begin, end in self.spans]
        words = [word for word, left_out in zip(self.words, self.punctuation, strict=True) if not left_out]
        return Constituents(words, [False] * len(words), [span for span in spans if span[1] < span[2]])


def read_treebank(path: str | Path) -> "list[Tree]":
    """The trees of a file, or of all such files in a folder and the folders within it, in the order of their names.

    Raises UserError if there are none, and for a file whose brackets do not match, naming the line.
    """
    path = Path(path)
    if not path.exists():
        raise UserError(f"{path} does not exist; wanted are {WANTED}.")
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]
    trees = [tree for file in files for tree in _read(file)]
    if not trees:
        what = "no trees" if files else "no such files"
        raise UserError(f"{path} holds {what}; wanted are {WANTED}.")
    return trees


def _read(path: Path) -> "Iterator[Tree]":
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start}); convert it, e.g. with iconv.") from None
    yield from parse_trees(unicodedata.normalize("NFC", text), str(path), WANTED)


def constituents(tree: "Tree") -> Constituents:
    """What of a gold tree is compared.

    Traces (-NONE-) and what holds nothing else are left out, labels are cut at - = | and *. Punctuation is what has a
    tag of punctuation, such as , or $. , and what has no tag and consists of punctuation characters.
    """
    result = Constituents([], [], [])
    _walk(tree, result)
    return result


def _walk(node: "Tree | str", result: Constituents) -> None:
    if isinstance(node, str):
        _add_word(node, all(unicodedata.category(character)[0] == "P" for character in node), result)
    elif len(node) == 1 and isinstance(node[0], str):
        if node.label() != TRACE:
            _add_word(node[0], node.label() in PUNCTUATION_TAGS, result)
    else:
        begin = len(result.words)
        place = len(result.spans)
        for child in node:
            _walk(child, result)
        if len(result.words) > begin:
            result.spans.insert(place, (plain_label(node.label()), begin, len(result.words)))


def _add_word(word: str, is_punctuation: bool, result: Constituents) -> None:
    result.words.append(word)
    result.punctuation.append(is_punctuation)
