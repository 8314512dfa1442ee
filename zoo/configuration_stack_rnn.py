"""Configuration of the stack RNN and the stack LSTM (seed 000, section 4.1)."""

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .stack_fields import check_choice, check_dropout, check_positive


@strict
class StackRnnConfig(PreTrainedConfig):
    """Sizes and choices of a `StackRnnForCausalLM`.

    vocab_size: word types + 4. hidden_size: d. controller: `rnn` or `lstm`. stack: `none`, `superposition` or
    `nondeterministic`. reading_to_output: whether the stack reading is short-circuited to the output (the paper's +R).
    superposition_vector_size: m of the superposition stack. pda_states, pda_symbols, pda_vector_size: Q, S and m of the
    nondeterministic stack. initialization: `paper`, or `authors` for what their code does (the layers that compute
    actions and pushed vectors of a nondeterministic stack uniform in [-0.1, 0.1]).
    """

    model_type = "stack_rnn"

    vocab_size: int = 73
    hidden_size: int = 90
    num_hidden_layers: int = 3
    controller: str = "lstm"
    stack: str = "none"
    reading_to_output: bool = False
    superposition_vector_size: int = 50
    pda_states: int = 3
    pda_symbols: int = 3
    pda_vector_size: int = 5
    pushed_vector_activation: str = "sigmoid"
    initialization: str = "paper"
    dropout: float | int = 0.1
    tie_word_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | None = 2
    zoo_name: str | None = None

    def validate_choices(self) -> None:
        check_choice("controller", self.controller, ("rnn", "lstm"))
        check_choice("stack", self.stack, ("none", "superposition", "nondeterministic"))
        check_choice("pushed_vector_activation", self.pushed_vector_activation, ("sigmoid", "identity", "exp"))
        check_choice("initialization", self.initialization, ("paper", "authors"))
        if self.reading_to_output and self.stack == "none":
            raise ValueError("reading_to_output is True but stack is 'none'; choose a stack, or leave the reading out")

    def validate_sizes(self) -> None:
        check_dropout(self.dropout)
        check_positive(
            self, "hidden_size", "num_hidden_layers", "superposition_vector_size", "pda_states", "pda_symbols",
            "pda_vector_size",
        )  # fmt: skip
