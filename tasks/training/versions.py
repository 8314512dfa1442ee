"""Which code and which libraries made a result."""

import functools
import platform
import subprocess
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "syntax-zoo"
LIBRARIES = ("torch", "transformers", "accelerate", "tokenizers", "numpy")


@functools.cache
def code_version() -> str:
    """`0123456789ab` or `0123456789ab+dirty` in a git checkout of the project, else the package's version."""
    root = Path(__file__).resolve().parents[2]
    # An environment may lie inside the checkout of another project: that one's commit says nothing about us.
    if _git(root, "rev-parse", "--show-toplevel") == str(root):
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        if commit:
            changed = _git(root, "status", "--porcelain", "--", "zoo", "tasks", "scripts", "registry.yaml")
            return f"{commit}+dirty" if changed else commit
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown"


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that numbers depend on."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in LIBRARIES}


def _git(root: Path, *arguments: str) -> str:
    """What git prints, or an empty text where git or the repository is missing."""
    try:
        result = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return result.stdout.strip()
