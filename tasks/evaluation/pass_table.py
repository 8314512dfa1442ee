"""The partial tests of a batch of inputs as tensors over token ids."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from tasks.tokenization import encode
from tasks.transformation.partial import PartialTest
from zoo.token_table import FIRST_WORD

NOTHING = frozenset[str]()


class PassTable:
    """For n inputs and R tests of each: which token may stand at which position.

    lengths : n x R, positions that are tested; ends : n x R, whether the output must end there
    """

    def __init__(
        self,
        tests: Sequence[Sequence[PartialTest]],
        tokenizer: PreTrainedTokenizerBase,
        vocabulary: int,
        device: torch.device,
    ) -> None:
        known = set(tokenizer.get_vocab())
        sets: dict[frozenset[str] | None, int] = {NOTHING: 0}  # set of words -> row of `_allowed`
        self.lengths = torch.tensor([[len(test.words) for test in row] for row in tests], device=device)
        self.ends = torch.tensor([[test.ends for test in row] for row in tests], device=device)
        self.longest = int(self.lengths.max())
        padded = [[[*test.words, *[NOTHING] * (self.longest - len(test.words))] for test in row] for row in tests]
        numbers = [[[sets.setdefault(words, len(sets)) for words in test] for test in row] for row in padded]
        self._sets = torch.tensor(numbers, device=device)  # n x R x longest
        self._allowed = torch.zeros(len(sets), vocabulary, dtype=torch.bool, device=device)
        for words, number in sets.items():
            ids = slice(FIRST_WORD, None) if words is None else encode(tokenizer, " ".join(words & known))
            self._allowed[number, ids] = True

    def allowed(self, inputs: Tensor, position: int) -> Tensor:
        """Whether each token is a word that may stand at `position`: inputs N -> N x R x V."""
        if position >= self.longest:
            return self._allowed[0].expand(len(inputs), self.lengths.shape[1], -1)
        return self._allowed[self._sets[inputs, :, position]]

    def passes(self, inputs: Tensor, outputs: Tensor, lengths: Tensor) -> Tensor:
        """Whether whole outputs pass: inputs N, outputs N x T of which the first `lengths` N are words -> N x R."""
        asked = self.lengths[inputs]
        passing = torch.where(self.ends[inputs], lengths[:, None] == asked, lengths[:, None] >= asked)
        for position in range(min(outputs.shape[1], self.longest)):
            fits = self.allowed(inputs, position).gather(2, outputs[:, None, position, None].expand(*asked.shape, 1))
            passing &= fits[..., 0] | (position >= asked)
        return passing
