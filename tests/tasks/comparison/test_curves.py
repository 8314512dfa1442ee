import dataclasses
import json

import numpy as np
import pytest

from tasks.comparison.curves import STYLES, collect_curves, draw_curves, mean_curve
from tasks.comparison.figure import save_figure
from tasks.training.schedule import protocol_for
from zoo import get_entry
from zoo.errors import UserError


def write_run(folder, hierarchical, *, model="tf", seed=1, task="question_formation", best=(1,), shift=0, **changes):
    """A run folder with a log of `hierarchical` accuracies; the linear ones are what is left of 1."""
    folder.mkdir(parents=True)
    arguments = {
        **dataclasses.asdict(protocol_for("seed-000")),
        **dict.fromkeys(("overrides", "parameters", "train_size", "validation_size")),
        "model": model,
        "label": get_entry(model).label,
        "task": task,
        "data": "generated, seed 0",
        "seed": seed,
        "parameter_count": 9,
        "processes": 1,
    }
    (folder / "arguments.json").write_text(json.dumps(arguments | changes))
    lines = []
    for number, value in enumerate(hierarchical, 1):
        line = {"checkpoint": number, "examples": 100 * number + shift, "best": number in best}
        if value is not None:
            line["scores"] = {"n": 500, "full_accuracy": {"hierarchical": value, "linear": 1 - value}}
        lines.append(json.dumps(line))
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_curves_are_grouped_as_the_tables_are(tmp_path):
    folders = [
        write_run(tmp_path / "passive", [0.1], task="passivization"),
        write_run(tmp_path / "lstm", [0.1], model="lstm"),
        write_run(tmp_path / "tf-1", [0.1, 0.2], best=(1, 2)),
        write_run(tmp_path / "tf-2", [0.3], seed=2),
        write_run(tmp_path / "authors", [0.1], overrides=["dropout=0.2"]),
        write_run(tmp_path / "plain", [None, None]),
        tmp_path,  # neither a run nor a log
    ]
    sections = collect_curves([*folders, tmp_path / "tf-1" / "." / "../tf-1"])
    assert list(sections) == [("question_formation", "generated, seed 0"), ("passivization", "generated, seed 0")]
    questions = sections["question_formation", "generated, seed 0"]
    names = [(variant.label, variant.settings, len(curves)) for variant, curves in questions.items()]
    assert names == [("Tf", "", 2), ("Tf", "dropout=0.2", 1), ("LSTM", "", 1)]
    first = next(iter(questions.values()))[0]
    assert (first.seed, first.lines, first.best) == (1, 500, 1)
    assert first.examples.tolist() == [100, 200]
    assert first.accuracy["hierarchical"].tolist() == [0.1, 0.2]
    assert first.accuracy["linear"].tolist() == [0.9, 0.8]


def test_checkpoints_before_scoring_was_asked_for_have_no_point(tmp_path):
    ((curves,),) = (s.values() for s in collect_curves([write_run(tmp_path / "run", [None, 0.5, 0.6])]).values())
    assert curves[0].examples.tolist() == [200, 300]
    assert curves[0].best is None  # checkpoint 1, which was not scored


def test_a_mean_is_taken_where_all_runs_have_values(tmp_path):
    runs = [
        write_run(tmp_path / "1", [0.0, 0.2, 0.4]),
        write_run(tmp_path / "2", [0.4, 0.6], seed=2, shift=50),  # at 150 and 250
    ]
    (section,) = collect_curves(runs).values()
    examples, mean = mean_curve(*section.values(), "hierarchical")
    assert examples.tolist() == [150, 200, 250]
    assert mean == pytest.approx(np.array([(0.1 + 0.4) / 2, (0.2 + 0.5) / 2, (0.3 + 0.6) / 2]))


def test_a_panel_has_a_line_for_each_run_and_rule_and_the_means(tmp_path):
    runs = [write_run(tmp_path / str(seed), [0.1 * seed, 0.2 * seed], seed=seed) for seed in (1, 2, 3)]
    runs.append(write_run(tmp_path / "lstm", [0.1, 0.1], model="lstm"))
    figure = draw_curves(collect_curves(runs))
    tf, lstm = figure.get_axes()
    assert (tf.get_title(), lstm.get_title()) == ("Tf (n=3)", "LSTM (n=1)")
    lines = [line for line in tf.lines if line.get_linestyle() != "None"]
    assert len(lines) == 2 * (3 + 1)
    thick = [line for line in lines if line.get_linewidth() > 2]
    assert [line.get_color() for line in thick] == [style["color"] for style in STYLES.values()]
    assert thick[0].get_ydata() == pytest.approx(np.array([0.2, 0.4]))
    assert thick[0].get_xdata().tolist() == [0.1, 0.2]  # thousands
    assert len({line.get_linestyle() for line in thick}) == 2  # told apart without colour
    assert "Thin lines" in figure.get_supxlabel()


def test_files_are_the_same_each_time(tmp_path):
    runs = [write_run(tmp_path / "run", [0.5]), write_run(tmp_path / "other", [0.5], task="passivization")]
    written = []
    for name in "ab":
        (tmp_path / name).mkdir()
        written.append(save_figure(draw_curves(collect_curves(runs)), tmp_path / name, "curves"))
    assert [path.name for path in written[0]] == ["curves.png", "curves.svg"]
    assert [path.read_bytes() for path in written[0]] == [path.read_bytes() for path in written[1]]


@pytest.mark.parametrize("text", ["{", "[]\n", '{"scores": {}}\n', "3\n"])
def test_a_damaged_log_is_an_error_that_names_it(tmp_path, text):
    run = write_run(tmp_path / "run", [0.5])
    (run / "log.jsonl").write_text(text)
    with pytest.raises(UserError, match=r"run/log.jsonl is damaged"):
        collect_curves([run])


def test_without_scores_there_are_no_curves(tmp_path):
    assert collect_curves([write_run(tmp_path / "run", [None]), tmp_path / "results.json"]) == {}
