"""The folder of a published run: checkpoint, tokenizer, code, card and picture, with the files of the run beside them.

It is a run folder, so that evaluate.py and compare.py take it, and a checkpoint, so that from_pretrained does.
"""

import json
import shutil
import uuid
from pathlib import Path
from typing import Any

from tasks.evaluation.rows import Row, read_rows
from tasks.evaluation.run_folder import FinishedRun
from tasks.files import write_json, write_text
from tasks.publishing.card import make_card
from tasks.publishing.picture import draw_training
from tasks.tokenization import save_tokenizer
from zoo import load_model
from zoo.errors import UserError

RUN_FILES = ("finished.json", "log.jsonl", "results.json")
PICTURE = "training.png"


def write_folder(run: FinishedRun, folder: Path, repository: str, licence: str, paper: Path) -> None:
    """Writes the folder, whole or not at all; an older one of the same name is replaced.

    Raises UserError if the folder holds something else, or the checkpoint cannot be loaded.
    """
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / "README.md").is_file())):
        raise UserError(f"{folder} holds something else than a published run; name a new folder.")
    model, tokenizer = load_model(run.checkpoint)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        model.save_pretrained(temporary)
        model.generation_config.save_pretrained(temporary)
        save_tokenizer(tokenizer, temporary)
        shutil.copy(run.checkpoint / "progress.json", temporary)
        write_json(temporary / "arguments.json", published_arguments(run.arguments))
        for name in RUN_FILES:
            if (run.folder / name).is_file():
                shutil.copy(run.folder / name, temporary)
        draw_training(run.folder / "log.jsonl", temporary / PICTURE)
        write_text(temporary / "README.md", make_card(run, rows_of(run), repository, licence, paper, PICTURE))
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def rows_of(run: FinishedRun) -> list[Row]:
    """The rows that evaluate.py wrote; none if the run has not been scored."""
    file = run.folder / "results.json"
    return read_rows(file) if file.is_file() else []


def published_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without the places of this machine: of folders only their names are told."""
    places = {name: Path(arguments[name]).name for name in ("data_dir", "output") if arguments.get(name)}
    return json.loads(json.dumps(arguments)) | places
