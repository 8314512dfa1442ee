"""Trees as sequences of nodes and their levels (seed 002, "Problem statement"), and paths in them.

`I ate an apple` is S NP PRP VP VBD NP DT NN on the levels 1 2 3 2 3 3 4 4. Words are no nodes; a chain of nodes with
one child each stays a chain. Nothing here recurses, so that a tree may be as deep as it is.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tasks.brackets import EXAMPLE, TRACE, parse_trees, plain_label, unescape
from zoo.errors import UserError

if TYPE_CHECKING:
    from nltk.tree import Tree

WRAPPERS = {"", "ROOT", "TOP", "VROOT"}
UNLABELLED = "ROOT"  # what an outer bracket is called that has no label and holds several trees
DEEPEST = 2_000  # levels; a deeper "tree" is a damaged line, and its paths would fill the memory
AnyTree: TypeAlias = "str | Tree"


class TooDeep(UserError):
    """A tree of more levels than any sentence has."""


class Linear(NamedTuple):
    """The nodes of a tree, each before its children, and their levels; the root is on level 1."""

    nodes: list[str]
    levels: list[int]

    def cut(self, levels: int | None) -> "Linear":
        """The nodes on the first `levels` levels, None for all. Raises UserError unless it is 1 or more."""
        if levels is None:
            return self
        if isinstance(levels, bool) or not isinstance(levels, int) or levels < 1:
            raise UserError(f"the number of levels is {levels!r}; allowed: a whole number from 1, or None for all.")
        kept = [(node, level) for node, level in zip(*self, strict=True) if level <= levels]
        return Linear([node for node, _ in kept], [level for _, level in kept])


def linearize(parse: AnyTree, max_level: int | None = None) -> Linear:
    """The nodes and levels of a tree in brackets, or of an `nltk.Tree`, cut to `max_level` levels.

    An outer ROOT (TOP, VROOT) or bracket without label that holds one tree is left out; so are function tags (NP-SBJ
    is NP), and traces (-NONE-) with what holds nothing else.
    Raises UserError for a text that is not one tree, a node without a label, a tree without nodes or of more than
    2,000 levels, and a `max_level` below 1.
    """
    return read_parse(parse)[0].cut(max_level)


def delinearize(nodes: Sequence[str], levels: Sequence[int]) -> "Tree":
    """The tree of `linearize`: exactly that without words, its preterminals are nodes without children.

    Raises UserError unless there is a level for each node, the first is 1 and the only 1, and each is at most one
    higher than that before it.
    """
    from nltk.tree import Tree

    check_levels(nodes, levels)
    path: list[Tree] = []  # from the root to the last node
    for node, level in zip(nodes, levels, strict=True):
        tree = Tree(node, [])
        del path[level - 1 :]
        if path:
            path[-1].append(tree)
        path.append(tree)
    return path[0]


def check_levels(nodes: Sequence[object], levels: Sequence[int]) -> None:
    """Raises UserError unless the levels are those of a tree with these nodes."""
    if not nodes or len(nodes) != len(levels):
        raise UserError(f"{len(nodes)} nodes and {len(levels)} levels; wanted is one level for each of 1 node or more.")
    for position, level in enumerate(levels):
        highest = levels[position - 1] + 1 if position else 1
        if not (2 if position else 1) <= level <= highest:
            raise UserError(
                f"level {level!r} at position {position + 1} cannot stand there; allowed: 1 at the first node, then"
                " from 2 to one more than the level before."
            )


def read_parse(parse: AnyTree) -> tuple[Linear, list[str]]:
    """Nodes and levels of a tree, whole, and its words, brackets in them as they are. Errors as in `linearize`."""
    root = _one_tree(parse) if isinstance(parse, str) else parse
    while root.label() in WRAPPERS and len(root) == 1 and not isinstance(root[0], str):
        root = root[0]
    linear, words = Linear([], []), list[str]()
    parents, children = list[int](), list[int]()
    waiting: list[tuple[Tree | str, int, int]] = [(root, 1, -1)]
    while waiting:
        node, level, parent = waiting.pop()
        if isinstance(node, str):
            if linear.nodes[parent] != TRACE:
                words.append(unescape(node))
            continue
        if level > DEEPEST:
            raise TooDeep(f"the tree has more than {DEEPEST:,} levels; {_shown(parse)}")
        place = len(parents)
        linear.nodes.append(_label(node, level, parse))
        linear.levels.append(level)
        parents.append(parent)
        children.append(len(node))
        waiting += [(child, level + 1, place) for child in reversed(node)]
    if TRACE in linear.nodes:
        linear = _without_traces(linear, parents, children)
        if not linear.nodes:
            raise UserError(f"the tree holds nothing but traces; {_shown(parse)}")
    return linear, words


def _one_tree(text: str) -> "Tree":
    trees = list(parse_trees(text, "the tree"))
    if len(trees) != 1:
        raise UserError(f"{len(trees)} trees where one is wanted; {_shown(text)}")
    return trees[0]


def _label(node: "Tree", level: int, parse: AnyTree) -> str:
    label = plain_label(node.label())
    if not label and level > 1:
        raise UserError(f"a bracket within the tree has no label; {_shown(parse)}")
    return label or UNLABELLED


def _without_traces(linear: Linear, parents: list[int], children: list[int]) -> Linear:
    """Without traces and what holds nothing else; parents: index by node, children: how many, words counted."""
    left = list(children)
    kept = [True] * len(left)
    for place in reversed(range(len(left))):
        if linear.nodes[place] == TRACE or (children[place] and not left[place]):
            kept[place] = False
            left[parents[place]] -= 1  # of the root, -1: a count that has been looked at already
    places = [place for place, is_kept in enumerate(kept) if is_kept]
    return Linear([linear.nodes[place] for place in places], [linear.levels[place] for place in places])


def _shown(parse: AnyTree) -> str:
    if not isinstance(parse, str):
        return f"give a tree such as {EXAMPLE}."
    return f"give a tree such as {EXAMPLE} instead of {parse[:80] + ' ...' if len(parse) > 80 else parse!r}."


def leaves(levels: Sequence[int]) -> list[bool]:
    """Which nodes have no children: those whose successor is not one level deeper."""
    return [after != level + 1 for level, after in zip(levels, [*levels[1:], 0], strict=True)]


def paths(levels: Sequence[int]) -> list[list[int]]:
    """The ways from the root to each leaf, from left to right, as indices of nodes from 0 (seed 002, path attention).

    The levels say all of it. Raises UserError if they are none of a tree.
    """
    check_levels(levels, levels)
    found: list[list[int]] = []
    path: list[int] = []
    for place, (level, is_leaf) in enumerate(zip(levels, leaves(levels), strict=True)):
        del path[level - 1 :]
        path.append(place)
        if is_leaf:
            found.append(list(path))
    return found


def path_mask(levels: Sequence[int]) -> list[list[bool]]:
    """Row p, column i: whether node i is on path p of `paths`."""
    return [[place in on_path for place in range(len(levels))] for on_path in map(set, paths(levels))]
