"""The nondeterministic stack on a CPU by the compiled kernel of `nondeterministic_stack.c`: sequences and steps."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from .native import LANES, load, pointer
from .stack_shapes import StackShape

SOURCE = "nondeterministic_stack.c"


def kernel(tensor: Tensor, shape: StackShape) -> ctypes.CDLL | None:
    """The kernel for these sizes and numbers like these, or None where it cannot be had or used."""
    library = load(SOURCE, tensor, Q=shape.states, S=shape.symbols, M=shape.vector_size)
    if library is not None:
        library.stack_memory.restype = library.stack_scratch.restype = ctypes.c_int64
    return library


def _starts(sizes: list[int]) -> Tensor:
    """Where each of several pieces begins, and at last where the whole ends."""
    return torch.tensor([0, *sizes]).cumsum(0)


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
        # Sequences of like length share a group of lanes.
        order = lengths.argsort(descending=True, stable=True).int()
        longest = lengths[order.long()][:: LANES[logits.dtype]].tolist()
        starts = _starts([library.stack_memory(length) for length in longest])
        memory = logits.new_empty(int(starts[-1]))
        readings = logits.new_empty(batch, steps + 1, bottom.numel() * logits.shape[2])
        arrays = (order, lengths, starts, logits, vectors, bottom, readings, memory)
        library.stack_forward(batch, steps, *map(pointer, arrays), torch.get_num_threads())
        ctx.save_for_backward(order, lengths, starts, vectors, memory)
        ctx.kernel, ctx.longest, ctx.logits_shape = library, longest, logits.shape
        return readings

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        order, lengths, starts, vectors, memory = ctx.saved_tensors
        library = ctx.kernel
        batch, steps, size = vectors.shape
        grad = grad.contiguous()
        grad_logits, grad_vectors = grad.new_zeros(ctx.logits_shape), torch.zeros_like(vectors)
        grad_bottom = grad.new_empty(batch, size)
        scratch_starts = _starts([library.stack_scratch(length) for length in ctx.longest])
        scratch = grad.new_zeros(int(scratch_starts[-1]))
        arrays = (order, lengths, starts, vectors, grad, memory, scratch_starts, scratch)
        results = (grad_logits, grad_vectors, grad_bottom)
        library.stack_backward(batch, steps, *map(pointer, arrays + results), torch.get_num_threads())
        return grad_logits, grad_vectors, grad_bottom.sum(0), None, None


class CompiledTape:
    """What `StackTape` is, by the kernel: `forward` for steps 1, 2, ..., then `backward` in reverse order."""

    def __init__(self, bottom_vector: Tensor, batch: int, steps: int, shape: StackShape, library: ctypes.CDLL) -> None:
        self.bottom_vector, self.batch, self.steps, self.shape = bottom_vector.contiguous(), batch, steps, shape
        self._library = library
        self._groups = -(-batch // LANES[bottom_vector.dtype])
        self._memory = bottom_vector.new_empty(self._groups * library.stack_memory(steps))
        self._number = 0  # steps so far
        library.stack_begin(batch, steps, pointer(self.bottom_vector), pointer(self._memory))

    def initial_reading(self) -> Tensor:
        """Reading [B, A*m] of the stack before the first step."""
        reading = self.bottom_vector.new_zeros(self.batch, self.shape.reading_size)
        reading[:, : self.shape.vector_size] = self.bottom_vector
        return reading

    def forward(self, action_logits: Tensor, vector: Tensor) -> Tensor:
        """Logits B x A x (2A+Q) and vector B x m of the next step -> its reading B x A*m."""
        self._number += 1
        reading = vector.new_empty(self.batch, self.shape.reading_size)
        arrays = (action_logits.contiguous(), vector.contiguous(), reading, self._memory)
        sizes = (self.batch, self.steps, self._number)
        self._library.stack_step_forward(*sizes, *map(pointer, arrays), torch.get_num_threads())
        return reading

    def backward(self, j: int, grad_reading: Tensor, vector: Tensor, begins: bool) -> tuple[Tensor, Tensor]:
        """Gradient B x A*m of the reading of step j and its vector -> gradients of that step's logits and vector.

        begins: whether a backward pass begins here, with no gradient from later steps.
        """
        if begins:
            self._scratch = self._memory.new_zeros(self._groups * self._library.stack_scratch(self.steps))
        vector = vector.contiguous()
        grad_logits = vector.new_empty(self.batch, *self.shape.action_shape)
        grad_vector = torch.empty_like(vector)
        arrays = (vector, grad_reading.contiguous(), self._memory, self._scratch, grad_logits, grad_vector)
        self._library.stack_step_backward(self.batch, self.steps, j, *map(pointer, arrays), torch.get_num_threads())
        return grad_logits, grad_vector

    def grad_bottom(self) -> Tensor:
        """Gradient [B, m] of the bottom vector from the steps of a backward pass that went down to step 1."""
        grad = self.bottom_vector.new_empty(self.batch, self.shape.vector_size)
        self._library.stack_bottom(self.batch, self.steps, pointer(self._scratch), pointer(grad))
        return grad
