"""The way to the Hub, with the library's own client and a server that stands for the Hub."""

import pytest

from tasks.publishing.upload import NotPushed, Place, upload
from tests.tasks.publishing.fake_hub import fake_hub, log_in

REPOSITORY = "someone/tf"
FILES = {"README.md": b"# Tf\n", "config.json": b"{}", "model.safetensors": bytes(range(256)) * 9}
STAGES = ["/api/repos/create", "/preupload/", "/info/lfs/", "/large/", "/commit/"]


@pytest.fixture
def hub(monkeypatch):
    with fake_hub() as hub:
        log_in(hub, monkeypatch)
        yield hub


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def push(folder, branch=None):
    return upload(folder, Place(REPOSITORY, branch), private=True, message="Run tf", replaced=["results.json"])


def pushed(hub, branch="main"):
    return {name: content for name, content in hub.repositories[REPOSITORY][branch].items() if name != ".gitattributes"}


def test_all_files_come_in_one_commit(hub, folder):
    address = push(folder)
    assert address.startswith(f"{hub.address}/{REPOSITORY}/commit/")
    assert pushed(hub) == FILES
    assert hub.private == {REPOSITORY: True}
    assert list(hub.large.values()) == [FILES["model.safetensors"]]
    order = [next((stage for stage in STAGES if stage in request), None) for request in hub.requests]
    assert [stage for stage in order if stage] == STAGES


@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_in_the_middle_commits_nothing_and_the_next_try_pushes_all(hub, folder, stage):
    hub.fail = stage
    with pytest.raises(NotPushed) as error:
        push(folder)
    assert "\n" not in str(error.value)
    assert "413" in str(error.value)
    if REPOSITORY in hub.repositories:
        assert pushed(hub) == {}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    hub.fail = None
    push(folder)
    assert pushed(hub) == FILES


def test_a_second_push_replaces_the_run_and_leaves_what_else_is_there(hub, folder):
    push(folder)
    hub.repositories[REPOSITORY]["main"] |= {"results.json": b"[]", "notes.md": b"mine", "demo/results.json": b"mine"}
    (folder / "config.json").write_bytes(b'{"new": 1}')
    push(folder)
    assert pushed(hub) == FILES | {"config.json": b'{"new": 1}', "notes.md": b"mine", "demo/results.json": b"mine"}


def test_a_branch_is_made_and_main_stays(hub, folder):
    for _ in range(2):
        push(folder, branch="seed-2")
        assert pushed(hub, "seed-2") == FILES
    assert pushed(hub) == {}


def test_a_wrong_token_is_told(hub, folder, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(NotPushed, match=r"^the Hub refused: .*401"):
        push(folder)
