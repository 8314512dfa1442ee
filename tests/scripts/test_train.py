import importlib.util
import random
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from accelerate.state import AcceleratorState

from tasks.training.checkpoints import parameter_digest
from tests.scripts.tiny_runs import BUDGET, ROOT, SCRIPT, TINY, contents, log_of, read, start, wait_for
from zoo import load_model

# The script, which says how many wrapped models there are when it leaves the group of processes: a group that such a
# model outlives may hang, once in many times.
WATCHED = """
import gc, os, runpy, sys, torch

def watched(*arguments):
    wrapped = [thing for thing in gc.get_objects() if type(thing) is torch.nn.parallel.DistributedDataParallel]
    # One write: lines of two processes in pieces would mix.
    os.write(1, f"wrapped models at the end: {len(wrapped)}\\n".encode())
    leave(*arguments)

leave, torch.distributed.destroy_process_group = torch.distributed.destroy_process_group, watched
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_run_folder(finished):
    arguments = read(finished, "arguments.json")
    expected = {"model": "tf", "label": "Tf", "task": "question_formation", "data": "generated, seed 0", "seed": 1}
    assert expected.items() <= arguments.items()
    assert arguments["overrides"] == ["hidden_size=8"]
    assert (arguments["learning_rate"], arguments["batch_tokens"]) == (7e-4, 512)
    assert {"torch", "transformers"} <= arguments["versions"].keys()
    assert arguments["code_version"]
    log = log_of(finished)
    assert [line["checkpoint"] for line in log] == [1, 2, 3, 4, 5]
    assert log[-1]["validation_cross_entropy"] < log[0]["validation_cross_entropy"]
    summary = read(finished)
    assert (summary["reason"], summary["budget"]) == ("max_examples", "1,000 examples")
    model, tokenizer = load_model(finished / "last")
    assert parameter_digest(model) == summary["digest"]
    assert model.config.zoo_name == "tf"
    assert len(tokenizer) == model.config.vocab_size


def test_a16_the_same_seed_gives_the_same_run_and_another_seed_another(train, finished, tmp_path):
    assert train(*TINY, *BUDGET, "--output", tmp_path / "same") == 0
    assert log_of(tmp_path / "same") == log_of(finished)
    assert read(tmp_path / "same")["digest"] == read(finished)["digest"]
    assert train(*TINY, *BUDGET, "--output", tmp_path / "seed", "--seed", "2") == 0
    assert train(*TINY, *BUDGET, "--output", tmp_path / "data", "--data-seed", "2") == 0
    assert len({read(tmp_path / name)["digest"] for name in ("same", "seed", "data")}) == 3
    data = [read(tmp_path / name, "arguments.json")["data_digest"] for name in ("same", "seed", "data")]
    assert data[0] == data[1] != data[2]


def test_scores_during_training_change_neither_order_nor_result(train, finished, tmp_path):
    folder = tmp_path / "run"
    assert train(*TINY, *BUDGET, "--output", folder, "--score-during") == 0
    assert read(folder)["digest"] == read(finished)["digest"]
    log = log_of(folder)
    scores = [line.pop("scores") for line in log]
    assert log == log_of(finished)
    assert [score["n"] for score in scores] == [500] * 5
    assert scores[0] != scores[-1]
    given, plain = (read(run, "arguments.json") for run in (folder, finished))
    assert {name for name in given if given[name] != plain[name]} == {"output", "score_during"}


def test_scores_of_published_files_leave_the_words_about_the_data_as_they_are(train, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_data = ["--task", "question_formation", "--output", "data"]
    make_data += ["--sizes", "train=300,validation=60,test=50,generalization=40"]
    runpy.run_path(ROOT / "scripts" / "make_data.py")["main"](make_data)
    short = [*TINY, "--data", "data", "--max-examples", 50]
    assert train(*short, "--output", "plain") == 0
    assert train(*short, "--output", "run", "--score-during") == 0
    assert log_of(Path("run"))[0]["scores"]["n"] == 40
    assert read(Path("run"), "arguments.json")["data"] == read(Path("plain"), "arguments.json")["data"]
    Path("data/question_formation.gen").unlink()
    capsys.readouterr()
    assert train(*short, "--output", "other", "--score-during") == 2
    assert "holds no generalization set" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_end_of_the_unbroken_one(finished, tmp_path):
    folder = tmp_path / "run"
    command = [*TINY, *BUDGET, "--output", folder, "--save-minutes", "0"]
    moments = random.Random()  # a fault here must not depend on one lucky moment
    process = start(*command)
    for _ in range(2):
        before = set(folder.glob("state-*"))
        wait_for(lambda before=before: set(folder.glob("state-*")) - before, process)
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        process.communicate()
        process = start(*command, "--resume")
    process.communicate()
    assert process.returncode == 0
    assert read(folder)["digest"] == read(finished)["digest"]
    assert log_of(folder) == log_of(finished)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_the_state_and_says_how_to_go_on(train, finished, tmp_path, number, status):
    folder = tmp_path / "run"
    process = start(*TINY, "--output", folder)
    wait_for((folder / "log.jsonl").exists, process)
    process.send_signal(number)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == status
    assert "state saved" in printed
    assert "--resume" in printed
    assert not (folder / "finished.json").exists()
    examples = read(max(folder.glob("state-*")), "progress.json")["examples"]
    if examples < 1000:  # else the signal came later than the budget's end
        assert train(*TINY, *BUDGET, "--output", folder, "--resume") == 0
        assert read(folder)["digest"] == read(finished)["digest"]


@pytest.mark.slow
def test_two_processes_train_go_on_as_they_say_and_another_number_cannot_resume(train, tmp_path, capsys):
    folder, watched = tmp_path / "run", tmp_path / "watched.py"
    watched.write_text(WATCHED)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*torchrun, "--nproc_per_node", "2", watched, SCRIPT, *TINY, "--output", folder]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*map(str, command)], **pipes)
    wait_for((folder / "log.jsonl").exists, process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output.count("wrapped models at the end: 0") == 2
    assert not (folder / "finished.json").exists()
    (line,) = [line for line in errors.splitlines() if "To go on: " in line]
    first, *rest = shlex.split(line.partition("To go on: ")[2])
    rest.insert(rest.index(str(SCRIPT)), str(watched))
    assert first == "torchrun"
    result = subprocess.run([*torchrun, *rest, "--max-epochs", "20"], **pipes, timeout=200)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.count("wrapped models at the end: 0") == 2
    assert read(folder, "arguments.json")["processes"] == 2
    assert read(folder)["reason"] in ("max_epochs", "converged")
    assert load_model(folder / "best")[0].config.zoo_name == "tf"
    capsys.readouterr()
    assert train(*TINY, *BUDGET, "--output", folder, "--resume") == 2
    assert "processes was 2 there and is 1 now" in capsys.readouterr().err


def test_a09_an_output_that_holds_a_run_is_left_alone(train, finished, capsys):
    before = contents(finished)
    assert train(*TINY, *BUDGET, "--output", finished) == 2
    assert "already holds a run. Add --resume" in capsys.readouterr().err
    assert contents(finished) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--model", "lstm"], "--model was 'tf' there and is 'lstm' now"),
        (["--task", "passivization"], "--task was 'question_formation' there and is 'passivization' now"),
        (["--seed", "2"], "--seed was 1 there and is 2 now"),
        (["--learning-rate", "1e-4"], "--learning-rate was 0.0007 there and is 0.0001 now"),
        (["--data-seed", "3"], "--data-seed was 0 there and is 3 now"),
        (["--set", "dropout=0.2"], "--set was ['hidden_size=8'] there"),
    ],
)
def test_resuming_another_run_names_the_argument(train, finished, capsys, change, message):
    before = contents(finished)
    assert train(*TINY, *BUDGET, *change, "--output", finished, "--resume") == 2
    assert message in capsys.readouterr().err
    assert contents(finished) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--model", "tf-dn"], "unknown model 'tf-dn'. Did you mean tf-nd"),
        (["--task", "question_fromation"], "Did you mean question_formation"),
        (["--set", "hiden_size=8"], "hidden_size"),
        (["--set", "hidden_size"], "KEY=VALUE"),
        (["--data", "no-such-folder"], "no-such-folder"),
        (["--batch-tokens", "9"], "--batch-tokens is 9"),
        (["--max-minutes", "0"], "--max-minutes is 0"),
        (["--resume"], "holds no run to resume"),
        (["--set", "vocab_size=9"], "vocab_size"),
        (["--seed", "4294967296"], "--seed is 4294967296; allowed: 0 to 4294967295"),
        (["--seed", f"1{'0' * 25}"], "allowed: 0 to 4294967295"),
        (["--train-size", f"1{'0' * 25}"], "size of the train set is 1000"),
        (["--threads", "1000000000"], "--threads is 1000000000; allowed: 1 to"),
        (["--learning-rate", "inf"], "--learning-rate is inf"),
        (["--output", "x" * 300], "File name too long. Check the path"),
        (["--data", "x" * 300], "File name too long. Check the path"),
        (["--output", __file__], "is not an empty folder"),
        (["--output", __file__ + "/run"], "cannot be made"),
    ],
)
def test_bad_input_is_one_error_and_nothing_is_written(train, tmp_path, capsys, change, message):
    folder = tmp_path / "run"
    assert train(*TINY, *BUDGET, "--output", folder, *change) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert printed.count("\n") == 1
    assert message in printed
    assert not folder.exists()


def test_ctrl_c_before_training_is_a_line_and_status_130(train, tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tasks.transformation.corpus.load_sets", interrupt)
    assert train(*TINY, *BUDGET, "--output", tmp_path / "run") == 130
    printed = capsys.readouterr().err
    assert printed.startswith("interrupted")
    assert printed.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.fixture
def half_precision(monkeypatch):
    """As `accelerate launch --mixed_precision bf16` sets it, until the fixture's value is called."""

    def undo():
        monkeypatch.undo()
        AcceleratorState._reset_state(reset_partial_state=True)

    AcceleratorState._reset_state(reset_partial_state=True)
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    yield undo
    undo()


