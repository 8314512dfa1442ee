"""Fixtures that every test may use."""

import os
from collections.abc import Iterator
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


@pytest.fixture(scope="session", autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Generated data and kernels go to a folder of this test run, the network is out of bounds, one thread a worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTAX_ZOO_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.delenv("SYNTAX_ZOO_NATIVE", raising=False)  # tests say themselves which form they mean
        patch.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
        torch.set_num_threads(1)
        yield


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    torch.manual_seed(0)
