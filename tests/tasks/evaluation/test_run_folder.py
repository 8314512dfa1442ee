import dataclasses
from pathlib import Path

import pytest

from tasks.evaluation.run_folder import FinishedRun
from tasks.training.arguments import TrainingArguments
from tasks.training.schedule import protocol_for
from zoo import get_entry


def settings_of(processes=1, mixed_precision="no", protocol=None, **given):
    arguments = dataclasses.asdict(TrainingArguments(model="tf-nd", task="passivization", output="run", **given))
    preset = dataclasses.asdict(protocol_for(get_entry("tf-nd").preset, **(protocol or {})))
    places = {"processes": processes, "mixed_precision": mixed_precision}
    return FinishedRun(Path("run"), arguments | preset | places, {}, {}).settings


def test_the_protocol_of_the_paper_needs_no_words():
    assert settings_of() == ""
    assert settings_of(seed=7, max_examples=100) == ""  # seeds are averaged over; budgets have their own column


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"overrides": ["num_states=2", "dropout=0.2"]}, "dropout=0.2, num_states=2"),
        ({"parameters": 50_000, "train_size": 100}, "parameters=50000, train_size=100"),
        ({"protocol": {"learning_rate": 1e-4, "batch_tokens": 512}}, "learning_rate=0.0001, batch_tokens=512"),
        ({"processes": 2}, "processes=2"),
        ({"mixed_precision": "bf16"}, "mixed_precision=bf16"),
    ],
)
def test_whatever_makes_runs_incomparable_is_named(changes, text):
    assert settings_of(**changes) == text
