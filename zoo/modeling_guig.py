"""GuiG (seed 002): text generated from a source text under the guidance of a parse."""

from typing import Any

from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.modeling_outputs import Seq2SeqLMOutput

from .configuration_guig import GuigConfig
from .guided_text import GuidedText
from .guig_decoder import Decoder, EncoderStates, Memory, open_decoder_cache
from .guig_layers import SelfLayer, SyntaxEmbedding, add_positions, initialize_guig
from .path_attention import PathLayer
from .tree_paths import tree_paths


class GuigEncoder(nn.Module):
    """The text encoder and the syntax encoder, or one of them. Also holds the table of text tokens."""

    main_input_name = "input_ids"

    def __init__(self, config: GuigConfig) -> None:
        super().__init__()
        self.config = config
        heads = config.text_heads + config.syntax_heads
        sizes = (config.hidden_size, config.inner_size, heads, config.key_size, config.value_size, config.dropout)
        self.text_embedding = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=0)
        if config.use_source:
            self.text_layers = nn.ModuleList(SelfLayer(*sizes) for _ in range(config.text_layers))
        if config.use_syntax:
            self.syntax_embedding = SyntaxEmbedding(config.node_vocab_size, config.level_vocab_size, config.hidden_size)
            self.syntax_layers = nn.ModuleList(
                PathLayer(*sizes, config.averages) if config.path_attention else SelfLayer(*sizes)
                for _ in range(config.syntax_layers)
            )

    def forward(
        self,
        input_ids: Any = None,
        attention_mask: Tensor | None = None,
        node_ids: Any = None,
        level_ids: Any = None,
        **_: Any,  # what generate() hands to every encoder
    ) -> EncoderStates:
        """input_ids, attention_mask [B, T]; node_ids, level_ids [B, N]; what has no encoder is not read."""
        memories = []
        if self.config.use_source:
            mask = present(input_ids, attention_mask)
            x = add_positions(self.text_embedding(input_ids), mask)
            for layer in self.text_layers:
                x = layer(x, mask)
            memories.append((x, mask))
        if self.config.use_syntax:
            memories.append(self._encode_syntax(node_ids, level_ids))
        return EncoderStates.of(memories)

    def _encode_syntax(self, node_ids: Tensor, level_ids: Tensor) -> Memory:
        # B x N, B x N -> B x N x D, B x N
        mask = node_ids != 0
        x = add_positions(self.syntax_embedding(node_ids, level_ids), mask)
        more = [tree_paths(level_ids)] if self.config.path_attention else []
        for layer in self.syntax_layers:
            x = layer(x, mask, *more)
        return x, mask


def present(ids: Tensor, mask: Tensor | None) -> Tensor:
    """Which of the ids [B, T] are no padding."""
    return ids != 0 if mask is None else mask.bool()


class GuigPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation of GuiG."""

    config_class = GuigConfig
    base_model_prefix = "guig"

    def _init_weights(self, module: nn.Module) -> None:
        initialize_guig(module)


class GuigForConditionalGeneration(GuidedText, GuigPreTrainedModel, GenerationMixin):
    """The guided text generator: a text encoder, a syntax encoder with path attention, and a decoder that reads both.

    Reads a source text and a parse (of the target, or another), and writes text.
    """

    def __init__(self, config: GuigConfig) -> None:
        super().__init__(config)
        self.encoder = GuigEncoder(config)
        self.decoder = Decoder(
            config.decoder_layers,
            config.hidden_size,
            config.inner_size,
            config.groups,
            config.key_size,
            config.value_size,
            config.dropout,
        )
        self._add_output_table()
        self.post_init()
        self.generation_config.max_new_tokens = config.longest_target + 1  # with eos

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        node_ids: Tensor | None = None,
        level_ids: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        cache: Cache | None = None,
        use_cache: bool | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
    ) -> Seq2SeqLMOutput | tuple[Any, ...]:
        """Logits [B, T, vocab_size] for decoder_input_ids [B, T] = <bos> and the target so far.

        input_ids, attention_mask [B, S]: the source, <bos> words <eos>, padded on either side. node_ids, level_ids
        [B, N]: the parse, with its own bos 1, eos 2, padding 0. labels [B, T]: aligned with the logits (the target and
        <eos>), -100 where no loss is wanted; the loss is the mean over tokens. encoder_outputs: of `get_encoder()`.
        cache: what an earlier call returned, to go on from there. return_dict=False: a tuple.
        ValueError where an input that the model reads is missing.
        """
        needed = {"input_ids": input_ids} if self.config.use_source else {}
        needed |= {"node_ids": node_ids, "level_ids": level_ids} if self.config.use_syntax else {}
        self._check_given(**({} if encoder_outputs else needed), decoder_input_ids=decoder_input_ids)
        encoded = encoder_outputs or self.encoder(input_ids, attention_mask, node_ids, level_ids)
        use_cache = self.config.use_cache and not self.training if use_cache is None else use_cache
        state = open_decoder_cache(cache, use_cache)
        x = self.decoder(
            self.encoder.text_embedding(decoder_input_ids),
            decoder_attention_mask,
            encoded.memories(),
            state,
        )
        return self._output(x, labels, state, encoded, return_dict)
