"""The nondeterministic stack for whole sequences in PyTorch: a right-to-left pass, then a left-to-right one.

Because all steps are known at once, a closing (a push at one step whose level is popped at a later one) can be weighed
from its end: W = weight of all ways on from configuration c at time i until its level is popped at time j into state r.
For each i one product serves all j, and the symbol below is not part of it: S*Q*Q numbers for each i and j, where
`StackTape` needs A*A. The weights and vectors of the configurations then go left to right over moves and closings.

Scales. U_i[c] is the weight of all ways on from c at time i to the end that never pop the level of c. Every weight is
kept relative to it, W_i[j][c, r] * o_j[r] / U_i[c], with o_j such that the largest weight of a pop at step j is 1. All
these lie in [0, 1]: they are probabilities, given all steps, in a stack whose bottom level is that of c. The result
does not depend on the scales, so they count as constants in the backward pass. What is wanted at time j, however, must
not know the steps after j. Where these make it so unlikely that it may be lost, the result says so.

Configurations are numbered symbol*Q + state in here, so that the symbol is a batch axis of the charts:

closings  [B, S, n*Q, n*Q]   rows (i, state), columns (j - 1, state after the pop): push at step i+1, popped at step j
lives     [B, S, n*Q, n*Q]   the same rows and columns: W
moves     [n, B, 2, A, A]    push and replace, relative to U
totals    [B, S, (n+1)*Q, 1+m]   by time and state: weight of the configuration (times U), weight * expected top vector
"""

import math
from typing import Any

import torch
from torch import Tensor

from .stack_recursion import NEVER
from .stack_shapes import StackShape

MARGIN = 1e14  # how far above the smallest number of its kind each configuration's weight must lie


