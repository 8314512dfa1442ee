"""Accuracies and log ratios of seed 000 (section 5, equation 4, appendix E) from per-example figures.

Log-probabilities are natural logarithms of p(y | x), eos included; sums stay in log space until the end.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence

import torch

from tasks.metrics.aggregate import Average, mean
from zoo.errors import UserError


def log_mean_probability(log_probabilities: Sequence[float]) -> float:
    """Logarithm of the mean of the probabilities, right also where it underflows; -inf for no examples."""
    if not log_probabilities:
        return -math.inf
    values = torch.tensor(log_probabilities, dtype=torch.float64)
    return float(values.logsumexp(0)) - math.log(len(log_probabilities))


def expected_full_accuracy(log_probabilities: Sequence[float]) -> Average:
    """FA (equation 4): the mean of p(y | x)."""
    return mean([math.exp(value) for value in log_probabilities])


def full_log_ratio(hierarchical: Sequence[float], linear: Sequence[float]) -> float | None:
    """log(FA_hier / FA_lin) (appendix E), a difference of log-sum-exps: right where both FA underflow.

    Also serves the ratio of exact first-word probabilities. None if there are no examples or one side is 0.
    """
    _same_length(hierarchical, linear)
    difference = log_mean_probability(hierarchical) - log_mean_probability(linear)
    return difference if math.isfinite(difference) else None


def full_mean_log_ratio(hierarchical: Sequence[float], linear: Sequence[float]) -> float | None:
    """Mean of log p(y_hier | x) - log p(y_lin | x): what the column "Log Ratio" of the paper holds.

    None if there are no examples or any probability is 0.
    """
    _same_length(hierarchical, linear)
    differences = [h - lin for h, lin in zip(hierarchical, linear, strict=True)]
    return mean(differences).value if all(map(math.isfinite, differences)) else None


def partial_log_ratio(hierarchical: float | None, linear: float | None) -> float | None:
    """log(PA_hier / PA_lin) from the two accuracies; None if either is 0 or none."""
    return math.log(hierarchical) - math.log(linear) if hierarchical and linear else None


def sampled_accuracy(matches: Sequence[int], samples: int, exact: Sequence[float] = ()) -> tuple[Average, float | None]:
    """Mean proportion of matching samples, and its standard error over repeated sampling.

    `matches[i]` of the `samples` of input i match; `exact` holds the accuracies of inputs that are not sampled. The
    inputs are taken as given, so that these add nothing to the standard error. None if there is one sample per input
    or no input is sampled.
    """
    proportions = [count / samples for count in matches]
    average = mean([*exact, *proportions])
    if samples < 2 or not proportions:
        return average, None
    variances = [p * (1 - p) / (samples - 1) for p in proportions]
    return average, math.sqrt(sum(variances)) / average.n


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Average:
    """Share of outputs that are the reference word by word."""
    _same_length(outputs, references)
    return mean([float(_words(o) == _words(r)) for o, r in zip(outputs, references, strict=True)])


def first_word_accuracy(outputs: Sequence[str], references: Sequence[str]) -> Average:
    """Share of outputs whose first word (not token) is that of the reference; an empty output is wrong."""
    _same_length(outputs, references)
    pairs = zip(outputs, references, strict=True)
    return mean([float(_words(o)[:1] == _words(r)[:1] != []) for o, r in pairs])


def forced_choice_accuracy(scores: Iterable[tuple[float, float]]) -> tuple[Average, int]:
    """Share of pairs whose first score is the larger, and the number of ties, which are not correct."""
    pairs = list(scores)
    return mean([float(right > wrong) for right, wrong in pairs]), sum(right == wrong for right, wrong in pairs)


def _words(line: str) -> list[str]:
    return unicodedata.normalize("NFC", line).split()


def _same_length(a: Sequence[object], b: Sequence[object]) -> None:
    if len(a) != len(b):
        raise UserError(f"{len(a)} and {len(b)} items were given, which must be pairs: one of each per example.")
