"""Publishing a run, with the library's own client and a server that stands for the Hub."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import huggingface_hub.constants
import pytest
from huggingface_hub import ModelCard

from scripts import compare, evaluate, push_to_hub
from tests.scripts import tiny_runs
from tests.scripts.tiny_runs import ROOT, WITHOUT_NETWORK, contents
from tests.tasks.publishing.fake_hub import fake_hub, log_in, send_to

REPOSITORY = "someone/tf-questions"
COMPLETE = {
    "README.md", "arguments.json", "config.json", "configuration_stack_transformer.py", "finished.json",
    "generation_config.json", "log.jsonl", "model.safetensors", "modeling_stack_transformer.py", "progress.json",
    "results.json", "state_cache.py", "tokenizer.json", "tokenizer_config.json", "training.png",
}  # fmt: skip
NOWHERE = "http://127.0.0.1:9"
PUSH = ROOT / "scripts" / "push_to_hub.py"


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run, scored by a process that is refused every connection (H13)."""
    folder = tmp_path_factory.mktemp("published") / "run"
    process = tiny_runs.start(*tiny_runs.TINY, *tiny_runs.BUDGET, "--score-during", "--output", folder)
    assert process.wait() == 0, process.stderr.read()
    command = [sys.executable, "-c", WITHOUT_NETWORK, ROOT / "scripts" / "evaluate.py", folder, "--limit", "30"]
    assert subprocess.run(list(map(str, command)), env=os.environ | {"HF_HUB_OFFLINE": "1"}).returncode == 0
    return folder


