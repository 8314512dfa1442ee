import math
from collections import Counter

import pytest
import torch

from tasks.evaluation.sampling import count_matches, gumbel_noise, sample_rows
from tasks.evaluation.scoring import EncodedPair, score_batch
from tasks.tokenization import EOS, word_tokenizer
from tests.tasks.evaluation.toy_models import bigram, random_bigram

WORDS = ["a", "b", "c", "d"]  # ids 4 to 7


def first_two_words(output, reference):
    return output.split()[:2] == reference.split()[:2]


def counts(model, sources, references, **changes):
    settings = {"samples": 10, "max_new_tokens": 6, "seed": 0, "batch_tokens": 1000} | changes
    return count_matches(model, word_tokenizer(WORDS), sources, references, first_two_words, **settings)


def test_samples_follow_the_distribution_of_the_model():
    model, samples = random_bigram(8, scale=1.0), 4000
    rows = sample_rows(model, [[4]], gumbel_noise(0, 0, 3, samples, 8))
    found = Counter(tuple(row[: row.index(EOS) + 1]) if EOS in row else tuple(row) for row in rows)
    for target in ([], [4], [5], [7], [5, 6]):
        probability = math.exp(score_batch(model, [EncodedPair([4], target)])[0].log_probability)
        error = math.sqrt(probability * (1 - probability) / samples)
        assert found[(*target, EOS)] / samples == pytest.approx(probability, abs=4 * error)


def test_impossible_tokens_are_never_sampled():
    rows = sample_rows(random_bigram(8), [[4], [5, 6]], torch.cat([gumbel_noise(0, i, 6, 200, 8) for i in (0, 1)], 1))
    sampled = {token for row in rows for token in (row[: row.index(EOS)] if EOS in row else row)}
    assert sampled <= {4, 5, 6, 7}
    assert len(sampled) > 2


@pytest.mark.parametrize("batch_tokens", [1, 130, 500])
def test_samples_do_not_depend_on_the_batches(batch_tokens):
    sources = [[4], [5, 5, 6], [7, 4], [4, 5, 6, 7], [6]]
    references = [("a b", "b"), ("b a", "c"), ("a", "b"), ("d c b", "c d"), ("a", "c b")]
    model = random_bigram(8)
    expected = counts(model, sources, references)
    assert counts(model, sources, references, batch_tokens=batch_tokens) == expected
    assert any(0 < count.hierarchical < 10 for count in expected)
    assert counts(model, sources, references, seed=1) != expected


def test_a_higher_length_bound_changes_only_outputs_that_were_cut():
    rows = [sample_rows(random_bigram(8), [[4]], gumbel_noise(0, 0, steps, 50, 8)) for steps in (3, 9)]
    ended = 0
    for short, long in zip(*rows, strict=True):
        assert long[:3] == short or EOS in short
        ended += EOS in short
    assert 0 < ended < 50


def test_the_same_samples_are_tested_against_both_rules_and_cut_outputs_are_counted():
    table = torch.full((8, 8), float("-inf"))
    table[4, 5] = table[5, 6] = 0.0  # a -> b -> c or the end, half and half
    table[6, 6] = 0.0  # c never ends
    table[5, EOS] = 0.0
    (count,) = counts(bigram(table), [[4]], [("b c", "b")], samples=1000)
    assert count.hierarchical + count.linear == 1000
    assert count.hierarchical == count.cut == pytest.approx(500, abs=80)


def test_no_inputs_give_no_counts():
    assert counts(random_bigram(8), [], []) == []
