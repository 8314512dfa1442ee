"""Generated lines kept on disk, safe for several processes and against broken files."""

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasks.files import write_text

VARIABLE = "SYNTAX_ZOO_CACHE"


def cache_folder() -> Path:
    """`$SYNTAX_ZOO_CACHE`, or `syntax-zoo` in the user's cache folder."""
    if folder := os.environ.get(VARIABLE):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "syntax-zoo"


def cached_lines(name: str, key: Any, count: int, build: Callable[[], list[str]]) -> list[str]:
    """The `count` lines that `build` gives, read from the cache if a whole file stands there under `key`.

    A broken or truncated file is built anew. Where the folder cannot be written, one warning says so.
    """
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    path = cache_folder() / f"{name}-{digest[:20]}.tsv"
    lines = _read(path, digest, count)
    if lines is None:
        lines = build()
        body = "\n".join(lines)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, f"{digest} {_checksum(body)}\n{body}")
        except OSError as error:
            warnings.warn(
                f"the generated data is not cached: {error}. Set {VARIABLE} to a folder that can be written.",
                stacklevel=2,
            )
    return lines


def _read(path: Path, digest: str, count: int) -> list[str] | None:
    try:
        head, _, body = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    lines = body.split("\n")
    return lines if head == f"{digest} {_checksum(body)}" and len(lines) == count else None


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
