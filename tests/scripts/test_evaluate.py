import dataclasses
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tasks import load_task
from tasks.evaluation.rows import COLUMNS, read_rows
from tasks.tokenization import BOS, EOS, encode, word_tokenizer
from tasks.training.arguments import TrainingArguments
from tasks.training.schedule import protocol_for
from zoo import create_model, get_entry

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "evaluate.py"
QUESTIONS = {
    "dev": [
        ("my raven does change . decl", "my raven does change ."),
        ("my raven does change . quest", "does my raven change ?"),
    ],
    "test": [
        ("some newts do smile . decl", "some newts do smile ."),
        ("some newts do smile . quest", "do some newts smile ?"),
        ("my walrus doesn't amuse the newt . quest", "doesn't my walrus amuse the newt ?"),
    ],
    "gen": [
        ("my raven that doesn't sleep does change . quest", "does my raven that doesn't sleep change ?"),
        ("the newts who do sleep don't amuse my newt . quest", "don't the newts who do sleep amuse my newt ?"),
    ],
}
TENSES = {
    "dev": [("some newts did smile . PAST", "some newts did smile .")],
    "test": [("some newts did smile . PRESENT", "some newts do smile .")],
    "gen": [
        ("some newts by our yak did smile . PRESENT", "some newts by our yak do smile ."),
        ("our yak by some newts did smile . PRESENT", "our yak by some newts does smile ."),
        ("my raven near the newts didn't sleep . PRESENT", "my raven near the newts doesn't sleep ."),
    ],
}


PASSIVES = {
    "dev": [("her yak amused her newt . decl", "her yak amused her newt .")],
    "test": [("her yak amused her newt . passiv", "her newt was amused by her yak .")],
    "gen": [
        ("her yak by her zebras amused her newt . passiv", "her newt was amused by her yak by her zebras ."),
        ("my newts near the yak amused her zebra . passiv", "her zebra was amused by my newts near the yak ."),
        ("our yak by some newts amused my walrus . passiv", "my walrus was amused by our yak by some newts ."),
    ],
}


def write_data(folder, sets):
    folder.mkdir()
    for split, pairs in sets.items():
        (folder / f"lines.{split}").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return folder


def write_run(folder, data, *, model="tf", task="question_formation", **changes):
    """A run folder as train.py leaves it, with an untrained small model."""
    name, task = task, load_task(task)
    tokenizer = word_tokenizer(task.words)
    network = create_model(model, tokenizer=tokenizer, seed=3, parameters=15_000)
    network.save_pretrained(folder / "best")
    tokenizer.save_pretrained(folder / "best")
    given = TrainingArguments(model=model, task=name, output=str(folder), data_dir=str(data), parameters=15_000)
    arguments = {
        **dataclasses.asdict(given),
        **dataclasses.asdict(protocol_for(get_entry(model).preset)),
        "label": get_entry(model).label,
        "family": "transformation",
        "processes": 1,
        "data": "files lines.dev, training set generated, seed 0",
        "code_version": "abc",
        "versions": {},
    }
    progress = {"checkpoint": 2, "step": 30, "examples": 900, "epoch": 0, "validation_cross_entropy": 3.0}
    finished = {"reason": "max_examples", "step": 40, "examples": 1200, "minutes": 1.0, "budget": "1,200 examples"}
    for path, content in (("arguments", arguments | changes), ("best/progress", progress), ("finished", finished)):
        (folder / f"{path}.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def evaluate(monkeypatch):
    """Runs scripts/evaluate.py in this process; returns its exit status."""
    specification = importlib.util.spec_from_file_location("evaluate_script", SCRIPT)
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["evaluate.py", *map(str, arguments)])
        return script.main()

    return run


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """(run folder, data folder)"""
    folder = tmp_path_factory.mktemp("questions")
    data = write_data(folder / "data", QUESTIONS)
    return write_run(folder / "run", data), data


def results(run):
    return {(row.set, row.metric): row for row in read_rows(run / "results.json")}


def log_probability(run, source, target, first_only=False):
    """By hand: one string, no padding, no batches."""
    network, tokenizer = create_from(run)
    words, output = encode(tokenizer, source), [*encode(tokenizer, target), EOS]
    logits = network(input_ids=torch.tensor([[BOS, *words, *output[:-1]]]), use_cache=False).logits[0]
    steps = logits.double().log_softmax(-1)[len(words) :].gather(-1, torch.tensor(output)[:, None])[:, 0]
    return steps[0].item() if first_only else steps.sum().item()


