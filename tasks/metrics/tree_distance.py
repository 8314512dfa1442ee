"""Tree edit distance between ordered trees, exact, and what is made of it.

The algorithm is that of Zhang and Shasha (1989): the distance between two forests, node by node, for every pair of key
roots. A tree and its mirror image have the same distances, but English trees branch to the right, and their mirror
images have fewer and smaller subtrees of key roots; the cheaper of both is taken. All forests of the second tree that
are compared with a forest of the first are computed at once, as a row of numbers.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from tasks.metrics.trees import AnyTree, Nodes, tree_nodes
from zoo.errors import UserError

MOST_NUMBERS = 2**29  # that are kept, 4 bytes each
LARGEST = 2**31  # that 4 bytes do not hold any more


def tree_edit_distance(a: AnyTree, b: AnyTree) -> int:
    """The least number of nodes to insert, to delete and to relabel that turns one ordered tree into the other.

    Each edit costs 1, whatever the labels, which are compared as a whole. The order of children counts: swapping two
    leaves with unlike labels costs 2. Compared is exactly what is given (see `tree_nodes`): words are nodes, and chains
    of single children are kept, so that (NP (NP (N cat))) and (NP (N cat)) have the distance 1. The distance from the
    empty tree is the number of nodes.
    Raises UserError for what is no tree, and for trees of many thousands of nodes, which would not fit into memory.
    """
    return _distance(tree_nodes(a), tree_nodes(b))


def normalized_tree_edit_distance(prediction: AnyTree, reference: AnyTree, levels: int | None = None) -> float:
    """N-TED (seed 002): the distance of both trees, divided by the number of nodes of the reference.

    levels: cuts both trees before, so that only nodes on the first `levels` levels count; the root is on level 1.
    The divisor is at least 1: two empty trees have the value 0.
    """
    first, second = tree_nodes(prediction).cut(levels), tree_nodes(reference).cut(levels)
    return _distance(first, second) / max(1, len(second.labels))


def _distance(a: Nodes, b: Nodes) -> int:
    if not a.labels or not b.labels:
        return max(len(a.labels), len(b.labels))
    pairs = [(_Postorder.of(a, mirrored), _Postorder.of(b, mirrored)) for mirrored in (True, False)]
    first, second = min(pairs, key=lambda pair: pair[0].columns * pair[1].columns)
    size, other = len(first.labels), len(second.labels)
    if size * other + (size + 1) * second.columns > MOST_NUMBERS:
        raise UserError(
            f"trees of {size:,} and {other:,} nodes of this shape are too large to be compared; compare their first "
            "levels, or smaller trees."
        )
    return _Rows(first, second).distance()


class _Postorder(NamedTuple):
    """A tree with its nodes numbered so that each comes after its children."""

    labels: list[Any]
    leaves: list[int]  # of each node, the leaf that is reached by first children; the first node of its subtree
    key_roots: list[int]  # of each leaf, the highest node that it is so reached from
    columns: int  # nodes of all subtrees of key roots

    @classmethod
    def of(cls, nodes: Nodes, mirrored: bool) -> "_Postorder":
        order = list(reversed(range(len(nodes.labels)))) if mirrored else _postorder(nodes.levels)
        leaves: list[int] = []
        path: list[tuple[int, int]] = []  # level and leaf of nodes whose parent is still to come
        for number, node in enumerate(order):
            leaf = number
            while path and path[-1][0] > nodes.levels[node]:
                leaf = path.pop()[1]
            path.append((nodes.levels[node], leaf))
            leaves.append(leaf)
        key_roots = sorted({leaf: number for number, leaf in enumerate(leaves)}.values())
        columns = sum(root - leaves[root] + 1 for root in key_roots)
        return cls([nodes.labels[node] for node in order], leaves, key_roots, columns)

    def key_roots_by_depth(self) -> list[list[int]]:
        """Those with the most other key roots above them first."""
        depths: list[list[int]] = []
        above: list[int] = []
        for root in reversed(self.key_roots):
            while above and self.leaves[above[-1]] > root:
                above.pop()
            if len(above) == len(depths):
                depths.append([])
            depths[len(above)].append(root)
            above.append(root)
        return depths[::-1]


def _postorder(levels: Any) -> list[int]:
    order: list[int] = []
    path: list[int] = []
    for node, level in enumerate(levels):
        while path and levels[path[-1]] >= level:
            order.append(path.pop())
        path.append(node)
    return order + path[::-1]


class _Part(NamedTuple):
    """The columns of the key roots at one depth; `spine`: those of nodes whose leaf is that of their key root."""

    columns: slice
    nodes: np.ndarray
    empty: np.ndarray  # the row of the empty forest
    spine: np.ndarray  # within the columns
    before_spine: np.ndarray  # within all columns
    spine_nodes: np.ndarray
    spine_segment: np.ndarray  # to be added to what stands there


class _Rows:
    """Distances of forests, row by row.

    Each key root of the second tree has a segment of columns: the empty forest, then the forests that end at each node
    of its subtree. A forest of the first tree, which ends at one of its nodes, has a row. With a deletion, the distance
    comes from the row above, and with a match from an earlier row; with an insertion, it comes from the column before.
    Those are found by one running minimum, for which the column's number is taken off what it holds, and so much off
    each segment that no minimum comes from the segment before.
    """

    def __init__(self, first: _Postorder, second: _Postorder) -> None:
        self.first, self.second = first, second
        rows, nodes = len(first.labels), len(second.labels)
        self.apart = 2 * (rows + nodes + 1)
        # Segments are so far apart that their numbers may not fit into 4 bytes.
        self.type = np.int32 if self.apart * (len(second.key_roots) + 1) < LARGEST else np.int64
        # Distances of subtrees less the nodes of the second; the last column stands for the empty forest, no subtree.
        self.subtrees = np.full((rows, nodes + 1), self.apart, self.type)
        numbers: dict[Any, int] = {}
        self.labels, self.other_labels = (
            np.array([numbers.setdefault(label, len(numbers)) for label in tree.labels]) for tree in (first, second)
        )
        self._lay_out_columns()

    def _lay_out_columns(self) -> None:
        leaves, absent = self.second.leaves, len(self.second.labels)
        nodes: list[int] = []  # of each column, the node where its forest ends
        starts: list[int] = []  # the column of the forest before the subtree of that node
        segments: list[int] = []  # the number of its segment
        bounds = [0]
        number = 0
        for depth in self.second.key_roots_by_depth():
            for root in depth:
                start, begin = len(nodes), leaves[root]
                nodes += [absent, *range(begin, root + 1)]
                starts += [start, *(start + leaf - begin for leaf in leaves[begin : root + 1])]
                segments += [number] * (root - begin + 2)
                number += 1
            bounds.append(len(nodes))
        self.nodes, self.starts = np.array(nodes), np.array(starts)
        self.empty = -self.apart * np.array(segments, self.type)
        is_start = self.nodes == absent
        spine = ~is_start & is_start[self.starts]
        self.parts = [
            self._part(slice(begin, end), begin + np.flatnonzero(spine[begin:end]))
            for begin, end in itertools.pairwise(bounds)
        ]

    def _part(self, columns: slice, spine: np.ndarray) -> _Part:
        nodes, empty = self.nodes, self.empty
        return _Part(
            columns, nodes[columns], empty[columns], spine - columns.start, spine - 1, nodes[spine], -empty[spine]
        )

    def distance(self) -> int:
        leaves = self.first.leaves
        rows = np.empty((len(leaves) + 1, len(self.nodes)), self.type)
        rows[0] = self.empty
        for root in self.first.key_roots:
            begin = leaves[root]
            for node in range(begin, root + 1):
                above, row = rows[node - begin], rows[node - begin + 1]
                if leaves[node] == begin:
                    self._compute_spine_row(node, above, row)
                else:
                    self._compute_row(node, rows[leaves[node] - begin], above, row)
        return int(self.subtrees[-1, -2]) + len(self.second.labels)

    def _compute_row(self, node: int, before: np.ndarray, above: np.ndarray, row: np.ndarray) -> None:
        """above, row : C; before : C, the row of the forest before the subtree of the node, all known already."""
        found = before.take(self.starts)
        found += self.subtrees[node].take(self.nodes)
        np.minimum(found, above + 1, out=found)
        np.minimum.accumulate(found, out=row)

    def _compute_spine_row(self, node: int, above: np.ndarray, row: np.ndarray) -> None:
        """The same where the forest is the subtree of the node: distances from it are found, those from the subtrees
        of deeper key roots first. above, row : C"""
        subtrees, label = self.subtrees[node], self.labels[node]
        for part in self.parts:
            found = subtrees.take(part.nodes)
            found += part.empty
            found[part.spine] = above[part.before_spine] - (self.other_labels[part.spine_nodes] == label)
            np.minimum(found, above[part.columns] + 1, out=found)
            np.minimum.accumulate(found, out=row[part.columns])
            subtrees[part.spine_nodes] = row[part.columns][part.spine] + part.spine_segment
