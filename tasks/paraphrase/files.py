"""Files of pairs and their trees, in the forms in which they are published.

JSONL            train.jsonl, dev.jsonl ...: objects with source, target, source_parse, target_parse and, if wanted,
                 template_parse and exemplar; trees may be missing
text and trees   train.source.txt and train.target.txt, a sentence a line; train.source.parse and train.target.parse,
                 a tree a line; perhaps train.exemplar.txt and train.exemplar.parse
SCPN             train.source.tsv and train.target.tsv, each with a heading that names the columns tokens and parse
Chen et al.      test_input.txt with source <tab> exemplar, test_ref.txt with the targets; trees as above

Line k of one file belongs to line k of the others, always. Any words that name a set and a side will do as a file name.
"""

import csv
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tasks.paraphrase.pairs import Pair
from zoo.errors import UserError

SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}
SIDES = {
    "source": ("source", "src", "input"),
    "target": ("target", "tgt", "trg", "ref", "reference", "references"),
    "exemplar": ("exemplar", "template", "tmpl"),
}
PARSES = {"parse", "parses", "parsed", "tree", "trees"}
WANTED = (
    "train.jsonl, dev.jsonl and test.jsonl, or for each set files such as train.source.txt, train.target.txt,"
    " train.source.parse and train.target.parse"
)


class Part(NamedTuple):
    """What a file holds of a set: whole `rows`, or the text or the parse of a side."""

    side: str
    is_parse: bool = False


ROWS = Part("rows")
Files = dict[Part, Path]


def find_files(folder: Path) -> dict[str, Files]:
    """The files of each set in a folder. Raises UserError where it is none, holds no set, two files for one thing, or a
    set without source or target."""
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder; give one that holds {WANTED}.")
    found: dict[str, Files] = {}
    for path in sorted(folder.iterdir()):
        words = set(re.split(r"[._-]", path.name.lower()))
        splits = [split for split, names in SPLITS.items() if words & set(names)]
        part = _part(path, words)
        if path.name.startswith(".") or not path.is_file() or not splits or part is None:
            continue
        files = found.setdefault(splits[0], {})
        if part in files:
            raise UserError(f"{folder} holds two files for one thing, {files[part].name} and {path.name}; leave one.")
        files[part] = path
    for split, files in found.items():
        for side in ("source", "target"):
            if ROWS not in files and Part(side) not in files:
                names = ", ".join(path.name for path in files.values())
                raise UserError(f"{folder}: the {split} set has no file of {side} texts, only {names}; add it.")
    if not found:
        raise UserError(f"{folder} holds no pairs; wanted are {WANTED}.")
    return {split: found[split] for split in SPLITS if split in found}


def _part(path: Path, words: set[str]) -> Part | None:
    if path.suffix == ".jsonl":
        return ROWS
    sides = [side for side, names in SIDES.items() if words & set(names)]
    return Part(sides[0], bool(words & PARSES)) if sides else None


def read_pairs(files: Files) -> Iterator[tuple[str, Pair]]:
    """Name (`line 1`, ...) and pair of each row of a set, in Unicode normal form C, words parted by one blank.

    Raises UserError for files that are empty, not UTF-8 or of different lengths, and lines that are no JSON objects
    with the texts.
    """
    if ROWS in files:
        yield from _read_jsonl(files[ROWS])
        return
    columns: dict[str, list[str | None]] = {}
    counts: dict[str, int] = {}
    for part, path in files.items():
        read = _read_side(part, path)
        counts[path.name] = len(next(iter(read.values())))
        columns |= read
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        raise UserError(f"the files of a set have different numbers of lines ({told}); line k of each must be pair k.")
    columns["template_parse"] = columns.pop("exemplar_parse", [])
    none: list[str | None] = [None] * next(iter(counts.values()))
    rows: Iterator[Any] = zip(*(columns.get(name) or none for name in Pair._fields), strict=True)
    for number, row in enumerate(rows, start=1):
        yield f"line {number}", Pair(*row)


def _read_side(part: Part, path: Path) -> dict[str, list[str | None]]:
    """Columns of one file: source, source_parse, ..."""
    lines = _lines(path)
    heading = lines[0].split("\t")
    if {"tokens", "parse"} <= set(heading):
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        return {
            part.side: [_words(row["tokens"]) for row in rows],
            f"{part.side}_parse": [_words(row["parse"]) for row in rows],
        }
    if part.is_parse:
        return {f"{part.side}_parse": [_words(line) for line in lines]}
    if part.side == "source" and "\t" in lines[0]:
        sides = [_two(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
        return {"source": [source for source, _ in sides], "exemplar": [exemplar for _, exemplar in sides]}
    return {part.side: [_words(line) for line in lines]}


def _read_jsonl(path: Path) -> Iterator[tuple[str, Pair]]:
    for number, line in enumerate(_lines(path), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        values: dict[str, Any] = {name: row.get(name) for name in Pair._fields} if isinstance(row, dict) else {}
        given = {name: value for name, value in values.items() if value is not None}
        if not {"source", "target"} <= given.keys() or not all(isinstance(value, str) for value in given.values()):
            raise UserError(f'{path}, line {number}: no JSON object with texts "source" and "target": {line[:80]!r}.')
        yield f"line {number}", Pair(**{name: _words(value) for name, value in given.items()})


def _two(line: str, where: str) -> tuple[str, str]:
    fields = line.split("\t")
    if len(fields) != 2:
        raise UserError(f"{where}: {len(fields)} fields instead of SOURCE<tab>EXEMPLAR: {line[:80]!r}.")
    return _words(fields[0]), _words(fields[1])


def _words(text: str | None) -> str:
    return " ".join((text or "").split())


def _lines(path: Path) -> list[str]:
    try:
        text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start}); convert it, e.g. with iconv.") from None
    if not text.strip():
        raise UserError(f"{path} is empty; it should hold a line for every pair.")
    # Not splitlines(), which also ends lines at rare characters within them.
    return text.removesuffix("\n").split("\n")