def create_from(run):
    from zoo import load_model

    return load_model(run / "best")


def test_rows_of_question_formation_are_those_computed_by_hand(evaluate, questions, capsys):
    run, _ = questions
    assert evaluate(run) == 0
    task, rows = load_task("question_formation"), results(run)
    assert {key for key in rows if key[0] == "generalization"} == {
        ("generalization", metric) for metric in ("full_log_ratio", "full_mean_log_ratio", "partial_log_ratio")
    }
    generalization = {
        "hierarchical": QUESTIONS["gen"],
        "linear": [(source, task.linear(source)) for source, _ in QUESTIONS["gen"]],
    }
    full = {}
    for name, pairs in {"validation": QUESTIONS["dev"], "test": QUESTIONS["test"], **generalization}.items():
        full[name] = [log_probability(run, *pair) for pair in pairs]
        expected = sum(math.exp(value) for value in full[name]) / len(pairs)
        assert rows[name, "full_accuracy"].value == pytest.approx(expected, rel=1e-4)
        assert rows[name, "full_accuracy"].n == len(pairs)
    differences = [a - b for a, b in zip(full["hierarchical"], full["linear"], strict=True)]
    ratio = rows["generalization", "full_mean_log_ratio"].value
    assert ratio == pytest.approx(sum(differences) / len(differences), abs=1e-4)
    for name, pairs in generalization.items():
        first = [math.exp(log_probability(run, *pair, first_only=True)) for pair in pairs]
        assert rows[name, "partial_accuracy"].value == pytest.approx(sum(first) / len(first), rel=1e-4)
        assert rows[name, "partial_accuracy"].standard_error is None
    printed = capsys.readouterr().out
    assert "Tf (tf) on question_formation" in printed
    assert f"written: {run}/results.json" in printed


def test_rows_say_what_they_are_figures_of(evaluate, questions):
    run, _ = questions
    assert evaluate(run, "--limit", 1) == 0
    row = results(run)["test", "full_accuracy"]
    assert tuple(json.loads((run / "results.json").read_text())[0]) == COLUMNS
    assert (row.n, row.step, row.examples, row.seed, row.budget) == (1, 30, 900, 1, "1,200 examples")
    assert row.data.endswith("; first 1 lines of each set")
    assert row.settings == "parameters=15000"
    assert row.parameters == sum(parameter.numel() for parameter in create_from(run)[0].parameters())
    assert row.versions["torch"] == torch.__version__


def test_chosen_sets_only_and_rows_of_several_runs_in_one_file(evaluate, questions, tmp_path):
    run, data = questions
    other = write_run(tmp_path / "other", data, model="lstm", seed=2)
    assert evaluate(run, other, "--sets", "test", "--output", tmp_path / "rows.csv") == 0
    rows = read_rows(tmp_path / "rows.csv")
    assert {row.set for row in rows} == {"test"}
    assert [(row.model, row.seed) for row in rows] == [("tf", 1)] * 4 + [("lstm", 2)] * 4
    assert not (other / "results.json").exists()


def same(rows, others):
    """Whether two sets of rows hold the same figures, but for rounding."""
    values = [[rows[key].value for key in rows], [others[key].value for key in rows]]
    missing = [[value is None for value in side] for side in values]
    numbers = [[value for value in side if value is not None] for side in values]
    return (
        rows.keys() == others.keys() and missing[0] == missing[1] and numbers[0] == pytest.approx(numbers[1], rel=1e-4)
    )


@pytest.mark.parametrize("model", ["tf-nd", "lstm-sup-r"])
def test_sampled_partial_accuracy_does_not_depend_on_the_batches(model, evaluate, tmp_path):
    data = write_data(tmp_path / "data", PASSIVES)
    run = write_run(tmp_path / "run", data, model=model, task="passivization")
    found = []
    for tokens in (40, 8192):
        assert evaluate(run, "--batch-tokens", tokens, "--samples", 100, "--sample-all") == 0
        found.append(results(run))
    assert same(*found)
    for rule in ("hierarchical", "linear"):
        row = found[0][rule, "partial_accuracy"]
        assert row.note == "100 samples per input, seed 0"
        assert (row.lower, row.upper, row.sampled_inputs) == (0, 1, row.n)
        assert 0 < row.standard_error < row.value < 1
    assert evaluate(run, "--samples", 100, "--seed", 1, "--sample-all") == 0
    assert not same(results(run), found[0])


