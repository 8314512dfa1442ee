"""Configuration of the transformer that reads parse and source as one sequence (baseline of seed 002)."""

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .stack_fields import check_dropout, check_positive


@strict
class TransformerConcatConfig(PreTrainedConfig):
    """Sizes of a `TransformerConcatForConditionalGeneration`: those of GuiG, and as many layers and heads as it has.

    vocab_size, node_vocab_size, level_vocab_size, first_added_token, longest_target: as in GuigConfig.
    """

    model_type = "transformer_concat"

    vocab_size: int = 16_000
    node_vocab_size: int = 74
    level_vocab_size: int = 12
    first_added_token: int | None = None
    hidden_size: int = 256
    inner_size: int = 1024
    key_size: int = 64
    value_size: int = 64
    encoder_layers: int = 7
    decoder_layers: int = 6
    heads: int = 8
    dropout: float | int = 0.1
    longest_target: int = 50
    is_encoder_decoder: bool = True
    tie_word_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | None = 2
    decoder_start_token_id: int | None = 1
    zoo_name: str | None = None

    def validate_sizes(self) -> None:
        check_dropout(self.dropout)
        sizes = ("hidden_size", "inner_size", "key_size", "value_size", "heads", "encoder_layers", "decoder_layers")
        check_positive(self, *sizes, "longest_target")
        for name in ("node_vocab_size", "level_vocab_size"):
            if getattr(self, name) < 5:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 5: four special ones and one")
