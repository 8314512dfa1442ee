"""Files of text that are always whole, and errors about files in one line."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

from zoo.errors import UserError


def write_text(path: Path, text: str) -> None:
    """Writes a file that is either the old one or the whole new one, never a part; several processes may do so."""
    # Not made of the file's name, which may be as long as a name can be.
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_object(path: Path, fix: str) -> dict[str, Any]:
    """The JSON object in a file. Raises UserError, with the `fix`, if the file holds anything else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}. {fix}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged: it holds no JSON object. {fix}")
    return content


def explain(error: OSError) -> str:
    """What the operating system refuses, where, and what to look at."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}. Check the path, its permissions and the room on the disk."
