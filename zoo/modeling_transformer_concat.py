"""A standard transformer that reads the parse and the source text as one sequence (baseline of seed 002)."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.modeling_outputs import Seq2SeqLMOutput

from .configuration_transformer_concat import TransformerConcatConfig
from .guided_text import GuidedText
from .guig_decoder import Decoder, EncoderStates, open_decoder_cache
from .guig_layers import SelfLayer, SyntaxEmbedding, add_positions, initialize_guig


class ConcatEncoder(nn.Module):
    """One encoder over the nodes with their levels, then the words. Also holds the table of text tokens."""

    main_input_name = "input_ids"

    def __init__(self, config: TransformerConcatConfig) -> None:
        super().__init__()
        sizes = (config.hidden_size, config.inner_size, config.heads, config.key_size, config.value_size)
        self.text_embedding = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=0)
        self.syntax_embedding = SyntaxEmbedding(config.node_vocab_size, config.level_vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(SelfLayer(*sizes, config.dropout) for _ in range(config.encoder_layers))

    def forward(
        self,
        input_ids: Any = None,
        attention_mask: Tensor | None = None,
        node_ids: Any = None,
        level_ids: Any = None,
        **_: Any,  # what generate() hands to every encoder
    ) -> EncoderStates:
        """input_ids, attention_mask [B, T]; node_ids, level_ids [B, N] -> states [B, N+T, D]"""
        mask = torch.cat([node_ids != 0, (input_ids if attention_mask is None else attention_mask) != 0], 1)
        x = torch.cat([self.syntax_embedding(node_ids, level_ids), self.text_embedding(input_ids)], 1)
        x = add_positions(x, mask)
        for layer in self.layers:
            x = layer(x, mask)
        return EncoderStates(x, mask)


class TransformerConcatPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation."""

    config_class = TransformerConcatConfig
    base_model_prefix = "transformer_concat"

    def _init_weights(self, module: nn.Module) -> None:
        initialize_guig(module)


class TransformerConcatForConditionalGeneration(GuidedText, TransformerConcatPreTrainedModel, GenerationMixin):
    """The encoder-decoder transformer that gets parse and source as one sequence, in layers like those of GuiG."""

    def __init__(self, config: TransformerConcatConfig) -> None:
        super().__init__(config)
        self.encoder = ConcatEncoder(config)
        self.decoder = Decoder(
            config.decoder_layers,
            config.hidden_size,
            config.inner_size,
            [config.heads],
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
        """Logits [B, T, vocab_size] for decoder_input_ids [B, T]; arguments as in GuigForConditionalGeneration."""
        sources = {"input_ids": input_ids, "node_ids": node_ids, "level_ids": level_ids}
        self._check_given(**({} if encoder_outputs else sources), decoder_input_ids=decoder_input_ids)
        encoded = encoder_outputs or self.encoder(input_ids, attention_mask, node_ids, level_ids)
        use_cache = self.config.use_cache and not self.training if use_cache is None else use_cache
        state = open_decoder_cache(cache, use_cache)
        target = self.encoder.text_embedding(decoder_input_ids)
        x = self.decoder(target, decoder_attention_mask, encoded.memories(), state)
        return self._output(x, labels, state, encoded, return_dict)
