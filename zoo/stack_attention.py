"""Stack attention sublayers: a stack takes the place of scaled dot-product attention (seed 000, appendix C.4).

At each position the stack is updated with that position's actions before it is read. Padding leaves it untouched.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .initialization import Linear
from .stack_fields import ACTIVATIONS
from .stack_nondeterministic import StackState, initial_state, nondeterministic_stack
from .stack_nondeterministic import step as nondeterministic_step
from .stack_shapes import StackShape
from .stack_superposition import step as superposition_step
from .stack_superposition import superposition_stack
from .state_cache import StateLayer


class SuperpositionAttention(nn.Module):
    """Stack attention over a superposition stack with vectors of `config.superposition_vector_size` numbers."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        size = config.superposition_vector_size
        self.actions = Linear(config.hidden_size, 3, bias=False)
        self.pushed_vector = Linear(config.hidden_size, size, bias=False)
        self.output = Linear(size, config.hidden_size, bias=False)
        self.activation = ACTIVATIONS[config.pushed_vector_activation].forward

    def forward(self, x: Tensor, context: Any, cache: StateLayer | None) -> Tensor:
        # x : B x T x D -> B x T x D
        actions, vectors = self.actions(x).softmax(-1), self.activation(self.pushed_vector(x))
        if cache is None:
            return self.output(superposition_stack(actions, vectors, context.active)[:, 1:])
        elements = vectors[:, :0] if cache.state is None else cache.state[0]
        readings = []
        for t in range(x.shape[1]):
            active = None if context.active is None else context.active[:, t]
            elements = superposition_step(elements, actions[:, t], vectors[:, t], active)
            readings.append(elements[:, 0])
        cache.store((elements,), x.shape[1])
        return self.output(torch.stack(readings, 1))


class NondeterministicAttention(nn.Module):
    """Stack attention over a nondeterministic stack (`config.pda_states`, `pda_symbols`, `pda_vector_size`)."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.shape = StackShape(config.pda_states, config.pda_symbols, config.pda_vector_size)
        rows, columns = self.shape.action_shape
        self.actions = Linear(config.hidden_size, rows * columns, bias=False)
        self.pushed_vector = Linear(config.hidden_size, self.shape.vector_size, bias=False)
        self.output = Linear(self.shape.reading_size, config.hidden_size, bias=False)
        self.bottom_vector = nn.Parameter(torch.empty(self.shape.vector_size))  # before the sigmoid
        self.activation = ACTIVATIONS[config.pushed_vector_activation].forward

    def forward(self, x: Tensor, context: Any, cache: StateLayer | None) -> Tensor:
        # x : B x T x D -> B x T x D
        logits = self.actions(x).unflatten(-1, self.shape.action_shape)
        vectors, bottom = self.activation(self.pushed_vector(x)), self.bottom_vector.sigmoid()
        if cache is None:
            return self.output(nondeterministic_stack(logits, vectors, bottom, context.active)[:, 1:])
        state = initial_state(bottom, len(x), self.shape) if cache.state is None else StackState(*cache.state)
        readings = []
        for t in range(x.shape[1]):
            active = None if context.active is None else context.active[:, t]
            reading, state = nondeterministic_step(state, logits[:, t], vectors[:, t], active)
            readings.append(reading)
        cache.store(tuple(state), x.shape[1])
        return self.output(torch.stack(readings, 1))
