"""Keys and values of prompts, kept once however many outputs go on from each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zoo.state_cache import KeyValueLayer, StateCache


@dataclass(frozen=True)
class Groups:
    """Which of P prompts each of R rows goes on from.

    owners : R; places : R, its place where rows stand prompt by prompt, `widest` places for each
    allowed : P x n, False at padding of a prompt; None: there is none
    """

    owners: Tensor
    places: Tensor
    widest: int
    allowed: Tensor | None

    @classmethod
    def of(cls, owners: Tensor, prompts: int, allowed: Tensor | None) -> "Groups":
        counts = torch.bincount(owners, minlength=prompts)
        order = owners.argsort(stable=True)
        before = counts.cumsum(0) - counts
        places = torch.empty_like(owners)
        widest = int(counts.max())
        sorted_owners = owners[order]
        places[order] = sorted_owners * widest + torch.arange(len(owners), device=owners.device) - before[sorted_owners]
        return cls(owners, places, widest, allowed)

    def spread(self, x: Tensor, prompts: int) -> Tensor:
        # x : R x H x D -> P x H x widest x D, zeros where there is no row
        spread = x.new_zeros(prompts * self.widest, *x.shape[1:])
        spread[self.places] = x
        return spread.view(prompts, self.widest, *x.shape[1:]).transpose(1, 2)

    def gather(self, x: Tensor) -> Tensor:
        # x : P x H x widest x D -> R x H x D
        return x.transpose(1, 2).flatten(0, 1)[self.places]


class SharedPromptLayer(KeyValueLayer):
    """Keys and values of what follows the prompts, and those of the prompts, P x H x n x D, which are never copied."""

    def __init__(self, keys: Tensor, values: Tensor, groups: Groups) -> None:
        super().__init__()
        self.prompt_keys, self.prompt_values, self.groups = keys, values, groups

    def get_seq_length(self) -> int:
        return self.prompt_keys.shape[-2] + super().get_seq_length()

    def own_length(self) -> int:
        return super().get_seq_length()

    def attend(self, query: Tensor, key: Tensor, value: Tensor, allowed: Any, rate: float) -> Tensor:
        """Attention of one new position in each row to its prompt and to what followed it. query : R x H x 1 x D"""
        keys, values = self.update(key, value)
        prompts, length = len(self.prompt_keys), self.prompt_keys.shape[-2]
        query = query * query.shape[-1] ** -0.5
        scores = self.groups.spread(query[:, :, 0], prompts) @ self.prompt_keys.mT
        if self.groups.allowed is not None:
            scores = scores.masked_fill(~self.groups.allowed[:, None, None], -torch.inf)
        own = (query @ keys.mT)[:, :, 0]
        weights = torch.cat([self.groups.gather(scores), own], -1).softmax(-1)
        read = self.groups.gather(self.groups.spread(weights[..., :length], prompts) @ self.prompt_values)
        return read[:, :, None] + weights[:, :, None, length:] @ values


class SharedPromptCache(StateCache):
    """A cache whose rows share prompts; the rows are those of a batch, in any order and number."""

    @classmethod
    def after(cls, cache: Any, allowed: Tensor | None) -> "SharedPromptCache":
        """After the prompts that `cache` holds; allowed : P x n, False at their padding."""
        rows = torch.arange(len(cache.layers[0].keys), device=cache.layers[0].keys.device)
        groups = Groups.of(rows, len(rows), allowed)
        return cls(layers=[SharedPromptLayer(layer.keys, layer.values, groups) for layer in cache.layers])

    def reorder_cache(self, beam_idx: Tensor) -> None:
        layers: Sequence[Any] = self.layers
        groups = layers[0].groups
        chosen = Groups.of(groups.owners[beam_idx], len(layers[0].prompt_keys), groups.allowed)
        for layer in layers:
            layer.reorder_cache(beam_idx)
            layer.groups = chosen
