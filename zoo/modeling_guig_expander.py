"""The syntax expander of GuiG (seed 002, section 3.2): a full parse from a template and the source's parse."""

from typing import Any

from torch import Tensor, nn
from transformers import GenerationMixin, LogitsProcessorList, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.modeling_outputs import Seq2SeqLMOutput

from .configuration_guig_expander import GuigExpanderConfig
from .guig_decoder import Decoder, EncoderStates, Memory, open_decoder_cache
from .guig_layers import SelfLayer, SyntaxEmbedding, add_positions, initialize_guig
from .path_attention import PathLayer
from .tree_paths import tree_paths
from .well_formed import WellFormed


class ExpanderEncoder(nn.Module):
    """The source encoder and the template encoder, or one of them. Also holds the tables of nodes and levels."""

    main_input_name = "node_ids"

    def __init__(self, config: GuigExpanderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = SyntaxEmbedding(config.node_vocab_size, config.level_vocab_size, config.hidden_size)
        if config.use_source:
            self.source_layers = self._layers(config.groups[0])
        if config.use_template:
            self.template_layers = self._layers(config.groups[-1])

    def _layers(self, heads: int) -> nn.ModuleList:
        config = self.config
        sizes = (config.hidden_size, config.inner_size, heads, config.key_size, config.value_size, config.dropout)
        return nn.ModuleList(
            PathLayer(*sizes, config.averages) if config.path_attention else SelfLayer(*sizes)
            for _ in range(config.encoder_layers)
        )

    def forward(
        self,
        node_ids: Any = None,
        level_ids: Any = None,
        template_node_ids: Any = None,
        template_level_ids: Any = None,
        **_: Any,  # what generate() hands to every encoder
    ) -> EncoderStates:
        """node_ids, level_ids [B, N]; template_node_ids, template_level_ids [B, M]; one without encoder is not read."""
        memories = []
        if self.config.use_source:
            memories.append(self._encode(node_ids, level_ids, self.source_layers))
        if self.config.use_template:
            memories.append(self._encode(template_node_ids, template_level_ids, self.template_layers))
        return EncoderStates.of(memories)

    def _encode(self, node_ids: Tensor, level_ids: Tensor, layers: nn.ModuleList) -> Memory:
        # B x N, B x N -> B x N x D, B x N
        mask = node_ids != 0
        x = add_positions(self.embedding(node_ids, level_ids), mask)
        more = [tree_paths(level_ids)] if self.config.path_attention else []
        for layer in layers:
            x = layer(x, mask, *more)
        return x, mask


class GuigExpanderPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation of the expander."""

    config_class = GuigExpanderConfig
    base_model_prefix = "guig_expander"
    main_input_name = "node_ids"

    def _init_weights(self, module: nn.Module) -> None:
        initialize_guig(module)


class GuigSyntaxExpander(GuigExpanderPreTrainedModel, GenerationMixin):
    """Writes a parse, node by node with its level, from the parse of a source and a template.

    Two heads predict the next node and its level, each from the decoder's state alone. Outputs stand on one axis of
    pairs, node id * level_vocab_size + level id, with the sum of both log-probabilities; with alpha = beta = 0.5 the
    seed's loss is half the cross-entropy of pairs.
    """

    reads = "expansion"

    def __init__(self, config: GuigExpanderConfig) -> None:
        super().__init__(config)
        self.encoder = ExpanderEncoder(config)
        self.decoder = Decoder(
            config.decoder_layers,
            config.hidden_size,
            config.inner_size,
            config.groups,
            config.key_size,
            config.value_size,
            config.dropout,
        )
        if not config.tie_word_embeddings:
            self.output_embeddings = SyntaxEmbedding(
                config.node_vocab_size, config.level_vocab_size, config.hidden_size
            )
        self.post_init()
        self.generation_config.max_new_tokens = config.longest_target + 1  # with eos

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """One module that takes both parses."""
        return self.encoder

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.embedding

    def get_output_embeddings(self) -> nn.Module:
        return self.encoder.embedding if self.config.tie_word_embeddings else self.output_embeddings

    def forward(
        self,
        node_ids: Tensor | None = None,
        level_ids: Tensor | None = None,
        template_node_ids: Tensor | None = None,
        template_level_ids: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        cache: Cache | None = None,
        use_cache: bool | None = None,
        labels: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_dict: bool | None = None,
    ) -> Seq2SeqLMOutput | tuple[Any, ...]:
        """Logits [B, T, pairs] for decoder_input_ids [B, T], pair ids from that of bos on.

        node_ids, level_ids [B, N]: the parse of the source; template_...: the template; each with its own bos 1, eos 2,
        padding 0. labels [B, T]: pair ids aligned with the logits, -100 where no loss is wanted; the loss is the mean
        over nodes of 0.5 (-log p(node)) + 0.5 (-log p(level)). attention_mask: not needed, as ids 0 are padding.
        The rest as in GuigForConditionalGeneration. ValueError where an input that the model reads is missing.
        """
        # -> B x T x node_vocab_size*level_vocab_size
        sources = {"node_ids": node_ids, "level_ids": level_ids} if self.config.use_source else {}
        if self.config.use_template:
            sources |= {"template_node_ids": template_node_ids, "template_level_ids": template_level_ids}
        for name, value in {**sources, "decoder_input_ids": decoder_input_ids}.items():
            if value is None and (encoder_outputs is None or name == "decoder_input_ids"):
                raise ValueError(f"{name} is missing; this model needs {', '.join(sources)} and decoder_input_ids")
        encoded = encoder_outputs or self.encoder(node_ids, level_ids, template_node_ids, template_level_ids)
        use_cache = self.config.use_cache and not self.training if use_cache is None else use_cache
        state = open_decoder_cache(cache, use_cache)
        levels = self.config.level_vocab_size
        target = self.encoder.embedding(decoder_input_ids // levels, decoder_input_ids % levels)
        x = self.decoder(target, decoder_attention_mask, encoded.memories(), state)
        logits = self.join(*self.scores(x))
        loss = None if labels is None else 0.5 * nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        output = Seq2SeqLMOutput(
            loss=loss, logits=logits, cache=state, encoder_last_hidden_state=encoded.last_hidden_state
        )
        return output.to_tuple() if return_dict is False else output

    def scores(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [B, T, nodes] and [B, T, levels] for the decoder's states [B, T, D]."""
        scaled = x * x.shape[-1] ** -0.5
        tables: Any = self.get_output_embeddings()
        return scaled @ tables.nodes.weight.T, scaled @ tables.levels.weight.T

    def join(self, nodes: Tensor, levels: Tensor) -> Tensor:
        """Log-probabilities of pairs [B, T, nodes*levels]."""
        return (nodes.log_softmax(-1)[..., None] + levels.log_softmax(-1)[..., None, :]).flatten(-2)

    def generate(self, *args: Any, logits_processor: LogitsProcessorList | None = None, **kwargs: Any) -> Tensor:
        """As in the library, over pair ids; only sequences that are the nodes of a tree. One that has not ended at the
        length cap (longest_target nodes, by default) has no eos pair."""
        well_formed = WellFormed(self.config.node_vocab_size, self.config.level_vocab_size)
        processors = LogitsProcessorList([well_formed, *(logits_processor or [])])
        return super().generate(*args, logits_processor=processors, **kwargs)
