"""Fixtures of the transformation tasks."""

from pathlib import Path

import pytest

from tasks import load_task
from tasks.transformation import TASKS


@pytest.fixture(params=TASKS)
def task(request):
    return load_task(request.param)


@pytest.fixture
def published(shared, task) -> Path:
    """The folder of the published files of the task."""
    return shared / "data" / "transformations" / task.name
