import subprocess

import pytest

from tasks.training import versions
from tasks.training.versions import library_versions


@pytest.fixture(autouse=True)
def _no_memory():
    versions.code_version.cache_clear()
    yield
    versions.code_version.cache_clear()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git repository that holds a copy of versions.py where the project has it."""
    (tmp_path / "tasks" / "training").mkdir(parents=True)
    file = tmp_path / "tasks" / "training" / "versions.py"
    file.write_text("one\n")
    git = ["git", "-C", tmp_path, "-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "m"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(versions, "__file__", str(file))
    return tmp_path


def test_a_checkout_is_named_by_its_commit_and_changes_are_noted(checkout):
    clean = versions.code_version()
    assert len(clean) == 12
    versions.code_version.cache_clear()
    (checkout / "runs").mkdir()
    (checkout / "runs" / "log").write_text("not code")
    assert versions.code_version() == clean
    versions.code_version.cache_clear()
    (checkout / "tasks" / "new.py").write_text("new")
    assert versions.code_version() == f"{clean}+dirty"


def test_another_project_s_commit_is_not_ours(checkout, monkeypatch):
    inside = checkout / "lib" / "site-packages" / "tasks" / "training"
    inside.mkdir(parents=True)
    monkeypatch.setattr(versions, "__file__", str(inside / "versions.py"))
    monkeypatch.setattr(versions, "DISTRIBUTION", "no-such-distribution")
    assert versions.code_version() == "unknown"
    versions.code_version.cache_clear()
    monkeypatch.setattr(versions, "DISTRIBUTION", "numpy")
    assert versions.code_version() == library_versions()["numpy"]


def test_libraries_are_named_with_versions():
    assert {"python", "torch", "transformers", "accelerate"} <= library_versions().keys()
