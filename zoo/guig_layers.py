"""Parts of the encoders and decoders of seed 002, in the form of its authors' code.

Layer normalisation is applied to queries only, inside the attention, and after the feedforward network; what leaves a
part is zero at padding.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import initialization as init

from .attention import attend
from .dropout import Dropout
from .positions import sinusoidal_code
from .syntax_tokens import SPECIAL_IDS


class Projection(nn.Linear):
    """A linear layer."""


def initialize_guig(module: nn.Module) -> None:
    """Xavier uniform matrices, biases 0, embeddings N(0, 1) with 0 for padding, layer norm 1 and 0."""
    if isinstance(module, nn.Linear):
        init.xavier_uniform_(module.weight)
        if module.bias is not None:
            init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        init.normal_(module.weight)
        init.zeros_(module.weight[0])
    elif isinstance(module, nn.LayerNorm):
        init.ones_(module.weight)
        init.zeros_(module.bias)


def split_heads(x: Tensor, heads: int) -> Tensor:
    # B x T x H*K -> B x H x T x K
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    # B x H x T x K -> B x T x H*K
    return x.transpose(1, 2).flatten(2)


def add_positions(x: Tensor, mask: Tensor) -> Tensor:
    """x plus codes of positions 1, 2, ... that count the tokens of each row; at padding zeros.

    x [B, T, D], mask [B, past + T] -> [B, T, D]
    """
    positions = mask.long().cumsum(1)[:, -x.shape[1] :]
    return (x + sinusoidal_code(positions, x.shape[-1]).to(x.dtype)) * mask[:, -x.shape[1] :, None]


class MultiEncoderAttention(nn.Module):
    """Attention whose heads are attached to different memories (seed 002, section 3.1), with the residual inside.

    groups: heads of each memory. Heads of group 1 come first where heads are joined. With one group and the queries as
    memory it is self-attention.
    """

    def __init__(self, width: int, groups: Sequence[int], key_size: int, value_size: int, dropout: float) -> None:
        super().__init__()
        self.groups = list(groups)
        self.norm = nn.LayerNorm(width)
        self.query = nn.ModuleList(Projection(width, heads * key_size, bias=False) for heads in groups)
        self.key = nn.ModuleList(Projection(width, heads * key_size, bias=False) for heads in groups)
        self.value = nn.ModuleList(Projection(width, heads * value_size, bias=False) for heads in groups)
        self.output = Projection(sum(groups) * value_size, width)
        self.dropout = Dropout(dropout)
        self.rate = dropout

    def read(self, memory: Tensor, group: int) -> tuple[Tensor, Tensor]:
        """Keys and values, each [B, H, S, ...], of a memory [B, S, D]."""
        heads = self.groups[group]
        return split_heads(self.key[group](memory), heads), split_heads(self.value[group](memory), heads)

    def forward(self, x: Tensor, memories: Sequence[tuple[Tensor, Tensor]], allowed: Sequence[Tensor]) -> Tensor:
        """x [B, T, D]; memories: keys and values as from `read`; allowed [B, 1, T or 1, S] of each -> [B, T, D]."""
        normal, joined = self.norm(x), []
        for query, heads, (key, value), mask in zip(self.query, self.groups, memories, allowed, strict=True):
            queries = split_heads(query(normal), heads)
            joined.append(attend(queries, key, value, mask, self.rate if self.training else 0.0))
        return x + self.dropout(self.output(merge_heads(torch.cat(joined, 1))))


class FeedForward(nn.Module):
    """layer_norm(x + W_2 gelu(W_1 x + b_1) + b_2), the exact GELU."""

    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.inner = Projection(width, inner)
        self.outer = Projection(inner, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        # B x T x D -> B x T x D
        return self.norm(x + self.dropout(self.outer(nn.functional.gelu(self.inner(x)))))


class SelfLayer(nn.Module):
    """A block of an encoder: self-attention, then the feedforward network."""

    def __init__(self, width: int, inner: int, heads: int, key_size: int, value_size: int, dropout: float) -> None:
        super().__init__()
        self.attention = MultiEncoderAttention(width, [heads], key_size, value_size, dropout)
        self.feedforward = FeedForward(width, inner, dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        # x : B x T x D, mask : B x T -> B x T x D
        x = self.attention(x, [self.attention.read(x, 0)], [mask[:, None, None]]) * mask[..., None]
        return self.feedforward(x) * mask[..., None]


class SyntaxEmbedding(nn.Module):
    """Node embedding plus level embedding. ValueError for ids that have none."""

    def __init__(self, nodes: int, levels: int, width: int) -> None:
        super().__init__()
        self.nodes = nn.Embedding(nodes, width, padding_idx=0)
        self.levels = nn.Embedding(levels, width, padding_idx=0)

    def forward(self, node_ids: Tensor, level_ids: Tensor) -> Tensor:
        # B x N, B x N -> B x N x D
        self._check(node_ids, level_ids)
        return self.nodes(node_ids) + self.levels(level_ids)

    def _check(self, node_ids: Tensor, level_ids: Tensor) -> None:
        if node_ids.shape != level_ids.shape:
            raise ValueError(
                f"node ids are {list(node_ids.shape)}, level ids {list(level_ids.shape)}: one level a node"
            )
        deepest, levels = int(level_ids.max()), self.levels.num_embeddings
        if deepest >= levels:
            raise ValueError(
                f"a tree has level {deepest - SPECIAL_IDS + 1}; this model knows levels up to {levels - SPECIAL_IDS} "
                f"(level_vocab_size={levels}): cut trees to them, or make a model of more levels"
            )
        highest, nodes = int(node_ids.max()), self.nodes.num_embeddings
        if highest >= nodes:
            raise ValueError(
                f"a tree has node id {highest}; allowed: below node_vocab_size={nodes}, 3 for unseen labels"
            )
