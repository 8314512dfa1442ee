import statistics

import pytest

from tasks.comparison.summary import describe, summarize
from tests.tasks.comparison.example_rows import make_row, run_rows

KEY = ("full_accuracy", "hierarchical")


def test_mean_and_sample_standard_deviation_over_seeds():
    rows = [row for seed, change in enumerate([0.0, 0.1, 0.5]) for row in run_rows(seed, change)]
    ((_, variants),) = summarize(rows).items()
    ((_, figures),) = variants.items()
    assert figures[KEY].mean == pytest.approx(0.5)
    assert figures[KEY].standard_deviation == pytest.approx(statistics.stdev([0.3, 0.4, 0.8]))
    assert figures[KEY][2:4] == (3, 3)


@pytest.mark.parametrize("field", ["budget", "data", "task"])
def test_other_budget_data_or_task_is_another_table(field):
    other = {"budget": "2,000 examples", "data": "generated, seed 1", "task": "passivization"}[field]
    summary = summarize(run_rows(1) + run_rows(2, 0.1, **{field: other}))
    assert len(summary) == 2
    assert {figures[KEY].n for variants in summary.values() for figures in variants.values()} == {1}


@pytest.mark.parametrize(("field", "other"), [("settings", "dropout=0.2"), ("parameters", 50_000)])
def test_other_settings_or_size_are_another_line(field, other):
    ((_, variants),) = summarize(run_rows(1) + run_rows(2, 0.1, **{field: other})).items()
    assert len(variants) == 2
    assert {figures[KEY].n for figures in variants.values()} == {1}


def test_one_seed_has_no_standard_deviation():
    statistic = describe([make_row(value=0.5)])
    assert statistic[:4] == (0.5, None, 1, 1)


def test_runs_without_a_value_are_counted_and_their_reason_kept():
    rows = [make_row(value=1.0), make_row(value=None, note="no sample matches"), make_row(value=2.0)]
    statistic = describe(rows)
    assert statistic.mean == 1.5
    assert statistic[2:5] == (2, 3, ("no sample matches",))
    assert describe(rows[1:2])[:4] == (None, None, 0, 1)


def test_models_and_tasks_stand_in_the_order_of_the_registry():
    rows = [
        make_row(model=model, label=model, task=task)
        for task in ("passivization", "question_formation")
        for model in ("lstm-nd-r", "unheard-of", "tf-nd", "tf")
    ]
    summary = summarize(rows)
    assert [condition.task for condition in summary] == ["question_formation", "passivization"]
    for variants in summary.values():
        assert [variant.model for variant in variants] == ["tf", "tf-nd", "lstm-nd-r", "unheard-of"]


def test_certified_bounds_are_averaged_and_sampled_inputs_added():
    bounds = [{"lower": 0.25, "upper": 0.75, "sampled_inputs": 3}, {"lower": 0.5, "upper": 1.0, "sampled_inputs": 4}]
    rows = [make_row(**change) for change in bounds]
    assert describe(rows)[5:] == (0.375, 0.875, 7)
    assert describe([*rows, make_row()])[5:] == (None, None, 7)  # a run of an older version has no bounds
