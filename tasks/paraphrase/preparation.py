"""Pairs made ready for training as in seed 002: parsed, filtered, parted, with a tokenizer, in one folder.

The folder holds train.jsonl, validation.jsonl and test.jsonl, the tokenizer, and prepared.json, which comes last and
tells how the rows were chosen. What is not done when the work is stopped goes on from the last whole part.
"""

import dataclasses
import functools
import hashlib
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tasks.files import write_json, write_text
from tasks.paraphrase.files import Files, find_files, read_pairs
from tasks.paraphrase.filters import RARE_LABEL, over_limits, useless
from tasks.paraphrase.linearization import linearize
from tasks.paraphrase.pairs import NO_PARSE, LeftOut, Pair, fault
from tasks.paraphrase.parsers import add_parses, get_parser
from tasks.paraphrase.pieces import PIECES, piece_tokenizer
from tasks.paraphrase.task import PREPARED, TOKENIZER
from tasks.paraphrase.vocabulary import add_syntax
from tasks.tokenization import save_tokenizer
from zoo.errors import UserError

WORK = ".work"  # folder of the parts that are done
PART_ROWS = 2_000
NamedPair = tuple[str, Pair]
Progress = Callable[[Iterable[None], int], Iterable[None]]


@dataclass(frozen=True)
class Preparation:
    """How pairs are chosen and parted. Test rows, and validation rows that have files of their own, are not filtered.

    parser: what makes the trees that are missing; levels: of trees and of the vocabulary; max_length: words of a text,
    and nodes of a cut tree; ascii_only: drop other text; rare: drop a row with a label that fewer trees have;
    drop_useless: copies and other languages (`filters.useless`), the text being in `language`; pieces: of the
    tokenizer; validation_share: of the training rows, where there is no validation set; seed: which ones.
    """

    parser: str | None = None
    levels: int = 8
    max_length: int = 50
    ascii_only: bool = True
    rare: int = 20
    drop_useless: bool = False
    language: str = "en"
    pieces: int = PIECES
    validation_share: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("levels", 1), ("max_length", 1), ("rare", 0), ("seed", 0)):
            if getattr(self, name) < least:
                raise UserError(f"{name} is {getattr(self, name)}; allowed: {least} or more.")
        if not 0 < self.validation_share < 1:
            raise UserError(f"validation_share is {self.validation_share}; allowed: above 0 and below 1, such as 0.1.")
        useless(Pair("a", "b"), self.language)  # names the languages

    def reason(self, pair: Pair) -> str | None:
        """Why a training row is dropped that has no fault."""
        reason = useless(pair, self.language) if self.drop_useless else None
        return reason or over_limits(pair, self.max_length, self.levels, self.ascii_only)


class Part(NamedTuple):
    """Rows that are done at once, the file that they go to, whether they are filtered."""

    rows: list[NamedPair]
    path: Path
    is_training: bool
    settings: Preparation


def prepare(
    source: Path, output: Path, settings: Preparation, workers: int = 1, progress: Progress = lambda parts, total: parts
) -> dict[str, Any]:
    """Prepares the sets of the folder `source` (`tasks.paraphrase.files`) in `output`; returns what prepared.json has.

    workers: processes; progress: wraps the iterator of the parts of a set, e.g. in a bar.
    Raises UserError for faulty files, no training set, a set of which no row remains, and what a parser lacks.
    """
    files = find_files(source)
    if "train" not in files:
        raise UserError(f"{source} holds no training set, only {', '.join(files)}; add e.g. train.jsonl.")
    work = _open_work(output / WORK, files, settings)
    sets, left_out = dict[str, list[NamedPair]](), dict[str, LeftOut]()
    for split, of_split in files.items():
        sets[split], left_out[split] = _collect(_do_parts(of_split, split, work, settings, workers, progress))
    sets["train"] = _drop_rare(sets["train"], settings, left_out["train"])
    if "validation" not in sets:
        sets["train"], sets["validation"] = _part(sets["train"], settings)
        left_out["validation"] = LeftOut()
    for split, rows in sets.items():
        if not rows:
            raise UserError(f"no row of the {split} set remains: {left_out[split]}.")
    told = _write(output, {split: [pair for _, pair in rows] for split, rows in sets.items()}, left_out, settings)
    shutil.rmtree(work.parent)
    return told


def _open_work(folder: Path, files: dict[str, Files], settings: Preparation) -> Path:
    """The folder of what is done already with these settings and files; what was done with others is removed."""
    paths = [path for of_split in files.values() for path in of_split.values()]
    inputs = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    key = json.dumps([dataclasses.asdict(settings), inputs, PART_ROWS])
    work = folder / hashlib.sha256(key.encode()).hexdigest()[:20]
    if folder.exists() and not work.exists():
        shutil.rmtree(folder)
    work.mkdir(parents=True, exist_ok=True)
    return work


