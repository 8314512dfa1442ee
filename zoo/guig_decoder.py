"""The decoder of seed 002, whose heads are attached to several encoders, and what it keeps between steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.utils.generic import ModelOutput

from .guig_layers import FeedForward, MultiEncoderAttention, add_positions

Memory = tuple[Tensor, Tensor]  # states [B, S, D] and mask [B, S] of an encoder


@dataclass
class EncoderStates(ModelOutput):
    """States [B, S, D] of one or two encoders, and which positions are no padding [B, S]."""

    last_hidden_state: Tensor | None = None
    mask: Tensor | None = None
    second_states: Tensor | None = None
    second_mask: Tensor | None = None

    @classmethod
    def of(cls, memories: Sequence[Memory]) -> "EncoderStates":
        return cls(*[part for memory in memories for part in memory])

    def memories(self) -> list[Memory]:
        parts = self.to_tuple()
        return list(zip(parts[::2], parts[1::2], strict=True))


class DecoderLayer(nn.Module):
    """Causal self-attention, multi-encoder attention, feedforward network."""

    def __init__(
        self, width: int, inner: int, groups: Sequence[int], key_size: int, value_size: int, dropout: float
    ) -> None:
        super().__init__()
        self.attention = MultiEncoderAttention(width, [sum(groups)], key_size, value_size, dropout)
        self.encoder_attention = MultiEncoderAttention(width, groups, key_size, value_size, dropout)
        self.feedforward = FeedForward(width, inner, dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        allowed: Tensor,
        memories: Sequence[Memory],
        number: int,
        cache: EncoderDecoderCache | None,
    ) -> Tensor:
        # x : B x T x D, mask : B x T, allowed : B x 1 x T x past+T -> B x T x D
        read = self.attention.read(x, 0)
        if cache is not None:
            read = cache.self_attention_cache.update(*read, number)
        x = self.attention(x, [read], [allowed]) * mask[..., None]
        pairs = [self._encoded(states, group, number, cache) for group, (states, _) in enumerate(memories)]
        x = self.encoder_attention(x, pairs, [present[:, None, None] for _, present in memories]) * mask[..., None]
        return self.feedforward(x) * mask[..., None]

    def _encoded(self, states: Tensor, group: int, number: int, cache: EncoderDecoderCache | None) -> Memory:
        """Keys and values of an encoder, computed once for all steps."""
        if cache is None:
            return self.encoder_attention.read(states, group)
        place = number * len(self.encoder_attention.groups) + group
        kept: Any = cache.cross_attention_cache
        if place < len(kept.layers) and kept.get_seq_length(place):
            return kept.layers[place].keys, kept.layers[place].values
        return kept.update(*self.encoder_attention.read(states, group), place)


class Decoder(nn.Module):
    """Layers over an embedded target [B, T, D]."""

    def __init__(
        self,
        layers: int,
        width: int,
        inner: int,
        groups: Sequence[int],
        key_size: int,
        value_size: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(width, inner, groups, key_size, value_size, dropout) for _ in range(layers)
        )

    def forward(
        self, x: Tensor, mask: Tensor | None, memories: Sequence[Memory], cache: EncoderDecoderCache | None
    ) -> Tensor:
        """x [B, T, D]; mask [B, past + T], 0 at padding (None: there is none); cache: extended by these T positions."""
        past = 0 if cache is None else cache.get_seq_length()
        length = past + x.shape[1]
        mask = x.new_ones(len(x), length, dtype=torch.bool) if mask is None else mask.bool()
        places = torch.arange(length, device=x.device)
        allowed = (places <= places[past:, None]) & mask[:, None, :]
        x = add_positions(x, mask)
        for number, layer in enumerate(self.layers):
            x = layer(x, mask[:, past:], allowed[:, None], memories, number, cache)
        return x


def open_decoder_cache(cache: Cache | None, use_cache: bool) -> EncoderDecoderCache | None:
    """The cache to go on with: the given one, a new one, or None without `use_cache`.

    ValueError for a filled one of another kind.
    """
    if cache is not None and cache.get_seq_length():
        if isinstance(cache, EncoderDecoderCache):
            return cache
        raise ValueError(f"cache is a filled {type(cache).__name__}; pass the cache that this model returned, or None")
    # An empty one, as generate() hands in, has no room for several encoders.
    return EncoderDecoderCache(DynamicCache(), DynamicCache()) if use_cache else None
