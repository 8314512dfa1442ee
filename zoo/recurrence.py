"""A controller and its stack over a sequence, step by step, with one hand-written reverse for the whole loop.

Each layer has one matrix product a step: its weights for what comes from below and for its own hidden state lie side by
side, and so do the vectors they multiply, [reading | hidden] in the first layer and [below | hidden] in the others. One
more gives the stack's actions and pushed vector. The gradient of each weight is one product over all steps.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .recurrent_cells import RnnCell
from .recurrent_cells_compiled import lstm_cell
from .recurrent_stacks import StackRun


class Weights(NamedTuple):
    """layers: for each [gates, below + d]. biases [gates]: of the layers above the first, whose projected input has it.
    actions [a+m, d] and action_bias [a+m]: of the stack; empty, with a+m = 0, where there is none."""

    layers: list[Tensor]
    biases: list[Tensor]
    actions: Tensor
    action_bias: Tensor


class Gradients(NamedTuple):
    """Of `projected`, of the first hidden states [B, L, d], of the first reading [B, r] and of the weights."""

    projected: Tensor
    hidden: Tensor
    reading: Tensor
    weights: Weights


class Recurrence:
    """One run over n steps.

    projected [n, B, gates]: what the inputs add to the first layer's sums. state: hidden [B, L, d] and, for the LSTM,
    cells [B, L, d]. masks [L-1, n, B, d]: factors between layers (dropout), or None. stack: or None.
    active [n, B]: rows whose stack takes part in a step, or None for all.
    """

    def __init__(
        self,
        projected: Tensor,
        state: tuple[Tensor, ...],
        weights: Weights,
        masks: Tensor | None = None,
        stack: StackRun | None = None,
        active: Tensor | None = None,
    ) -> None:
        steps, batch, _ = projected.shape
        self.steps, self.size = steps, state[0].shape[-1]
        self._projected, self._weights, self._masks = projected, weights, masks
        self._stack, self._active = stack, active
        self._gates = [projected.new_empty(projected.shape) for _ in weights.layers]
        # What the products multiply before each step; the last entries hold the end.
        self._factors = [projected.new_empty(steps + 1, batch, weight.shape[1]) for weight in weights.layers]
        for layer in range(len(weights.layers)):
            self.hidden(layer)[0] = state[0][:, layer]
        self._cells = [self._cell(layer, *state[1:]) for layer in range(len(weights.layers))]

    def hidden(self, layer: int = -1) -> Tensor:
        """Hidden states [n+1, B, d] of a layer before and after each step."""
        return self._factors[layer][:, :, -self.size :]

    def _cell(self, layer: int, cells: Tensor | None = None) -> Any:
        gates, hidden = self._gates[layer], self.hidden(layer)
        return RnnCell(gates, hidden) if cells is None else lstm_cell(cells[:, layer], gates, hidden)

    def readings(self) -> Tensor:
        """Readings [n+1, B, r] before and after each step."""
        return self._factors[0][:, :, : -self.size]

    def states_after(self, counts: Tensor) -> tuple[Tensor, ...]:
        """The state (as given at the beginning) of each row after so many steps, counts [B]."""
        rows = torch.arange(len(counts), device=counts.device)
        layers = [(self.hidden(layer), *cell.states()) for layer, cell in enumerate(self._cells)]
        return tuple(torch.stack([part[counts, rows] for part in parts], 1) for parts in zip(*layers, strict=True))

    def forward(self) -> None:
        sums = self._projected.new_empty(*self._projected.shape[:2], len(self._weights.actions))
        self._forward(sums)
        if self._stack is not None and self._stack.is_too_wide(sums):
            self._stack.restart(torch.float64)
            self._forward(sums)

    def _forward(self, action_sums: Tensor) -> None:
        # n x B x a+m
        layers, biases, actions, action_bias = self._weights
        hidden, readings = [self.hidden(layer) for layer in range(len(layers))], self.readings()
        below = [factor[:, :, : self.size] for factor in self._factors]
        bases = [self._projected, *(bias.expand_as(self._projected) for bias in biases)]
        transposed = [weight.t() for weight in layers]
        if self._stack is not None:
            readings[0] = self._stack.initial_reading()
        for t in range(self.steps):
            for layer, cell in enumerate(self._cells):
                torch.addmm(bases[layer][t], self._factors[layer][t], transposed[layer], out=self._gates[layer][t])
                cell.forward(t)
                if layer + 1 == len(layers):
                    break
                if self._masks is None:
                    below[layer + 1][t] = hidden[layer][t + 1]
                else:
                    torch.mul(hidden[layer][t + 1], self._masks[layer, t], out=below[layer + 1][t])
            if self._stack is not None:
                torch.addmm(action_bias, hidden[-1][t + 1], actions.t(), out=action_sums[t])
                readings[t + 1] = self._stack.forward(action_sums[t], None if self._active is None else self._active[t])

    def backward(self, grad_hidden: Tensor, grad_readings: Tensor) -> Gradients:
        """From the gradients of the last layer's hidden states [n+1, B, d] and of the readings [n+1, B, r]."""
        layers, actions = self._weights.layers, self._weights.actions
        grad_sums = [torch.empty_like(gates) for gates in self._gates]
        for cell, grad in zip(self._cells, grad_sums, strict=True):
            cell.start_backward(grad)
        grad_actions = grad_hidden.new_empty(*grad_sums[0].shape[:2], len(actions))
        grads = [torch.zeros_like(grad_hidden[0]) for _ in layers]  # of the hidden states after the step
        grads[-1] = grad_hidden[-1]
        grad_reading = grad_readings[-1]
        for t in reversed(range(self.steps)):
            if self._stack is not None:
                grad_actions[t] = self._stack.backward(t, grad_reading)
                grads[-1] = torch.addmm(grads[-1], grad_actions[t], actions)
            for layer in reversed(range(len(layers))):
                self._cells[layer].backward(t, grads[layer])
                grad_below, grads[layer] = (grad_sums[layer][t] @ layers[layer]).tensor_split([-self.size], 1)
                if layer == 0:
                    grad_reading = grad_readings[t] + grad_below
                elif self._masks is None:
                    grads[layer - 1] = grads[layer - 1] + grad_below
                else:
                    grads[layer - 1] = torch.addcmul(grads[layer - 1], grad_below, self._masks[layer - 1, t])
            grads[-1] = grads[-1] + grad_hidden[t]
        return Gradients(grad_sums[0], torch.stack(grads, 1), grad_reading, self._grad_weights(grad_sums, grad_actions))

    def _grad_weights(self, grad_sums: list[Tensor], grad_actions: Tensor) -> Weights:
        # n x B x gates of each layer, n x B x a+m
        flat = [grad.flatten(0, 1) for grad in grad_sums]
        layers = [grad.t() @ factor[:-1].flatten(0, 1) for grad, factor in zip(flat, self._factors, strict=True)]
        biases = [grad.sum(0) for grad in flat[1:]]
        actions = grad_actions.flatten(0, 1)
        return Weights(layers, biases, actions.t() @ self.hidden()[1:].flatten(0, 1), actions.sum(0))


