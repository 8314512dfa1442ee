"""From scores of single items to the figures that are reported of a set."""

from collections.abc import Sequence
from typing import NamedTuple

from tasks import metrics
from tasks.evaluation.partial_accuracy import PartialScore
from tasks.evaluation.scoring import PairScores
from tasks.evaluation.sets import RULES


class Figure(NamedTuple):
    """One figure of a set; value None where there is none, and then `note` says why."""

    set: str
    metric: str
    value: float | None  # an int where items are counted
    n: int
    note: str = ""
    standard_error: float | None = None
    lower: float | None = None  # the value is known to lie between lower and upper, but for rounding
    upper: float | None = None
    sampled_inputs: int | None = None  # inputs whose part of the value is sampled


NO_ITEMS = "no items"


def string_figures(name: str, scores: Sequence[PairScores]) -> list[Figure]:
    """Full accuracy, expected and greedy, and cross-entropy of the strings."""
    n = len(scores)
    note = "eos counted" if n else NO_ITEMS
    full = metrics.expected_full_accuracy([score.log_probability for score in scores])
    greedy = metrics.mean([score.greedy for score in scores])
    ties = sum(score.tied for score in scores)
    tokens = [score.tokens for score in scores]
    cross_entropy = metrics.cross_entropy_per_token([score.string_log_probability for score in scores], tokens)
    return [
        Figure(name, "full_accuracy", full.value, n, note),
        Figure(name, "greedy_full_accuracy", greedy.value, n, "a tie is not correct" if n else NO_ITEMS),
        Figure(name, "greedy_ties", ties if n else None, n, "number of items" if n else NO_ITEMS),
        Figure(
            name,
            "cross_entropy_per_token",
            cross_entropy.value,
            n,
            f"source and target, {cross_entropy.n} tokens, eos counted" if n else NO_ITEMS,
        ),
    ]


def full_ratio_figures(hierarchical: Sequence[PairScores], linear: Sequence[PairScores]) -> list[Figure]:
    """Log ratios of full accuracy (appendix E), by its definition and as the mean over examples."""
    scores = [[score.log_probability for score in side] for side in (hierarchical, linear)]
    ratio, mean_ratio = metrics.full_log_ratio(*scores), metrics.full_mean_log_ratio(*scores)
    impossible = "an output has probability 0"
    return [
        _ratio("full_log_ratio", ratio, len(hierarchical), "eos counted", impossible),
        _ratio("full_mean_log_ratio", mean_ratio, len(hierarchical), "eos counted", impossible),
    ]


def first_word_figures(hierarchical: Sequence[PairScores], linear: Sequence[PairScores]) -> list[Figure]:
    """Partial accuracy of question formation: exact probability of the first word of either rule's output."""
    scores = [[score.first_word for score in side] for side in (hierarchical, linear)]
    figures = []
    for name, values in zip(RULES, scores, strict=True):
        result = metrics.expected_full_accuracy(values)
        figures.append(
            Figure(name, "partial_accuracy", result.value, result.n, "first word, exact" if values else NO_ITEMS)
        )
    ratio = metrics.full_log_ratio(*scores)
    impossible = "a first word has probability 0"
    return [*figures, _ratio("partial_log_ratio", ratio, len(hierarchical), "first word, exact", impossible)]


def partial_figures(scores: Sequence[tuple[PartialScore, ...]], samples: int, how: str) -> list[Figure]:
    """Partial accuracy from intervals and, where these are too wide, samples; `how` becomes the note."""
    n = len(scores)
    figures = [_partial_figure(name, [row[rule] for row in scores], samples, how) for rule, name in enumerate(RULES)]
    hierarchical, linear = figures
    zero = [figure.set for figure in figures if not figure.value]
    impossible = f"no output found that matches the {' or the '.join(zero)} rule; {how}"
    ratio = _ratio("partial_log_ratio", metrics.partial_log_ratio(hierarchical.value, linear.value), n, how, impossible)
    return [
        *figures,
        ratio._replace(
            lower=metrics.partial_log_ratio(hierarchical.lower, linear.upper),
            upper=metrics.partial_log_ratio(hierarchical.upper, linear.lower),
            sampled_inputs=sum(any(score.matches is not None for score in row) for row in scores) if n else None,
        ),
    ]


def _partial_figure(name: str, scores: Sequence[PartialScore], samples: int, how: str) -> Figure:
    matches = [score.matches for score in scores if score.matches is not None]
    certified = [score.certified for score in scores if score.matches is None]
    result, error = metrics.sampled_accuracy(matches, samples, certified)
    lower, upper = (metrics.mean([score.interval[end] for score in scores]).value for end in (0, 1))
    n = len(scores)
    note = how if n else NO_ITEMS
    return Figure(name, "partial_accuracy", result.value, n, note, error, lower, upper, len(matches) if n else None)


def _ratio(metric: str, value: float | None, n: int, note: str, impossible: str) -> Figure:
    if value is None:
        note = impossible if n else NO_ITEMS
    return Figure("generalization", metric, value, n, note)
