"""The nondeterministic stack for whole sequences on a CPU, by the compiled kernel of `nondeterministic_stack.c`."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from .native import LANES, load, pointer
from .stack_shapes import StackShape

SOURCE = "nondeterministic_stack.c"


def kernel(logits: Tensor, shape: StackShape) -> ctypes.CDLL | None:
    """The kernel for these sizes, or None: no CPU tensor, no compiler, or switched off."""
    if logits.device.type != "cpu" or not logits.numel():
        return None
    library = load(SOURCE, logits.dtype, Q=shape.states, S=shape.symbols, M=shape.vector_size)
    if library is not None:
        library.stack_memory.restype = ctypes.c_int64
    return library


class CompiledSequence(torch.autograd.Function):
    """Readings [B, n+1, A*m] of logits [B, n, A, 2A+Q], vectors [B, n, m] and bottom [m].

    lengths [B] (int32): after so many steps the stack of a sequence stays as it is.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, vectors: Tensor, bottom: Tensor, lengths: Tensor, library: ctypes.CDLL
    ) -> Tensor:
        logits, vectors, bottom = logits.contiguous(), vectors.contiguous(), bottom.contiguous()
        batch, steps = logits.shape[:2]
        lanes = LANES[logits.dtype]
        # Sequences of like length share a group of lanes.
        order = lengths.argsort(descending=True, stable=True).int()
        longest = lengths[order.long()][::lanes].tolist()
        sizes = torch.tensor([0, *(library.stack_memory(length) for length in longest)])
        starts = sizes.cumsum(0)
        memory = logits.new_empty(int(starts[-1]))
        readings = logits.new_empty(batch, steps + 1, bottom.numel() * logits.shape[2])
        ctx.plan = (order, lengths, starts)
        library.stack_forward(
            batch, steps, *map(pointer, (*ctx.plan, logits, vectors, bottom, readings, memory)), torch.get_num_threads()
        )
        ctx.save_for_backward(vectors, memory)
        ctx.library, ctx.logits_shape = library, logits.shape
        return readings

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        vectors, memory = ctx.saved_tensors
        grad = grad.contiguous()
        batch, steps, size = vectors.shape
        grad_logits, grad_vectors = grad.new_zeros(ctx.logits_shape), torch.zeros_like(vectors)
        grad_bottom = grad.new_empty(batch, size)
        failed = ctx.library.stack_backward(
            batch,
            steps,
            *map(pointer, (*ctx.plan, vectors, grad, memory, grad_logits, grad_vectors, grad_bottom)),
            torch.get_num_threads(),
        )
        if failed:
            raise MemoryError(f"no memory for the gradients of {batch} stacks of {steps} steps; use smaller batches")
        return grad_logits, grad_vectors, grad_bottom.sum(0), None, None
