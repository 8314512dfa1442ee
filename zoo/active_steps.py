"""Which positions of a padded batch a recurrence takes a step at."""

import torch
from torch import Tensor, nn


class ActiveSteps:
    """The steps of each row one after the other, n for the longest row; those that others lack come last.

    active [B, T]: positions at which the recurrence takes a step.
    """

    def __init__(self, active: Tensor) -> None:
        self.length = active.shape[1]  # T
        self._active = active
        self._rows = torch.arange(len(active), device=active.device)
        self._counts = active.cumsum(1)  # steps up to each position
        self.totals = self._counts[:, -1]  # B
        self.number = max(self.totals.tolist(), default=0)  # n
        self._order = (~active).int().argsort(dim=1, stable=True)[:, : self.number].t()

    def taken(self) -> Tensor | None:
        """Steps [n, B] that each row really takes, or None if all take n."""
        if not bool((self.totals < self.number).any()):
            return None
        return torch.arange(self.number, device=self.totals.device)[:, None] < self.totals

    def gather(self, inputs: Tensor) -> Tensor:
        """Of positions [B, T, E], those of the steps [n, B, E]."""
        return inputs[self._rows, self._order]

    def after(self, states: Tensor) -> Tensor:
        """Of what there is before and after each step [n+1, B, d], what there is after each position [B, T, d]."""
        return states[self._counts, self._rows[:, None]]

    def at(self, values: Tensor) -> Tensor:
        """Of what belongs to each step [n, B, d], what belongs to each position [B, T, d]: 0 where there is no step."""
        return self.after(nn.functional.pad(values, (0, 0, 0, 0, 1, 0))) * self._active[..., None]

    def last(self, states: Tensor) -> Tensor:
        """Of the same, what there is after all steps of each row [B, d]."""
        return states[self.totals, self._rows]
