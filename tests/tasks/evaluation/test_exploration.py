import itertools
import math

import pytest
import torch

from tasks.evaluation.exploration import explore
from tasks.evaluation.pass_table import PassTable
from tasks.evaluation.prefixes import Prefixes
from tasks.tokenization import word_tokenizer
from tasks.transformation.partial import PartialTest
from tests.tasks.evaluation.toy_models import random_bigram

WORDS = ["a", "b", "c", "d"]  # ids 4 to 7
VOCABULARY = 8
TESTS = {
    "first word": PartialTest((frozenset("a"),), ends=False),
    "second word": PartialTest((None, frozenset("b")), ends=False),
    "classes": PartialTest((frozenset("ab"), frozenset("c"), frozenset("abd")), ends=True),
    "one output": PartialTest((frozenset("d"),), ends=True),
    "empty output": PartialTest((), ends=True),
    "unknown word": PartialTest((frozenset(["a", "zebra"]), None), ends=False),
    "nothing": PartialTest((frozenset("a"), frozenset()), ends=True),
}
SOURCES = [[4], [7, 5], [5, 4, 6], [7]]


def intervals(model, tests, sources=SOURCES, *, tolerance=0.0, width=10_000, most_rows=10_000, vocabulary=VOCABULARY):
    table = PassTable([tests] * len(sources), word_tokenizer(WORDS), vocabulary, torch.device("cpu"))
    return explore(model, sources, table, tolerance=tolerance, width=width, most_rows=most_rows)


def by_enumeration(model, source, test):
    """The probability of all outputs of at most 4 words that pass; each that an open test lets pass ends some time."""
    steps = model.table.detach().double().softmax(-1)
    total = 0.0
    most = len(test.words)  # what follows is left to sum to one
    for n in range(most + 1):
        for output in itertools.product(range(4, 8), repeat=n):
            words = [WORDS[token - 4] for token in output]
            tokens = [source[-1], *output]
            probability = math.prod(steps[pair].item() for pair in itertools.pairwise(tokens))
            if test.ends or n < most:
                probability *= steps[tokens[-1], 2].item()
            total += probability * test.passes(words)
    return total


@pytest.mark.parametrize("name", TESTS)
def test_without_a_tolerance_the_interval_is_the_sum_over_all_outputs(name):
    model = random_bigram(VOCABULARY)
    for source, ((lower, upper),) in zip(SOURCES, intervals(model, [TESTS[name]]), strict=True):
        expected = by_enumeration(model, source, TESTS[name])
        assert lower == pytest.approx(expected, abs=1e-6)
        assert upper == pytest.approx(lower, abs=1e-12)


@pytest.mark.parametrize("tolerance", [1e-3, 0.05, 0.5])
def test_the_interval_holds_the_truth_and_is_no_wider_than_the_tolerance(tolerance):
    model = random_bigram(VOCABULARY)
    tests = [TESTS["classes"], TESTS["second word"]]
    widths = []
    for source, row in zip(SOURCES, intervals(model, tests, tolerance=tolerance), strict=True):
        for test, (lower, upper) in zip(tests, row, strict=True):
            assert lower - 1e-6 <= by_enumeration(model, source, test) <= upper + 1e-6
            widths.append(upper - lower)
    assert 0 < max(widths) <= tolerance


def test_an_input_that_needs_too_many_prefixes_is_given_up_and_its_interval_holds():
    model = random_bigram(VOCABULARY, scale=0.1)
    for source, ((lower, upper),) in zip(SOURCES, intervals(model, [TESTS["second word"]], width=2), strict=True):
        assert upper - lower > 0.5
        assert lower <= by_enumeration(model, source, TESTS["second word"]) <= upper


def test_an_input_whose_prefixes_multiply_is_given_up_before_they_are_read(monkeypatch):
    model, read, follow = random_bigram(20, scale=0.1), [], Prefixes.follow  # 16 words

    def counted(prefixes, parents, *rest, **options):
        read.append(len(parents))
        return follow(prefixes, parents, *rest, **options)

    monkeypatch.setattr(Prefixes, "follow", counted)
    for length, expected in ((4, [16]), (2, [16, 256])):  # no more than 300 pairs, but 4,096 triples would be next
        test = PartialTest((None,) * length, ends=True)
        (((lower, upper),),) = intervals(model, [test], [[4]], width=300, vocabulary=20)
        assert (upper - lower > 0.5) == (length == 4)
        assert lower - 1e-6 <= sum_over_lengths(model, length) <= upper + 1e-6
        assert read == expected
        read.clear()


def sum_over_lengths(model, length):
    """The probability that an output after word 4 has so many words."""
    steps = model.table.detach().double().softmax(-1)
    return (torch.linalg.matrix_power(steps[4:, 4:], length)[0] @ steps[4:, 2]).item()


@pytest.mark.parametrize("most_rows", [1, 3, 7])
def test_intervals_do_not_depend_on_the_size_of_forward_passes(most_rows):
    model, tests = random_bigram(VOCABULARY), [TESTS["classes"], TESTS["second word"]]
    expected = intervals(model, tests, tolerance=1e-3)
    assert intervals(model, tests, tolerance=1e-3, most_rows=most_rows) == expected
    assert [intervals(model, tests, [source], tolerance=1e-3)[0] for source in SOURCES] == expected
