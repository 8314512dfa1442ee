"""A language model with levels that are known, for tests of what is made of them."""

from types import SimpleNamespace

import torch
from torch import nn

from tasks.tokenization import PAD, word_tokenizer

WORDS = ["a", "b", "c", "d", "the", "cat", "dog", "N", "."]
TOKENIZER = word_tokenizer(WORDS, is_open=True)


class LevelledModel(nn.Module):
    """Two layers: the level of a word is a tenth of its id in the first, and less by the same in the second."""

    def __init__(self) -> None:
        super().__init__()
        self.anchor = nn.Parameter(torch.zeros(1))
        self.config = SimpleNamespace(zoo_name="levelled", vocab_size=len(TOKENIZER))
        self.device = torch.device("cpu")

    def forward(self, input_ids, attention_mask=None, use_cache=False, output_levels=False):
        # input_ids : B x T; the levels of padding are no numbers, and must not be looked at
        levels = torch.where(input_ids == PAD, torch.nan, input_ids / 10)
        logits = torch.zeros(*input_ids.shape, self.config.vocab_size)
        return SimpleNamespace(logits=logits, forget_levels=(levels, 1 - levels))


class PlainModel(LevelledModel):
    """The same without levels."""

    def forward(self, input_ids, attention_mask=None, use_cache=False):
        return super().forward(input_ids)
