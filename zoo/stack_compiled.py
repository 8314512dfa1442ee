"""The nondeterministic stack on a CPU by the compiled kernel of `nondeterministic_stack.c`: sequences and steps."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from .native import LANES, load, pointer
from .stack_shapes import StackShape

SOURCE = "nondeterministic_stack.c"
NOTHING, ALL_BUT_H, ALL = range(3)  # what the forward pass keeps, as in the C file


def kernel(tensor: Tensor, shape: StackShape) -> ctypes.CDLL | None:
    """The kernel for these sizes and numbers like these, or None where it cannot be had or used."""
    library = load(SOURCE, tensor, Q=shape.states, S=shape.symbols, M=shape.vector_size)
    if library is not None:
        for function in (library.stack_memory, library.stack_scratch, library.stack_plan):
            function.restype = ctypes.c_int64
    return library


def is_wide(library: ctypes.CDLL, logits: Tensor, limit: float) -> bool:
    """Whether within one step of float32 logits [..., A, 2A+Q] some lie more than `limit` apart."""
    logits = logits.contiguous()
    steps = logits.shape[:-2].numel()
    return bool(library.stack_is_wide(steps, pointer(logits), ctypes.c_float(limit), torch.get_num_threads()))


class CompiledSequence(torch.autograd.Function):
    """Readings [B, n+1, A*m] of logits [B, n, A, 2A+Q], vectors [B, n, m] and bottom [m].

    lengths [B] (int32): after so many steps the stack of a sequence stays as it is.
    kept_bytes: how much may stay in memory until the backward pass. Where the chart is larger, half of it (H) is
    computed again there, or all of it, in memory that each thread uses for one group of sequences after the other.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        vectors: Tensor,
        bottom: Tensor,
        lengths: Tensor,
        library: ctypes.CDLL,
        kept_bytes: int,
    ) -> Tensor:
        logits, vectors, bottom = logits.contiguous(), vectors.contiguous(), bottom.contiguous()
        batch, steps = logits.shape[:2]
        groups = -(-batch // LANES[logits.dtype])
        threads = min(torch.get_num_threads(), groups)
        order, starts = torch.empty(batch, dtype=torch.int64), torch.empty(groups, dtype=torch.int64)
        kept = ALL if any(ctx.needs_input_grad) else NOTHING
        while kept:
            size = library.stack_plan(batch, steps, pointer(lengths), kept, pointer(order), pointer(starts))
            if size * logits.itemsize <= kept_bytes:
                break
            kept -= 1
        if not kept:
            library.stack_plan(batch, steps, pointer(lengths), kept, pointer(order), pointer(starts))
            size = threads * library.stack_memory(steps, kept)
        memory = logits.new_empty(size)
        readings = logits.new_empty(batch, steps + 1, bottom.numel() * logits.shape[2])
        arrays = (order, lengths, starts, logits, vectors, bottom, readings, memory)
        library.stack_forward(batch, steps, kept, threads, *map(pointer, arrays))
        again = (memory, memory) if kept else (logits, bottom)  # the kernel looks at these only where nothing is kept
        ctx.save_for_backward(order, lengths, starts, vectors, *again)
        ctx.kernel, ctx.kept, ctx.threads, ctx.logits_shape = library, kept, threads, logits.shape
        return readings

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        order, lengths, starts, vectors, *again = ctx.saved_tensors
        library = ctx.kernel
        batch, steps, size = vectors.shape
        grad = grad.contiguous()
        grad_logits, grad_vectors = grad.new_empty(ctx.logits_shape), torch.empty_like(vectors)
        grad_bottom = grad.new_empty(batch, size)
        scratch = grad.new_empty(ctx.threads, library.stack_scratch(steps, ctx.kept))
        logits, bottom = again
        arrays = (order, lengths, starts, logits, vectors, bottom, grad, again[0], scratch)
        results = (grad_logits, grad_vectors, grad_bottom)
        library.stack_backward(batch, steps, ctx.kept, ctx.threads, *map(pointer, arrays + results))
        return grad_logits, grad_vectors, grad_bottom.sum(0), None, None, None


class CompiledTape:
    """What `StackTape` is, by the kernel: `forward` for steps 1, 2, ..., then `backward` in reverse order."""

    def __init__(self, bottom_vector: Tensor, batch: int, steps: int, shape: StackShape, library: ctypes.CDLL) -> None:
        self.bottom_vector, self.batch, self.steps, self.shape = bottom_vector.contiguous(), batch, steps, shape
        self._library = library
        self._groups = -(-batch // LANES[bottom_vector.dtype])
        self._threads = min(torch.get_num_threads(), self._groups)
        self._memory = bottom_vector.new_empty(self._groups * library.stack_memory(steps, ALL))
        self._number = self._last = 0  # steps so far, and where that pass began
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
        arrays = (self._memory, action_logits.contiguous(), vector.contiguous(), reading)
        self._library.stack_step_forward(self.batch, self.steps, self._number, self._threads, *map(pointer, arrays))
        return reading

    def backward(self, j: int, grad_reading: Tensor, vector: Tensor, begins: bool) -> tuple[Tensor, Tensor]:
        """Gradient B x A*m of the reading of step j and its vector -> gradients of that step's logits and vector.

        begins: whether a backward pass begins here, with no gradient from later steps.
        """
        if begins:
            self._last = j
            self._scratch = self._memory.new_empty(self._groups, self._library.stack_scratch(self.steps, ALL))
        vector = vector.contiguous()
        grad_logits = vector.new_empty(self.batch, *self.shape.action_shape)
        grad_vector = torch.empty_like(vector)
        arrays = (self._memory, self._scratch, vector, grad_reading.contiguous(), grad_logits, grad_vector)
        sizes = (self.batch, self.steps, j, self._last, self._threads)
        self._library.stack_step_backward(*sizes, *map(pointer, arrays))
        return grad_logits, grad_vector

    def grad_bottom(self) -> Tensor:
        """Gradient [B, m] of the bottom vector from the steps of a backward pass that went down to step 1."""
        grad = self.bottom_vector.new_empty(self.batch, self.shape.vector_size)
        arrays = map(pointer, (self._memory, self._scratch, grad))
        self._library.stack_bottom(self.batch, self.steps, self._last, *arrays)
        return grad
