"""Errors meant for the person at the keyboard."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Bad input, said once: the value, what is allowed, and the fix. Scripts print it and exit with status 2."""


def unknown_name(kind: str, value: object, allowed: Iterable[str]) -> UserError:
    """An error for a `value` that is none of the `allowed` names of this `kind`, nearest names first."""
    names = list(allowed)
    near = difflib.get_close_matches(str(value), names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return UserError(f"unknown {kind} {str(value)!r}.{hint} Allowed: {', '.join(names)}.")
