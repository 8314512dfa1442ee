"""Ordered labelled trees as the labels of their nodes and the levels that these stand on."""

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from zoo.errors import UserError

if TYPE_CHECKING:
    from nltk.tree import Tree

TOKEN = re.compile(r"\$\((?=\s)|[()]|[^\s()]+")  # the tag $( of German treebanks is no bracket


class Nodes(NamedTuple):
    """The nodes of a tree, each before its children, which are in their order; the root stands on level 1."""

    labels: Sequence[Hashable]
    levels: Sequence[int]

    def cut(self, levels: int | None) -> "Nodes":
        """What stands on the first `levels` levels; None: all. Raises UserError unless it is 1 or more."""
        if levels is None:
            return self
        if isinstance(levels, bool) or not isinstance(levels, int) or levels < 1:
            raise UserError(f"levels is {levels!r}; allowed: a whole number from 1, or None for the whole tree.")
        kept = [node for node in zip(self.labels, self.levels, strict=True) if node[1] <= levels]
        return Nodes([label for label, _ in kept], [level for _, level in kept])


AnyTree: TypeAlias = "Tree | str | Nodes"


def tree_nodes(tree: AnyTree) -> Nodes:
    """The nodes of a tree: of an `nltk.Tree`, or of brackets such as (NP (DT the) (NN cat)); of any depth.

    Nothing is left out: a word is a node below its tag, and a bracket without a label is a node with the label "".
    A string of blanks is the empty tree. Raises UserError for brackets that make no single tree.
    """
    if isinstance(tree, Nodes):
        return tree
    return _read(tree) if isinstance(tree, str) else _walk(tree)


def brackets(nodes: Nodes) -> str:
    """The tree in one line, such as (NP (DT) (NN)): each node has its brackets."""
    parts = []
    before = 0
    for label, level in zip(nodes.labels, nodes.levels, strict=True):
        parts.append(f"{')' * (before - level + 1)} ({label}")
        before = level
    return "".join(parts).lstrip() + ")" * before


def _read(text: str) -> Nodes:
    labels: list[Hashable] = []
    levels: list[int] = []
    level, opened = 0, False
    for token in TOKEN.findall(text):
        is_bracket = token in "()"
        if opened or not is_bracket:  # the label of what was opened, or a word
            labels.append("" if is_bracket else token)
            levels.append(level if opened else level + 1)
            if levels[-1] == 1 and (len(labels) > 1 or not opened):
                raise _no_tree(text, f"{token!r} stands outside the brackets of a first tree")
        opened = token == "("
        level += opened - (token == ")")
        if level < 0:
            raise _no_tree(text, "a bracket is closed that was not opened")
    if level:
        raise _no_tree(text, f"{level} opened brackets are not closed")
    return Nodes(labels, levels)


def _no_tree(text: str, reason: str) -> UserError:
    shown = text if len(text) <= 100 else f"{text[:100]} ..."
    return UserError(
        f"{shown!r} is no tree: {reason}. Wanted are brackets such as (S (NP (NN rain)) (VP (VBZ falls)))."
    )


def _walk(tree: "Tree") -> Nodes:
    from nltk.tree import Tree

    labels: list[Hashable] = []
    levels: list[int] = []
    waiting: list[tuple[Tree | Hashable, int]] = [(tree, 1)]
    while waiting:
        node, level = waiting.pop()
        levels.append(level)
        if isinstance(node, Tree):
            labels.append(node.label())
            waiting += [(child, level + 1) for child in reversed(node)]
        else:
            labels.append(node)
    return Nodes(labels, levels)
