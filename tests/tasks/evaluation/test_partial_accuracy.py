import math

import pytest
import torch

from tasks import load_task
from tasks.evaluation import partial_accuracy
from tasks.evaluation.partial_accuracy import score_partial
from tasks.metrics import sampled_accuracy
from tasks.tokenization import BOS, EOS, encode, word_tokenizer
from tasks.transformation.partial import PartialTest
from tests.tasks.evaluation.toy_models import random_bigram
from zoo import create_model

WORDS = ["a", "b", "c", "d"]
SOURCES = [[4], [5, 5, 6], [7, 4], [4, 5, 6, 7], [6], [6, 5]]
SECOND_WORD = (PartialTest((None, frozenset("b")), ends=False), PartialTest((None, frozenset("c")), ends=False))
CLASSES = (
    PartialTest((frozenset("ab"), frozenset("c"), frozenset("abd")), ends=True),
    PartialTest((frozenset("cd"), frozenset("c"), frozenset("abd")), ends=True),
)


def scores(model, tests, **changes):
    settings = {"samples": 50, "seed": 0, "batch_tokens": 100} | changes
    return score_partial(model, word_tokenizer(WORDS), SOURCES, [tests] * len(SOURCES), **settings)


def test_second_words_are_summed_over_first_words_without_samples():
    model = random_bigram(8)
    steps = model.table.detach().double().softmax(-1)
    for source, row in zip(SOURCES, scores(model, SECOND_WORD), strict=True):
        for score, word in zip(row, (5, 6), strict=True):
            expected = sum(steps[source[-1], first] * steps[first, word] for first in range(4, 8)).item()
            assert score.matches is None
            assert score.certified == pytest.approx(expected, abs=1e-6)


def test_only_inputs_with_a_wide_interval_are_sampled(monkeypatch):
    model = random_bigram(8, scale=4.0)
    assert all(score.matches is None for row in scores(model, CLASSES) for score in row)
    monkeypatch.setattr(partial_accuracy, "WIDTH", 1)
    found = scores(model, CLASSES)
    sampled = [score for row in found for score in row if score.matches is not None]
    assert 0 < len(sampled) < 2 * len(SOURCES)
    assert all(score.interval.upper - score.interval.lower > partial_accuracy.TOLERANCE for score in sampled)


@pytest.mark.parametrize("batch_tokens", [8, 20])
def test_scores_do_not_depend_on_the_batches(batch_tokens):
    model = random_bigram(8)
    for sample_all in (False, True):
        expected = scores(model, CLASSES, sample_all=sample_all)
        assert scores(model, CLASSES, batch_tokens=batch_tokens, sample_all=sample_all) == expected


def test_no_inputs_give_no_scores():
    assert score_partial(random_bigram(8), None, [], [], samples=10, seed=0, batch_tokens=10) == []


@pytest.fixture(scope="module")
def learner():
    """A small transformer that has learnt a few lines, with some doubt: (model, tokenizer, lines)."""
    task = load_task("tense_reinflection_do")
    tokenizer = word_tokenizer(task.words)
    lines = [line for line in task.sample("train", 400, 0) if line.source.endswith("PRESENT")][:12]
    model = create_model("tf", tokenizer=tokenizer, parameters=20_000, seed=0, dropout=0.0)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(60):
        for line in lines:
            ids = torch.tensor([[BOS, *encode(tokenizer, line.source), *encode(tokenizer, line.target), EOS]])
            optimiser.zero_grad()
            model(input_ids=ids, labels=ids).loss.backward()
            optimiser.step()
    return task, model.eval(), tokenizer, lines


def test_on_a_trained_model_the_sampled_estimate_lies_within_4_standard_errors(learner):
    task, model, tokenizer, lines = learner
    sources = [encode(tokenizer, line.source) for line in lines]
    tests = [(task.partial_test(line.target),) for line in lines]
    settings = {"samples": 1000, "seed": 0, "batch_tokens": 2000}
    certified = [row[0] for row in score_partial(model, tokenizer, sources, tests, **settings)]
    sampled = [row[0] for row in score_partial(model, tokenizer, sources, tests, **settings, sample_all=True)]
    compared = [pair for pair in zip(certified, sampled, strict=True) if pair[0].matches is None]
    assert len(compared) >= 6
    value = math.fsum(score.certified for score, _ in compared) / len(compared)
    estimate, error = sampled_accuracy([score.matches for _, score in compared], 1000)
    assert 0.3 < value < 0.9999
    assert abs(estimate.value - value) < 4 * error + 1e-3
