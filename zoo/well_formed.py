"""Which (node, level) pair may follow in a linearised tree."""

import torch
from torch import Tensor
from transformers import LogitsProcessor

from .tree_paths import FIRST_LEVEL

PAD, BOS, EOS, FIRST_LABEL = 0, 1, 2, 4


class WellFormed(LogitsProcessor):
    """Leaves, of all pairs (node, level), those that make the nodes of one tree in preorder.

    The first level is 1; each further one is at least 2 and at most one more than the last; bos, padding and unknown
    never come; node and level end together, after at least one node.
    """

    def __init__(self, nodes: int, levels: int) -> None:
        self.nodes, self.levels = nodes, levels

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        # input_ids : R x t pair ids, scores : R x nodes*levels -> R x nodes*levels
        last = input_ids[:, -1] % self.levels
        begins = (last == BOS)[:, None]
        levels = torch.arange(self.levels, device=scores.device)
        least = torch.where(begins, FIRST_LEVEL, FIRST_LEVEL + 1)
        most = torch.where(begins, FIRST_LEVEL, torch.where(last >= FIRST_LEVEL, last + 1, 0)[:, None])
        allowed = scores.new_zeros(len(scores), self.nodes, self.levels, dtype=torch.bool)
        allowed[:, FIRST_LABEL:] = ((levels >= least) & (levels <= most))[:, None]
        ended = last < FIRST_LEVEL
        allowed[:, EOS, EOS] = ~ended
        allowed[:, PAD, PAD] = ended & ~begins[:, 0]  # beams that have ended may be gone on with, as padding
        return scores.masked_fill(~allowed.flatten(1), -torch.inf)
