import math
import socket

import pytest

from tasks.metrics import bleu
from tasks.metrics.evaluate_modules import (
    Bleu,
    CrossEntropyPerToken,
    ExactMatch,
    ExpectedFullAccuracy,
    FirstWordAccuracy,
    FullLogRatio,
    NormalizedTreeEditDistance,
    TreeEditDistance,
)

LINES = {"predictions": ["does it move ?", "it does ."], "references": ["does it stop ?", "it does ."]}
TREES = {"predictions": ["(S (NP a))", ""], "references": ["(S (VP a))", "(S a)"]}
CASES = [
    (ExpectedFullAccuracy, {"predictions": [math.log(0.5), -2000.0]}, {"full_accuracy": 0.25, "n": 2}),
    (
        FullLogRatio,
        {"predictions": [-1000.0], "references": [-1020.0]},
        {"full_log_ratio": 20.0, "full_mean_log_ratio": 20.0, "n": 1},
    ),
    (
        CrossEntropyPerToken,
        {"predictions": [-2.0, -24.0], "references": [2, 8]},
        {"cross_entropy_per_token": 2.6, "tokens": 10},
    ),
    (ExactMatch, LINES, {"exact_match": 0.5, "n": 2}),
    (FirstWordAccuracy, LINES, {"first_word_accuracy": 1.0, "n": 2}),
    (TreeEditDistance, TREES, {"tree_edit_distance": 1.5, "n": 2}),
    (NormalizedTreeEditDistance, TREES, {"normalized_tree_edit_distance": 2 / 3, "n": 2}),
    (NormalizedTreeEditDistance, {**TREES, "levels": 1}, {"normalized_tree_edit_distance": 0.5, "n": 2}),
]


@pytest.mark.parametrize(("metric", "inputs", "expected"), CASES)
def test_a_metric_computes_in_memory_and_offline(metric, inputs, expected, monkeypatch, tmp_path):
    def refuse(*arguments, **settings):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    result = metric(cache_dir=str(tmp_path)).compute(**inputs)
    assert result == {name: pytest.approx(value) for name, value in expected.items()}
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_no_items_give_n_0_and_no_value():
    assert ExpectedFullAccuracy().compute(predictions=[]) == {"full_accuracy": None, "n": 0}
    assert ExactMatch().compute(predictions=[], references=[]) == {"exact_match": None, "n": 0}


def test_h13_bleu_is_computed_offline(monkeypatch, tmp_path):
    monkeypatch.setattr(socket.socket, "connect", None)
    result = Bleu(cache_dir=str(tmp_path)).compute(
        predictions=LINES["predictions"], references=[[line] for line in LINES["references"]]
    )
    assert result == bleu(LINES["predictions"], LINES["references"])
    assert 0 < result["score"] < 100