class WholeSequence(torch.autograd.Function):
    """Readings [B, n+1, A*m] of logits [B, n, A, 2A+Q], vectors [B, n, m] and bottom [m]; and whether all are right.

    active [B, n] or None: the steps that are no padding. All of one kind, float32 or float64.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, vectors: Tensor, bottom: Tensor, active: Tensor | None, shape: StackShape
    ) -> tuple[Tensor, Tensor]:
        moves, closings, lives, factors, futures = _right_to_left(logits, shape)
        totals = _left_to_right(moves, closings, vectors, bottom, shape)
        weights = totals[..., 0]  # B x S x (n+1)*Q
        by_time = (shape.symbols, -1, shape.states)
        log_alpha = (weights.log() - futures).unflatten(2, by_time[1:])
        log_total = log_alpha.logsumexp((1, 3))[:, None, :, None].expand_as(log_alpha).flatten(2)
        largest = -math.log(torch.finfo(logits.dtype).tiny)
        scale = (-futures - log_total).clamp(max=largest).exp_()  # alpha / weight
        by_symbol = totals[..., 1:] * scale[..., None]
        readings = by_symbol.unflatten(2, by_time[1:]).permute(0, 2, 3, 1, 4).flatten(2)

        reached = weights[:, :, shape.states :] / factors.clamp(min=1)
        right = reached > torch.finfo(logits.dtype).tiny * MARGIN
        right = right.unflatten(2, by_time[1:]).all(3).all(1)  # B x n
        right = right.all() if active is None else (right | ~active.bool()).all()

        ctx.save_for_backward(vectors)
        ctx.shape, ctx.kept = shape, (moves, closings, lives, factors, totals, scale)
        ctx.mark_non_differentiable(right)
        return readings, right

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        (vectors,) = ctx.saved_tensors
        shape: StackShape = ctx.shape
        moves, closings, lives, factors, totals, scale = ctx.kept
        with torch.autocast(grad.device.type, enabled=False):
            grad = grad.unflatten(2, (shape.states, shape.symbols, -1)).permute(0, 3, 1, 2, 4).flatten(2, 3)
            grad_totals = _grad_readings(grad, totals, scale, shape)
            _right_to_left_over_totals(grad_totals, moves, closings, vectors, shape)
            grad_bottom = grad_totals[:, 0, 0, 1:].sum(0)
            grad_moves, grad_closings, grad_vectors = _grad_of_sums(grad_totals, totals, moves, vectors, shape)
            grad_pops = _left_to_right_over_charts(grad_moves, grad_closings, moves, closings, lives, factors, shape)
            return _grad_logits(grad_moves, grad_pops, shape), grad_vectors, grad_bottom, None, None


def _split(logits: Tensor, shape: StackShape) -> tuple[Tensor, Tensor]:
    # B x n x A x (2A+Q), configurations (state, symbol) -> n x B x 2 x A x A, n x B x A x Q, (symbol, state)
    batch, steps = logits.shape[:2]
    states, symbols, _ = shape
    size = shape.configurations
    logits = logits.clamp(min=NEVER)
    moves = logits[..., : 2 * size].reshape(batch, steps, states, symbols, 2, states, symbols)
    moves = moves.permute(1, 0, 4, 3, 2, 6, 5).reshape(steps, batch, 2, size, size).contiguous()
    pops = logits[..., 2 * size :].unflatten(2, (states, symbols))
    return moves, pops.permute(1, 0, 3, 2, 4).reshape(steps, batch, size, states)


def _grad_logits(grad_moves: Tensor, grad_pops: Tensor, shape: StackShape) -> Tensor:
    # n x B x 2 x A x A, n x B x A x Q, configurations (symbol, state) -> B x n x A x (2A+Q), (state, symbol)
    steps, batch = grad_moves.shape[:2]
    states, symbols, _ = shape
    size = shape.configurations
    grad = grad_moves.new_empty(batch, steps, states, symbols, 2 * size + states)
    moves = grad_moves.view(steps, batch, 2, symbols, states, symbols, states).permute(1, 0, 4, 3, 2, 6, 5)
    grad[..., : 2 * size].view(batch, steps, states, symbols, 2, states, symbols).copy_(moves)
    grad[..., 2 * size :] = grad_pops.view(steps, batch, symbols, states, states).permute(1, 0, 3, 2, 4)
    return grad.view(batch, steps, size, 2 * size + states)


def _right_to_left(logits: Tensor, shape: StackShape) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """moves, closings and lives; factors U/o [B, S, n*Q] and log U [B, S, (n+1)*Q] (up to a constant for each time)."""
    states, symbols, _ = shape
    size = shape.configurations
    moves, pops = _split(logits, shape)
    steps, batch = moves.shape[:2]
    closings = logits.new_zeros(batch, symbols, steps * states, steps * states)
    lives = torch.zeros_like(closings)
    factors = logits.new_zeros(batch, symbols, steps * states)
    futures = logits.new_zeros(batch, symbols, (steps + 1) * states)
    future, later = logits.new_zeros(batch, size), logits.new_zeros(batch, size, 0)
    for i in range(steps - 1, -1, -1):
        here, after = slice(i * states, (i + 1) * states), slice((i + 1) * states, None)
        joint = moves[i].add_(future[:, None, None])
        largest = joint.amax((1, 3), keepdim=True)
        weights = joint.sub_(largest).exp_()
        on = weights.view(batch, 2 * size, size) @ later  # B x 2A x columns of the times after i + 1
        closing = on[:, :size].unflatten(1, (symbols, states))
        closing *= factors[:, :, None, after]
        total = weights.sum((1, 3)).add_(closing.sum(-1).view(batch, size))
        inverse = total.reciprocal()[..., None]
        weights *= inverse[:, None]
        closing *= inverse.view(batch, symbols, states, 1)
        closings[:, :, here, after] = closing
        before = total.log_().add_(largest[:, 0, :, 0])  # log U at time i
        pop = pops[i] - before[..., None]
        pop_scale = pop.amax(1, keepdim=True)
        factors[:, :, here] = (future.view(batch, symbols, states) + pop_scale).exp_()
        later = torch.cat([pop.sub_(pop_scale).exp_(), on[:, size:].mul_(inverse)], 2)
        by_symbol = later.unflatten(1, (symbols, states))
        beyond = slice((i + 2) * states, None)
        if i + 2 < steps:
            by_symbol[..., 2 * states :] += closing[..., :-states] @ lives[:, :, beyond, beyond]
        lives[:, :, here, i * states :] = by_symbol
        future = before - before.amax(1, keepdim=True)
        futures[:, :, here] = future.view(batch, symbols, states)
    return moves, closings, lives, factors, futures


def _left_to_right(moves: Tensor, closings: Tensor, vectors: Tensor, bottom: Tensor, shape: StackShape) -> Tensor:
    """totals [B, S, (n+1)*Q, 1+m]."""
    states, symbols, m = shape
    steps, batch, _, size, _ = moves.shape
    totals = vectors.new_zeros(batch, symbols, (steps + 1) * states, 1 + m)
    totals[:, 0, 0, 0] = 1
    totals[:, 0, 0, 1:] = bottom
    pushed = torch.nn.functional.pad(vectors, (1, 0), value=1.0)  # B x n x 1+m: a weight of 1 and its vector
    now = totals[:, :, :states].reshape(batch, size, 1 + m)
    for j in range(1, steps + 1):
        here = slice((j - 1) * states, j * states)
        sources = torch.cat([now[..., :1] * pushed[:, j - 1, None], now], 1)  # B x 2A x 1+m
        now = moves[j - 1].view(batch, 2 * size, size).mT @ sources
        if j > 1:
            closed = closings[:, :, : (j - 1) * states, here].mT @ totals[:, :, : (j - 1) * states]
            now += closed.view(batch, size, 1 + m)
        totals[:, :, j * states : (j + 1) * states] = now.view(batch, symbols, states, 1 + m)
    return totals


def _grad_readings(grad: Tensor, totals: Tensor, scale: Tensor, shape: StackShape) -> Tensor:
    # B x S x (n+1)*Q x m -> gradient of totals by way of the reading of the same time: times alpha, over all weights
    states = shape.states
    found = torch.empty_like(totals)
    torch.mul(grad, scale[..., None], out=found[..., 1:])
    along = (found[..., 1:] * totals[..., 1:]).sum(-1).unflatten(2, (-1, states)).sum((1, 3))  # B x n+1
    found[..., 0] = -scale * along.repeat_interleave(states, 1)[:, None]
    return found


def _right_to_left_over_totals(
    grad_totals: Tensor, moves: Tensor, closings: Tensor, vectors: Tensor, shape: StackShape
) -> None:
    """Adds to the gradient of the totals of each time what comes by way of later times."""
    states, symbols, m = shape
    steps, batch, _, size, _ = moves.shape
    pushed = torch.nn.functional.pad(vectors, (1, 0), value=1.0)[..., None]  # B x n x 1+m x 1
    now = grad_totals[:, :, steps * states :].reshape(batch, size, 1 + m)
    for j in range(steps - 1, -1, -1):
        here, beyond = slice(j * states, (j + 1) * states), (j + 2) * states
        sources = moves[j].view(batch, 2 * size, size) @ now
        now = sources[:, size:] + grad_totals[:, :, here].reshape(batch, size, 1 + m)
        now[..., :1] += sources[:, :size] @ pushed[:, j]
        if j + 2 <= steps:
            closed = closings[:, :, here, beyond - states :] @ grad_totals[:, :, beyond:]
            now += closed.view(batch, size, 1 + m)
        grad_totals[:, :, here] = now.view(batch, symbols, states, 1 + m)


def _grad_of_sums(
    grad_totals: Tensor, totals: Tensor, moves: Tensor, vectors: Tensor, shape: StackShape
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of moves, closings and vectors in `_left_to_right`, all times at once."""
    states, m = shape.states, shape.vector_size
    steps, batch, _, size, _ = moves.shape
    grad_closings = totals[:, :, : steps * states] @ grad_totals[:, :, states:].mT

    def by_time(tensor: Tensor) -> Tensor:
        return tensor.unflatten(2, (steps, states)).permute(2, 0, 1, 3, 4).reshape(steps, batch, size, 1 + m)

    before, after = by_time(totals[:, :, : steps * states]), by_time(grad_totals[:, :, states:])
    pushed = torch.nn.functional.pad(vectors, (1, 0), value=1.0).transpose(0, 1)[:, :, None]  # n x B x 1 x 1+m
    grad_moves = torch.cat([before[..., :1] * pushed, before], 2) @ after.mT
    push_weight = before[..., 0, None].mT @ moves[:, :, 0]  # n x B x 1 x A
    grad_vectors = (push_weight @ after)[:, :, 0, 1:].transpose(0, 1)
    return grad_moves.view(moves.shape), grad_closings, grad_vectors