@pytest.mark.parametrize("model", ["tf", "tf-nd", "lstm-sup-r"])
def test_second_word_accuracy_is_the_sum_over_first_words(model, evaluate, tmp_path):
    data = write_data(tmp_path / "data", PASSIVES)
    run = write_run(tmp_path / "run", data, model=model, task="passivization")
    assert evaluate(run) == 0
    network, tokenizer = create_from(run)
    task, rows = load_task("passivization"), results(run)
    for rule in ("hierarchical", "linear"):
        values = []
        for source, _ in PASSIVES["gen"]:
            start = [BOS, *encode(tokenizer, source)]
            second = encode(tokenizer, getattr(task, rule)(source))[1]
            firsts = torch.tensor([[*start, word] for word in range(4, network.config.vocab_size)])
            steps = network(input_ids=firsts, use_cache=False).logits.double().softmax(-1)
            first = steps[0, len(start) - 1, 4:]
            values.append((first * steps[:, -1, second]).sum().item())
        row = rows[rule, "partial_accuracy"]
        assert row.value == pytest.approx(sum(values) / len(values), abs=1e-6)
        assert row.lower <= row.value <= row.upper <= row.lower + 1e-6
        assert (row.standard_error, row.sampled_inputs) == (None, 0)


def test_a_ratio_without_a_value_says_why(evaluate, tmp_path):
    data = write_data(tmp_path / "data", TENSES)
    run = write_run(tmp_path / "run", data, task="tense_reinflection_do")
    assert evaluate(run) == 0
    ratio = results(run)["generalization", "partial_log_ratio"]
    assert ratio.value is None  # an untrained model never has all word classes right
    assert "no output found that matches the hierarchical or the linear rule;" in ratio.note


@pytest.mark.parametrize(
    ("model", "options"), [("tf", ["--sample-all", "--samples", "50"]), ("tf", []), ("lstm-nd-r", [])]
)
def test_s17_two_processes_give_the_rows_of_one(model, options, evaluate, tmp_path):
    data = write_data(tmp_path / "data", PASSIVES)  # sets of 1, 1 and 3 lines
    run = write_run(tmp_path / "run", data, model=model, task="passivization")
    assert evaluate(run, *options) == 0
    alone = results(run)
    (run / "results.json").unlink()
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    finished = subprocess.run(
        [*launcher, str(SCRIPT), str(run), *options],
        env=environment,
        check=True,
        timeout=180,
        capture_output=True,
        text=True,
    )
    assert finished.stdout.count("written:") == 1
    assert same(results(run), alone)
    for field in ("n", "note", "sampled_inputs"):
        counts = [{key: getattr(row, field) for key, row in rows.items()} for rows in (results(run), alone)]
        assert counts[0] == counts[1]
    assert {row.n for row in alone.values()} == {1, 3}


def damage(run, case, data):
    """Makes one fault; returns further arguments and what the error must name."""
    if case == "no run":
        (run / "arguments.json").unlink()
        return [], "is no run folder"
    if case == "unfinished":
        (run / "finished.json").unlink()
        return [], "is not finished"
    if case == "no checkpoint":
        shutil.rmtree(run / "best")
        return [], "no best checkpoint"
    if case == "damaged":
        (run / "finished.json").write_text('{"reason"')
        return [], "finished.json is damaged"
    if case == "deep":
        (run / "finished.json").write_text("[" * 100_000)
        return [], "finished.json is damaged"
    if case == "another model":
        text = (run / "arguments.json").read_text()
        (run / "arguments.json").write_text(text.replace('"model": "tf"', '"model": "tf-nd"'))
        return [], "holds the model tf, but"
    if case == "data of another task":
        return ["--data", write_data(data / "tenses", TENSES)], "'did'"
    return {
        "no data": (["--data", data / "nowhere"], "nowhere is no folder"),
        "unknown set": (["--sets", "tset"], "Did you mean test"),
        "limit": (["--limit", "0"], "--limit is 0"),
        "samples": (["--samples", "0"], "--samples is 0"),
        "output": (["--output", "rows.txt"], "ends in .json or .csv"),
        "output folder": (["--output", data / "nowhere" / "rows.csv"], "is no folder"),
        "batch": (["--batch-tokens", "5"], "--batch-tokens is 5"),
        "huge batch": (["--batch-tokens", f"1{'0' * 25}"], "--batch-tokens is 1000"),
        "huge samples": (["--samples", f"1{'0' * 25}"], "--samples is 1000"),
        "long output": (["--output", f"{'x' * 300}.csv"], "File name too long. Check the path"),
        "long data": (["--data", "x" * 300], "File name too long. Check the path"),
    }[case]


