from tasks.evaluation.report import results_table
from tests.tasks.comparison.example_rows import make_row


def test_a_figure_that_is_not_zero_does_not_print_as_zero():
    rows = [
        make_row(value=4.4e-7),
        make_row(value=0.0),
        make_row(value=None, note="no items"),
        make_row(value=0.25, standard_error=0.001, lower=0.2, upper=0.3, sampled_inputs=7),
        make_row(value=3.0, metric="greedy_ties"),
    ]
    title, conditions, heading, *lines, first, second = results_table(rows).splitlines()
    assert title == "runs/tf-nd-1: Tf+Nd (tf-nd) on question_formation, seed 1"
    assert conditions == "budget 1,000 examples; generated, seed 0"
    assert [line.split()[2] for line in lines] == ["4.4e-07", "0.0000", "none", "0.2500", "3"]
    assert (first[:4], second) == ("[1] ", "[2] no items")  # each note once
    assert heading.split()[-1] == "note"
    assert lines[3].split()[3:8] == ["0.0010", "0.2000", "to", "0.3000", "7"]