def test_the_precision_of_the_launcher_is_recorded_and_kept(train, half_precision, tmp_path, capsys):
    short = [*TINY, "--output", tmp_path / "run", "--max-examples"]
    assert train(*short, 50) == 0
    assert read(tmp_path / "run", "arguments.json")["mixed_precision"] == "bf16"
    half_precision()
    assert train(*short, 100, "--resume") == 2
    assert "mixed precision was 'bf16' there and is 'no' now" in capsys.readouterr().err


def test_an_accumulation_of_the_launcher_changes_nothing(train, finished, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "2")
    assert train(*TINY, *BUDGET, "--output", tmp_path / "run") == 0
    assert read(tmp_path / "run")["digest"] == read(finished)["digest"]


@pytest.mark.parametrize(
    ("processes", "precision", "start"),
    [
        (1, "no", "python"),
        (2, "no", "torchrun --nproc_per_node 2"),
        (1, "bf16", "ACCELERATE_MIXED_PRECISION=bf16 python"),
    ],
)
def test_the_command_that_goes_on_is_one_that_is_accepted(script, monkeypatch, processes, precision, start):
    monkeypatch.setattr(sys, "argv", ["scripts/train.py", "--set", "a=[1, 2]", "--resume", "--seed", "3"])
    assert script.resuming(processes, precision) == f"{start} scripts/train.py --set 'a=[1, 2]' --seed 3 --resume"


