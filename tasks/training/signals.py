"""Ctrl-C and termination, noted instead of obeyed at once, so that a step can end and the state be saved."""

import signal
from types import FrameType, TracebackType
from typing import Any


class Interrupted(Exception):
    """Training ended on a signal, its state saved."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"interrupted by {signal.Signals(number).name}")


class Signals:
    """Inside `with Signals() as signals`, `signals.received` is the number of the signal that came last, or 0.

    All are held back, however many come: Ctrl-C under torchrun reaches a process twice. SIGKILL stays.
    """

    def __init__(self) -> None:
        self.received = 0
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number
