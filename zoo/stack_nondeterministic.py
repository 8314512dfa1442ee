"""The nondeterministic stack (differentiable vector pushdown automaton) of seed 000, section 3.2 and appendix B.2.

Equation 6 exactly, in probability space and without a chart that has a vector axis. Three facts make it cheap:

- A stack level that is popped uncovers the level that was on top when it was opened. So the expected top vector obeys a
  linear recursion over time, and the probability of "opened at step i in configuration a" obeys the same recursion.
  Both live side by side in one row of numbers per step: m columns of vector, then A columns for each opener i.
- Everything is conditioned on the present configuration, so all of these numbers lie in [0, 1]; only the A
  log-probabilities of the configurations are kept in logs.
- Each target configuration has its own scale, so that one that is unlikely now but the only one to live on is not lost.

Q states, S symbols, A = Q*S configurations c = (state, top symbol), numbered state*S + symbol. Rows are laid out
[B, S, time*Q, columns]: the symbol is a batch axis because a pop leaves the uncovered symbol unchanged.
That is the form that goes step by step; whole sequences in PyTorch take the shorter way of `stack_sequence.py`.
Time and memory: O(n^2) numbers and O(n^3) multiplications for a sequence, O(n^2) for one more step.
"""

from typing import Any

import torch
from torch import Tensor

from .stack_compiled import CompiledSequence, CompiledTape, is_wide, kernel
from .stack_recursion import NEVER, StackState, StackTape, advance, initial_state, weigh
from .stack_sequence import WholeSequence
from .stack_shapes import StackShape, check_steps, sequence_lengths
from .state_cache import is_right_padded

__all__ = [
    "StackShape",
    "StackState",
    "SteppedStack",
    "initial_state",
    "nondeterministic_stack",
    "reading",
    "stack_tape",
    "step",
]

WIDE = 60.0  # nats between the logits of one step beyond which float32 loses configurations: computed in float64
KEPT_BYTES = 2**29  # what a call may keep for its backward pass; larger charts are computed again there (compiled form)


def reading(state: StackState, shape: StackShape) -> Tensor:
    """Equation 6: the reading [B, Q*S*m] of a stack, blocks in the order (state, symbol)."""
    top = state.rows[:, :, -shape.states :, : shape.vector_size]
    return weigh(top, state.log_alpha.exp(), shape)


def step(
    state: StackState, action_logits: Tensor, pushed_vector: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, StackState]:
    """One update, without gradients: for generation. O(k^2) at step k.

    action_logits [B, Q*S, 2*Q*S+Q], pushed_vector [B, m], mask [B] or None (False: the stack stays as it is)
    -> reading [B, Q*S*m], next state
    """
    shape = StackShape.of(action_logits, pushed_vector)
    with torch.no_grad(), torch.autocast(action_logits.device.type, enabled=False):
        dtype = torch.promote_types(state.rows.dtype, computing_dtype(action_logits, shape))
        logits = action_logits.to(dtype)
        if mask is not None:
            logits = no_op_logits(logits, mask)
        rows, log_alpha = state.rows.to(dtype), state.log_alpha.to(dtype)
        new, log_alpha, _ = advance(rows, log_alpha, logits, pushed_vector.to(dtype), shape)
        rows = torch.cat([torch.nn.functional.pad(rows, (0, shape.configurations)), new], 2)
        state = StackState(rows, log_alpha)
        return reading(state, shape).to(pushed_vector.dtype), state


def no_op_logits(action_logits: Tensor, mask: Tensor) -> Tensor:
    """Logits [B, ..., Q*S, 2*Q*S+Q] whose steps outside `mask` [B, ...] leave the stack as it is."""
    configurations, columns = action_logits.shape[-2:]
    still = action_logits.new_full((configurations, columns), NEVER)
    index = torch.arange(configurations, device=still.device)
    still[index, configurations + index] = 0  # replace the top by itself
    return torch.where(mask[..., None, None].bool(), action_logits, still)


def nondeterministic_stack(
    action_logits: Tensor,
    pushed_vectors: Tensor,
    bottom_vector: Tensor,
    mask: Tensor | None = None,
    kept_bytes: int | None = None,
) -> Tensor:
    """Readings of the nondeterministic stack for whole sequences (seed 000, equation 6).

    action_logits  [B, n, Q*S, 2*Q*S+Q]  log weights: (state, top symbol) x [push (state, symbol) | replace (state,
                   symbol) | pop (state)]; -inf forbids a transition
    pushed_vectors [B, n, m]             the vector that a push at that step pushes
    bottom_vector  [m]                   the vector at the bottom, which may be replaced but never popped
    mask           [B, n] or None        False where the step leaves the stack untouched (padding)
    kept_bytes     memory that may be kept for the backward pass (KEPT_BYTES by default): what does not fit is computed
                   again there. Less memory costs time and changes no number. Only the compiled form heeds it.
    returns        [B, n+1, Q*S*m]       index 0 is the reading of the initial stack

    What a step's logits have in common does not matter, but is rounding error where it is large: subtract it. Some
    transition must be possible from every configuration that is reached. Tested for logits up to 100 times N(0, 1).
    Sequences in which a step's logits span more than 60 nats are computed in float64, because float32 would lose
    configurations there. Raises ValueError if the shapes do not fit together.
    """
    # B x n x A x (2A+Q), B x n x m, m -> B x n+1 x A*m
    shape = StackShape.of(action_logits, pushed_vectors)
    check_steps("action_logits", action_logits, shape.action_shape, pushed_vectors, mask)
    if bottom_vector.shape != (shape.vector_size,):
        raise ValueError(f"bottom_vector {list(bottom_vector.shape)} does not fit: wanted is [{shape.vector_size}]")
    with torch.autocast(action_logits.device.type, enabled=False):
        dtype = computing_dtype(action_logits, shape)
        logits, vectors, bottom = (tensor.to(dtype) for tensor in (action_logits, pushed_vectors, bottom_vector))
        library = kernel(logits, shape)
        active = mask
        if mask is not None:  # whatever stands at padding
            vectors = torch.where(mask[..., None].bool(), vectors, 0)
        if mask is not None and (library is None or not is_right_padded(mask)):
            logits, mask = no_op_logits(logits, mask), None
        if library is None:
            readings = _in_pytorch(logits, vectors, bottom, active, shape)
        else:
            lengths = sequence_lengths(vectors, mask)
            kept_bytes = KEPT_BYTES if kept_bytes is None else kept_bytes
            readings = CompiledSequence.apply(logits, vectors, bottom, lengths, library, kept_bytes)
        return readings.to(pushed_vectors.dtype)


