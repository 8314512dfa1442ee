"""Unlabelled F1 of constituents, by sentence and over a corpus, and recall by label.

Constituents of one word and those that span the whole sentence are trivial and do not count; constituents with the
same words count once. These are two figures with points between them, so each is called by its full name:

sentence F1   the F1 of each sentence, then the mean. Precision (recall) is 1 where nothing was predicted (is there).
corpus F1     one F1 from the counts of all sentences together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tasks.metrics.aggregate import Average, mean

Span = tuple[int, int]  # first word, after the last word


class BracketCounts(NamedTuple):
    """Constituents of one sentence: those in both trees, in the predicted and in the gold tree."""

    matched: int
    predicted: int
    gold: int


def proper_spans(spans: Iterable[Span], words: int) -> set[Span]:
    """Those of two words or more that are not the whole sentence of so many `words`."""
    return {(begin, end) for begin, end in spans if 1 < end - begin < words}


def count_brackets(predicted: set[Span], gold: set[Span]) -> BracketCounts:
    return BracketCounts(len(predicted & gold), len(predicted), len(gold))


def sentence_f1(counts: Sequence[BracketCounts]) -> Average:
    """Mean over sentences of their F1, between 0 and 1; n counts sentences."""
    return mean([_f1(sentence) for sentence in counts])


def corpus_f1(counts: Sequence[BracketCounts]) -> Average:
    """F1 of the summed counts, between 0 and 1; n counts sentences."""
    if not counts:
        return Average(None, 0)
    return Average(_f1(BracketCounts(*map(sum, zip(*counts, strict=True)))), len(counts))


def recall_by_label(
    predicted: Sequence[set[Span]], gold: Sequence[Iterable[tuple[str, int, int]]]
) -> Mapping[str, Average]:
    """Share of the gold constituents of each label that are predicted, the most frequent label first.

    predicted: proper spans of each sentence; gold: its proper labelled ones (label, first word, after the last).
    """
    found: dict[str, list[float]] = {}
    for spans, constituents in zip(predicted, gold, strict=True):
        for label, begin, end in sorted(set(constituents)):
            found.setdefault(label, []).append(float((begin, end) in spans))
    return {label: mean(found[label]) for label in sorted(found, key=lambda label: (-len(found[label]), label))}


def _f1(counts: BracketCounts) -> float:
    precision = counts.matched / counts.predicted if counts.predicted else 1.0
    recall = counts.matched / counts.gold if counts.gold else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
