import math

import pytest
import torch

from tasks.metrics import (
    NOT_SCORED,
    align,
    cross_entropy_per_token,
    greedy_correct,
    sequence_log_probability,
    token_log_probabilities,
)
from zoo.errors import UserError

EOS = 2


def successor_logits(inputs, vocabulary=10):
    """Logits of a model with P(next = id + 1) = 0.9 that shares the rest."""
    probabilities = torch.full((len(inputs), vocabulary), 0.1 / (vocabulary - 1), dtype=torch.float64)
    for position, token in enumerate(inputs):
        probabilities[position, (token + 1) % vocabulary] = 0.9
    return probabilities.log()


def score(prefix, continuation, bos):
    inputs, targets = align(prefix, continuation, bos)
    scores = sequence_log_probability(
        successor_logits(inputs)[None], torch.tensor([targets]), include_eos=False, eos=99
    )
    return scores.log_probability.item()


@pytest.mark.parametrize("bos", [None, 0])
def test_s01_continuation_is_not_read_one_position_off(bos):
    prefix, continuation = [3, 4], [5, 6, 7]
    assert score(prefix, continuation, bos) == pytest.approx(3 * math.log(0.9))
    whole = score([], prefix + continuation, bos)
    assert whole - score([], prefix, bos) == pytest.approx(3 * math.log(0.9))


def test_align_scores_every_token_of_the_continuation_and_no_other():
    assert align([3, 4], [5, 6], bos=1) == ([1, 3, 4, 5], [NOT_SCORED, NOT_SCORED, 5, 6])
    assert align([], [5, 6], bos=1) == ([1, 5], [5, 6])
    assert align([], [5, 6], bos=None) == ([5], [6])  # nothing predicts the first token


@pytest.mark.parametrize(("include_eos", "tokens"), [(False, 4), (True, 5)])
def test_s03_eos_is_counted_or_not_as_asked_and_the_result_says_so(include_eos, tokens):
    logits = torch.zeros(1, 5, 10)
    result = sequence_log_probability(logits, torch.tensor([[4, 5, 6, 7, EOS]]), include_eos=include_eos, eos=EOS)
    assert result.log_probability.item() == pytest.approx(tokens * math.log(0.1))
    assert result.tokens.item() == tokens
    assert result.eos_counted is include_eos


def test_s03_no_convention_is_taken_silently():
    with pytest.raises(TypeError):
        sequence_log_probability(torch.zeros(1, 1, 10), torch.tensor([[EOS]]))
    with pytest.raises(UserError, match="a row of targets has none"):
        sequence_log_probability(torch.zeros(2, 2, 10), torch.tensor([[4, EOS], [4, 5]]), include_eos=True)


def test_s05_cross_entropy_is_micro_averaged_whatever_the_batches():
    # A model with loss 1 per token on the sentence of 2 tokens, and 3 on the one of 8.
    assert cross_entropy_per_token([-2.0, -24.0], [2, 8]) == (2.6, 10)
    assert cross_entropy_per_token([-24.0, -2.0], [8, 2]) == (2.6, 10)
    assert cross_entropy_per_token([], []) == (None, 0)


def test_padding_is_not_scored_and_impossible_tokens_have_log_probability_minus_infinity():
    logits = torch.tensor([[[0.0, 0.0, float("-inf")], [5.0, -5.0, 0.0]]])
    values = token_log_probabilities(logits, torch.tensor([[2, NOT_SCORED]]))
    assert values.tolist() == [[-math.inf, 0.0]]


def test_extreme_logits_lose_nothing():
    logits = torch.tensor([[[1e4, 0.0, -1e4]]])
    assert token_log_probabilities(logits, torch.tensor([[1]])).item() == pytest.approx(-1e4)


def test_s16_a_tie_is_not_correct_and_is_counted():
    logits = torch.tensor(
        [
            [[1.0, 3.0, 2.0], [0.0, 0.0, 1.0]],  # both targets the largest
            [[1.0, 3.0, 3.0], [0.0, 0.0, 1.0]],  # first target shares the maximum
            [[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]],  # shares it, but the second is wrong anyway
            [[1.0, 3.0, 2.0], [9.0, 9.0, 0.0]],  # the second position is padding
        ]
    )
    targets = torch.tensor([[1, 2], [1, 2], [1, 2], [1, NOT_SCORED]])
    result = greedy_correct(logits, targets)
    assert result.correct.tolist() == [True, False, False, True]
    assert result.tied.tolist() == [False, True, False, False]


def test_s16_a_model_that_ties_everywhere_is_right_nowhere():
    result = greedy_correct(torch.zeros(1000, 3, 7), torch.full((1000, 3), 4))
    assert result.correct.sum() == 0
    assert result.tied.sum() == 1000
