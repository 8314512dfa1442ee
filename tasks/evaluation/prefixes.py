"""Beginnings of outputs and what may follow them, each computed once from the cached state of its own beginning."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tasks.tokenization import BOS, PAD

FEW_UNUSED = 0.25  # share of unused rows up to which a cache is gone on with as it is, because copying it costs more


@dataclass(frozen=True)
class Prefixes:
    """States of a model after N prefixes; they may follow prompts of unlike length.

    probabilities : N x V, of the next token after each; float64, so that long products of them stay exact
    mask : C x T over the C rows of the cache, False at padding between prompt and output; None: no padding
    rows : N, the row of the cache that holds each prefix; size: rows C of the cache, of which some may be unused
    """

    model: Any
    cache: Any
    probabilities: Tensor
    mask: Tensor | None
    rows: Tensor
    size: int

    def follow(self, parents: Tensor, tokens: Tensor, uses_up: bool = True) -> "Prefixes":
        """The prefixes `parents[i]` with `tokens[i]` appended; a parent may be taken any number of times.

        uses_up: whether these prefixes will not be followed again.
        """
        rows, cache, mask, inputs = self.rows[parents], self.cache, self.mask, tokens
        enough = uses_up and len(rows) >= (1 - FEW_UNUSED) * self.size
        if enough and bool((torch.bincount(rows) <= 1).all()):
            inputs = tokens.new_full((self.size,), PAD)
            inputs[rows] = tokens
        else:
            cache, mask = select(cache, rows), None if mask is None else mask[rows]
            rows = torch.arange(len(rows), device=rows.device)
        if mask is not None:
            mask = torch.nn.functional.pad(mask, (0, 1), value=True)
        output = self.model(input_ids=inputs[:, None], attention_mask=mask, cache=cache, use_cache=True)
        return Prefixes(self.model, output.cache, next_tokens(output.logits[rows, -1]), mask, rows, len(inputs))


def read_prompts(model: Any, sources: Sequence[Sequence[int]]) -> Prefixes:
    """The prompts `bos source`, each read once; a model that is given trees has its own way."""
    if hasattr(model, "read_prompts"):
        own: Prefixes = model.read_prompts(sources)
        return own
    # Padded on the right, where causal attention needs no mask yet.
    lengths = torch.tensor([len(source) + 1 for source in sources], device=model.device)
    width = int(lengths.max())
    prompts = [[BOS, *source, *[PAD] * (width - 1 - len(source))] for source in sources]
    mask = torch.arange(width, device=model.device) < lengths[:, None]
    padded = None if bool(mask.all()) else mask
    output = model(
        input_ids=torch.tensor(prompts, device=model.device), attention_mask=padded, cache=None, use_cache=True
    )
    rows = torch.arange(len(sources), device=model.device)
    return Prefixes(model, output.cache, next_tokens(output.logits[rows, lengths - 1]), padded, rows, len(rows))


def next_tokens(logits: Tensor) -> Tensor:
    """Probabilities in float64."""
    return logits.double().softmax(-1)


def select(cache: Any, rows: Tensor) -> Any:
    """A cache of the chosen rows, in that order; the given one stays as it is."""
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    chosen.reorder_cache(rows)
    return chosen


def holds_keys_only(model: PreTrainedModel) -> bool:
    """Whether the cache of a model of the zoo holds keys and values only, no stack and no recurrent state."""
    return set(getattr(model.config, "layers", ["state"])) == {"attention"}
