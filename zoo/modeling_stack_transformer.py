"""The transformer of seed 000 (appendix C.3) with stack attention in any of its layers (section 4.2, appendix C.4)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin
from transformers.modeling_outputs import CausalLMOutputWithPast

from .attention import attend
from .configuration_stack_transformer import StackTransformerConfig
from .dropout import Dropout
from .initialization import RELU_GAIN, Linear, initialize
from .left_padded_generation import LeftPaddedGeneration, check_input
from .positions import sinusoidal_code
from .stack_attention import NondeterministicAttention, SuperpositionAttention
from .state_cache import (
    KeyValueLayer,
    StateLayer,
    is_right_padded,
    new_token_mask,
    open_cache,
    past_length,
)
from .token_table import TokenTable, TwoTables

STACK_ATTENTION = {"superposition": SuperpositionAttention, "nondeterministic": NondeterministicAttention}


class Context(NamedTuple):
    """Which positions a layer may look at.

    allowed [B, 1, T, K]: whether a query (T new positions) may see a key (K positions in all); None: causal, no padding
    active  [B, T]: False at padding; None: there is none
    """

    allowed: Tensor | None
    active: Tensor | None


class SelfAttention(nn.Module):
    """Causal multi-head scaled dot-product attention."""

    def __init__(self, config: StackTransformerConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.num_attention_heads, config.dropout
        self.query_key_value = Linear(config.hidden_size, 3 * config.hidden_size, gain=None)
        self.output = Linear(config.hidden_size, config.hidden_size, gain=None)

    def forward(self, x: Tensor, context: Context, cache: CacheLayerMixin | None) -> Tensor:
        # x : B x T x D -> B x T x D
        batch, length, width = x.shape
        heads = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each B x H x T x D/H
        if cache is not None:
            key, value = cache.update(key, value)
        mixed = attend(query, key, value, context.allowed, self.dropout if self.training else 0.0)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """Pre-norm layer: attention of some kind, then feedforward, each with dropout and a residual connection."""

    def __init__(self, config: StackTransformerConfig, kind: str) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.feedforward_factor * config.hidden_size
        first_gain: float | None = 1.0
        gain: float | None = 1.0
        if config.initialization == "authors":
            first_gain, gain = (None, None) if kind == "attention" else (RELU_GAIN, 1.0)
        self.attention_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.attention = SelfAttention(config) if kind == "attention" else STACK_ATTENTION[kind](config)
        self.feedforward_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.feedforward = nn.Sequential(
            Linear(width, inner, gain=first_gain),
            nn.ReLU(),
            Dropout(config.dropout),
            Linear(inner, width, gain=gain),
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, context: Context, cache: CacheLayerMixin | None) -> Tensor:
        # x : B x T x D -> B x T x D
        x = x + self.dropout(self.attention(self.attention_norm(x), context, cache))
        return x + self.dropout(self.feedforward(self.feedforward_norm(x)))


class StackTransformerPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation of the stack transformer."""

    config_class = StackTransformerConfig
    base_model_prefix = "transformer"
    _is_stateful = True  # a stack cannot be rolled back, so assisted decoding is refused

    def _init_weights(self, module: nn.Module) -> None:
        initialize(module)


class StackTransformerForCausalLM(TwoTables, StackTransformerPreTrainedModel, LeftPaddedGeneration, GenerationMixin):
    """A causal language model; sequences begin with bos, whose output predicts the first word."""

    reads = "strings"
    _tied_weights_keys = {"output_embeddings.weight": "embeddings.weight"}  # noqa: RUF012 (the library's form)

    def __init__(self, config: StackTransformerConfig) -> None:
        super().__init__(config)
        self.embeddings = TokenTable(config.vocab_size, config.hidden_size, has_bos=True)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config, kind) for kind in config.layers)
        self.final_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.output_embeddings = TokenTable(config.vocab_size, config.hidden_size, has_bos=True)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        cache: Cache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        past_key_values: Cache | None = None,
        return_dict: bool | None = None,
    ) -> CausalLMOutputWithPast | tuple[Tensor, ...]:
        """Logits [B, T, vocab_size] for input_ids [B, T].

        attention_mask [B, past + T]: 0 at padding, on either side. cache: what an earlier call returned, to go on from
        there. labels [B, T]: usually equal to input_ids, -100 where no loss is wanted; the loss is the mean over tokens
        of -log p(labels[t+1] | input_ids[..t]). past_key_values: an older name of cache. return_dict=False: a tuple.
        ValueError for input without a position.
        """
        # input_ids : B x T -> logits : B x T x vocab_size
        use_cache = self.config.use_cache and not self.training if use_cache is None else use_cache
        state = open_cache(cache if past_key_values is None else past_key_values, use_cache, self._cache_layers())
        check_input(input_ids, attention_mask, state)
        context, positions = read_mask(attention_mask, input_ids, past_length(state))
        x = self.embeddings.embed(input_ids) * math.sqrt(self.config.hidden_size)
        x = self.dropout(x + sinusoidal_code(positions, self.config.hidden_size).to(x.dtype))
        for number, layer in enumerate(self.layers):
            x = layer(x, context, None if state is None else state.layers[number])
        logits = self.output_embeddings.logits(self.final_norm(x))
        loss = None if labels is None else self.loss_function(logits, labels, vocab_size=self.config.vocab_size)
        output = CausalLMOutputWithPast(loss=loss, logits=logits, cache=state)
        return output.to_tuple() if return_dict is False else output

    def _cache_layers(self) -> list[type[CacheLayerMixin]]:
        return [KeyValueLayer if kind == "attention" else StateLayer for kind in self.config.layers]


def read_mask(attention_mask: Tensor | None, input_ids: Tensor, past: int) -> tuple[Context, Tensor]:
    """What each position may look at, and its number [B or 1, T] counted from the first token that is no padding."""
    length = input_ids.shape[1]
    index = torch.arange(past + length, device=input_ids.device)
    plain = attention_mask is None or bool(attention_mask.all())
    if not past and (plain or is_right_padded(attention_mask)):  # type: ignore[arg-type]
        # Padding to the right is never looked at by a token, because attention is causal.
        return Context(None, None if plain else attention_mask.bool()), index[None]  # type: ignore[union-attr]
    causal = index[None, :] <= index[past:, None]  # T x K
    if plain:
        return Context(causal[None, None], None), index[None, past:]
    mask = attention_mask.bool()  # type: ignore[union-attr]
    # Padding looks at itself, so that no row of the attention is empty.
    own = index[None, :] == index[past:, None]
    allowed = (causal & mask[:, None, :]) | own
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)[:, past:]
    return Context(allowed[:, None], new_token_mask(attention_mask, length)), positions
