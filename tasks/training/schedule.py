"""When the learning rate falls and when training ends: the protocol, the plateau rule and the budget."""

import dataclasses
import math
from dataclasses import dataclass

from zoo.errors import UserError


@dataclass(frozen=True)
class Protocol:
    """How models are trained by default."""

    learning_rate: float
    batch_tokens: int  # per batch and process; bos, eos and padding count
    checkpoint_examples: int  # training examples between two checkpoints
    gradient_norm: float  # L2 norm at which gradients are clipped
    learning_rate_factor: float
    learning_rate_patience: int  # checkpoints without improvement before the learning rate falls
    stop_patience: int  # checkpoints without improvement before training ends


# Seed 000, appendix D. The paper searches batch_tokens in [512, 2048] and learning_rate in [1e-5, 1e-3].
PROTOCOLS = {
    "seed-000": Protocol(
        learning_rate=7e-4,
        batch_tokens=1024,
        checkpoint_examples=80_000,
        gradient_norm=10.0,
        learning_rate_factor=0.5,
        learning_rate_patience=2,
        stop_patience=3,
    ),
}


def protocol_for(preset: str, **changes: float | int | None) -> Protocol:
    """The protocol that a registry entry calls `preset`, with those of `changes` that are not None."""
    given = {name: value for name, value in changes.items() if value is not None}
    return dataclasses.replace(PROTOCOLS[preset], **given)  # type: ignore[arg-type]


@dataclass
class Plateau:
    """Learning rate and early stopping, driven by the validation cross-entropy of each checkpoint.

    Patience counts checkpoints in a row without improvement. A checkpoint improves if its value is finite and
    strictly below the best value so far; it then sets the count to 0. Any other checkpoint, NaN and infinity
    included, adds 1. When the count reaches a multiple of `learning_rate_patience` (2), the learning rate is
    multiplied by `learning_rate_factor` (0.5); when it reaches `stop_patience` (3), training ends. So after a
    best checkpoint: one worse, nothing; two, half the rate; three, the end (seed 000, appendix D).

    The extra checkpoint that the end of a budget forces can become the best, but never adds to the count, so
    that a run whose budget is raised afterwards is not stopped early by it.

    The rule sees checkpoints, never steps, so the curve does not depend on the number of processes.
    """

    learning_rate: float
    best: float | None = None
    waited: int = 0

    def update(self, value: float, protocol: Protocol, *, counts: bool = True) -> bool:
        """Takes in the value of a checkpoint and returns whether it is the best so far."""
        if math.isfinite(value) and (self.best is None or value < self.best):
            self.best = value
            self.waited = 0
            return True
        if counts:
            self.waited += 1
            if self.waited % protocol.learning_rate_patience == 0:
                self.learning_rate *= protocol.learning_rate_factor
        return False


@dataclass(frozen=True)
class Budget:
    """The most that a run may use, over all its resumptions; None means no limit."""

    max_examples: int | None = None
    max_minutes: float | None = None
    max_epochs: int | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None and not value > 0:
                flag = "--" + field.name.replace("_", "-")
                raise UserError(f"{flag} is {value}; allowed: a number above 0. Leave it out for no limit.")

    def spent(self, *, examples: int, minutes: float, epochs: int) -> str | None:
        """The name of the limit that is reached, or None."""
        used = {"max_examples": examples, "max_minutes": minutes, "max_epochs": epochs}
        for name, amount in used.items():
            limit = getattr(self, name)
            if limit is not None and amount >= limit:
                return name
        return None

    def describe(self, reason: str) -> str:
        """What ended a run, as it stands in tables: `160,000 examples`, `10 minutes` or `to convergence`."""
        if reason == "converged":
            return "to convergence"
        return f"{getattr(self, reason):,} {reason.removeprefix('max_')}"
