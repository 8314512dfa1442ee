"""The superposition stack of seed 000, section 3.1 and appendix B.1 (after Joulin and Mikolov).

After each step the stack is the mixture of three stacks: one with the new vector pushed, one unchanged, one popped.
Popping an empty stack yields zeros. (Equation 5 of the seed, read literally, gives other numbers.)
"""

from typing import Any

import torch
from torch import Tensor

from .stack_shapes import check_steps, sequence_lengths
from .stack_superposition_compiled import CompiledSequence, CompiledTape, kernel
from .stack_tape import Tape
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
    """All steps with their hand-written reverse."""

    @staticmethod
    def forward(ctx: Any, actions: Tensor, vectors: Tensor) -> Tensor:
        batch, steps, size = vectors.shape
        ctx.tape = tape = SuperpositionTape(vectors.new_empty(batch, size), steps)
        ctx.shapes = actions.shape, vectors.shape
        return tape.sequence(actions, vectors)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        grad_actions, grad_vectors = map(grad.new_empty, ctx.shapes)
        steps = grad_actions.shape[1]
        for j in range(steps, 0, -1):
            ctx.tape.reverse(j, grad[:, j], j == steps, grad_actions[:, j - 1], grad_vectors[:, j - 1])
        return grad_actions, grad_vectors


def superposition_tape(like: Tensor, steps: int) -> Tape:
    """An empty stack for at most `steps` steps with gradients, in the form that is fastest where `like` is.

    like [B, m]: batch, vector size, device and dtype (float32 at least) are taken from it.
    """
    like = like.detach().to(torch.promote_types(like.dtype, torch.float32))
    library = kernel(like)
    return SuperpositionTape(like, steps) if library is None else CompiledTape(like, steps, library)


class SteppedTape:
    """A tape that goes on from elements [B, k, m], keeps the whole stack, and has no bound on the number of steps."""

    def __init__(self, elements: Tensor) -> None:
        self._before: list[tuple[Tensor, Tensor, Tensor]] = []  # of each step: elements before, actions, vector
        self._elements = self._grad = elements

    def initial_reading(self) -> Tensor:
        return self._elements[:, 0]

    def forward(self, actions: Tensor, vector: Tensor) -> Tensor:
        """Probabilities B x 3 and vector B x m of the next step -> its reading B x m."""
        self._before.append((self._elements, actions, vector))
        self._elements = step(self._elements, actions, vector)
        return self._elements[:, 0]

    def backward(self, j: int, grad_reading: Tensor, vector: Tensor, begins: bool) -> tuple[Tensor, Tensor]:
        """As `SuperpositionTape.backward`, by automatic differentiation of the step."""
        with torch.enable_grad():
            inputs = tuple(tensor.detach().requires_grad_() for tensor in self._before[j - 1])
            after = step(*inputs)
        grad = torch.zeros_like(after) if begins else self._grad.clone()
        grad[:, 0] += grad_reading
        self._grad, grad_actions, grad_vector = torch.autograd.grad(after, inputs, grad)
        return grad_actions, grad_vector

    def state(self) -> tuple[Tensor, ...]:
        """The elements [B, k, m] after the steps so far."""
        return (self._elements,)


class SuperpositionTape:
    """A stack that is written step by step with room for `steps` steps, and read backwards for the gradients.

    `_stacks[t]` holds the stack after step t in rows 1, 2, ... (1 is the top); row 0 is where the vector that step t+1
    pushes is put, so that all three actions are shifts of one array. An element deeper than the number of steps to come
    cannot surface any more, so only min(t, n - t + 1) elements are kept.
    """

    def __init__(self, like: Tensor, steps: int) -> None:
        batch, size = like.shape
        self._stacks = like.new_zeros(steps + 1, batch, steps // 2 + 4, size)
        self._weights = like.new_empty(steps, 3, batch, 1, 1)
        self._number = 0  # steps so far

    def initial_reading(self) -> Tensor:
        """Zeros [B, m]."""
        return torch.zeros_like(self._stacks[0, :, 0])

    def forward(self, actions: Tensor, vector: Tensor) -> Tensor:
        """Probabilities B x 3 and vector B x m of the next step -> its reading B x m."""
        self._weights[self._number, :, :, 0, 0] = actions.t()
        self._stacks[self._number, :, 0] = vector
        return self._advance()[:, 0].clone()

    def sequence(self, actions: Tensor, vectors: Tensor) -> Tensor:
        """All steps at once: B x n x 3, B x n x m -> readings B x n+1 x m, the initial one included."""
        self._weights[..., 0, 0] = actions.permute(1, 2, 0)
        self._stacks[:-1, :, 0] = vectors.transpose(0, 1)
        for _ in range(actions.shape[1]):
            self._advance()
        return self._stacks[:, :, 1].transpose(0, 1).contiguous()

    def _advance(self) -> Tensor:
        """The next step, whose actions and vector are in place -> the elements after it."""
        self._number += 1
        old, height = self._before(self._number)
        new = self._stacks[self._number, :, 1 : height + 1]
        push, keep, pop = self._weights[self._number - 1]
        torch.mul(old[:, :height], push, out=new)
        return new.addcmul_(old[:, 1 : height + 1], keep).addcmul_(old[:, 2 : height + 2], pop)

    def backward(self, j: int, grad_reading: Tensor, vector: Tensor | None, begins: bool) -> tuple[Tensor, Tensor]:
        """Gradient B x m of the reading of step j -> gradients of that step's actions and vector.

        vector: not needed, the tape holds it. begins: whether a backward pass begins here, with no gradient from later
        steps.
        """
        new = self._weights.new_empty
        grad_actions, grad_vector = new(len(grad_reading), 3), new(grad_reading.shape)
        self.reverse(j, grad_reading, begins, grad_actions, grad_vector)
        return grad_actions, grad_vector

    def reverse(self, j: int, grad_reading: Tensor, begins: bool, grad_actions: Tensor, grad_vector: Tensor) -> None:
        """`backward`, whose results are written into the last two arguments."""
        if begins:
            self._later = torch.zeros_like(self._stacks[0])  # gradient of the stack after step j, rows as there
        old, height = self._before(j)
        here = self._later[:, 1 : height + 1]
        here[:, 0] += grad_reading
        earlier = torch.zeros_like(self._later)
        for shift, weight in enumerate(self._weights[j - 1]):
            rows = slice(shift, shift + height)
            grad_actions[:, shift] = (here * old[:, rows]).sum((1, 2))
            earlier[:, rows].addcmul_(here, weight)
        grad_vector.copy_(earlier[:, 0])
        self._later = earlier

    def _before(self, t: int) -> tuple[Tensor, int]:
        """The stack before step t, and how many elements are kept after that step."""
        return self._stacks[t - 1], min(t, len(self._weights) - t + 1)
