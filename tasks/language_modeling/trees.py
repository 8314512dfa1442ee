"""Trees from levels: where the level of a word is highest, something new begins (seed 001, "Unsupervised syntax").

A tree is held as the spans (first word, after the last word) of its constituents of two words or more.

`split` is the seed's greedy rule, which is also the authors': at the leftmost maximum k of the levels, the words are
cut into [x_<k, [x_k, x_>k]], and so on in x_<k and x_>k. As x_k is tied to all that follows it, the rule leans to the
right: no levels give ((a b) ((c d) e)), and (a ((b c) d)) comes only where `a` itself, which nothing stands before, has
the highest level. `binary` cuts into [x_<k, x_>=k], where k is the leftmost maximum after the first
word of the part, and can give every binary tree. With levels 0.9, 0.1 and 0.5 at b, c and d of `a b c d`, split gives
(a (b (c d))) and binary gives (a ((b c) d)). Where all levels are the same, both give (a (b (c d))).
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tasks.brackets import escape
from zoo.errors import UserError, unknown_name

if TYPE_CHECKING:
    from nltk.tree import Tree

Span = tuple[int, int]
METHODS = ("split", "binary")
LABEL = "X"


def extract_tree(tokens: Sequence[str], levels: Sequence[float], method: str = "split") -> "Tree":
    """The tree over `tokens`, every constituent labelled X; a single token makes (X token).

    levels: d_f of each token, the first one's included, which `binary` does not look at; ties go to the left.
    method: `split` (the default) or `binary`, see above.
    Raises UserError for no tokens, another number of levels, a level that is NaN, and an unknown method.
    """
    if not tokens or len(tokens) != len(levels):
        raise UserError(
            f"{len(tokens)} tokens and {len(levels)} levels; wanted is one level for each of 1 token or more."
        )
    return build_tree(tokens, level_spans(levels, method))


def level_spans(levels: Sequence[float], method: str) -> list[Span]:
    """The constituents of `extract_tree`, each before its parts."""
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if any(math.isnan(level) for level in levels):
        raise UserError("a level is no number (NaN); train the model again.")
    cut = _cut_split if method == "split" else _cut_binary
    spans: list[Span] = []
    parts = [(0, len(levels))]
    while parts:
        begin, end = parts.pop()
        if end - begin > 1:
            spans.append((begin, end))
            cut(levels, begin, end, spans, parts)
    return spans


def _cut_split(levels: Sequence[float], begin: int, end: int, spans: list[Span], parts: list[Span]) -> None:
    k = max(range(begin, end), key=levels.__getitem__)
    if begin < k < end - 1:
        spans.append((k, end))
    parts += [(k + 1, end), (begin, k)]


def _cut_binary(levels: Sequence[float], begin: int, end: int, spans: list[Span], parts: list[Span]) -> None:
    k = max(range(begin + 1, end), key=levels.__getitem__)
    parts += [(k, end), (begin, k)]


def build_tree(tokens: Sequence[str], spans: Iterable[Span]) -> "Tree":
    """The tree that has these constituents below its root, which holds all tokens."""
    from nltk.tree import Tree

    root = Tree(LABEL, [])
    path: list[tuple[int, Tree]] = [(len(tokens), root)]
    inner = {span for span in spans if span != (0, len(tokens))}
    opening = _by_first_word(inner, len(tokens))
    for position, token in enumerate(tokens):
        for end in opening[position]:
            node = Tree(LABEL, [])
            path[-1][1].append(node)
            path.append((end, node))
        path[-1][1].append(token)
        while len(path) > 1 and path[-1][0] == position + 1:
            path.pop()
    return root


def bracketed(tokens: Sequence[str], spans: Iterable[Span]) -> str:
    """A tree as one line, such as (X a (X b c)); brackets that are words stand as -LRB- and -RRB-."""
    words = [escape(token) for token in tokens]
    spans = {(0, len(words)), *spans}
    ends = [0] * (len(words) + 1)
    for _, end in spans:
        ends[end] += 1
    opening = _by_first_word(spans, len(words))
    parts = (
        f"({LABEL} " * len(opening[position]) + word + ")" * ends[position + 1] for position, word in enumerate(words)
    )
    return " ".join(parts)


def _by_first_word(spans: Iterable[Span], count: int) -> list[list[int]]:
    """The ends of the spans that begin at each word, the longest first."""
    opening: list[list[int]] = [[] for _ in range(count)]
    for begin, end in spans:
        opening[begin].append(end)
    return [sorted(ends, reverse=True) for ends in opening]
