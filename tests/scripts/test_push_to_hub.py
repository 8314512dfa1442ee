"""Publishing a run, with the library's own client and a server that stands for the Hub."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from tests.scripts import tiny_runs
from tests.scripts.tiny_runs import ROOT, contents
from tests.tasks.publishing.fake_hub import fake_hub

REPOSITORY = "someone/tf-questions"
COMPLETE = {
    "README.md", "arguments.json", "config.json", "configuration_stack_transformer.py", "finished.json",
    "generation_config.json", "log.jsonl", "model.safetensors", "modeling_stack_transformer.py", "progress.json",
    "results.json", "state_cache.py", "tokenizer.json", "tokenizer_config.json", "training.png",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "run"
    process = tiny_runs.start(*tiny_runs.TINY, *tiny_runs.BUDGET, "--score-during", "--output", folder)
    assert process.wait() == 0, process.stderr.read()
    assert script("evaluate.py", folder, "--limit", "30").returncode == 0
    return folder


def script(name, *arguments, cwd=None, **environment):
    variables = {key: value for key, value in os.environ.items() if key not in ("HF_TOKEN", "HF_HUB_OFFLINE")}
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / name, *map(str, arguments)],
        env={**variables, "PYTHONPATH": str(ROOT), **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
    )


def push(run, *arguments, home, hub=None, **environment):
    """push_to_hub.py with a home of its own, and the server's address and a token if there is one."""
    reached = {"HF_ENDPOINT": hub.address, "HF_TOKEN": "hf_secret"} if hub else {}
    return script("push_to_hub.py", run, "--repo", REPOSITORY, *arguments, HF_HOME=str(home), **reached, **environment)


def test_h11_a_dry_run_writes_everything_and_reaches_nothing(run, tmp_path):
    done = push(run, "--dry-run", tmp_path / "out", home=tmp_path, HF_HUB_OFFLINE="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (tmp_path / "out").iterdir()} >= COMPLETE
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []
    tokenizer = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert tokenizer["tokenizer_class"] == "PreTrainedTokenizerFast"  # H07: a name that every version knows


def test_the_card_says_what_was_trained_and_measured(run, tmp_path):
    push(run, "--dry-run", tmp_path / "out", "--license", "mit", home=tmp_path)
    card = ModelCard.load(tmp_path / "out" / "README.md")
    rows = [row for row in json.loads((run / "results.json").read_text()) if row["value"] is not None]
    found = [(result.metric_type, result.dataset_split, result.metric_value) for result in card.data.eval_results]
    assert sorted(found) == sorted((row["metric"], row["set"], row["value"]) for row in rows)
    assert (card.data.license, card.data.library_name) == ("mit", "transformers")
    for text in ("# Tf on question formation", "1,000 examples", "| seed | 1 |", REPOSITORY, "0.005 ± 0.010 (n=5)"):
        assert text in card.text
    assert str(run.parent) not in card.content + (tmp_path / "out" / "arguments.json").read_text()


def test_a_push_creates_the_repository_and_commits_every_file_at_once(run, tmp_path):
    with fake_hub() as hub:
        done = push(run, "--private", home=tmp_path, hub=hub)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1].startswith(f"pushed: {hub.address}/{REPOSITORY}/commit/")
        assert hub.private == {REPOSITORY: True}
        files = hub.repositories[REPOSITORY]["main"]
        assert files == {path.name: content for path, content in contents(run / "hub").items()}
        assert files.keys() >= COMPLETE
        assert sum("/commit/" in request for request in hub.requests) == 1
        again = push(run, "--branch", "second", home=tmp_path, hub=hub)
        assert again.returncode == 0, again.stderr
        assert hub.repositories[REPOSITORY]["second"].keys() >= COMPLETE


@pytest.mark.parametrize("stage", ["/api/repos/create", "/preupload/", "/commit/"])
def test_a_failure_in_the_middle_keeps_the_folder_and_commits_nothing(run, tmp_path, stage):
    with fake_hub() as hub:
        hub.fail = stage
        done = push(run, home=tmp_path, hub=hub)
        assert done.returncode == 3
        line = done.stderr.splitlines()[-1]
        assert line.startswith("not pushed: the Hub refused:")
        assert line.endswith(f"{run / 'hub'} is complete; give the same command to push it.")
        assert not hub.repositories.get(REPOSITORY, {"main": {}})["main"]
        assert {path.name for path in (run / "hub").iterdir()} >= COMPLETE
        hub.fail = None
        assert push(run, home=tmp_path, hub=hub).returncode == 0


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({}, "there is no token"),
        ({"HF_TOKEN": "hf_secret", "HF_HUB_OFFLINE": "1"}, "offline mode is on"),
        ({"HF_TOKEN": "hf_secret", "HF_ENDPOINT": "http://127.0.0.1:9"}, "no connection to the Hub"),
    ],
)
def test_without_token_or_network_the_folder_is_complete(run, tmp_path, environment, reason):
    done = push(run, home=tmp_path, **environment)
    assert done.returncode == 3
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"not pushed: {reason}")
    assert {path.name for path in (run / "hub").iterdir()} >= COMPLETE


def test_only_one_of_several_processes_publishes(run, tmp_path):
    with fake_hub() as hub:
        done = push(run, home=tmp_path, hub=hub, RANK="1", WORLD_SIZE="2")
        assert (done.returncode, done.stdout, hub.requests) == (0, "", [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repo", "name-alone"], "allowed: USER/NAME"),
        (["--repo", "a/b/c"], "--repo is 'a/b/c'"),
        (["--dry-run", "taken"], "holds something else"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, arguments, message):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("mine")
    done = script("push_to_hub.py", run, "--repo", REPOSITORY, *arguments, cwd=tmp_path, HF_HOME=str(tmp_path))
    assert done.returncode == 2
    assert message in done.stderr
    assert (tmp_path / "taken" / "thesis.txt").read_text() == "mine"


def test_evaluate_and_compare_take_hub_names_and_published_folders(run, tmp_path):
    with fake_hub() as hub:
        assert push(run, home=tmp_path, hub=hub).returncode == 0
        reached = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path), "cwd": tmp_path}
        done = script("evaluate.py", REPOSITORY, "--limit", "30", **reached)
        assert done.returncode == 0, done.stderr
        fetched = tmp_path / "hub" / REPOSITORY.replace("/", "--")
        own, again = (json.loads((folder / "results.json").read_text()) for folder in (run, fetched))
        assert [row["value"] for row in again] == [row["value"] for row in own]
        done = script("compare.py", REPOSITORY, **reached)
        assert done.returncode == 0, done.stderr
        missing = script("evaluate.py", "someone/else", **reached)
        assert missing.returncode == 2
        assert missing.stderr.startswith("error: someone/else is no path here, and the Hub does not give it")
    done = script("compare.py", REPOSITORY, HF_HOME=str(tmp_path), cwd=tmp_path, HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stderr  # from the copy that was fetched


def test_a15_four_runs_at_once_with_one_home_all_finish_with_the_right_scores(run, tmp_path):
    command = [sys.executable, ROOT / "scripts" / "evaluate.py", run, "--limit", "30", "--output"]
    environment = os.environ | {"HOME": str(tmp_path), "HF_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    processes = [subprocess.Popen([*command, tmp_path / f"{i}.json"], env=environment) for i in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    written = [json.loads((tmp_path / f"{i}.json").read_text()) for i in range(4)]
    assert written == [json.loads((run / "results.json").read_text())] * 4