def recur(
    projected: Tensor,
    state: tuple[Tensor, ...],
    weights: Weights,
    masks: Tensor | None = None,
    stack: StackRun | None = None,
    active: Tensor | None = None,
) -> tuple[Tensor, Tensor, Recurrence]:
    """Run it (arguments as for `Recurrence`); gradients reach projected, the first hidden states, the weights and the
    stack's start. -> hidden states [n+1, B, d] and readings [n+1, B, r] before and after each step, and the run.
    """
    layers, biases, actions, action_bias = weights
    detached = Weights(
        [w.detach() for w in layers], [b.detach() for b in biases], actions.detach(), action_bias.detach()
    )
    run = Recurrence(projected.detach(), tuple(part.detach() for part in state), detached, masks, stack, active)
    start = None if stack is None else stack.start
    hidden, readings = _Recur.apply(run, stack, projected, state[0], start, actions, action_bias, *layers, *biases)
    return hidden, readings, run


class _Recur(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: Recurrence, stack: StackRun | None, *tensors: Tensor | None) -> tuple[Tensor, Tensor]:
        run.forward()
        ctx.set_materialize_grads(False)
        ctx.run, ctx.stack = run, stack
        ctx.save_for_backward(*tensors)  # asked for in the backward pass, so that changed weights are noticed
        return run.hidden().contiguous(), run.readings().contiguous()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_hidden: Tensor | None, grad_readings: Tensor | None) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors
        run: Recurrence = ctx.run
        grad_hidden = torch.zeros_like(run.hidden()) if grad_hidden is None else grad_hidden
        grad_readings = torch.zeros_like(run.readings()) if grad_readings is None else grad_readings
        projected, hidden, reading, (layers, biases, *actions) = run.backward(grad_hidden, grad_readings)
        start = None if ctx.stack is None else ctx.stack.grad_start(reading)
        return None, None, projected, hidden, start, *actions, *layers, *biases
