"""The superposition stack of seed 000, section 3.1 and appendix B.1 (after Joulin and Mikolov).

After each step the stack is the mixture of three stacks: one with the new vector pushed, one unchanged, one popped.
Popping an empty stack yields zeros. (Equation 5 of the seed, read literally, gives other numbers.)
"""

from typing import Any

import torch
from torch import Tensor

from .stack_shapes import check_steps, sequence_lengths
from .stack_superposition_compiled import CompiledSequence, kernel
from .state_cache import is_right_padded


def step(elements: Tensor, actions: Tensor, pushed_vector: Tensor, mask: Tensor | None = None) -> Tensor:
    """One update, differentiable.

    elements [B, k, m] from the top down, actions [B, 3] (push, no-op, pop), pushed_vector [B, m], mask [B] or None
    (False: the stack stays as it is) -> elements [B, k+1, m]; the reading is elements[:, 0].
    """
    # B x k x m, B x 3, B x m -> B x k+1 x m
    if mask is not None:
        actions = no_op_actions(actions, mask)
    push, keep, pop = actions[:, :, None, None].unbind(1)  # each B x 1 x 1
    below = torch.nn.functional.pad(elements, (0, 0, 0, 1))
    pushed = torch.cat([pushed_vector[:, None], elements], 1)
    popped = torch.nn.functional.pad(elements[:, 1:], (0, 0, 0, 2 if elements.shape[1] else 1))
    return push * pushed + keep * below + pop * popped


def no_op_actions(actions: Tensor, mask: Tensor) -> Tensor:
    """Actions [B, ..., 3] that leave the stack as it is outside `mask` [B, ...]."""
    return torch.where(mask[..., None].bool(), actions, actions.new_tensor([0.0, 1.0, 0.0]))


def superposition_stack(actions: Tensor, pushed_vectors: Tensor, mask: Tensor | None = None) -> Tensor:
    """Readings of the superposition stack for whole sequences.

    actions        [B, n, 3]       probabilities in the order push, no-op, pop
    pushed_vectors [B, n, m]
    mask           [B, n] or None  False where the step leaves the stack untouched (padding)
    returns        [B, n+1, m]     index 0 is the reading of the empty stack, zeros

    Raises ValueError if the shapes do not fit together. O(n^2 m) time and memory.
    """
    # B x n x 3, B x n x m -> B x n+1 x m
    check_steps("actions", actions, (3,), pushed_vectors, mask)
    with torch.autocast(actions.device.type, enabled=False):
        dtype = torch.promote_types(actions.dtype, torch.float32)
        actions, vectors = actions.to(dtype), pushed_vectors.to(dtype)
        library = kernel(vectors)
        if mask is not None and (library is None or not is_right_padded(mask)):
            actions, mask = no_op_actions(actions, mask), None
        if library is not None:
            lengths = sequence_lengths(vectors, mask)
            readings: Tensor = CompiledSequence.apply(actions, vectors, lengths, library)
            return readings.to(pushed_vectors.dtype)
        readings = _WholeSequence.apply(actions, vectors)
        return readings.to(pushed_vectors.dtype)


class _WholeSequence(torch.autograd.Function):
    """All steps with their hand-written reverse.

    `stacks[t]` holds the stack after step t in rows 1, 2, ... (1 is the top); row 0 is where the vector that step t+1
    pushes is put, so that all three actions are shifts of one array. An element deeper than the number of steps to come
    cannot surface any more, so only min(t, n - t + 1) elements are kept.
    """

    @staticmethod
    def forward(ctx: Any, actions: Tensor, vectors: Tensor) -> Tensor:
        batch, steps, size = vectors.shape
        stacks = vectors.new_zeros(steps + 1, batch, steps // 2 + 4, size)
        stacks[:-1, :, 0] = vectors.transpose(0, 1)
        weights = actions.permute(1, 2, 0)[..., None, None]  # n x 3 x B x 1 x 1
        for t in range(1, steps + 1):
            height = min(t, steps - t + 1)
            old, new = stacks[t - 1], stacks[t, :, 1 : height + 1]
            push, keep, pop = weights[t - 1]
            torch.mul(old[:, :height], push, out=new)
            new.addcmul_(old[:, 1 : height + 1], keep).addcmul_(old[:, 2 : height + 2], pop)
        ctx.save_for_backward(actions, stacks)
        return stacks[:, :, 1].transpose(0, 1).contiguous()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        actions, stacks = ctx.saved_tensors
        batch, steps, _ = actions.shape
        weights = actions.permute(1, 2, 0)[..., None, None]
        grad_actions = torch.empty_like(actions)
        grad_vectors = grad.new_empty(batch, steps, grad.shape[-1])
        later = grad.new_zeros(stacks.shape[1:])  # gradient of stacks[t], rows as there
        for t in range(steps, 0, -1):
            height = min(t, steps - t + 1)
            here = later[:, 1 : height + 1]
            here[:, 0] += grad[:, t]
            push, keep, pop = weights[t - 1]
            earlier = torch.zeros_like(later)
            for action, (shift, weight) in enumerate(((0, push), (1, keep), (2, pop))):
                rows = slice(shift, shift + height)
                grad_actions[:, t - 1, action] = (here * stacks[t - 1][:, rows]).sum((1, 2))
                earlier[:, rows].addcmul_(here, weight)
            grad_vectors[:, t - 1] = earlier[:, 0]
            later = earlier
        return grad_actions, grad_vectors
