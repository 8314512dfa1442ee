"""Runs that are named by their repository on the Hub."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tasks.evaluation.rows import read_rows
from tasks.publishing.upload import first_line
from zoo.errors import UserError

FOLDER = Path("hub")  # under the working folder
REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")  # USER/NAME, USER/NAME@BRANCH


def local_runs(names: Iterable[str | Path]) -> list[Path]:
    """Folders and files as they are; of a repository USER/NAME, the copy in hub/USER--NAME, fetched if it is new.

    USER/NAME@BRANCH is another branch than main. What is there on this machine comes first. Raises UserError where a
    repository cannot be fetched.
    """
    return [
        Path(name) if Path(name).exists() or not REPOSITORY.fullmatch(str(name)) else fetch(str(name)) for name in names
    ]


def fetch(repository: str) -> Path:
    """The run of a repository as a folder; what has not changed is not fetched again, and own figures are kept."""
    from huggingface_hub import snapshot_download

    name, _, branch = repository.partition("@")
    folder = FOLDER / repository.replace("/", "--")
    kept = ["results.json"] if is_scored_here(folder) else []
    if kept:
        print(f"note: {folder}/results.json is of this machine; remove it for the published figures", file=sys.stderr)
    try:
        snapshot_download(name, revision=branch or None, local_dir=folder, ignore_patterns=kept)
    except Exception as error:  # of the Hub, of the disk, or of whichever package the client reaches the network with
        if (folder / "arguments.json").is_file():
            print(f"note: {repository} cannot be reached; the copy in {folder} is used", file=sys.stderr)
            return folder
        raise UserError(
            f"{repository} is no path here, and the Hub does not give it: {first_line(error)}. Check the name, the "
            "network and HF_TOKEN."
        ) from None
    if not (folder / "arguments.json").is_file():
        raise UserError(f"{repository} is on the Hub, but it is no run that push_to_hub.py pushed.")
    return folder


def is_scored_here(folder: Path) -> bool:
    """Whether evaluate.py wrote the figures in a fetched folder; published ones name the repository as their run."""
    file = folder / "results.json"
    return file.is_file() and any(row.run == str(folder) for row in read_rows(file))
