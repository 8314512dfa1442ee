"""Fixtures of the transformation tasks."""

from pathlib import Path

import pytest

from tasks import list_tasks, load_task


@pytest.fixture(params=list_tasks())
def task(request):
    return load_task(request.param)


@pytest.fixture
def published(shared, task) -> Path:
    """The folder of the published files of the task."""
    return shared / "data" / "transformations" / task.name
