"""The table E of token vectors, used for input and output, and the ids of the special tokens."""

import torch
from torch import Tensor, nn

PAD, BOS, EOS, UNK = 0, 1, 2, 3
FIRST_WORD = 4


class TokenTable(nn.Module):
    """Vectors of eos and the words, and of bos where `has_bos` (transformers).

    Ids run over `vocab_size` = word types + 4, but pad and unk (and bos in recurrent models) own no row: nothing is
    trained or counted for them. As inputs they are zeros. As outputs bos, pad and unk have logit -inf, so that
    probabilities are over word types + 1 classes.
    """

    def __init__(self, vocab_size: int, width: int, has_bos: bool) -> None:
        super().__init__()
        self.vocab_size, self.width, self.has_bos = vocab_size, width, has_bos
        self.weight = nn.Parameter(torch.empty(vocab_size - FIRST_WORD + 1 + has_bos, width))

    def embed(self, ids: Tensor) -> Tensor:
        # B x T -> B x T x E
        return nn.functional.embedding(ids, self._by_id())

    def logits(self, hidden: Tensor) -> Tensor:
        # B x T x E -> B x T x vocab_size
        bias = hidden.new_zeros(self.vocab_size)
        bias[[PAD, BOS, UNK]] = -torch.inf
        return nn.functional.linear(hidden, self._by_id().to(hidden.dtype), bias)

    def _by_id(self) -> Tensor:
        # -> vocab_size x E. Rows of `weight`: bos (if any), eos, words in the order of their ids.
        none = self.weight.new_zeros(1, self.width)
        bos, rest = (self.weight[:1], self.weight[1:]) if self.has_bos else (none, self.weight)
        return torch.cat([none, bos, rest[:1], none, rest[1:]])


class TwoTables:
    """A model with `embeddings` and `output_embeddings`, as the library asks for them. Before PreTrainedModel."""

    embeddings: TokenTable
    output_embeddings: TokenTable

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings

    def get_output_embeddings(self) -> nn.Module:
        return self.output_embeddings
