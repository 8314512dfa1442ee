"""Published sets: a folder of TSV files `*.train`, `*.dev`, `*.test`, `*.gen`, or of `train.jsonl`, `dev.jsonl`, ..."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from zoo.errors import UserError

# As the files are called, and as the sets are.
SPLITS = {"train": "train", "dev": "validation", "test": "test", "gen": "generalization"}
SUFFIXES = {split: suffix for suffix, split in SPLITS.items()}


def find_files(folder: Path) -> dict[str, Path]:
    """The file of each set that the folder holds, whatever its base name.

    Raises UserError where the folder is none, holds two files for a set, or holds no set at all.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder; give one that holds {_wanted()}.")
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):  # such as ._x.dev, which macOS leaves beside x.dev
            continue
        split = _split_of(path)
        if split and path.is_file():
            found.setdefault(split, []).append(path)
    for split, paths in found.items():
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            raise UserError(f"{folder} holds {len(paths)} files for the {split} set ({names}); leave one of them.")
    if not found:
        raise UserError(f"{folder} holds no data; wanted are {_wanted()}.")
    return {split: found[split][0] for split in SUFFIXES if split in found}


def read_pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, source and target of each line, in Unicode normal form C, words parted by one blank.

    Quote characters are words like others. Raises UserError with file and line for a line that is no pair, a blank
    side, a file that is empty or not UTF-8.
    """
    try:
        text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start}); convert it, e.g. with iconv.") from None
    if not text.strip():
        raise UserError(f"{path} is empty; every line should hold a source and a target.")
    pair = _json_pair if path.suffix == ".jsonl" else _tsv_pair
    # Not splitlines(), which also ends lines at rare characters within them.
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            raise UserError(f"{where} is blank; every line should hold a source and a target.")
        source, target = (" ".join(side.split()) for side in pair(line, where))
        if not source or not target:
            side = "target" if source else "source"
            raise UserError(f"{where}: the {side} is blank; every line should hold a source and a target.")
        yield number, source, target


def _split_of(path: Path) -> str | None:
    name = path.stem.rpartition(".")[2] if path.suffix == ".jsonl" else path.suffix.removeprefix(".")
    return SPLITS.get(name, name if name in SUFFIXES else None)


def _tsv_pair(line: str, where: str) -> tuple[str, str]:
    fields = line.split("\t")
    if len(fields) != 2:
        raise UserError(f"{where}: {len(fields)} fields instead of SOURCE<tab>TARGET: {line[:80]!r}.")
    return fields[0], fields[1]


def _json_pair(line: str, where: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
        source, target = row["source"], row["target"]
    except (ValueError, KeyError, TypeError, RecursionError):
        source = None
    if not isinstance(source, str) or not isinstance(target, str):
        raise UserError(f'{where}: no JSON object with texts "source" and "target": {line[:80]!r}.')
    return source, target


def _wanted() -> str:
    return f"files ending in {', '.join(f'.{suffix}' for suffix in SPLITS)} (TSV), or train.jsonl, dev.jsonl, ..."
