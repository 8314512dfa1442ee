from tasks.evaluation.report import results_tables
from tests.tasks.comparison.example_rows import FIGURES, make_row, run_rows

TREES = {"sentence_f1": 0.5, "corpus_f1": 0.25, "recall_NP": 0.125}


def tree_rows(**changes):
    """A language model with two methods; what is scored of sentences of 10 words is less by 0.1."""
    text = {"model": "on-lstm", "label": "ON-LSTM", "family": "language_modeling", "task": "language_modeling"}
    rows = [
        make_row(**text, metric="perplexity_per_token", value=20.0, note="eos counted", **changes),
        make_row(**text, metric="cross_entropy_per_token", value=3.0, note="eos counted", **changes),
    ]
    for method, note in (("split", "layer 2 of 3"), ("layer_1_split", "layer 1 of 3"), ("left", "no model")):
        for name, less, n in (("trees", 0.0, 7), ("trees_10", 0.1, 3)):
            for metric, value in TREES.items():
                figure = {"metric": f"{metric}_{method}", "set": name, "value": value - less, "n": n}
                rows.append(make_row(**text, **figure, note=f"{note}; toy; punctuation left out", **changes))
    return rows


def test_a_figure_that_is_not_zero_does_not_print_as_zero():
    rows = [
        make_row(metric="a", value=4.4e-7),
        make_row(metric="b", value=0.0),
        make_row(metric="c", value=None, note="no items"),
        make_row(metric="d", value=0.25, standard_error=0.001, lower=0.2, upper=0.3, sampled_inputs=7),
        make_row(metric="greedy_ties", value=3.0),
    ]
    title, conditions, heading, *lines, first, second = results_tables(rows).splitlines()
    assert title == "runs/tf-nd-1: Tf+Nd (tf-nd) on question_formation, seed 1"
    assert conditions == "budget 1,000 examples; generated, seed 0"
    assert [line.split()[2] for line in lines] == ["4.4e-07", "0.0000", "none", "0.2500", "3"]
    assert (first[:4], second) == ("[1] ", "[2] no items")  # each note once
    assert heading.split()[-1] == "note"
    assert lines[3].split()[3:8] == ["0.0010", "0.2000", "to", "0.3000", "7"]


def test_methods_are_lines_and_the_rest_is_counted():
    lines = results_tables(tree_rows()).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["set", "metric", "value", "n", "note"],
        ["test", "perplexity_per_token", "20.0000", "100", "[1]"],
        ["[1]", "eos", "counted"],
        [],
        ["unlabelled", "F1", "of", "trees"],
        ["method", "sentence", "F1", "corpus", "F1", "WSJ10", "note"],
        ["split", "0.5000", "0.2500", "0.4000", "layer", "2", "of", "3"],
        ["layer", "1", "split", "0.5000", "0.2500", "0.4000", "layer", "1", "of", "3"],
        ["left", "0.5000", "0.2500", "0.4000", "no", "model"],
        ["n", "7", "7", "3"],
        ["toy;", "punctuation", "left", "out"],
        ["More", "figures", "in", "the", "file", "that", "is", "written:", "10."],
    ]


def test_a_model_without_trees_has_no_table_of_them():
    rows = [row for row in tree_rows() if row.set == "test"]
    assert results_tables(rows).splitlines()[-1] == "More figures in the file that is written: 1."


def test_runs_that_differ_in_their_seed_make_one_table():
    rows = run_rows(1) + run_rows(2, 0.1) + run_rows(1, model="tf", label="Tf")
    several, alone = (table.splitlines() for table in results_tables(rows).split("\n\n"))
    assert several[0] == "Tf+Nd (tf-nd) on question_formation, mean ± standard deviation of 2 runs"
    assert several[1] == "budget 1,000 examples; generated, seed 0"
    cells = [line.split()[:5] for line in several]
    assert ["hierarchical", "full_accuracy", "0.3500", "±", "0.0707"] in cells
    assert len(several) == 3 + len(FIGURES) + 1
    assert alone[0] == "runs/tf-1: Tf (tf) on question_formation, seed 1"


def test_a_mean_over_fewer_runs_says_so_and_every_note_stands_below():
    rows = [make_row(run="a", value=0.2), make_row(run="b", value=None, note="no items")]
    lines = results_tables(rows).splitlines()
    assert lines[3].split()[2:] == ["0.2000", "(n=1)", "100", "[1]", "[2]"]
    assert lines[4:] == ["[1] eos counted", "[2] no items"]


def test_grids_of_several_runs():
    text = results_tables(tree_rows(run="a") + tree_rows(run="b", seed=2))
    assert "0.5000 ± 0.0000" in text
    assert text.count("layer 2 of 3") == 1
