"""Text files as sentences: lists of lines of blank-separated words."""

import gzip
import re
import unicodedata
import zlib
from collections.abc import Iterable
from pathlib import Path

from zoo.errors import UserError

NAMES = {"train": ("train",), "validation": ("valid", "validation", "dev", "val"), "test": ("test",)}
FORMS = ("lines", "running")
PARTS = (("train", 0.9), ("validation", 0.95), ("test", 1.0))  # of a single file: where each ends
ENDS_SENTENCE = re.compile(r"[.!?][\"'”’»)\]]*$")


def read_text(path: Path, form: str, splits: Iterable[str]) -> tuple[dict[str, list[str]], str]:
    """Sentences of the splits wanted, and in words where they come from.

    path: a file, of which the first 90% of the sentences are for training and 5% each for validation and test, or a
        folder with a file for each set, called train, valid (or dev) and test, such as ptb.train.txt. They may be .gz.
    form: `lines` or `running`, see the options of the task.
    Raises UserError for a path or set that is not there, an empty file, one that is not UTF-8.
    """
    if path.is_dir():
        files = _find(path)
        wanted = {split: files[split] for split in splits if split in files}
        for split in splits:
            if split not in files:
                raise UserError(f"{path} holds no {split} set; add a text file called {' or '.join(NAMES[split])}.txt.")
        return (
            {split: read_sentences(file, form) for split, file in wanted.items()},
            f"text {', '.join(file.name for file in wanted.values())}",
        )
    if not path.exists():
        raise UserError(f"{path} does not exist; give a text file, or a folder with train.txt, valid.txt and test.txt.")
    sentences = read_sentences(path, form)
    ends = [0, *(int(share * len(sentences)) for _, share in PARTS)]
    sets = {name: sentences[ends[i] : ends[i + 1]] for i, (name, _) in enumerate(PARTS)}
    if not all(sets.values()):
        raise UserError(f"{path} holds {len(sentences)} sentences, too few to part into three sets; give 20 or more.")
    description = f"text {path.name}, first 90% for training, then 5% for validation and 5% for test"
    return {split: sets[split] for split in splits}, description


def read_sentences(path: Path, form: str = "lines") -> list[str]:
    """The sentences of a file, words parted by one blank, in Unicode normal form C; blank lines are none."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start}); convert it, e.g. with iconv.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is damaged: {error}. Unpack it by hand, or fetch it again.") from None
    lines = [line.split() for line in unicodedata.normalize("NFC", text).split("\n")]
    sentences = [" ".join(words) for words in (lines if form == "lines" else _cut(lines)) if words]
    if not sentences:
        raise UserError(f"{path} holds no words; give a text file.")
    return sentences


def _cut(lines: list[list[str]]) -> list[list[str]]:
    """Running text in sentences."""
    sentences: list[list[str]] = [[]]
    for line in lines:
        if not line:
            sentences.append([])
        for word in line:
            sentences[-1].append(word)
            if ENDS_SENTENCE.search(word):
                sentences.append([])
    return sentences


def _find(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        parts = re.split(r"[._-]", path.name.lower())
        for split, names in NAMES.items():
            if path.is_file() and not path.name.startswith(".") and set(parts) & set(names):
                if split in found:
                    raise UserError(
                        f"{folder} holds two files for the {split} set, {found[split].name} and {path.name}."
                    )
                found[split] = path
    return found
