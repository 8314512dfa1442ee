"""When the learning rate falls and when training ends: the protocol, the plateau rule and the budget."""

import dataclasses
import math
from dataclasses import dataclass

from zoo.errors import UserError


@dataclass(frozen=True)
class Protocol:
    """How models are trained by default."""

    learning_rate: float  # with warm-up: its peak
    batch_tokens: int  # per batch and process; bos, eos and padding count
    batch_examples: int | None  # most examples in a batch of one process; None: no limit but batch_tokens
    checkpoint_examples: int | None  # training examples between two checkpoints; None: an epoch
    gradient_norm: float | None  # L2 norm at which gradients are clipped; None: they are not
    learning_rate_factor: float
    learning_rate_patience: int  # checkpoints without improvement before the learning rate falls
    stop_patience: int | None  # checkpoints without improvement before training ends; None: it goes on
    warmup_steps: int | None  # the rate rises in so many steps, then falls as 1/sqrt(step); None: neither
    label_smoothing: float  # share of the target probability spread over all tokens, in training only
    epochs: int | None  # training ends after so many

    def warmup_factor(self, step: int) -> float:
        """What the learning rate is multiplied by at step 1, 2, ...; 1 at the end of the warm-up."""
        if self.warmup_steps is None:
            return 1.0
        return min(step / self.warmup_steps, math.sqrt(self.warmup_steps / step))

    def describe(self) -> str:
        """The protocol in words, as model cards have it."""
        size = f"{self.batch_examples:,} examples and " if self.batch_examples is not None else ""
        parts = [
            f"Adam, learning rate {self.learning_rate:.3g}",
            f"batches of at most {size}{self.batch_tokens:,} tokens",
        ]
        if self.warmup_steps is not None:
            parts.append(f"{self.warmup_steps:,} steps of warm-up, then 1/sqrt(step)")
        if self.gradient_norm is not None:
            parts.append(f"gradients clipped at an L2 norm of {self.gradient_norm:g}")
        if self.label_smoothing:
            parts.append(f"label smoothing {self.label_smoothing:g}")
        every = "every epoch" if self.checkpoint_examples is None else f"every {self.checkpoint_examples:,} examples"
        parts.append(f"validation {every}")
        if self.learning_rate_factor != 1:
            wait = self.learning_rate_patience
            parts.append(
                f"learning rate times {self.learning_rate_factor:g} after {wait} validations without improvement"
            )
        if self.stop_patience is not None:
            parts.append(f"end after {self.stop_patience} without improvement")
        if self.epochs is not None:
            parts.append(f"at most {self.epochs:,} epochs")
        return "; ".join(parts)


def guig_peak(warmup_steps: int) -> float:
    """The rate 2.0 width^-0.5 min(step^-0.5, step warmup^-1.5) of the authors, at its peak and their width of 256."""
    return 2.0 / math.sqrt(256 * warmup_steps)


# Seed 002, appendix, as in the authors' release. Batches are of 256 sentences; the tokens never limit them at 50 a
# sentence.
GUIG = Protocol(
    learning_rate=guig_peak(12_800),
    batch_tokens=16_384,
    batch_examples=256,
    checkpoint_examples=None,
    gradient_norm=None,
    learning_rate_factor=1.0,
    learning_rate_patience=1,
    stop_patience=None,
    warmup_steps=12_800,
    label_smoothing=0.1,
    epochs=30,
)
# Seed 000, appendix D. The paper searches batch_tokens in [512, 2048] and learning_rate in [1e-5, 1e-3].
PROTOCOLS = {
    "seed-000": Protocol(
        learning_rate=7e-4,
        batch_tokens=1024,
        batch_examples=None,
        checkpoint_examples=80_000,
        gradient_norm=10.0,
        learning_rate_factor=0.5,
        learning_rate_patience=2,
        stop_patience=3,
        warmup_steps=None,
        label_smoothing=0.0,
        epochs=None,
    ),
    "guig": GUIG,
    "guig-expander": dataclasses.replace(GUIG, warmup_steps=6_400, learning_rate=guig_peak(6_400)),
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
