"""The folder of a published run: checkpoint, tokenizer, code, card and picture, with the files of the run beside them.

It is a run folder, so that evaluate.py and compare.py take it, and a checkpoint, so that from_pretrained does.
"""

import dataclasses
import json
import shutil
import uuid
from pathlib import Path
from typing import Any

from tasks.evaluation.rows import Row, read_rows, write_json_rows
from tasks.evaluation.run_folder import FinishedRun
from tasks.files import write_json, write_text
from tasks.publishing.card import make_card
from tasks.publishing.picture import draw_training
from tasks.publishing.upload import Place
from tasks.tokenization import save_tokenizer
from zoo import load_model
from zoo.errors import UserError

RESULTS = "results.json"
RUN_FILES = ("finished.json", "log.jsonl")
PICTURE = "training.png"
MARKS = {"README.md", "arguments.json", "config.json"}  # what every published run holds
OPTIONAL = (RESULTS, *RUN_FILES, PICTURE)  # what one may hold and another lack


def write_folder(run: FinishedRun, folder: Path, place: Place, licence: str, paper: Path) -> None:
    """Writes the folder, whole or not at all; an older one of the same name is replaced.

    Raises UserError if the folder holds anything else, or the checkpoint cannot be loaded.
    """
    model, tokenizer = load_model(run.checkpoint)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary, old = (folder.with_name(f".{uuid.uuid4().hex}.tmp") for _ in range(2))
    try:
        model.save_pretrained(temporary)
        model.generation_config.save_pretrained(temporary)
        save_tokenizer(tokenizer, temporary)
        shutil.copy(run.checkpoint / "progress.json", temporary)
        write_json(temporary / "arguments.json", published_arguments(run.arguments))
        for name in RUN_FILES:
            if (run.folder / name).is_file():
                shutil.copy(run.folder / name, temporary)
        rows = [dataclasses.replace(row, run=place.name) for row in rows_of(run)]
        if rows:
            write_json_rows(temporary / RESULTS, rows)
        draw_training(run.folder / "log.jsonl", temporary / PICTURE)
        picture = PICTURE if (temporary / PICTURE).is_file() else None
        write_text(temporary / "README.md", make_card(run, rows, place, licence, paper, picture))
        if folder.exists():  # a folder cannot be renamed onto another
            check_replaceable(folder, {path.name for path in temporary.iterdir()})
            folder.rename(old)
        temporary.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        for leftover in (temporary, old):
            shutil.rmtree(leftover, ignore_errors=True)


def check_replaceable(folder: Path, new: set[str]) -> None:
    """UserError unless the folder is empty, or a published run and nothing besides; new: names that it will hold."""
    inside = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    known = {name for name in inside & {*new, *OPTIONAL} if not (folder / name).is_dir()}
    code = {name for name in inside if name.endswith(".py")}
    if inside and not (inside >= MARKS and inside == known | code):
        strange = ", ".join(sorted(inside - known)[:3])
        raise UserError(f"{folder} holds something else than a published run ({strange}); name a new folder.")


def rows_of(run: FinishedRun) -> list[Row]:
    """The rows that evaluate.py wrote; none if the run has not been scored."""
    file = run.folder / RESULTS
    return read_rows(file) if file.is_file() else []


def published_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without the places of this machine: of folders only their names are told."""
    places = {name: Path(arguments[name]).name for name in ("data_dir", "output") if arguments.get(name)}
    return json.loads(json.dumps(arguments)) | places
