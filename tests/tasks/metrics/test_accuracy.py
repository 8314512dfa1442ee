import math
import random

import pytest

from tasks import metrics
from zoo.errors import UserError


def test_full_accuracy_is_the_mean_probability():
    assert metrics.expected_full_accuracy([math.log(0.5), math.log(0.1), -math.inf]) == (pytest.approx(0.2), 3)


def test_full_log_ratio_is_right_where_full_accuracy_underflows():
    hierarchical, linear = [-1000.0, -1010.0], [-1020.0, -1025.0]
    assert metrics.expected_full_accuracy(hierarchical).value == 0.0
    expected = (-1000 + math.log1p(math.exp(-10))) - (-1020 + math.log1p(math.exp(-5)))
    assert metrics.full_log_ratio(hierarchical, linear) == pytest.approx(expected, abs=1e-12)
    assert metrics.full_mean_log_ratio(hierarchical, linear) == pytest.approx((20 + 15) / 2)


def test_log_ratios_agree_with_their_definitions_where_nothing_underflows():
    hierarchical, linear = [math.log(p) for p in (0.2, 0.4)], [math.log(p) for p in (0.1, 0.3)]
    assert metrics.full_log_ratio(hierarchical, linear) == pytest.approx(math.log(0.3 / 0.2))
    mean = (math.log(0.2 / 0.1) + math.log(0.4 / 0.3)) / 2
    assert metrics.full_mean_log_ratio(hierarchical, linear) == pytest.approx(mean)


@pytest.mark.parametrize("ratio", [metrics.full_log_ratio, metrics.full_mean_log_ratio])
def test_log_ratios_have_no_value_where_there_is_none(ratio):
    assert ratio([], []) is None
    assert ratio([-1.0, -1.0], [-math.inf, -math.inf]) is None
    assert ratio([-math.inf], [-math.inf]) is None
    with pytest.raises(UserError, match="2 and 1 items"):
        ratio([-1.0, -1.0], [-1.0])


def test_partial_log_ratio():
    assert metrics.partial_log_ratio(30, 10) == pytest.approx(math.log(3))
    assert metrics.partial_log_ratio(0, 10) is None
    assert metrics.partial_log_ratio(10, 0) is None


def test_standard_error_of_sampled_accuracy_is_that_of_repeated_sampling():
    probabilities, samples, source = [0.1, 0.5, 0.9, 1.0], 10, random.Random(0)

    def sample():
        matches = [sum(source.random() < p for _ in range(samples)) for p in probabilities]
        return metrics.sampled_accuracy(matches, samples)

    repeats = [sample() for _ in range(4000)]
    values = [average.value for average, _ in repeats]
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    assert mean == pytest.approx(sum(probabilities) / 4, abs=0.005)
    assert sum(error**2 for _, error in repeats) / len(repeats) == pytest.approx(variance, rel=0.05)


def test_sampled_accuracy_of_little():
    assert metrics.sampled_accuracy([10, 0], 10) == ((0.5, 2), 0.0)
    assert metrics.sampled_accuracy([1, 0], 1) == ((0.5, 2), None)
    assert metrics.sampled_accuracy([], 10) == ((None, 0), None)


def test_s14_first_word_is_not_first_token_and_not_the_whole_sentence():
    gold = "hasn't my newt slept ?"
    # A subword tokenizer would split hasn't into has and n't, so that the first token of this output agrees.
    assert metrics.first_word_accuracy(["has my newt slept ?"], [gold]).value == 0
    assert metrics.first_word_accuracy(["hasn't my newt ?"], [gold]).value == 1
    assert metrics.exact_match(["hasn't my newt ?"], [gold]).value == 0
    assert metrics.exact_match(["hasn't  my newt slept ?"], [gold]) == (1.0, 1)
    assert metrics.first_word_accuracy([""], [gold]) == (0.0, 1)
    assert metrics.first_word_accuracy([""], [""]).value == 0
    assert metrics.exact_match([], []) == (None, 0)


def test_composed_and_decomposed_letters_are_the_same_words():
    composed, decomposed = "f\u00fcr mich", "fu\u0308r mich"
    assert metrics.exact_match([decomposed], [composed]).value == 1
    assert metrics.first_word_accuracy([decomposed], [composed]).value == 1


def test_s16_equal_scores_of_a_pair_are_not_correct():
    assert metrics.forced_choice_accuracy([(0.5, 0.5)] * 1000) == ((0.0, 1000), 1000)
    assert metrics.forced_choice_accuracy([(0.7, 0.5), (0.5, 0.5), (0.1, 0.2), (0.2, 0.1)]) == ((0.5, 4), 1)


def test_s18_overall_is_recomputed_from_the_groups_and_an_empty_group_shows_n_0():
    groups = {"decl": metrics.mean([1.0, 1.0, 0.0]), "quest": metrics.mean([0.0]), "none": metrics.mean([])}
    assert groups["none"] == (None, 0)
    assert metrics.micro_average(groups) == metrics.mean([1.0, 1.0, 0.0, 0.0])
    assert metrics.macro_average(groups) == (pytest.approx((2 / 3 + 0) / 2), 2)
    del groups["decl"]
    assert metrics.micro_average(groups) == (0.0, 1)
    assert metrics.micro_average({"none": metrics.mean([])}) == (None, 0)
