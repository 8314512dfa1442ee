import itertools
import math

import pytest
import torch

from tasks.evaluation.scoring import EncodedPair, score_batch, score_pairs, score_rules, score_shared
from tasks.tokenization import BOS, EOS
from tests.tasks.evaluation.toy_models import bigram, random_bigram
from zoo import create_model
from zoo.errors import UserError

PAIRS = [
    EncodedPair([4, 5, 6], [6, 5]),
    EncodedPair([7], [4, 5, 6, 7, 8, 9]),
    EncodedPair([8, 8, 9, 4], [5]),
    EncodedPair([4, 4], []),
]


def by_hand(model, pair):
    log_probabilities = model.table.detach().double().log_softmax(-1)
    tokens = [BOS, *pair.source, *pair.target, EOS]
    steps = [log_probabilities[a, b].item() for a, b in itertools.pairwise(tokens)]
    return sum(steps[len(pair.source) :]), steps[len(pair.source)], sum(steps), len(steps)


def test_s01_scores_are_those_computed_by_hand():
    model = random_bigram(10)
    for pair, scores in zip(PAIRS, score_batch(model, PAIRS), strict=True):
        assert scores[:4] == pytest.approx(by_hand(model, pair), abs=1e-10)


@pytest.mark.parametrize("batch_tokens", [10, 20, 1000])
def test_scores_do_not_depend_on_the_batches(batch_tokens):
    model = random_bigram(10)
    alone = [score_batch(model, [pair])[0] for pair in PAIRS]
    for scores, expected in zip(score_pairs(model, PAIRS, batch_tokens, ""), alone, strict=True):
        assert scores == pytest.approx(expected, abs=1e-12)


def test_probabilities_of_all_targets_sum_to_one():
    model = random_bigram(6)  # two words, 4 and 5
    pairs = [EncodedPair([4], [4 + (code >> bit) % 2 for bit in range(n)]) for n in range(12) for code in range(2**n)]
    total = sum(math.exp(scores.log_probability) for scores in score_batch(model, pairs))
    assert total < 1
    longest = [scores.log_probability for pair, scores in zip(pairs, score_batch(model, pairs), strict=True)]
    assert total == pytest.approx(1, abs=0.05)
    assert max(longest) < 0


def test_greedy_follows_the_largest_logit_and_ties_are_told():
    table = torch.zeros(8, 8)
    table[5, 6] = table[6, EOS] = 1.0
    table[4, 5] = table[4, 7] = 1.0  # after 4: a tie of 5 and 7
    pairs = [EncodedPair([5], [6]), EncodedPair([4], [5, 6]), EncodedPair([5], [7]), EncodedPair([5], [6, 6])]
    scores = score_batch(bigram(table), pairs)
    assert [(s.greedy, s.tied) for s in scores] == [(True, False), (False, True), (False, False), (False, False)]


def test_greedy_score_agrees_with_greedy_decoding():
    model = random_bigram(10, seed=3)
    for start in range(4, 10):
        prompt = torch.tensor([[BOS, start]])
        output = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=12, eos_token_id=EOS
        )
        new = output[0, 2:].tolist()
        if EOS in new:
            target = new[: new.index(EOS)]
            changed = [*target[:-1], 4 if target[-1:] != [4] else 5]
            right, wrong = score_batch(model, [EncodedPair([start], target), EncodedPair([start], changed)])
            assert right.greedy
            assert not wrong.greedy


def test_a_model_that_gives_nan_is_refused():
    model = bigram(torch.full((10, 10), float("nan")))
    with pytest.raises(UserError, match="no numbers"):
        score_pairs(model, PAIRS, 100, "")


def test_no_pairs_give_no_scores():
    assert score_pairs(random_bigram(10), [], 100, "") == []


@pytest.mark.parametrize("name", ["tf", "tf-sup", "tf-nd", "rnn", "lstm-nd-r"])
def test_g02_prompts_read_once_give_the_scores_of_whole_strings(name):
    model = create_model(name, word_types=8, parameters=8_000, seed=1).double().eval()
    sources = [[4, 5, 6], [6, 6, 9], [8, 4, 4]]
    targets = [([6, 5], [5]), ([], [4, 5, 6, 7, 8, 9]), ([9], [9, 9])]
    shared = score_shared(model, sources, targets)
    whole = [score_batch(model, [EncodedPair(s, t) for t in row]) for s, row in zip(sources, targets, strict=True)]
    for found, expected in zip(shared, whole, strict=True):
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("name", ["tf", "tf-nd"])
def test_both_rules_are_scored_as_each_alone_whatever_the_batches(name):
    model = create_model(name, word_types=8, parameters=8_000, seed=1).eval()
    sources = [[4, 5, 6], [6], [8, 4, 4], [5], [7, 7]]
    targets = [([6, 5], [5]), ([], [4, 5, 6]), ([9], [9, 9]), ([4, 4], []), ([8], [9])]
    for batch_tokens in (15, 1000):
        found = score_rules(model, sources, targets, batch_tokens, "")
        for rule in (0, 1):
            pairs = [EncodedPair(source, row[rule]) for source, row in zip(sources, targets, strict=True)]
            for one, other in zip(found, score_pairs(model, pairs, 1000, ""), strict=True):
                assert one[rule] == pytest.approx(other, rel=1e-5)
    assert score_rules(model, [], [], 15, "") == []
