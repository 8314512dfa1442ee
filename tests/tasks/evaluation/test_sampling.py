import math
from collections import Counter

import pytest
import torch

from tasks.evaluation.sampling import draw, sample_outputs, uniform_noise
from tasks.evaluation.scoring import EncodedPair, score_batch
from tasks.tokenization import BOS, EOS, PAD
from tests.tasks.evaluation.toy_models import random_bigram
from zoo import create_model

SOURCES = [[4, 5], [5, 5, 7, 7], [7], [6, 6], [6, 7, 4]]


def words_of(row):
    return tuple(token for token in row if token != PAD)


def noise_of(count, samples, steps, seed=0):
    return torch.stack([uniform_noise(seed, index, samples, steps) for index in range(count)])


def test_samples_follow_the_distribution_of_the_model():
    model, samples = random_bigram(8, scale=1.0), 4000
    rows = sample_outputs(model, [[4]], noise_of(1, samples, 3))[0].tolist()
    found = Counter(map(words_of, rows))
    for target in ([], [4], [5], [7], [5, 6]):
        probability = math.exp(score_batch(model, [EncodedPair([4], target)])[0].log_probability)
        error = math.sqrt(probability * (1 - probability) / samples)
        assert found[tuple(target)] / samples == pytest.approx(probability, abs=4 * error)


def test_what_is_drawn_is_the_token_in_whose_part_the_noise_lies():
    distribution = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]], dtype=torch.float64)
    noise = torch.tensor([0.0, 0.2499, 0.25, 0.9999, 1 - 2**-53], dtype=torch.float64)
    assert draw(distribution, torch.zeros(5, dtype=torch.long), noise).tolist() == [1, 1, 3, 3, 3]


def test_impossible_tokens_are_never_sampled():
    outputs = sample_outputs(random_bigram(8), SOURCES, noise_of(5, 200, 6))
    assert set(outputs.unique().tolist()) == {PAD, 4, 5, 6, 7}


def naive_samples(model, source, noise):
    """Each sample alone, the whole string again for every word."""
    for sample in noise:
        words = []
        for number in sample:
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([[BOS, *source, *words]]), use_cache=False).logits[0, -1]
            sums = logits.double().softmax(-1).cumsum(-1)
            token = int((sums > number * sums[-1]).nonzero()[0])
            if token == EOS:
                break
            words.append(token)
        yield tuple(words)


@pytest.mark.parametrize("name", ["tf", "tf-sup", "tf-nd", "lstm-nd-r"])
def test_a10_a14_samples_are_those_of_each_string_computed_alone(name):
    model = create_model(name, word_types=4, parameters=6_000, seed=2).eval()
    noise = noise_of(len(SOURCES), 6, 5)
    outputs = sample_outputs(model, SOURCES, noise).tolist()
    for source, rows, numbers in zip(SOURCES, outputs, noise, strict=True):
        assert list(map(words_of, rows)) == list(naive_samples(model, source, numbers))
    assert len({len(words_of(row)) for rows in outputs for row in rows}) > 2


def test_samples_depend_neither_on_the_batch_nor_on_the_bound_but_on_the_seed():
    model, noise = random_bigram(8), noise_of(5, 20, 9)
    expected = sample_outputs(model, SOURCES, noise)
    alone = [sample_outputs(model, [SOURCES[i]], noise[i : i + 1])[0] for i in range(5)]
    assert torch.equal(torch.stack(alone), expected)
    assert torch.equal(sample_outputs(model, SOURCES, noise_of(5, 20, 3)), expected[:, :, :3])
    assert not torch.equal(sample_outputs(model, SOURCES, noise_of(5, 20, 9, seed=1)), expected)