def _in_pytorch(logits: Tensor, vectors: Tensor, bottom: Tensor, active: Tensor | None, shape: StackShape) -> Tensor:
    """All steps at once in the given precision, or in float64 if that loses something, or in the end step by step.

    Step by step is for configurations that may only be popped, and for logits that span hundreds of nats.
    """
    for dtype in dict.fromkeys((logits.dtype, torch.float64)):
        inputs = [tensor.to(dtype) for tensor in (logits, vectors, bottom)]
        readings, right = WholeSequence.apply(*inputs, active, shape)
        if right:
            return readings
    readings = StepByStep.apply(*inputs, shape)
    return readings


def computing_dtype(action_logits: Tensor, shape: StackShape) -> torch.dtype:
    """float64 where the logits [..., A, 2A+Q] ask for it, else float32: never half precision."""
    if action_logits.dtype == torch.float64 or spans_too_much(action_logits, shape):
        return torch.float64
    return torch.float32


def spans_too_much(action_logits: Tensor, shape: StackShape) -> bool:
    """Whether the logits [..., A, 2A+Q] of some step span more than float32 can hold."""
    logits = action_logits.detach().float()
    library = kernel(logits, shape)
    if library is not None:
        return is_wide(library, logits, WIDE)
    flat = logits.flatten(-2)
    return flat.numel() > 0 and bool((flat.amax(-1) - flat.amin(-1) > WIDE).any())


class StepByStep(torch.autograd.Function):
    """`nondeterministic_stack` by the tape that recurrent networks write."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, vectors: Tensor, bottom: Tensor, shape: StackShape) -> Tensor:
        batch, steps = logits.shape[:2]
        tape = stack_tape(bottom, batch, steps, shape, keep_state=False)
        readings = [tape.initial_reading()]
        readings += [tape.forward(logits[:, j], vectors[:, j]) for j in range(steps)]
        ctx.tape, ctx.logits_shape = tape, logits.shape
        ctx.save_for_backward(vectors)
        return torch.stack(readings, 1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (vectors,) = ctx.saved_tensors
        tape: StackTape | CompiledTape = ctx.tape
        grad_logits, grad_vectors = grad.new_empty(ctx.logits_shape), torch.empty_like(vectors)
        for j in range(tape.steps, 0, -1):
            found = tape.backward(j, grad[:, j], vectors[:, j - 1], begins=j == tape.steps)
            grad_logits[:, j - 1], grad_vectors[:, j - 1] = found
        grad_bottom = grad[:, 0, : tape.shape.vector_size]
        if tape.steps:
            grad_bottom = grad_bottom + tape.grad_bottom()
        return grad_logits, grad_vectors, grad_bottom.sum(0), None


def stack_tape(
    bottom_vector: Tensor, batch: int, steps: int, shape: StackShape, keep_state: bool
) -> StackTape | CompiledTape:
    """The stack as a recurrent network uses it: each step's actions may depend on the reading before.

    bottom_vector [m] in the precision of the tape. keep_state: whether `state` will be asked for; the compiled form has
    none.
    """
    library = None if keep_state else kernel(bottom_vector, shape)
    if library is None:
        return StackTape(bottom_vector, batch, steps, shape)
    return CompiledTape(bottom_vector, batch, steps, shape, library)


class SteppedStack:
    """A tape that goes on from a state, without a bound on the number of steps; it cannot be read backwards."""

    def __init__(self, state: StackState, shape: StackShape) -> None:
        self._state, self._shape = state, shape

    def initial_reading(self) -> Tensor:
        """Reading B x A*m."""
        return reading(self._state, self._shape)

    def forward(self, action_logits: Tensor, vector: Tensor) -> Tensor:
        """Logits B x A x (2A+Q) and vector B x m of the next step -> its reading B x A*m."""
        found, self._state = step(self._state, action_logits, vector)
        return found

    def backward(self, *_: Any) -> tuple[Tensor, Tensor]:
        raise RuntimeError(
            "no gradients pass through a nondeterministic stack that goes on from a cache; run the model on the whole "
            "sequence without a cache, or under torch.no_grad()"
        )

    def state(self) -> StackState:
        return self._state
