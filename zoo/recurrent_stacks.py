"""The stacks as recurrent networks drive them: actions and vector from the hidden state (seed 000, section 4.1)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .initialization import Linear
from .stack_fields import ACTIVATIONS
from .stack_nondeterministic import SteppedStack, no_op_logits, spans_too_much, stack_tape
from .stack_recursion import StackState
from .stack_shapes import StackShape
from .stack_superposition import SteppedTape, no_op_actions, superposition_tape


class StackInterface(nn.Module):
    """Two linear maps of the hidden state, used as one: to the actions and to the vector that a push pushes."""

    reading_size: int

    def __init__(self, config: Any, actions: int, vector_size: int, gain: float | None = 1.0) -> None:
        super().__init__()
        self.actions = Linear(config.hidden_size, actions, gain=gain)
        self.pushed_vector = Linear(config.hidden_size, vector_size, gain=gain)
        self.activation = config.pushed_vector_activation

    def joint(self) -> tuple[Tensor, Tensor]:
        """Weight [a+m, d] and bias [a+m] of both maps."""
        parts = self.actions, self.pushed_vector
        return torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])

    def start(self) -> Tensor | None:
        """What the empty stack is made of, if it is learned."""
        return None

    def grad_start(self, tape: Any, grad_reading: Tensor) -> Tensor | None:
        """Gradient of `start`, after the tape was read backwards. grad_reading [B, r]: of the initial reading."""
        return None

    def tape(
        self, batch: int, steps: int, keep_state: bool, past: tuple[Tensor, ...] | None, dtype: torch.dtype
    ) -> Any:
        """A `Tape` of `steps` steps for `batch` sequences, from the empty stack on or from the state `past`.

        keep_state: it must have a method `state`, which gives what `past` may be.
        """
        raise NotImplementedError

    def is_too_wide(self, sums: Tensor) -> bool:
        """Whether sums [..., a] of actions ask for more than float32."""
        return False

    def to_actions(self, sums: Tensor) -> Tensor:
        """Sums [B, a] -> actions [B, ...]."""
        raise NotImplementedError

    def to_actions_backward(self, grad: Tensor, actions: Tensor) -> Tensor:
        """Gradient of the actions -> gradient of their sums [B, a]."""
        raise NotImplementedError

    def keep_still(self, actions: Tensor, active: Tensor) -> Tensor:
        """Actions [B, ...] that leave the stack as it is outside `active` [B]."""
        raise NotImplementedError


class SuperpositionInterface(StackInterface):
    """Actions by softmax."""

    def __init__(self, config: Any) -> None:
        self.reading_size = config.superposition_vector_size
        super().__init__(config, 3, self.reading_size)

    def tape(
        self, batch: int, steps: int, keep_state: bool, past: tuple[Tensor, ...] | None, dtype: torch.dtype
    ) -> Any:
        if past is None and not keep_state:
            return superposition_tape(self.actions.weight.new_empty(batch, self.reading_size, dtype=dtype), steps)
        empty = self.actions.weight.new_zeros(batch, 1, self.reading_size, dtype=dtype)
        return SteppedTape(empty if past is None else past[0])

    def to_actions(self, sums: Tensor) -> Tensor:
        return sums.softmax(1)

    def to_actions_backward(self, grad: Tensor, actions: Tensor) -> Tensor:
        grad = grad * actions
        return grad.addcmul_(actions, grad.sum(1, keepdim=True), value=-1)

    def keep_still(self, actions: Tensor, active: Tensor) -> Tensor:
        return no_op_actions(actions, active)


class NondeterministicInterface(StackInterface):
    """Logits of the actions, and a learned bottom vector."""

    def __init__(self, config: Any) -> None:
        shape = StackShape(config.pda_states, config.pda_symbols, config.pda_vector_size)
        rows, columns = shape.action_shape
        gain = None if config.initialization == "authors" else 1.0
        super().__init__(config, rows * columns, shape.vector_size, gain)
        self.shape, self.reading_size = shape, shape.reading_size
        self.bottom_vector = nn.Parameter(torch.empty(shape.vector_size))  # before the sigmoid

    def start(self) -> Tensor:
        return self.bottom_vector.sigmoid()

    def grad_start(self, tape: Any, grad_reading: Tensor) -> Tensor:
        grad = grad_reading[:, : self.shape.vector_size]
        return (grad + tape.grad_bottom() if tape.steps else grad).sum(0)

    def tape(
        self, batch: int, steps: int, keep_state: bool, past: tuple[Tensor, ...] | None, dtype: torch.dtype
    ) -> Any:
        if past is not None:
            return SteppedStack(StackState(*past), self.shape)
        return stack_tape(self.start().detach().to(dtype), batch, steps, self.shape, keep_state)

    def is_too_wide(self, sums: Tensor) -> bool:
        return spans_too_much(sums.unflatten(-1, self.shape.action_shape), self.shape)

    def to_actions(self, sums: Tensor) -> Tensor:
        return sums.unflatten(1, self.shape.action_shape)

    def to_actions_backward(self, grad: Tensor, actions: Tensor) -> Tensor:
        return grad.flatten(1)

    def keep_still(self, actions: Tensor, active: Tensor) -> Tensor:
        return no_op_logits(actions, active)


class StackRun:
    """A tape together with what leads from the hidden state to its actions, except the product of matrices.

    The tape runs in float32 at least, whatever the network runs in.
    """

    def __init__(
        self, interface: StackInterface, batch: int, steps: int, keep_state: bool, past: tuple[Tensor, ...] | None
    ) -> None:
        self.start = interface.start() if past is None else None
        self.weights = interface.joint()
        self._interface, self._activation = interface, ACTIVATIONS[interface.activation]
        self._begin = partial(interface.tape, batch, steps, keep_state, past)
        self.restart(torch.promote_types(interface.actions.weight.dtype, torch.float32))

    def restart(self, dtype: torch.dtype) -> None:
        """From the beginning, in numbers of this type."""
        self._dtype = dtype
        self._tape = self._begin(dtype)
        self._kept: list[tuple[Tensor, Tensor, Tensor | None]] = []  # of each step: actions, vector, active rows

    def is_too_wide(self, sums: Tensor) -> bool:
        """Whether the sums [n, B, a+m] of all steps ask for more than float32."""
        return self._dtype != torch.float64 and self._interface.is_too_wide(self._split(sums)[0])

    def initial_reading(self) -> Tensor:
        return self._tape.initial_reading()

    def forward(self, sums: Tensor, active: Tensor | None) -> Tensor:
        """Sums B x a+m of the next step, active rows B or None for all -> reading B x r."""
        actions, vector = self._split(sums.to(self._dtype))
        actions, vector = self._interface.to_actions(actions), self._activation.forward(vector)
        if active is not None:
            actions = self._interface.keep_still(actions, active)
        self._kept.append((actions, vector, active))
        return self._tape.forward(actions, vector)

    def backward(self, t: int, grad_reading: Tensor) -> Tensor:
        """Gradient B x r of the reading after step t -> of the sums of step t. t = n-1, ..., 0."""
        actions, vector, active = self._kept[t]
        begins = t + 1 == len(self._kept)
        grad_actions, grad_vector = self._tape.backward(t + 1, grad_reading.to(self._dtype), vector, begins)
        grad_sums = self._interface.to_actions_backward(grad_actions, actions)
        grad_sums = torch.cat([grad_sums, self._activation.backward(grad_vector, vector)], 1)
        return grad_sums if active is None else grad_sums * active[:, None]

    def grad_start(self, grad_reading: Tensor) -> Tensor | None:
        """Gradient of `start`, after all steps. grad_reading [B, r]: of the initial reading."""
        return None if self.start is None else self._interface.grad_start(self._tape, grad_reading)

    def state(self) -> tuple[Tensor, ...]:
        """The stack now, tensors with the batch on axis 0; only if it was begun with `keep_state`."""
        return tuple(self._tape.state())

    def _split(self, sums: Tensor) -> tuple[Tensor, Tensor]:
        actions, vector = sums.tensor_split([self._interface.actions.out_features], -1)
        return actions, vector


INTERFACES: dict[str, Callable[[Any], StackInterface]] = {
    "superposition": SuperpositionInterface,
    "nondeterministic": NondeterministicInterface,
}
