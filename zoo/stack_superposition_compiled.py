"""The superposition stack for whole sequences on a CPU, by the compiled kernel of `superposition_stack.c`."""

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
