import csv
import io

import pytest

from tasks.comparison.summary import Statistic, summarize
from tasks.comparison.tables import (
    format_statistic,
    make_tables,
    to_csv,
    to_latex,
    to_markdown,
    to_text,
)
from tasks.transformation.columns import LEGEND
from tests.tasks.comparison.example_rows import FIGURES, make_row, run_rows

PAPER = {("question_formation", "tf-nd"): {("full_accuracy", "hierarchical"): Statistic(0.318, 0.19, 5, 5)}}


@pytest.mark.parametrize(
    ("statistic", "text"),
    [
        (Statistic(0.31789, 0.194, 5, 5), "0.318 ± 0.19"),
        (Statistic(0.3, None, 1, 1), "0.300"),
        (Statistic(-20.0, 1.0, 3, 5), "-20.000 ± 1.00 (n=3)"),
        (Statistic(None, None, 0, 5), "–"),
        (None, "–"),
    ],
)
def test_cells(statistic, text):
    assert format_statistic(statistic, 5 if statistic is None else statistic.runs) == text


def test_a_single_run_never_shows_a_deviation_of_zero():
    text = to_text(make_tables(summarize(run_rows(1)), None), "")
    assert "0.300" in text
    assert "0.00" not in text


def test_a_model_that_has_not_learned_the_task_is_marked_in_every_form():
    weak, strong = (make_row(metric="full_accuracy", set="test", value=value) for value in (0.89, 0.91))
    (marked,), (plain,) = (make_tables(summarize([row]), None) for row in (weak, strong))
    assert marked.rows[0][0] == "Tf+Nd†"
    assert plain.rows[0][0] == "Tf+Nd"
    assert "† full accuracy on the test set below 0.9" in to_text([marked], "")
    assert "$\\dagger$" in to_latex([marked])
    assert not plain.notes


def test_the_paper_stands_under_its_model_in_every_form():
    rows = run_rows(1) + run_rows(2, 0.1) + run_rows(1, model="tf", label="Tf", settings="dropout=0.2")
    summary = summarize(rows)
    tables = make_tables(summary, PAPER)
    (table,) = tables
    assert [row[0] for row in table.rows] == ["Tf [dropout=0.2]", "Tf+Nd", "  paper"]
    assert table.rows[2][1:4] == ["5", "–", "0.318 ± 0.19"]

    lines = to_text(tables, LEGEND).splitlines()
    assert lines[0] == "Question formation, budget: 1,000 examples; data: generated, seed 0"
    assert len({len(line) for line in lines[1:5]}) == 1  # columns are aligned

    markdown = to_markdown(tables, LEGEND).splitlines()
    assert markdown[2].count("|") == markdown[3].count("|") == markdown[6].count("|") == 10
    assert markdown[6].startswith("| paper | 5 | – | 0.318 ± 0.19 |")

    latex = to_latex(tables)
    assert "\\quad paper & 5 & -- & 0.318 $\\pm$ 0.19" in latex
    assert latex.count("\\toprule") == latex.count("\\bottomrule") == 1


def test_a_missing_value_comes_with_its_reason():
    rows = run_rows(1) + run_rows(2)
    reason = "no sample matches the linear rule's output"
    rows[-1] = make_row(seed=2, metric="partial_log_ratio", set="generalization", value=None, note=reason)
    text = to_text(make_tables(summarize(rows), None), LEGEND)
    assert "1.250" in text
    assert f"Tf+Nd, PA log ratio: no value in 1 of 2 runs: {reason}" in text


def test_latex_escapes_what_it_must():
    rows = run_rows(1, settings="pushed_vector_activation=exp", budget="50% & more #1") + run_rows(2, -10.0)
    latex = to_latex(make_tables(summarize(rows), None))
    assert "pushed\\_vector\\_activation=exp" in latex
    assert "50\\% \\& more \\#1" in latex
    assert "$-$9.700" in latex


def test_csv_holds_every_metric_unrounded_beside_the_paper():
    text = to_csv(summarize(run_rows(1, 0.000123) + run_rows(2)), PAPER)
    records = list(csv.DictReader(io.StringIO(text)))
    assert {(record["metric"], record["set"]) for record in records} == set(FIGURES)
    (record,) = (r for r in records if (r["metric"], r["set"]) == ("full_accuracy", "hierarchical"))
    assert float(record["mean"]) == pytest.approx(0.3000615, abs=1e-12)
    assert (record["n"], record["paper"], record["paper_standard_deviation"]) == ("2", "0.318", "0.19")
    assert [r["paper"] for r in records if r["set"] == "test"] == [""]
