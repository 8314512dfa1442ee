import dataclasses
from pathlib import Path

import pytest

from tasks.evaluation.run_folder import FinishedRun, read_runs, runs_inside, seeds_together
from tasks.training.arguments import TrainingArguments
from tasks.training.schedule import protocol_for
from zoo import get_entry
from zoo.errors import UserError


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


def write_run(folder, *, finished=True):
    (folder / "best").mkdir(parents=True)
    for name in ("arguments", "best/progress", *(["finished"] if finished else [])):
        (folder / f"{name}.json").write_text("{}")
    return folder


def test_a_folder_of_runs_stands_for_its_runs_in_the_order_of_their_numbers(tmp_path):
    runs = [write_run(tmp_path / f"seed-{seed}") for seed in (10, 2)]
    (tmp_path / "notes").mkdir()
    assert runs_inside(tmp_path) == runs[::-1]
    assert runs_inside(runs[0]) == [runs[0]]
    for other in (tmp_path / "notes", tmp_path / "missing", runs[0] / "arguments.json"):
        assert runs_inside(other) == [other]


def test_of_a_folder_of_runs_the_finished_ones_are_read(tmp_path):
    runs = [write_run(tmp_path / "seed-1"), write_run(tmp_path / "seed-2", finished=False)]
    found, left_out = read_runs([tmp_path])
    assert [run.folder for run in found] == runs[:1]
    (reason,) = left_out
    assert "seed-2 is not finished" in reason
    for path in (runs[1], tmp_path / "missing"):
        with pytest.raises(UserError):
            read_runs([tmp_path, path])
    (runs[0] / "finished.json").unlink()
    with pytest.raises(UserError, match=r"seed-1 is not finished.*seed-2 is not finished"):
        read_runs([tmp_path])


def test_runs_that_differ_in_their_seed_stand_together():
    def run(name, **changes):
        preset = dataclasses.asdict(protocol_for(get_entry("tf").preset))
        arguments = dataclasses.asdict(TrainingArguments(model="tf", task="passivization", output="run"))
        arguments |= preset | {"processes": 1, "data": "generated, seed 0"} | changes
        return FinishedRun(Path(name), arguments, {}, {"budget": "10 examples"})

    runs = [run("a", seed=1), run("b", overrides=["dropout=0.2"]), run("c", seed=2), run("d", data="generated, seed 1")]
    assert [[run.folder.name for run in group] for group in seeds_together(runs)] == [["a", "c"], ["b"], ["d"]]
