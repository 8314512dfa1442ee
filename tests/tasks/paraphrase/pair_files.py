"""Folders of pairs for the tests."""

import json
from pathlib import Path

SOURCES = ["wild , right ?", "you need it .", "the cat sat ."]
TARGETS = ["crazy , no ?", "it is needed .", "a cat was sitting ."]


def parse(text: str, label: str = "S") -> str:
    """A flat tree of a text."""
    words = (word.replace("(", "-LRB-").replace(")", "-RRB-") for word in text.split())
    return f"(ROOT ({label} {' '.join(f'(X {word})' for word in words)}))"


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def row(source: str, target: str, **others: str) -> dict[str, str]:
    return {"source": source, "target": target, "source_parse": parse(source), "target_parse": parse(target), **others}


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    write_lines(path, [json.dumps(of_row, ensure_ascii=False) for of_row in rows])


def write_texts(folder: Path, split: str = "train", parses: bool = True) -> None:
    """A file for each side, and for its trees."""
    for side, texts in (("source", SOURCES), ("target", TARGETS)):
        write_lines(folder / f"{split}.{side}.txt", texts)
        if parses:
            write_lines(folder / f"{split}.{side}.parse", [parse(text) for text in texts])
