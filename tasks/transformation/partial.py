"""The tests behind partial accuracy (seed 000, section 4.3), as sets of words by position."""

from collections.abc import Sequence
from typing import NamedTuple


class PartialTest(NamedTuple):
    """What an output must be to match a reference partially.

    words: for each of the first positions the words that may stand there; None: any word, known or not.
    ends: whether the output must end after these positions; if not, anything may follow them.
    """

    words: tuple[frozenset[str] | None, ...]
    ends: bool

    def passes(self, output: Sequence[str]) -> bool:
        """Whether a whole output passes."""
        enough = len(output) == len(self.words) if self.ends else len(output) >= len(self.words)
        return enough and self.can_pass(output)

    def can_pass(self, prefix: Sequence[str]) -> bool:
        """Whether some output that begins with `prefix` passes."""
        if self.ends and len(prefix) > len(self.words):
            return False
        return all(allowed is None or word in allowed for word, allowed in zip(prefix, self.words, strict=False))
