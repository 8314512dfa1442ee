"""Configuration of the syntax expander of seed 002."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .stack_fields import check_choice, check_dropout, check_positive


@strict
class GuigExpanderConfig(PreTrainedConfig):
    """Sizes and choices of a `GuigSyntaxExpander`; the defaults are those of seed 002's authors.

    node_vocab_size, level_vocab_size: labels + 4, levels + 4; vocab_size, of pairs, is their product. source_heads,
    template_heads: heads of each encoder and of the decoder attached to it. path_attention: in both encoders, in place
    of self-attention; averages as in GuigConfig. use_source, use_template: whether there is an encoder of the source
    parse, of the template; one there must be, and that gets all heads. longest_target: most nodes of a generated parse.
    """

    model_type = "guig_expander"

    vocab_size: int = 888
    node_vocab_size: int = 74
    level_vocab_size: int = 12
    hidden_size: int = 256
    inner_size: int = 1024
    key_size: int = 64
    value_size: int = 64
    encoder_layers: int = 4
    decoder_layers: int = 6
    source_heads: int = 4
    template_heads: int = 4
    dropout: float | int = 0.1
    averages: str = "all"
    path_attention: bool = False
    use_source: bool = True
    use_template: bool = True
    longest_target: int = 50
    is_encoder_decoder: bool = True
    tie_word_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    decoder_start_token_id: int | None = None
    zoo_name: str | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        # Ids on the axis of pairs, where that of (node, level) is node * levels + level.
        self.vocab_size = self.node_vocab_size * self.level_vocab_size
        self.bos_token_id = self.decoder_start_token_id = self.level_vocab_size + 1
        self.eos_token_id = 2 * self.level_vocab_size + 2
        super().__post_init__(**kwargs)

    @property
    def groups(self) -> list[int]:
        """Decoder heads of each encoder that there is."""
        if self.use_source and self.use_template:
            return [self.source_heads, self.template_heads]
        return [self.source_heads + self.template_heads]

    def validate_choices(self) -> None:
        check_choice("averages", self.averages, ("all", "through"))
        if not (self.use_source or self.use_template):
            raise ValueError("use_source and use_template are both false; the expander needs at least one encoder")

    def validate_sizes(self) -> None:
        check_dropout(self.dropout)
        sizes = ("hidden_size", "inner_size", "key_size", "value_size", "source_heads", "template_heads")
        check_positive(self, *sizes, "encoder_layers", "decoder_layers", "longest_target")
        for name in ("node_vocab_size", "level_vocab_size"):
            if getattr(self, name) < 5:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 5: four special ones and one")
