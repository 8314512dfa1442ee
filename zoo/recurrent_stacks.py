"""The stacks as recurrent networks drive them: actions and vector from the last hidden state (seed 000, section 4.1).

Every interface has `begin(batch, steps, keep_state)` and `resume(state)`, which return a run with `reading` [B, r], the
present reading; `step(hidden, active)`; and `state()`, a tuple of tensors with the batch on axis 0.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .initialization import Linear
from .stack_fields import ACTIVATIONS
from .stack_nondeterministic import GrowingStack, SteppedStack
from .stack_recursion import StackState
from .stack_shapes import StackShape
from .stack_superposition import step as superposition_step


class SuperpositionInterface(nn.Module):
    """Actions by softmax, pushed vector through the activation."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.reading_size = config.superposition_vector_size
        self.actions = Linear(config.hidden_size, 3)
        self.pushed_vector = Linear(config.hidden_size, self.reading_size)
        self.activation = ACTIVATIONS[config.pushed_vector_activation]

    def begin(self, batch: int, steps: int, keep_state: bool) -> "SuperpositionRun":
        return SuperpositionRun(self, self.actions.weight.new_zeros(batch, 1, self.reading_size))

    def resume(self, state: tuple[Tensor, ...]) -> "SuperpositionRun":
        return SuperpositionRun(self, *state)


class SuperpositionRun:
    def __init__(self, interface: SuperpositionInterface, elements: Tensor) -> None:
        self._interface, self._elements = interface, elements  # B x k x m

    @property
    def reading(self) -> Tensor:
        return self._elements[:, 0]

    def step(self, hidden: Tensor, active: Tensor | None) -> None:
        # hidden : B x d, active : B or None
        actions = self._interface.actions(hidden).softmax(-1)
        vector = self._interface.activation(self._interface.pushed_vector(hidden))
        self._elements = superposition_step(self._elements, actions, vector, active)

    def state(self) -> tuple[Tensor, ...]:
        return (self._elements,)


class NondeterministicInterface(nn.Module):
    """Action logits and pushed vector, and the learned bottom vector."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.shape = StackShape(config.pda_states, config.pda_symbols, config.pda_vector_size)
        self.reading_size = self.shape.reading_size
        rows, columns = self.shape.action_shape
        gain = None if config.initialization == "authors" else 1.0
        self.actions = Linear(config.hidden_size, rows * columns, gain=gain)
        self.pushed_vector = Linear(config.hidden_size, self.shape.vector_size, gain=gain)
        self.bottom_vector = nn.Parameter(torch.empty(self.shape.vector_size))  # before the sigmoid
        self.activation = ACTIVATIONS[config.pushed_vector_activation]

    def begin(self, batch: int, steps: int, keep_state: bool) -> "NondeterministicRun":
        stack = GrowingStack(self.bottom_vector.sigmoid(), batch, steps, self.shape, keep_state)
        return NondeterministicRun(self, stack)

    def resume(self, state: tuple[Tensor, ...]) -> "NondeterministicRun":
        return NondeterministicRun(self, SteppedStack(StackState(*state), self.shape))


class NondeterministicRun:
    def __init__(self, interface: NondeterministicInterface, stack: GrowingStack | SteppedStack) -> None:
        self._interface, self._stack = interface, stack

    @property
    def reading(self) -> Tensor:
        return self._stack.reading.to(self._interface.bottom_vector.dtype)

    def step(self, hidden: Tensor, active: Tensor | None) -> None:
        # hidden : B x d, active : B or None
        logits = self._interface.actions(hidden).unflatten(-1, self._interface.shape.action_shape)
        self._stack.step(logits, self._interface.activation(self._interface.pushed_vector(hidden)), active)

    def state(self) -> tuple[Tensor, ...]:
        return tuple(self._stack.state())


INTERFACES: dict[str, Callable[[Any], Any]] = {
    "superposition": SuperpositionInterface,
    "nondeterministic": NondeterministicInterface,
}
