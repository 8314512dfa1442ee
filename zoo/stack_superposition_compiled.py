"""The superposition stack on a CPU by the compiled kernel of `superposition_stack.c`: sequences and steps."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from .native import load, pointer

SOURCE = "superposition_stack.c"


def kernel(vectors: Tensor) -> ctypes.CDLL | None:
    """The kernel for vectors of this dtype, or None: no CPU tensor, no compiler, or switched off."""
    library = load(SOURCE, vectors)
    if library is not None:
        library.stack_rows.restype = library.scratch_rows.restype = ctypes.c_int64
    return library


class CompiledSequence(torch.autograd.Function):
    """Readings [B, n+1, m] of actions [B, n, 3] and vectors [B, n, m].

    lengths [B] (int32): after so many steps the stack of a sequence stays as it is.
    """

    @staticmethod
    def forward(ctx: Any, actions: Tensor, vectors: Tensor, lengths: Tensor, library: ctypes.CDLL) -> Tensor:
        actions, vectors = actions.contiguous(), vectors.contiguous()
        batch, steps, size = vectors.shape
        stacks = vectors.new_empty(batch, library.stack_rows(steps), size)
        readings = vectors.new_empty(batch, steps + 1, size)
        library.stack_forward(
            *vectors.shape, *map(pointer, (lengths, actions, vectors, readings, stacks)), torch.get_num_threads()
        )
        ctx.save_for_backward(actions, lengths, stacks)
        ctx.kernel = library
        return readings

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        actions, lengths, stacks = ctx.saved_tensors
        grad, threads = grad.contiguous(), torch.get_num_threads()
        (batch, steps, _), size = actions.shape, grad.shape[-1]
        scratch = grad.new_empty(threads, ctx.kernel.scratch_rows(steps), size)
        grad_actions, grad_vectors = torch.zeros_like(actions), grad.new_zeros(batch, steps, size)
        ctx.kernel.stack_backward(
            *(batch, steps, size),
            *map(pointer, (lengths, actions, grad, stacks, scratch, grad_actions, grad_vectors)),
            threads,
        )
        return grad_actions, grad_vectors, None, None


class CompiledTape:
    """What `SuperpositionTape` is, by the kernel."""

    def __init__(self, like: Tensor, steps: int, library: ctypes.CDLL) -> None:
        (batch, size), self._library = like.shape, library
        self._sizes, self._number = (batch, steps, size), 0  # steps so far
        self._actions = like.new_empty(steps, batch, 3)
        self._memory = like.new_empty(batch, library.stack_rows(steps), size)
        library.stack_begin(*self._sizes, pointer(self._memory))

    def initial_reading(self) -> Tensor:
        """Zeros [B, m]."""
        return torch.zeros_like(self._memory[:, 0])

    def forward(self, actions: Tensor, vector: Tensor) -> Tensor:
        """Probabilities B x 3 and vector B x m of the next step -> its reading B x m."""
        kept = self._actions[self._number].copy_(actions)
        self._number += 1
        reading = self._memory.new_empty(vector.shape)
        arrays = (kept, self._readable(vector), reading, self._memory)
        self._library.stack_step_forward(*self._sizes, self._number, *map(pointer, arrays), torch.get_num_threads())
        return reading

    def backward(self, j: int, grad_reading: Tensor, vector: Tensor | None, begins: bool) -> tuple[Tensor, Tensor]:
        """As `SuperpositionTape.backward`."""
        batch, steps, size = self._sizes
        if begins:
            self._scratch = self._memory.new_zeros(batch, self._library.scratch_rows(steps), size)
        found = self._memory.new_empty(batch, 3), self._memory.new_empty(batch, size)
        arrays = (self._actions[j - 1], self._readable(grad_reading), self._memory, self._scratch, *found)
        self._library.stack_step_backward(*self._sizes, j, *map(pointer, arrays), torch.get_num_threads())
        return found

    def _readable(self, tensor: Tensor) -> Tensor:
        """The tensor as the kernel reads it."""
        return tensor.to(self._memory.dtype).contiguous()
