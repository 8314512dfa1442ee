"""What the tapes of all stacks have in common."""

from typing import Protocol

from torch import Tensor


class Tape(Protocol):
    """A stack that a network writes step by step, and reads backwards for the gradients.

    A tape is outside autograd: `forward` gives numbers, and whoever drives it calls `backward`. It serves a batch of B
    sequences for at most the number of steps it was made for, computes in its own dtype (float32 or float64, never
    half precision), and holds all that its reverse needs but the vectors. Actions are [B, 3] for the superposition
    stack and logits [B, A, 2A+Q] for the nondeterministic one, vectors [B, m], readings [B, r]. There are no masks: a
    row that keeps its stack at some step is given actions that do (`no_op_actions`, `no_op_logits`), which send no
    gradient to its vector; the gradient of those actions is not that of the actions they stand for, which is 0.
    """

    def initial_reading(self) -> Tensor:
        """Reading [B, r] of the stack before the first step."""

    def forward(self, actions: Tensor, vector: Tensor, /) -> Tensor:
        """Actions and vector of the next step -> its reading [B, r], a tensor of its own."""

    def backward(self, j: int, grad_reading: Tensor, vector: Tensor, begins: bool) -> tuple[Tensor, Tensor]:
        """Gradient [B, r] of the reading of step j (counted from 1) and its vector -> gradients of actions and vector.

        Must be called for steps in reverse order without a gap. begins: whether a backward pass begins here, with no
        gradient from later steps; another pass may begin at any step, as often as wanted.
        """
