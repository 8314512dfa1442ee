"""Sizes of stacks, and the check that a sequence of actions fits a sequence of vectors."""

from typing import NamedTuple

import torch
from torch import Tensor


class StackShape(NamedTuple):
    """Sizes of a nondeterministic stack: states Q, symbols S, vector size m."""

    states: int
    symbols: int
    vector_size: int

    @property
    def configurations(self) -> int:
        """Number A = Q*S of configurations (state, top symbol)."""
        return self.states * self.symbols

    @property
    def action_shape(self) -> tuple[int, int]:
        """Shape of the logits of one step: from each configuration, push | replace | pop."""
        return self.configurations, 2 * self.configurations + self.states

    @property
    def reading_size(self) -> int:
        return self.configurations * self.vector_size

    @classmethod
    def of(cls, action_logits: Tensor, vectors: Tensor) -> "StackShape":
        """Sizes read off `action_logits [..., Q*S, 2*Q*S+Q]` and `vectors [..., m]`; ValueError if they do not fit."""
        rows, columns = action_logits.shape[-2:]
        states = columns - 2 * rows
        if states <= 0 or rows % states:
            raise ValueError(
                f"action_logits has {rows} rows and {columns} columns; wanted are Q*S rows (state, symbol) and "
                "2*Q*S+Q columns (push, replace, pop)"
            )
        return cls(states, rows // states, vectors.shape[-1])


def check_steps(name: str, actions: Tensor, step_shape: tuple[int, ...], vectors: Tensor, mask: Tensor | None) -> None:
    """ValueError unless `actions` is [B, n, *step_shape], `vectors` [B, n, m], both real, and `mask` [B, n] or None."""
    if vectors.dim() != 3 or actions.shape != (*vectors.shape[:2], *step_shape):
        wanted = ", ".join(map(str, step_shape))
        raise ValueError(
            f"{name} {list(actions.shape)} and pushed_vectors {list(vectors.shape)} do not fit: "
            f"wanted are [B, n, {wanted}] and [B, n, m]"
        )
    if mask is not None and mask.shape != vectors.shape[:2]:
        raise ValueError(f"mask {list(mask.shape)} does not fit: wanted is {list(vectors.shape[:2])}, [B, n]")
    if not (actions.is_floating_point() and vectors.is_floating_point()):
        raise ValueError(f"{name} and pushed_vectors are {actions.dtype} and {vectors.dtype}: wanted are real numbers")


def sequence_lengths(vectors: Tensor, mask: Tensor | None) -> Tensor:
    """Number of steps [B] (int32) of the sequences `vectors` [B, n, m], whose mask [B, n] is right-padded or None."""
    if mask is not None:
        return mask.sum(1, dtype=torch.int32)
    return torch.full(vectors.shape[:1], vectors.shape[1], dtype=torch.int32, device=vectors.device)