def _left_to_right_over_charts(
    grad_moves: Tensor,
    grad_closings: Tensor,
    moves: Tensor,
    closings: Tensor,
    lives: Tensor,
    factors: Tensor,
    shape: StackShape,
) -> Tensor:
    """Reverse of `_right_to_left`. Completes `grad_moves` to the gradient of the logits; returns that of the pops.

    The gradient of a row of `lives` by way of closings is gathered in one product, when its turn comes.
    """
    states, symbols, _ = shape
    steps, batch, _, size, _ = moves.shape
    grad_lives = torch.empty_like(lives)  # a row's part right of the diagonal is written before it is read
    grad_pops = moves.new_empty(steps, batch, size, states)
    row = moves.new_zeros(batch, size, steps * states)  # nothing depends on the row of time 0
    for i in range(steps):
        here, after = slice(i * states, (i + 1) * states), slice((i + 1) * states, None)
        by_symbol = row.unflatten(1, (symbols, states))
        if i >= 3:
            above = slice(states, (i - 1) * states)
            by_symbol += closings[:, :, above, (i - 1) * states : i * states].mT @ grad_lives[:, :, above, i * states :]
        grad_lives[:, :, here, i * states :] = by_symbol
        grad_pops[i] = lives[:, :, here, here].reshape(batch, size, states) * row[..., :states]
        grad_closing = grad_closings[:, :, here, after]
        if i and i + 2 < steps:
            beyond = slice((i + 2) * states, None)
            grad_closing[..., :-states] += by_symbol[..., 2 * states :] @ lives[:, :, beyond, beyond].mT
        closing = (grad_closing * factors[:, :, None, after]).flatten(1, 2)
        both = torch.cat([closing, row[..., states:]], 1)  # B x 2A x columns
        if i + 1 < steps:
            later = lives[:, :, (i + 1) * states : (i + 2) * states, after].flatten(1, 2)
            grad_moves[i] += (both @ later.mT).view(batch, 2, size, size)
            row = moves[i].view(batch, 2 * size, size).mT @ both
    grad_moves *= moves
    return grad_pops
