"""The paths of a tree, from root to leaf, read off the levels of its nodes in preorder."""

import torch
from torch import Tensor

FIRST_LEVEL = 4  # the id of level 1; smaller ids are padding, bos, eos and unknown


def tree_paths(level_ids: Tensor) -> Tensor:
    """Paths [B, P, N] of B linearised trees: True where node n lies on path p, P the most paths of a tree.

    level_ids [B, N]: 3 + level, the root's being 1; smaller ids are no nodes and lie on no path. A leaf is a node whose
    successor is not one level deeper; paths are in the order of their leaves. Filler rows are False (seed 002, figure
    3).
    """
    # levels : B x N; last, beneath : B x N x N
    levels = (level_ids - (FIRST_LEVEL - 1)).clamp(min=0)
    count = levels.shape[1]
    places = torch.arange(count, device=levels.device)
    following = torch.nn.functional.pad(levels[:, 1:], (0, 1))
    leaves = (levels > 0) & (following != levels + 1)
    # A node's part of the sequence ends where the next node that is not deeper begins.
    closes = (levels[:, None, :] <= levels[:, :, None]) & (places > places[:, None])
    ends = torch.where(closes, places, count).amin(2)
    beneath = (places[:, None] >= places) & (places[:, None] < ends[:, None, :]) & (levels > 0)[:, None, :]
    order = (~leaves).long().argsort(dim=1, stable=True)[:, : max(int(leaves.sum(1).max()), 1)]
    chosen = beneath.gather(1, order[..., None].expand(-1, -1, count))
    return chosen & leaves.gather(1, order)[..., None]
