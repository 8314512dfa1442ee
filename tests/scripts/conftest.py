"""Fixtures of the tests that run scripts/train.py."""

import importlib.util
import os
import sys

import pytest

from tests.scripts.tiny_runs import BUDGET, ROOT, SCRIPT, TINY


@pytest.fixture(scope="module", autouse=True)
def path_for_processes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        yield


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("train_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def train(script):
    """Runs the script's main in this process and returns its exit status."""

    def run(*arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["scripts/train.py", *map(str, arguments)])
            return script.main()

    return run


@pytest.fixture(scope="module")
def finished(train, tmp_path_factory):
    """A finished run of the tiny model."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert train(*TINY, *BUDGET, "--output", folder) == 0
    return folder
