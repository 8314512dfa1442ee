"""scripts/train.py --seeds."""

import signal

import pytest

from tests.scripts.tiny_runs import BUDGET, TINY, log_of, read, start, wait_for


def test_seeds_that_cannot_be_are_errors(train, tmp_path, capsys, monkeypatch):
    command = [*TINY, *BUDGET, "--output", tmp_path / "run"]
    (tmp_path / "single").mkdir()
    (tmp_path / "single" / "arguments.json").write_text("{}")
    cases = {
        "--seeds is '1,1'": ["--seeds", "1,1"],
        "--seeds is 'x'": ["--seeds", "x"],
        "--seed 1 and --seeds 1,2 are both given": ["--seeds", "1,2", "--seed", "1"],
        "--jobs is for --seeds": ["--jobs", 1],
        "--jobs is 0": ["--seeds", "1,2", "--jobs", 0],
        "Did you mean": ["--seeds", "1,2", "--model", "tf-dn"],
        "hidden_size": ["--seeds", "1,2", "--set", "hiden_size=8"],
        "holds none of these runs to resume": ["--seeds", "1,2", "--resume"],
        "holds a single run": ["--seeds", "1,2", "--output", tmp_path / "single"],
    }
    for message, change in cases.items():
        assert train(*command, *change) == 2
        printed = capsys.readouterr().err
        assert message in printed
        assert printed.startswith("error: ")
        assert printed.count("\n") == 1
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert train(*command, "--seeds", "1,2") == 2
    assert "Start it with python" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a15_a16_runs_side_by_side_are_the_single_runs(train, finished, tmp_path, capsys):
    assert train(*TINY, *BUDGET, "--seed", 2, "--output", tmp_path / "single") == 0
    folder = tmp_path / "runs"
    assert train(*TINY, *BUDGET, "--seeds", "1,2,3", "--output", folder) == 0
    printed = capsys.readouterr().err
    for seed, single in {1: finished, 2: tmp_path / "single"}.items():
        run = folder / f"seed-{seed}"
        assert read(run)["digest"] == read(single)["digest"]
        assert log_of(run) == log_of(single)
        given, alone = (read(path, "arguments.json") for path in (run, single))
        assert {name for name in given if given[name] != alone[name]} == {"output"}
        assert f"seed {seed}: checkpoint 5:" in printed
    assert read(folder / "seed-3")["digest"] != read(folder / "seed-2")["digest"]


@pytest.mark.slow
def test_ctrl_c_stops_runs_side_by_side_and_they_go_on(train, finished, tmp_path):
    folder = tmp_path / "runs"
    command = [*TINY, "--output", folder, "--seeds", "1,2", "--jobs", 1]
    process = start(*command)
    wait_for((folder / "seed-1" / "log.jsonl").exists, process)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "To go on with all runs: python" in printed
    assert not (folder / "seed-2").exists()
    assert not (folder / "seed-1" / "finished.json").exists()
    examples = read(max((folder / "seed-1").glob("state-*")), "progress.json")["examples"]
    if examples < 1000:  # else the signal came later than the budget's end
        assert train(*command, *BUDGET, "--resume") == 0
        assert read(folder / "seed-1")["digest"] == read(finished)["digest"]
        assert read(folder / "seed-2")["reason"] == "max_examples"


@pytest.mark.slow
def test_a_seed_that_fails_makes_the_status_1(train, tmp_path, capsys):
    folder = tmp_path / "runs"
    assert train(*TINY, *BUDGET, "--learning-rate", "1e30", "--seeds", "1", "--output", folder) == 1
    assert "seed 1 failed: training diverged at step" in capsys.readouterr().err
