import random

import torch

from tasks.benchmarking.guig import DEEPEST, NODES, PATHS, tree_levels
from zoo.tree_paths import tree_paths


def test_measured_trees_have_as_many_nodes_and_paths_as_the_row_says():
    draw = random.Random(1)
    levels = torch.tensor([tree_levels(draw) for _ in range(20)])
    assert levels.shape == (20, NODES)
    assert levels.max() <= DEEPEST
    paths = tree_paths(levels + 3)
    assert paths.shape == (20, PATHS, NODES)
    assert paths.any(2).all()
    assert paths.any(1).all()
