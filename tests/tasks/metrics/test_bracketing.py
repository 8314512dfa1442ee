import pytest

from tasks.metrics.bracketing import (
    BracketCounts,
    corpus_f1,
    count_brackets,
    proper_spans,
    recall_by_label,
    sentence_f1,
)


def test_p03_two_f1_of_the_same_trees():
    counts = [BracketCounts(1, 1, 1), BracketCounts(2, 8, 8)]
    assert sentence_f1(counts) == pytest.approx((0.625, 2))
    assert corpus_f1(counts) == pytest.approx((1 / 3, 2), abs=1e-3)


def test_trivial_spans_do_not_count_and_doubles_count_once():
    assert proper_spans([(0, 4), (1, 2), (1, 3), (1, 3), (2, 2)], 4) == {(1, 3)}


def test_precision_and_recall_where_they_differ():
    counts = count_brackets({(0, 2), (2, 5), (3, 5)}, {(0, 2)})
    assert counts == (1, 3, 1)
    assert sentence_f1([counts]).value == pytest.approx(0.5)


def test_sentences_without_constituents():
    assert sentence_f1([BracketCounts(0, 0, 0)]).value == 1.0  # nothing to find, nothing found
    assert sentence_f1([BracketCounts(0, 2, 0), BracketCounts(0, 0, 2)]).value == 0.0
    assert corpus_f1([BracketCounts(0, 0, 0), BracketCounts(1, 1, 3)]).value == pytest.approx(0.5)
    assert sentence_f1([]) == corpus_f1([]) == (None, 0)


def test_recall_by_label():
    gold = [[("NP", 0, 2), ("VP", 2, 5), ("S", 2, 5)], [("NP", 1, 3), ("NP", 1, 3)]]
    recall = recall_by_label([{(2, 5)}, {(1, 3)}], gold)
    assert recall == {"NP": (0.5, 2), "S": (1.0, 1), "VP": (1.0, 1)}
    assert next(iter(recall)) == "NP"
