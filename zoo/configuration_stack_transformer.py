"""Configuration of the stack attention transformer (seed 000, section 4.2)."""

from dataclasses import field

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .stack_fields import check_choice, check_dropout, check_normaliser, check_positive

ATTENTION = ("attention", "superposition", "nondeterministic")


@strict
class StackTransformerConfig(PreTrainedConfig):
    """Sizes and choices of a `StackTransformerForCausalLM`.

    vocab_size: word types + 4. hidden_size: d. layers: the kind of attention in each layer, from the input up.
    superposition_vector_size: m of superposition stacks. pda_states, pda_symbols, pda_vector_size: Q, S and m of
    nondeterministic stacks. pushed_vector_activation: `sigmoid` as the paper writes it; its authors' code uses
    `identity` with superposition and `exp` with nondeterministic stacks. initialization: `paper`, or `authors` for what
    their code does (feedforward layers beside standard attention uniform in [-0.1, 0.1], gain sqrt(2) before ReLU).
    """

    model_type = "stack_transformer"

    vocab_size: int = 73
    hidden_size: int = 68
    layers: list[str] = field(default_factory=lambda: ["attention"] * 5)
    num_attention_heads: int = 4
    feedforward_factor: int = 2
    superposition_vector_size: int = 50
    pda_states: int = 3
    pda_symbols: int = 3
    pda_vector_size: int = 5
    pushed_vector_activation: str = "sigmoid"
    initialization: str = "paper"
    dropout: float | int = 0.1
    layer_norm_eps: float = 1e-5
    tie_word_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | None = 2
    zoo_name: str | None = None

    @property
    def num_hidden_layers(self) -> int:
        return len(self.layers)

    def validate_choices(self) -> None:
        if not self.layers:
            raise ValueError("layers is empty; wanted is one kind of attention per layer, such as ['attention']")
        for layer in self.layers:
            check_choice("layers", layer, ATTENTION)
        check_choice("pushed_vector_activation", self.pushed_vector_activation, ("sigmoid", "identity", "exp"))
        check_choice("initialization", self.initialization, ("paper", "authors"))

    def validate_sizes(self) -> None:
        check_dropout(self.dropout)
        check_normaliser(self.layer_norm_eps)
        check_positive(
            self, "hidden_size", "num_attention_heads", "feedforward_factor", "superposition_vector_size", "pda_states",
            "pda_symbols", "pda_vector_size",
        )  # fmt: skip
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads {self.num_attention_heads}"
            )
