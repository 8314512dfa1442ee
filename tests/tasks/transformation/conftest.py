"""Fixtures of the transformation tasks."""

from pathlib import Path

import pytest

from tasks import list_tasks, load_task


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Generated data goes to a folder of its own, once a session."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("SYNTAX_ZOO_CACHE", str(folder))
        yield folder


@pytest.fixture(params=list_tasks())
def task(request):
    return load_task(request.param)


@pytest.fixture
def published(shared, task) -> Path:
    """The folder of the published files of the task."""
    return shared / "data" / "transformations" / task.name
