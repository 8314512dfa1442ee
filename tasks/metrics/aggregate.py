"""Means that always carry the number of items they are of."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Average(NamedTuple):
    """A mean over n items; the value of no items is None, never NaN."""

    value: float | None
    n: int


def mean(values: Sequence[float]) -> Average:
    # fsum is exact, so the order of the values, hence the number of processes, does not matter.
    return Average(math.fsum(values) / len(values), len(values)) if values else Average(None, 0)


def cross_entropy_per_token(log_probabilities: Sequence[float], tokens: Sequence[int]) -> Average:
    """-sum(log p) / sum(tokens) in nats, whatever the batches or processes (appendix D); n counts tokens."""
    total = sum(tokens)
    return Average(-math.fsum(log_probabilities) / total, total) if total else Average(None, 0)


def micro_average(groups: Mapping[str, Average]) -> Average:
    """The mean over all items of the groups, recomputed from the groups; empty groups add nothing."""
    total = sum(group.n for group in groups.values())
    if not total:
        return Average(None, 0)
    return Average(sum(group.value * group.n for group in groups.values() if group.value is not None) / total, total)


def macro_average(groups: Mapping[str, Average]) -> Average:
    """The unweighted mean of the groups that have items; n counts those groups."""
    return mean([group.value for group in groups.values() if group.value is not None])
