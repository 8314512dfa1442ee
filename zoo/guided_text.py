"""What models have in common that write text from a source text and a parse."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import Seq2SeqLMOutput

from .token_table import BOS, PAD, UNK


class GuidedText:
    """Before PreTrainedModel. The model has an `encoder` with the table `text_embedding`, the output's too if tied."""

    reads = "guided"
    config: Any
    encoder: Any

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """One module that takes all sources."""
        return self.encoder

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.text_embedding

    def get_output_embeddings(self) -> nn.Module:
        return self.encoder.text_embedding if self.config.tie_word_embeddings else self.output_embeddings

    def _add_output_table(self) -> None:
        if not self.config.tie_word_embeddings:
            self.output_embeddings = nn.Embedding(self.config.vocab_size, self.config.hidden_size, padding_idx=PAD)

    def _check_given(self, **needed: Tensor | None) -> None:
        for name, value in needed.items():
            if value is None:
                raise ValueError(f"{name} is missing; {self.config.zoo_name or 'this model'} needs {', '.join(needed)}")

    def never_generated(self) -> list[int]:
        """Ids of tokens with logit -inf: pad, bos, unk, and the node and level tokens of the tokenizer."""
        first = self.config.first_added_token
        added = [] if first is None else list(range(first, self.config.vocab_size))
        return [PAD, BOS, UNK, *added]

    def _output(
        self, x: Tensor, labels: Tensor | None, cache: Any, encoded: Any, return_dict: bool | None
    ) -> Seq2SeqLMOutput | tuple[Any, ...]:
        # x : B x T x D -> logits : B x T x V, scaled as the table is (seed 002's authors)
        bias = x.new_zeros(self.config.vocab_size)
        bias[self.never_generated()] = -torch.inf
        table: Any = self.get_output_embeddings()
        logits = nn.functional.linear(x * x.shape[-1] ** -0.5, table.weight, bias)
        loss = None if labels is None else nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        output = Seq2SeqLMOutput(
            loss=loss, logits=logits, cache=cache, encoder_last_hidden_state=encoded.last_hidden_state
        )
        return output.to_tuple() if return_dict is False else output
