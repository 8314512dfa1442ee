"""Trees that need no model, to set figures against."""

import random
from collections.abc import Callable

from tasks.language_modeling.trees import Span, level_spans

RANDOM_DRAWS = 5  # figures of random trees are means over so many draws


def left_branching(words: int) -> list[Span]:
    """(((a b) c) d)"""
    return [(0, end) for end in range(2, words + 1)]


def right_branching(words: int) -> list[Span]:
    """(a (b (c d)))"""
    return [(begin, words) for begin in range(words - 1)]


def balanced(words: int) -> list[Span]:
    """((a b) (c d)); of an odd number of words, the right half gets one more."""
    spans, parts = [], [(0, words)]
    while parts:
        begin, end = parts.pop()
        if end - begin > 1:
            spans.append((begin, end))
            middle = (begin + end) // 2
            parts += [(middle, end), (begin, middle)]
    return spans


def random_branching(words: int, draw: int) -> list[Span]:
    """A binary tree whose parts are cut anywhere with the same probability; the same for the same arguments."""
    generator = random.Random(f"{words} {draw}")
    return level_spans([generator.random() for _ in range(words)], "binary")


BASELINES: dict[str, Callable[[int], list[Span]]] = {
    "left": left_branching,
    "right": right_branching,
    "balanced": balanced,
}