@pytest.fixture
def run(trained, tmp_path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Runs a script's main in this process, in a folder of its own: exit status, stdout, lines of stderr."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)

    def main(script, *arguments):
        monkeypatch.setattr(sys, "argv", [f"scripts/{script.__name__}.py", *map(str, arguments)])
        status = script.main()
        printed = capsys.readouterr()
        return status, printed.out, printed.err.splitlines()

    return main


@pytest.fixture
def push(call, run):
    return lambda *arguments: call(push_to_hub, run, "--repo", REPOSITORY, *arguments)


@pytest.fixture
def hub(monkeypatch, call):
    with fake_hub() as hub:
        log_in(hub, monkeypatch)
        yield hub


def names(folder):
    return {path.name for path in folder.iterdir()}


def values(folder):
    return [row["value"] for row in json.loads((folder / "results.json").read_text())]


def test_h07_h11_a_dry_run_writes_everything_and_reaches_nothing(run, push, hub, tmp_path):
    for _ in range(2):  # the second replaces the first
        assert push("--dry-run", tmp_path / "out") == (0, f"written: {tmp_path / 'out'}\n", [])
        assert names(tmp_path / "out") >= COMPLETE
    assert hub.requests == []
    assert [name for name in names(tmp_path) if name.endswith(".tmp")] == []
    tokenizer = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert tokenizer["tokenizer_class"] == "PreTrainedTokenizerFast"  # a name that every version knows


def test_no_path_of_this_machine_is_published(run, push, tmp_path):
    arguments = json.loads((run / "arguments.json").read_text())
    (run / "arguments.json").write_text(json.dumps(arguments | {"data_dir": str(tmp_path / "secret" / "mine")}))
    assert push("--dry-run", tmp_path / "out")[0] == 0
    for path in (tmp_path / "out").iterdir():
        assert str(tmp_path.parent).encode() not in path.read_bytes(), path.name
    assert json.loads((tmp_path / "out" / "arguments.json").read_text())["data_dir"] == "mine"
    assert {row["run"] for row in json.loads((tmp_path / "out" / "results.json").read_text())} == {REPOSITORY}


def test_the_card_says_what_was_trained_and_measured(run, push, tmp_path):
    push("--dry-run", tmp_path / "out", "--license", "mit", "--branch", "seed-1")
    card = ModelCard.load(tmp_path / "out" / "README.md")
    rows = json.loads((run / "results.json").read_text())
    found = [(result.metric_type, result.dataset_split, result.metric_value) for result in card.data.eval_results]
    assert sorted(found) == sorted(
        (row["metric"], row["set"], row["value"]) for row in rows if row["value"] is not None
    )
    assert all(re.search(r"n=\d", result.metric_name) for result in card.data.eval_results)
    assert (card.data.license, card.data.library_name) == ("mit", "transformers")
    for text in (
        "# Tf on question formation",
        "Bearing Syntactic Fruit",
        "1,000 examples",
        "| seed | 1 |",
        "Adam, learning rate 0.0007; batches of at most 512 tokens; gradients clipped at an L2 norm of 10; validation "
        "every 200 examples; learning rate times 0.5 after 2 validations without improvement; end after 3",
        "0.005 ± 0.010 (5 runs)",  # of the paper
        "[1] eos counted",
        f"evaluate.py {REPOSITORY}@seed-1",
        "![Training](training.png)",
    ):
        assert text in card.text
    assert card.text.count("| generalization |") == sum(row["set"] == "generalization" for row in rows)


def test_the_code_on_the_card_runs(push, tmp_path):
    push("--dry-run", tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert code.count(REPOSITORY) == 2
    exec(code.replace(REPOSITORY, str(tmp_path / "out")), {})


def test_a_run_that_is_not_scored_says_so(run, push, tmp_path):
    (run / "results.json").unlink()
    status, _, lines = push("--dry-run", tmp_path / "out")
    assert status == 0
    assert lines[0].startswith("note: not scored yet")
    assert "Not scored yet." in (tmp_path / "out" / "README.md").read_text()
    assert "results.json" not in names(tmp_path / "out")


def test_a_push_creates_the_repository_and_commits_every_file_at_once(run, push, hub):
    status, out, _ = push("--private")
    assert status == 0
    assert out.splitlines()[-1].startswith(f"pushed: {hub.address}/{REPOSITORY}/commit/")
    assert hub.private == {REPOSITORY: True}
    files = {name: content for name, content in hub.repositories[REPOSITORY]["main"].items() if name[0] != "."}
    assert files == {path.name: content for path, content in contents(run / "hub").items()}
    assert files.keys() >= COMPLETE
    assert sum("/commit/" in request for request in hub.requests) == 1


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("token", "there is no token"),
        ("offline", "offline mode is on"),
        ("network", "no connection to the Hub"),
        ("middle", "the Hub refused: Client error '413"),
    ],
)
def test_what_is_not_pushed_is_complete_here(run, push, hub, monkeypatch, fault, reason):
    with monkeypatch.context() as patch:
        if fault == "token":
            patch.delenv("HF_TOKEN")
        if fault == "offline":
            patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        if fault == "network":
            send_to(NOWHERE, patch)
        hub.fail = "/commit/" if fault == "middle" else None
        status, _, lines = push()
    assert status == 3
    assert lines[-1].startswith(f"not pushed: {reason}")
    assert lines[-1].endswith(f"{run / 'hub'} is complete; give the same command to push it.")
    assert names(run / "hub") >= COMPLETE
    assert not hub.repositories.get(REPOSITORY, {"main": {}})["main"].keys() & COMPLETE
    hub.fail = None
    assert push()[0] == 0
    assert hub.repositories[REPOSITORY]["main"].keys() >= COMPLETE


