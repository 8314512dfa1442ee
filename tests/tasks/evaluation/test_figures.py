import math

import pytest

from tasks.evaluation.figures import first_word_figures, full_ratio_figures, sampled_figures, string_figures
from tasks.evaluation.sampling import SampleCounts
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


def test_sampled_figures_say_how_and_how_uncertain():
    figures = sampled_figures([SampleCounts(6, 3, 1), SampleCounts(10, 0, 0)], 10, "10 samples per input")
    assert values(figures) == {
        ("hierarchical", "partial_accuracy"): pytest.approx(0.8),
        ("linear", "partial_accuracy"): pytest.approx(0.15),
        ("generalization", "partial_log_ratio"): pytest.approx(math.log(16 / 3)),
    }
    assert figures[0].standard_error == pytest.approx(math.sqrt(0.6 * 0.4 / 9) / 2)
    assert figures[0].note == "10 samples per input, 1 of 20 outputs cut"


def test_a_ratio_with_a_zero_count_has_no_value_and_says_why():
    (*_, ratio) = sampled_figures([SampleCounts(6, 0, 0)], 10, "10 samples per input")
    assert ratio.value is None
    assert "no sample matches the linear rule's output" in ratio.note


def test_s18_an_empty_set_shows_n_0_and_no_value():
    figures = string_figures("test", []) + full_ratio_figures([], []) + first_word_figures([], [])
    figures += sampled_figures([], 10, "10 samples per input")
    assert {(figure.value, figure.n, figure.note) for figure in figures} == {(None, 0, "no items")}
