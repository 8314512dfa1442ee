"""Configuration of the guided generator of seed 002."""

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .stack_fields import check_choice, check_dropout, check_positive


@strict
class GuigConfig(PreTrainedConfig):
    """Sizes and choices of a `GuigForConditionalGeneration`; the defaults are those of seed 002's authors.

    vocab_size: of the text, with special and added tokens. node_vocab_size, level_vocab_size: labels + 4, levels + 4.
    first_added_token: id from which on tokens are never generated (nodes and levels in a tokenizer); None: all are.
    text_heads, syntax_heads: heads of the decoder attached to either encoder; encoders have as many as both together.
    averages: path attention over `all` paths of the sentence, or over those `through` the node. path_attention: whether
    the syntax encoder has it, or plain self-attention. use_source, use_syntax: whether the generator has an encoder of
    the source text, of the parse; one of them it must have, and that gets all heads. longest_target: most tokens of a
    generated text, by default. tie_word_embeddings: whether the output has the table of source and target text too.
    """

    model_type = "guig"

    vocab_size: int = 16_000
    node_vocab_size: int = 74
    level_vocab_size: int = 12
    first_added_token: int | None = None
    hidden_size: int = 256
    inner_size: int = 1024
    key_size: int = 64
    value_size: int = 64
    text_layers: int = 4
    syntax_layers: int = 3
    decoder_layers: int = 6
    text_heads: int = 5
    syntax_heads: int = 3
    dropout: float | int = 0.1
    averages: str = "all"
    path_attention: bool = True
    use_source: bool = True
    use_syntax: bool = True
    longest_target: int = 50
    is_encoder_decoder: bool = True
    tie_word_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | None = 2
    decoder_start_token_id: int | None = 1
    zoo_name: str | None = None

    @property
    def groups(self) -> list[int]:
        """Decoder heads of each encoder that there is."""
        if self.use_source and self.use_syntax:
            return [self.text_heads, self.syntax_heads]
        return [self.text_heads + self.syntax_heads]

    def validate_choices(self) -> None:
        check_choice("averages", self.averages, ("all", "through"))
        if not (self.use_source or self.use_syntax):
            raise ValueError("use_source and use_syntax are both false; the generator needs at least one encoder")

    def validate_sizes(self) -> None:
        check_dropout(self.dropout)
        sizes = ("hidden_size", "inner_size", "key_size", "value_size", "text_heads", "syntax_heads")
        check_positive(self, *sizes, "text_layers", "syntax_layers", "decoder_layers", "longest_target")
        for name in ("node_vocab_size", "level_vocab_size"):
            if getattr(self, name) < 5:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 5: four special ones and one")
