"""Configuration of the ON-LSTM (seed 001)."""

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .stack_fields import check_choice, check_dropout, check_positive

MASTER_INPUT_GATES = ("one_minus_cumax", "reverse_cumax")


@strict
class OnLstmConfig(PreTrainedConfig):
    """Sizes and choices of an `OnLstmForCausalLM`.

    vocab_size: word types + 4. hidden_size: n = p*q units of a layer. chunk_size: q, units of a level.
    embedding_size: of the token vectors and so of the last layer; None: hidden_size.
    master_input_gate: `one_minus_cumax` (the authors) or `reverse_cumax` (seed 001, equation of the complete update).
    Dropout, all but the first and the last locked (one mask for all steps of a sequence): embedding_dropout of whole
    words, input_dropout of token vectors, hidden_dropout between layers, dropout of the last layer's output,
    weight_dropout of recurrent weights (DropConnect). initialization: `paper` (all uniform in [-0.1, 0.1], as for the
    other recurrent networks in seed 000, appendix D) or `authors` (the layers' parameters uniform within
    1/sqrt(numbers multiplied), as in the ON-LSTM authors' code).
    """

    model_type = "on_lstm"

    vocab_size: int = 73
    hidden_size: int = 85
    embedding_size: int | None = None
    num_hidden_layers: int = 3
    chunk_size: int = 5
    master_input_gate: str = "one_minus_cumax"
    embedding_dropout: float | int = 0.0
    input_dropout: float | int = 0.1
    hidden_dropout: float | int = 0.1
    dropout: float | int = 0.1
    weight_dropout: float | int = 0.0
    initialization: str = "paper"
    tie_word_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | None = 2
    zoo_name: str | None = None

    def layer_sizes(self) -> list[int]:
        """Size of the token vectors, then of each layer."""
        width = self.hidden_size if self.embedding_size is None else self.embedding_size
        return [width, *[self.hidden_size] * (self.num_hidden_layers - 1), width]

    def validate_choices(self) -> None:
        check_choice("master_input_gate", self.master_input_gate, MASTER_INPUT_GATES)
        check_choice("initialization", self.initialization, ("paper", "authors"))

    def validate_sizes(self) -> None:
        for name in ("embedding_dropout", "input_dropout", "hidden_dropout", "dropout", "weight_dropout"):
            check_dropout(getattr(self, name), name)
        own = () if self.embedding_size is None else ("embedding_size",)
        check_positive(self, "chunk_size", "hidden_size", "num_hidden_layers", *own)
        for name in ("hidden_size", *own):
            if getattr(self, name) % self.chunk_size:
                raise ValueError(f"{name} {getattr(self, name)} is not a multiple of chunk_size {self.chunk_size}")