def test_the_same_data_elsewhere_are_the_same_run_and_others_are_not(train, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_data = ["--task", "question_formation", "--output", "data", "--sizes", "train=300,validation=60"]
    runpy.run_path(ROOT / "scripts" / "make_data.py")["main"](make_data)
    short = [*TINY, "--output", "run", "--max-examples"]
    assert train(*short, 50, "--data", "data") == 0
    for name in ("copy", "other"):
        shutil.copytree("data", name)
    for number, spelling in enumerate(["data/", tmp_path / "data", "copy"]):
        assert train(*short, 100 + 50 * number, "--data", spelling, "--resume") == 0
    lines = Path("other/question_formation.dev").read_text().splitlines(keepends=True)
    Path("other/question_formation.dev").write_text("".join(lines[1:]))
    capsys.readouterr()
    assert train(*short, 300, "--data", "other", "--resume") == 2
    assert "holds a run on other training or validation lines" in capsys.readouterr().err


def test_a_diverging_run_ends_with_status_1(train, tmp_path, capsys):
    assert train(*TINY, *BUDGET, "--learning-rate", "1e30", "--output", tmp_path / "run") == 1
    printed = capsys.readouterr().err
    assert "diverged at step" in printed
    assert "learning rate 1e+30" in printed
    assert not (tmp_path / "run" / "finished.json").exists()


def test_tensorboard_is_written_if_asked_for_and_missed_by_name(train, tmp_path, capsys, monkeypatch):
    pytest.importorskip("tensorboard")
    short = ["--max-examples", "100", "--tensorboard"]
    assert train(*TINY, *short, "--output", tmp_path / "run") == 0
    assert list((tmp_path / "run").rglob("events.out.tfevents*"))
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tensorboard" else find_spec(name))
    assert train(*TINY, *short, "--output", tmp_path / "other") == 2
    assert "syntax-zoo[track]" in capsys.readouterr().err


def test_published_files_are_read(train, shared, tmp_path):
    data = shared / "data" / "transformations" / "question_formation"
    arguments = [*TINY, "--data", data, "--max-examples", "100", "--output", tmp_path / "run"]
    assert train(*arguments) == 0
    assert "files" in read(tmp_path / "run", "arguments.json")["data"]