CASES = ["no run", "unfinished", "no checkpoint", "damaged", "another model", "data of another task", "no data"]
CASES += ["unknown set", "limit", "samples", "output", "output folder", "batch"]
CASES += ["huge batch", "huge samples", "long output", "long data", "deep"]


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_error_and_nothing_is_written(case, evaluate, questions, tmp_path, capsys):
    run = shutil.copytree(questions[0], tmp_path / "run", ignore=shutil.ignore_patterns("results.json"))
    arguments, message = damage(run, case, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert evaluate(run, *arguments) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_long_name_of_the_output_is_refused_before_anything_is_scored(evaluate, questions, capsys, monkeypatch):
    monkeypatch.setattr("tasks.evaluation.evaluation.load_model", None)
    assert evaluate(questions[0], "--output", f"{'x' * 300}.csv") == 2
    assert "File name too long" in capsys.readouterr().err


def test_ctrl_c_is_a_line_and_status_130(evaluate, questions, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tasks.evaluation.evaluation.load_model", interrupt)
    assert evaluate(questions[0]) == 130
    assert capsys.readouterr().err.startswith("interrupted")


def test_the_command_line_runs_from_anywhere(questions, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(SCRIPT), str(questions[0]), "--sets", "test"]
    finished = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    assert "full_accuracy" in finished.stdout


def test_a_folder_of_runs_is_scored_run_by_run_with_the_deviation(evaluate, questions, tmp_path, capsys):
    _, data = questions
    for seed in (1, 2):
        (tmp_path / "tf").mkdir(exist_ok=True)
        write_run(tmp_path / "tf" / f"seed-{seed}", data, seed=seed)
    write_run(tmp_path / "tf" / "seed-3", data, seed=3)
    (tmp_path / "tf" / "seed-3" / "finished.json").unlink()
    assert evaluate(tmp_path / "tf", "--sets", "test") == 0
    output = capsys.readouterr()
    title, conditions, _, *lines = output.out.split("\nTf (tf) on ")[1].splitlines()
    assert title == "question_formation, mean ± standard deviation of 2 runs"
    assert conditions.endswith("; parameters=15000")
    assert [line.split()[:2] for line in lines].count(["test", "full_accuracy"]) == 1  # no tables of single runs
    assert "seed-1: " not in output.out
    assert "note: left out: " in output.err
    assert "seed-3 is not finished" in output.err
    for seed in (1, 2):
        assert {row.seed for row in results(tmp_path / "tf" / f"seed-{seed}").values()} == {seed}


@pytest.mark.slow
def test_a_run_of_train_py_is_scored_with_the_cross_entropy_that_training_saw(evaluate, tmp_path):
    data = write_data(tmp_path / "data", QUESTIONS | {"train": QUESTIONS["dev"] + QUESTIONS["test"]})
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    options = ["--model", "tf-sup", "--task", "question_formation", "--data", data, "--output", tmp_path / "run"]
    options += ["--parameters", 15_000, "--set", "dropout=0.0", "--max-examples", 60, "--seed", 4]
    command = [sys.executable, ROOT / "scripts" / "train.py", *options]
    subprocess.run([*map(str, command)], env=environment, check=True, capture_output=True, timeout=180)
    assert evaluate(tmp_path / "run") == 0
    row = results(tmp_path / "run")["validation", "cross_entropy_per_token"]
    progress = json.loads((tmp_path / "run" / "best" / "progress.json").read_text())
    assert row.value == pytest.approx(progress["validation_cross_entropy"], rel=1e-5)
    assert (row.label, row.seed, row.examples, row.budget) == ("Tf+Sup", 4, 60, "60 examples")
    assert row.settings == "dropout=0.0, parameters=15000"
    assert row.data == "trained on files lines.train, lines.dev; scored on files lines.dev, lines.test, lines.gen"
