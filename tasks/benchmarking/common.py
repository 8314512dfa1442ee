"""What all rows of the benchmark share: taking turns, the form of the stacks, counts and facts of the machine."""

import contextlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tasks.training.versions import library_versions

Work = Callable[[], None]


@dataclass
class Row:
    """One measurement. seconds: of one pass over the row's batches (training, scoring) or of one call (operators)."""

    row: str
    what: str
    seconds: float
    denominator: str = ""
    ratio: float | None = None  # training, scoring: speed of `what` by that of the denominator; operators: time by time
    aim: str = ""
    examples_per_second: float | None = None
    gflop: float | None = None  # of a pass or call: matrix products, and the nondeterministic stack by its formula
    mebibytes: float | None = None  # most memory in use at a time, above that before


def take_turns(works: dict[str, Work], rounds: int) -> dict[str, list[float]]:
    """Seconds of each work in each round, after one round that only warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


@contextlib.contextmanager
def form(compiled: bool) -> Iterator[None]:
    """Inside, the stacks run by their compiled or by their PyTorch form."""
    before = os.environ.get("SYNTAX_ZOO_NATIVE")
    os.environ["SYNTAX_ZOO_NATIVE"] = "1" if compiled else "0"
    try:
        yield
    finally:
        del os.environ["SYNTAX_ZOO_NATIVE"]
        if before is not None:
            os.environ["SYNTAX_ZOO_NATIVE"] = before


def in_form(run: Work, compiled: bool) -> Work:
    def work() -> None:
        with form(compiled):
            run()

    return work


def backwards(run: Callable[[], Tensor], inputs: list[Tensor], grad: Tensor) -> Work:
    """Forward and backward, with new gradients each time."""

    def work() -> None:
        for tensor in inputs:
            tensor.grad = None
        run().backward(grad)

    return work


def flops(work: Work) -> float:
    """10^9 floating-point operations of the matrix products in one pass; compiled stacks are not seen."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops() / 1e9


def machine() -> dict:
    """Threads, versions, and the rate of a matrix product measured now."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)

    def product() -> None:
        torch.mm(a, b)

    seconds = take_turns({"product": product}, 10)["product"]
    return {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "matrix product GFLOP/s": round(2 * 1024**3 / statistics.median(seconds) / 1e9),
        "torch": torch.__version__,
        "versions": library_versions(),
    }
