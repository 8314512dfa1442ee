import math

import pytest

from tasks.evaluation.exploration import Interval
from tasks.evaluation.figures import first_word_figures, full_ratio_figures, partial_figures, string_figures
from tasks.evaluation.partial_accuracy import PartialScore
from tasks.evaluation.scoring import PairScores


def scores(probability, first=1.0, tokens=4, greedy=True, tied=False):
    return PairScores(math.log(probability), math.log(first), -2.0, tokens, greedy, tied)


def values(figures):
    return {(figure.set, figure.metric): figure.value for figure in figures}


def test_figures_of_a_set():
    figures = string_figures("test", [scores(0.5), scores(0.1, tokens=6, greedy=False, tied=True)])
    assert values(figures) == {
        ("test", "full_accuracy"): pytest.approx(0.3),
        ("test", "greedy_full_accuracy"): 0.5,
        ("test", "greedy_ties"): 1,
        ("test", "cross_entropy_per_token"): 0.4,
    }
    assert {figure.n for figure in figures} == {2}
    assert "eos counted" in figures[0].note


def test_ratios_and_exact_first_words():
    hierarchical, linear = [scores(0.4, 0.8), scores(0.2, 0.6)], [scores(0.1, 0.1), scores(0.05, 0.3)]
    figures = values(full_ratio_figures(hierarchical, linear) + first_word_figures(hierarchical, linear))
    assert figures == {
        ("generalization", "full_log_ratio"): pytest.approx(math.log(4)),
        ("generalization", "full_mean_log_ratio"): pytest.approx(math.log(4)),
        ("hierarchical", "partial_accuracy"): pytest.approx(0.7),
        ("linear", "partial_accuracy"): pytest.approx(0.2),
        ("generalization", "partial_log_ratio"): pytest.approx(math.log(0.7 / 0.2)),
    }


def partial(lower, upper, matches=None):
    return PartialScore(Interval(lower, upper), matches)


def test_partial_figures_say_what_is_certain_and_how_uncertain_the_rest_is():
    rows = [(partial(0.5, 0.5), partial(0.2, 0.21)), (partial(0.1, 0.9, 6), partial(0.0, 0.6, 3))]
    hierarchical, linear, ratio = partial_figures(rows, 10, "10 samples per input")
    assert hierarchical.value == pytest.approx((0.5 + 0.6) / 2)
    assert linear.value == pytest.approx((0.2 / 0.99 + 0.3) / 2)
    assert hierarchical.standard_error == pytest.approx(math.sqrt(0.6 * 0.4 / 9) / 2)
    assert hierarchical[-3:] == (pytest.approx(0.3), pytest.approx(0.7), 1)
    assert ratio.value == pytest.approx(math.log(hierarchical.value / linear.value))
    assert ratio.lower == pytest.approx(math.log(0.3 / 0.405))
    assert ratio.upper == pytest.approx(math.log(0.7 / 0.1))
    assert {figure.note for figure in (hierarchical, linear, ratio)} == {"10 samples per input"}


def test_without_samples_there_is_no_standard_error():
    figure = partial_figures([(partial(0.2, 0.2), partial(0.1, 0.1))], 10, "exact")[0]
    assert (figure.value, figure.standard_error, figure.sampled_inputs) == (pytest.approx(0.2), None, 0)


def test_a_ratio_with_a_zero_has_no_value_and_says_why():
    (*_, ratio) = partial_figures([(partial(0.0, 1.0, 6), partial(0.0, 1.0, 0))], 10, "10 samples per input")
    assert (ratio.value, ratio.lower, ratio.upper) == (None, None, None)
    assert "no output found that matches the linear rule;" in ratio.note


def test_s18_an_empty_set_shows_n_0_and_no_value():
    figures = string_figures("test", []) + full_ratio_figures([], []) + first_word_figures([], [])
    figures += partial_figures([], 10, "10 samples per input")
    assert {(figure.value, figure.n, figure.note) for figure in figures} == {(None, 0, "no items")}
