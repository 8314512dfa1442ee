"""A block of GuiG's syntax encoder with path attention, beside the same block with plain self-attention."""

import argparse
import random
import statistics

import torch

from tasks.benchmarking.common import Row, backwards, flops, take_turns
from zoo.guig_layers import SelfLayer
from zoo.path_attention import PathLayer
from zoo.tree_paths import FIRST_LEVEL, tree_paths

BATCH, NODES, PATHS, DEEPEST = 32, 50, 28, 8
SIZES = (256, 1024, 8, 64, 64, 0.1)  # width, inner, heads, key, value, dropout: seed 002's authors


def path_attention_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    """Row 9. The paths are computed once for all blocks of an encoder; here they are part of the one block."""
    torch.manual_seed(0)
    draw = random.Random(0)
    levels = torch.tensor([tree_levels(draw) for _ in range(BATCH)]) + FIRST_LEVEL - 1
    mask = torch.ones_like(levels, dtype=torch.bool)
    x, grad = torch.randn(BATCH, NODES, SIZES[0], requires_grad=True), torch.randn(BATCH, NODES, SIZES[0])
    plain, path = SelfLayer(*SIZES), PathLayer(*SIZES, "all")
    works = {
        "self-attention": backwards(lambda: plain(x, mask), [x, *plain.parameters()], grad),
        "path attention": backwards(lambda: path(x, mask, tree_paths(levels)), [x, *path.parameters()], grad),
    }
    seconds = take_turns(works, 4 * arguments.rounds)
    rows = []
    for name, work in works.items():
        ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds["self-attention"], strict=True))
        what = f"block with {name} N={NODES} P={PATHS} B={BATCH}"
        aim = "<= 2" if name == "path attention" else ""
        median = statistics.median(seconds[name])
        rows.append(Row(row, what, median, "self-attention", ratio, aim, gflop=flops(work)))
    return rows


def tree_levels(draw: random.Random) -> list[int]:
    """Levels in preorder of a random tree of NODES nodes with PATHS leaves, none deeper than DEEPEST."""
    while True:
        deeper = [True] * (NODES - PATHS - 1) + [False] * (PATHS - 1)
        draw.shuffle(deeper)
        levels = [1, 2]  # the root has a child
        for goes_down in deeper:
            levels.append(levels[-1] + 1 if goes_down else draw.randint(2, levels[-1]))
        if max(levels) <= DEEPEST:
            return levels