def _do_parts(
    files: Files, split: str, work: Path, settings: Preparation, workers: int, progress: Progress
) -> list[Path]:
    """The parts of a set, each a file, done by so many processes unless it is there."""
    rows = list(read_pairs(files))
    paths = [work / f"{split}-{begin // PART_ROWS:06d}.json" for begin in range(0, len(rows), PART_ROWS)]
    todo = [
        Part(rows[begin : begin + PART_ROWS], path, split == "train", settings)
        for begin, path in zip(range(0, len(rows), PART_ROWS), paths, strict=True)
        if not path.exists()
    ]
    if workers == 1:
        for _ in progress(map(_do_part, todo), len(todo)):
            pass
    elif todo:
        with ProcessPoolExecutor(min(workers, len(todo))) as pool:
            for _ in progress(pool.map(_do_part, todo), len(todo)):
                pass
    return paths


_loaded_parser = functools.cache(get_parser)  # once a process


def _do_part(part: Part) -> None:
    """Writes the rows of a part that are kept, and for the others their names by reason."""
    pairs: Sequence[Pair] = [pair for _, pair in part.rows]
    if part.settings.parser is not None:
        pairs = add_parses(pairs, lambda sentences: _parse(part.settings.parser, sentences))
    kept, left_out = list[tuple[str | None, ...]](), LeftOut()
    for (name, _), pair in zip(part.rows, pairs, strict=True):
        reason = fault(pair) or (NO_PARSE if pair.target_parse is None else None)
        if reason is None and part.is_training:
            reason = part.settings.reason(pair)
        if reason is None:
            kept.append((name, *pair))
        else:
            left_out.add(reason, name)
    write_json(part.path, {"kept": kept, "left_out": left_out.rows})


def _parse(name: str | None, sentences: Sequence[str]) -> list[str | None]:
    # The parser is loaded only where a tree is missing.
    return _loaded_parser(name)(sentences) if sentences and name else []


def _collect(parts: Iterable[Path]) -> tuple[list[NamedPair], LeftOut]:
    rows, left_out = list[NamedPair](), LeftOut()
    for path in parts:
        part = json.loads(path.read_text(encoding="utf-8"))
        rows += [(name, Pair(*pair)) for name, *pair in part["kept"]]
        for reason, names in part["left_out"].items():
            left_out.rows.setdefault(reason, []).extend(names)
    return rows, left_out


def _labels(pair: Pair, levels: int) -> set[str]:
    parses = [parse for parse in (pair.source_parse, pair.target_parse) if parse]
    return {node for parse in parses for node in linearize(parse, levels).nodes}


def _drop_rare(rows: list[NamedPair], settings: Preparation, left_out: LeftOut) -> list[NamedPair]:
    """The rows whose labels all come in `rare` rows or more."""
    labels = [_labels(pair, settings.levels) for _, pair in rows]
    counts = Counter(label for of_row in labels for label in of_row)
    kept = []
    for row, of_row in zip(rows, labels, strict=True):
        if all(counts[label] >= settings.rare for label in of_row):
            kept.append(row)
        else:
            left_out.add(RARE_LABEL, row[0])
    return kept


def _part(rows: list[NamedPair], settings: Preparation) -> tuple[list[NamedPair], list[NamedPair]]:
    """Training and validation rows, each in the order of the file."""
    count = round(len(rows) * settings.validation_share)
    chosen = set(random.Random(settings.seed).sample(range(len(rows)), count))
    parts: tuple[list[NamedPair], list[NamedPair]] = ([], [])
    for place, row in enumerate(rows):
        parts[place in chosen].append(row)
    return parts


def _write(
    output: Path, sets: dict[str, list[Pair]], left_out: dict[str, LeftOut], settings: Preparation
) -> dict[str, Any]:
    (output / PREPARED).unlink(missing_ok=True)  # what is there is no longer whole
    train = sets["train"]
    labels = Counter(label for pair in train for label in _labels(pair, settings.levels))
    tokenizer = piece_tokenizer((text for pair in train for text in (pair.source, pair.target)), settings.pieces)
    pieces = len(tokenizer)
    _save(add_syntax(tokenizer, sorted(labels), settings.levels), output / TOKENIZER)
    for split, pairs in sets.items():
        objects = ({name: value for name, value in pair._asdict().items() if value is not None} for pair in pairs)
        write_text(output / f"{split}.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in objects))
    told = {
        "rows": {split: len(pairs) for split, pairs in sets.items()},
        "left_out": {split: rows.counts() for split, rows in left_out.items()},
        "left_out_rows": {split: rows.rows for split, rows in left_out.items() if split != "train"},
        "pieces": pieces,
        "labels": dict(labels.most_common()),
        "settings": dataclasses.asdict(settings),
    }
    write_json(output / PREPARED, told)
    return told


def _save(tokenizer: Any, folder: Path) -> None:
    """The folder is there whole or not at all."""
    temporary = folder.parent / WORK / TOKENIZER
    save_tokenizer(tokenizer, temporary)
    if folder.exists():
        shutil.rmtree(folder)
    os.replace(temporary, folder)
