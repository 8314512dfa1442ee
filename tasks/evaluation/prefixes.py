"""Beginnings of outputs and what may follow them, each computed once from the cached state of its own beginning."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tasks.tokenization import BOS


@dataclass(frozen=True)
class Prefixes:
    """States of a model after N prefixes of one length.

    log_probabilities : N x V, of the next token after each; float64, so that long products of them stay exact
    """

    model: PreTrainedModel
    cache: Any
    log_probabilities: Tensor

    @classmethod
    def read(cls, model: PreTrainedModel, cache: Any, input_ids: Tensor) -> "Prefixes":
        """Goes on from a cache, which is used up, or from the start; input_ids : N x T."""
        output = model(input_ids=input_ids, cache=cache, use_cache=True)
        return cls(model, output.cache, output.logits[:, -1].double().log_softmax(-1))

    def follow(self, parents: Tensor, tokens: Tensor) -> "Prefixes":
        """The prefixes `parents[i]` with `tokens[i]` appended; a parent may be taken any number of times."""
        return self.read(self.model, select(self.cache, parents), tokens[:, None])

    def take(self, rows: slice) -> "Prefixes":
        """Some of the prefixes."""
        chosen = torch.arange(len(self.log_probabilities), device=self.log_probabilities.device)[rows]
        return Prefixes(self.model, select(self.cache, chosen), self.log_probabilities[rows])


def read_prompts(model: PreTrainedModel, sources: Sequence[Sequence[int]]) -> Prefixes:
    """The prompts `bos source` of sources of one length, each read once."""
    return Prefixes.read(model, None, torch.tensor([[BOS, *source] for source in sources], device=model.device))


def select(cache: Any, rows: Tensor) -> Any:
    """A cache of the chosen rows, in that order; the given one stays as it is."""
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    chosen.reorder_cache(rows)
    return chosen
