"""Memory of a training step, in a process of its own."""

import sys

import pytest

from tasks.benchmarking.memory import training_memory
from tests.zoo.forms import needs_compiler

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
GIB = 1024


@linux
@pytest.mark.parametrize("native", [pytest.param("1", marks=needs_compiler), "0"])
def test_n06_length_200_trains_within_2_gib(native: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTAX_ZOO_NATIVE", native)
    _, mebibytes = training_memory("tf-nd", 5, 200)
    assert 50 < mebibytes < 2 * GIB, "the charts alone of five sequences have 4.5 MB each"


@linux
@needs_compiler
@pytest.mark.slow
def test_n06_length_500_trains_within_2_gib() -> None:
    _, mebibytes = training_memory("tf-nd", 5, 500)
    assert mebibytes < 2 * GIB
