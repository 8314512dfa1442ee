"""Fixtures that every test may use."""

from pathlib import Path

import pytest
import torch

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of published data and reference numbers; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the published files and reference numbers, which are not part of the repository")
    return SHARED


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    torch.manual_seed(0)
