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


def check_steps(name: str, actions: Tensor, step_shape: tuple[int, ...], vectors: Tensor) -> None:
    """ValueError unless `actions` is [B, n, *step_shape] and `vectors` [B, n, m] for the same B and n."""
    if vectors.dim() != 3 or actions.shape != (*vectors.shape[:2], *step_shape):
        wanted = ", ".join(map(str, step_shape))
        raise ValueError(
            f"{name} {list(actions.shape)} and pushed_vectors {list(vectors.shape)} do not fit: "
            f"wanted are [B, n, {wanted}] and [B, n, m]"
        )


def sequence_lengths(vectors: Tensor, mask: Tensor | None) -> Tensor:
    """Number of steps [B] (int32) of the sequences `vectors` [B, n, m], whose mask [B, n] is right-padded or None."""
    if mask is not None:
        return mask.sum(1, dtype=torch.int32)
    return torch.full(vectors.shape[:1], vectors.shape[1], dtype=torch.int32, device=vectors.device)
