import pytest
from matplotlib.container import BarContainer

from tasks.comparison.figure import draw, draw_figures, save_figure
from tasks.comparison.summary import Statistic, summarize
from tests.tasks.comparison.example_rows import make_row, run_rows

PAPER = {("question_formation", "tf-nd"): {("full_accuracy", "hierarchical"): Statistic(0.318, 0.19, 5, 5)}}


def draw_one(rows, paper=None):
    ((condition, variants),) = summarize(rows).items()
    return draw(condition, variants, paper)


def heights(axes):
    """Of the bars, first those of the hierarchical rule, then those of the linear one."""
    groups = [container for container in axes.containers if isinstance(container, BarContainer)]
    return [[bar.get_height() for bar in group] for group in groups]


def test_bars_are_the_means_of_both_rules():
    rows = run_rows(1) + run_rows(2, 0.1) + run_rows(1, model="lstm", label="LSTM")
    full, partial = draw_one(rows).axes
    assert heights(full) == [pytest.approx([0.35, 0.3]), pytest.approx([0.15, 0.1])]
    assert heights(partial) == [pytest.approx([0.75, 0.7]), pytest.approx([0.25, 0.2])]
    assert partial.get_xticklabels()[0].get_text() == "Tf+Nd"


def test_the_two_rules_differ_without_colour():
    full, _ = draw_one(run_rows(1)).axes
    hatches = {bar.get_hatch() for bar in full.patches}
    assert len(hatches) == 2


def test_the_caption_names_budget_data_and_runs_and_marks_models_that_did_not_learn():
    rows = [row for seed in (1, 2) for row in run_rows(seed) + run_rows(seed, -0.1, model="rnn", label="RNN")]
    figure = draw_one(rows)
    assert figure.get_suptitle() == "Question formation, budget: 1,000 examples"
    caption = figure.get_supxlabel().replace("\n", " ")
    assert "Means of 2 runs, error bars one standard deviation. Data: generated, seed 0." in caption
    assert "† full accuracy on the test set below 0.9" in caption
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["Tf+Nd", "RNN†"]
    assert draw_one(run_rows(1)).get_supxlabel() == "Single runs. Data: generated, seed 0."


def test_the_papers_mean_is_a_mark_over_its_bar():
    full, partial = draw_one(run_rows(1), PAPER).axes
    (marks,) = (line for line in full.lines if line.get_marker() == "D")
    assert list(marks.get_ydata()) == [0.318]
    assert "D" not in [line.get_marker() for line in partial.lines]


def test_a_figure_without_some_figures_can_be_drawn():
    assert draw_one([make_row(set="hierarchical", value=None, note="no items")]).axes


def test_files_are_named_by_task_and_budget_and_are_the_same_each_time(tmp_path):
    rows = run_rows(1) + run_rows(1, data="generated, seed 1") + run_rows(1, budget="to convergence")
    figures = draw_figures(summarize(rows), PAPER)
    assert sorted(figures) == [
        "question_formation_1000-examples",
        "question_formation_1000-examples_2",
        "question_formation_to-convergence",
    ]
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        for name, figure in draw_figures(summarize(rows), PAPER).items():
            save_figure(figure, folder, name)
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes()
    assert len(list(folders[0].iterdir())) == 6
