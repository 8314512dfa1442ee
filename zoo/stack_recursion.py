"""The recursion behind the nondeterministic stack: one step forward, a whole run backwards.

What is computed, and why it equals equation 6 of seed 000, stands in `stack_nondeterministic.py`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from .stack_shapes import StackShape

NEVER = -1e30  # the log-probability of what cannot happen; finite, so that no inf - inf arises


class StackState(NamedTuple):
    """The stack after some number k of steps; all that generation has to keep. The batch is on axis 0.

    rows    [B, S, (k+1)*Q, m + k*A]  for each time and configuration: expected top vector, then P(opener)
    log_alpha [B, A]                  log-probability of each configuration now
    """

    rows: Tensor
    log_alpha: Tensor


@dataclass
class _Step:
    """What the backward pass of one step needs (shapes as in `advance`)."""

    alpha: Tensor
    replaced: Tensor
    pushed: Tensor
    closed: Tensor
    pop_weight: Tensor
    pop_scale: Tensor


def initial_state(bottom_vector: Tensor, batch: int, shape: StackShape) -> StackState:
    """The stack that holds only the bottom vector [m], in configuration 0, for `batch` sequences; float32 at least."""
    bottom_vector = bottom_vector.to(torch.promote_types(bottom_vector.dtype, torch.float32))
    rows = bottom_vector.new_zeros(batch, shape.symbols, shape.states, shape.vector_size)
    rows[:, 0, 0] = bottom_vector
    log_alpha = bottom_vector.new_full((batch, shape.configurations), NEVER)
    log_alpha[:, 0] = 0
    return StackState(rows, log_alpha)


def advance(
    rows: Tensor, log_alpha: Tensor, action_logits: Tensor, vector: Tensor, shape: StackShape
) -> tuple[Tensor, Tensor, _Step]:
    """One step of the recursion.

    rows B x S x k*Q x m+(k-1)*A (times 0..k-1), log_alpha B x A, action_logits B x A x (2A+Q), vector B x m
    -> new row B x S x Q x m+k*A, log_alpha B x A, what the backward pass needs
    """
    states, symbols, m = shape
    size, batch, k, width = shape.configurations, len(rows), rows.shape[2] // states, rows.shape[3]
    joint = log_alpha[:, :, None] + action_logits.clamp(min=NEVER)
    push, replace, pop = joint.split([size, size, states], 2)

    # Weights of the moves into each configuration, each target on its own scale.
    keep_scale = torch.maximum(push.amax(1), replace.amax(1))  # B x A
    push, replace = (push - keep_scale[:, None]).exp(), (replace - keep_scale[:, None]).exp()
    total = (push + replace).sum(1)
    log_total = keep_scale + total.log()

    # The newest row, one line for each configuration in the order (state, symbol): B x A x columns.
    last = rows[:, :, (k - 1) * states :].transpose(1, 2).reshape(batch, size, width)
    kept_scale = (keep_scale - log_total).exp()
    new = replace.transpose(1, 2) @ last
    if k > 1:
        # Closing: the level opened at time i in (t, y) is popped, which uncovers what was on top at time i.
        pop_scale = pop.amax(1)  # B x Q
        pop = (pop - pop_scale[:, None]).exp()
        popped = pop.transpose(1, 2) @ last[:, :, m:]  # B x Q' x (i, t, y)
        popped = popped.view(batch, states, (k - 1) * states, symbols).permute(0, 3, 1, 2)  # B x S x Q' x (i, t)
        closed_total = popped.sum(-1).transpose(1, 2).reshape(batch, size)  # B x A, configurations after the pop
        possible = closed_total > torch.finfo(closed_total.dtype).tiny
        target_scale = pop_scale.repeat_interleave(symbols, 1)
        log_total = torch.logaddexp(log_total, torch.where(possible, target_scale + closed_total.log(), NEVER))
        kept_scale = (keep_scale - log_total).exp()
        pop_factor = torch.where(possible, (target_scale - log_total).exp(), 0)
        pop_factor = pop_factor.view(batch, states, symbols).transpose(1, 2)[..., None]  # B x S x Q' x 1
        closed = popped * pop_factor
        uncovered = closed @ rows[:, :, : (k - 1) * states]  # B x S x Q' x columns
        new = new * kept_scale[..., None] + uncovered.transpose(1, 2).reshape(batch, size, width)
    else:
        pop, pop_factor = torch.zeros_like(pop), rows.new_zeros(batch, symbols, states, 1)
        closed = rows.new_zeros(batch, symbols, states, 0)
        new = new * kept_scale[..., None]
    replaced, pushed = replace * kept_scale[:, None], push * kept_scale[:, None]
    new[:, :, :m] += pushed.sum(1)[..., None] * vector[:, None]
    new = torch.cat([new, pushed.transpose(1, 2)], 2)

    log_alpha = (log_total - log_total.logsumexp(1, keepdim=True)).clamp(min=NEVER)
    kept = _Step(log_alpha.exp(), replaced, pushed, closed, pop, pop_factor)
    return new.view(batch, states, symbols, width + size).transpose(1, 2), log_alpha, kept


def weigh(top: Tensor, alpha: Tensor, shape: StackShape) -> Tensor:
    # B x S x Q x m, B x A -> B x A*m
    vectors = top.transpose(1, 2).reshape(len(top), shape.configurations, top.shape[-1])
    return (vectors * alpha[..., None]).flatten(1)


@dataclass
class StackTape:
    """A stack that is written step by step with room for `steps` steps, and read backwards for the gradients.

    `forward` must be called for steps 1, 2, ... and `backward` for the same steps in reverse order. Gradients with
    respect to the rows are gathered lazily: one product per step over all later steps (none updates the whole chart).
    """

    bottom_vector: Tensor  # m
    batch: int
    steps: int
    shape: StackShape
    _kept: list[_Step] = field(default_factory=list)
    _last: int = 0  # newest step of the backward pass under way, 0 before the first
    _carried: Tensor = field(init=False)  # gradient of the row before, as far as known
    _grad_log_alpha: Tensor = field(init=False)

    def __post_init__(self) -> None:
        states, symbols, m = self.shape
        columns = m + self.steps * self.shape.configurations
        new = self.bottom_vector.new_zeros
        self._rows = new(self.batch, symbols, (self.steps + 1) * states, columns)
        start = initial_state(self.bottom_vector, self.batch, self.shape)
        self._rows[:, :, :states, :m] = start.rows
        self._log_alpha = start.log_alpha

    def initial_reading(self) -> Tensor:
        """Reading [B, A*m] of the stack before the first step."""
        states, _, m = self.shape
        alpha = self._rows.new_zeros(self.batch, self.shape.configurations)
        alpha[:, 0] = 1
        return weigh(self._rows[:, :, :states, :m], alpha, self.shape)

    def forward(self, action_logits: Tensor, vector: Tensor) -> Tensor:
        """Logits B x A x (2A+Q) and vector B x m of the next step -> its reading B x A*m."""
        with torch.autocast(vector.device.type, enabled=False):
            return self._forward(action_logits, vector)

    def _forward(self, action_logits: Tensor, vector: Tensor) -> Tensor:
        states, _, m = self.shape
        k = len(self._kept) + 1
        width = m + (k - 1) * self.shape.configurations
        past = self._rows[:, :, : k * states, :width]
        new, self._log_alpha, kept = advance(past, self._log_alpha, action_logits, vector, self.shape)
        self._rows[:, :, k * states : (k + 1) * states, : new.shape[-1]] = new
        self._kept.append(kept)
        return weigh(new[..., :m], kept.alpha, self.shape)

    def state(self) -> StackState:
        """The stack after the steps so far."""
        count = len(self._kept)
        width = self.shape.vector_size + count * self.shape.configurations
        return StackState(self._rows[:, :, : (count + 1) * self.shape.states, :width].clone(), self._log_alpha)

    def backward(self, j: int, grad_reading: Tensor, vector: Tensor, begins: bool) -> tuple[Tensor, Tensor]:
        """Gradient B x A*m of the reading of step j and its vector -> gradients of that step's logits and vector.

        begins: whether a backward pass begins here, with no gradient from later steps.
        """
        if begins:
            self._begin_backward(j)
        with torch.autocast(vector.device.type, enabled=False):
            return self._backward(j, grad_reading, vector)

    def _backward(self, j: int, grad_reading: Tensor, vector: Tensor) -> tuple[Tensor, Tensor]:
        states, symbols, m = self.shape
        size, batch = self.shape.configurations, self.batch
        kept = self._kept[j - 1]
        width = m + j * size

        # Gradient of this row: from the next step (carried), from later pops that uncovered it, from the reading.
        grad_row = self._carried[:, :, :width]  # B x A x columns
        if self._last >= j + 2:
            later = slice((j + 2) * states, (self._last + 1) * states)
            closing = self._closed[:, :, j * states : (j + 1) * states, later]
            uncovered = closing @ self._grad_rows[:, :, later, :width]  # B x S x Q x columns
            grad_row = grad_row + uncovered.transpose(1, 2).reshape(batch, size, width)
        else:
            grad_row = grad_row.clone()
        grad_reading = grad_reading.reshape(batch, size, m)
        top = self._by_configuration(j, m)
        grad_row[:, :, :m] += kept.alpha[..., None] * grad_reading
        grad_log_alpha = self._grad_log_alpha + kept.alpha * (grad_reading * top).sum(-1)
        by_symbol = grad_row.view(batch, states, symbols, width).transpose(1, 2)  # B x S x Q x columns
        self._grad_rows[:, :, j * states : (j + 1) * states, :width] = by_symbol

        # Gradients of the conditional move probabilities. Columns of the opener that this step created hold `pushed`.
        past = width - size
        grad_past = grad_row[:, :, :past]
        last = self._by_configuration(j - 1, past)
        grad_replace = last @ grad_past.transpose(1, 2)  # B x A (from) x A (to)
        grad_push = torch.einsum("bm,bcm->bc", vector, grad_row[:, :, :m])[:, None]
        grad_push = grad_push + grad_row[:, :, past:].transpose(1, 2)
        grad_vector = torch.einsum("bc,bcm->bm", kept.pushed.sum(1), grad_row[:, :, :m])
        grad_close = by_symbol[..., :past] @ self._rows[:, :, : (j - 1) * states, :past].transpose(2, 3)
        closed_sum = (grad_close * kept.closed).sum(-1).transpose(1, 2).reshape(batch, size)
        conditional = (grad_replace * kept.replaced + grad_push * kept.pushed).sum(1) + closed_sum
        normaliser = grad_log_alpha - conditional - kept.alpha * grad_log_alpha.sum(1, keepdim=True)

        grad_push = kept.pushed * (grad_push + normaliser[:, None])
        grad_replace = kept.replaced * (grad_replace + normaliser[:, None])
        carried = kept.replaced @ grad_past  # B x A x columns
        # The pops: back through the opener columns of the row before.
        normaliser = normaliser.view(batch, states, symbols).transpose(1, 2)[..., None]
        grad_popped = (grad_close + normaliser) * kept.pop_scale  # B x S x Q' x (i, t)
        grad_popped = grad_popped.permute(0, 2, 3, 1).reshape(batch, states, past - m)  # B x Q' x (i, t, y)
        carried[:, :, m:] += kept.pop_weight @ grad_popped
        grad_pop = kept.pop_weight * (last[:, :, m:] @ grad_popped.transpose(1, 2))

        grad_logits = torch.cat([grad_push, grad_replace, grad_pop], 2)
        self._grad_log_alpha = grad_logits.sum(2)
        self._carried = carried
        return grad_logits, grad_vector

    def grad_bottom(self) -> Tensor:
        """Gradient [B, m] of the bottom vector from the steps of a backward pass that went down to step 1."""
        states, _, m = self.shape
        grad = self._carried[:, 0, :m].clone()
        if self._last >= 2:
            later = slice(2 * states, (self._last + 1) * states)
            grad += (self._closed[:, 0, :1, later] @ self._grad_rows[:, 0, later, :m])[:, 0]
        return grad

    def _begin_backward(self, j: int) -> None:
        states = self.shape.states
        self._last = j
        # Both are written before they are read: row j as of step j, closings of level k only at steps above k + 1.
        self._grad_rows = torch.empty_like(self._rows[:, :, : (j + 1) * states])
        self._closed = self._rows.new_empty(self.batch, self.shape.symbols, (j + 1) * states, (j + 1) * states)
        for step, kept in enumerate(self._kept[:j], 1):
            target = slice(step * states, (step + 1) * states)
            self._closed[:, :, : kept.closed.shape[-1], target] = kept.closed.transpose(2, 3)
        self._carried = self._rows.new_zeros(
            self.batch, self.shape.configurations, self.shape.vector_size + j * self.shape.configurations
        )
        self._grad_log_alpha = self._rows.new_zeros(self.batch, self.shape.configurations)

    def _by_configuration(self, time: int, width: int) -> Tensor:
        # -> B x A x width, configurations in the order (state, symbol)
        states = self.shape.states
        rows = self._rows[:, :, time * states : (time + 1) * states, :width]
        return rows.transpose(1, 2).reshape(self.batch, self.shape.configurations, width)