def test_ctrl_c_while_pushing_is_a_line_and_status_130(run, push, hub, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(push_to_hub, "upload", interrupt)
    status, _, lines = push()
    assert (status, lines[-1][:23]) == (130, "interrupted, not pushed")
    assert names(run / "hub") >= COMPLETE


@pytest.mark.slow
def test_of_several_processes_one_publishes_and_none_waits(run, hub, tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", PUSH, run]
    environment = os.environ | hub.environment(tmp_path) | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*map(str, command), "--repo", REPOSITORY], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pushed: ") == 1
    assert sum("/commit/" in request for request in hub.requests) == 1


@pytest.mark.parametrize(
    ("repository", "message"), [("name-alone", "allowed: USER/NAME"), ("a/b/c", "--repo is 'a/b/c'")]
)
def test_a_bad_name_is_one_line(call, run, repository, message):
    status, _, (line,) = call(push_to_hub, run, "--repo", repository)
    assert status == 2
    assert message in line


@pytest.mark.parametrize("published", [False, True])
def test_a_folder_that_holds_anything_else_is_left_alone(push, tmp_path, published):
    folder = tmp_path / "taken"
    if published:
        push("--dry-run", folder)
    folder.mkdir(exist_ok=True)
    for name in ("README.md", "thesis.txt"):
        (folder / name).write_text("mine")
    (folder / "code").mkdir()
    before = contents(folder)
    status, _, (line,) = push("--dry-run", folder)
    assert (status, contents(folder)) == (2, before)
    assert "holds something else than a published run" in line
    assert "thesis.txt" in line


def test_evaluate_and_compare_take_names_of_the_hub(run, push, hub, call):
    assert push()[0] == 0
    copy = Path("hub", REPOSITORY.replace("/", "--"))
    assert call(compare, REPOSITORY, "--rows", "published.csv")[0] == 0
    assert values(copy) == values(run)
    assert REPOSITORY in Path("published.csv").read_text()
    assert call(evaluate, REPOSITORY, "--limit", "5")[0] == 0
    own = values(copy)
    assert own != values(run)
    fetched = len(hub.requests)
    status, _, notes = call(compare, REPOSITORY)
    assert (status, values(copy)) == (0, own)  # what was scored here is not overwritten by what is published
    assert notes[0] == f"note: {copy}/results.json is of this machine; remove it for the published figures"
    assert not [request for request in hub.requests[fetched:] if request.startswith("GET /someone")]  # nothing anew


def test_evaluate_takes_a_branch_and_names_what_is_not_there(push, hub, call):
    assert push("--branch", "seed-1")[0] == 0
    assert call(evaluate, f"{REPOSITORY}@seed-1", "--limit", "5", "--sets", "test")[0] == 0
    for name in (f"{REPOSITORY}@seed-2", "someone/else"):
        status, _, lines = call(evaluate, name)
        assert status == 2
        assert lines[-1].startswith(f"error: {name} is no path here, and the Hub does not give it")
    hub.repositories["someone/bert"] = {"main": {"config.json": b"{}"}}
    status, _, lines = call(evaluate, "someone/bert")
    assert (status, lines[-1]) == (2, "error: someone/bert is on the Hub, but it is no run that push_to_hub.py pushed.")


def test_without_network_the_copy_is_used_or_the_name_is_told(push, hub, call, monkeypatch):
    assert push()[0] == 0
    assert call(compare, REPOSITORY)[0] == 0
    send_to(NOWHERE, monkeypatch)
    assert call(compare, REPOSITORY)[0] == 0
    status, _, lines = call(compare, "someone/else")
    assert status == 2
    assert lines[-1].startswith("error: someone/else is no path here, and the Hub does not give it")


def test_a_published_run_on_files_asks_for_them(run, push, call, tmp_path):
    arguments = json.loads((run / "arguments.json").read_text())
    changed = arguments | {"data_dir": "/home/someone/mine", "data": "files q.train, q.dev"}
    (run / "arguments.json").write_text(json.dumps(changed))
    push("--dry-run", tmp_path / "out")
    assert " --data DIR" in (tmp_path / "out" / "README.md").read_text()
    Path("mine").mkdir()  # a stranger's folder of the same name is not taken for it
    for folder in (run, tmp_path / "out"):
        status, _, lines = call(evaluate, folder)
        assert status == 2
        assert f"{folder} was trained on files q.train, q.dev" in lines[-1]
        assert lines[-1].endswith("--data DIR.")
    for suffix in ("dev", "test", "gen"):
        Path("mine", f"q.{suffix}").write_text("some newts do smile . quest\tdo some newts smile ?\n")
    assert call(evaluate, tmp_path / "out", "--data", "mine")[0] == 0


def test_a15_four_runs_at_once_with_one_home_all_finish_with_the_right_scores(run, tmp_path):
    command = [sys.executable, ROOT / "scripts" / "evaluate.py", run, "--limit", "30", "--output"]
    environment = os.environ | {"HOME": str(tmp_path), "HF_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    processes = [subprocess.Popen([*command, tmp_path / f"{i}.json"], env=environment) for i in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    expected = [row | {"run": str(run)} for row in json.loads((run / "results.json").read_text())]
    assert [json.loads((tmp_path / f"{i}.json").read_text()) for i in range(4)] == [expected] * 4
