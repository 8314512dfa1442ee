"""Bracketed trees as text: reading, writing, and what treebanks add to labels and words.

Nothing here recurses, so a tree may be as deep as it is.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zoo.errors import UserError

if TYPE_CHECKING:
    from nltk.tree import Tree

EXAMPLE = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"
TRACE = "-NONE-"
TOKEN = re.compile(r"\$\((?=\s)|[()\n]|[^\s()]+")  # the tag $( of German treebanks is no bracket
FUNCTION_TAGS = re.compile(r"(?<=.)[-=|*].*")
ESCAPES = {"(": "-LRB-", ")": "-RRB-"}


def parse_trees(text: str, where: str, wanted: str = f"bracketed trees such as {EXAMPLE}") -> "Iterator[Tree]":
    """The trees in a text, however broken into lines; an outer pair of brackets without a label is left out where it
    holds one tree and nothing else.

    Words are as they stand, brackets in them as -LRB- and -RRB- (see `unescape`).
    Raises UserError for brackets that do not match, naming the place (`where`, line) and what is `wanted`.
    """
    from nltk.tree import Tree

    path: list[Tree] = []
    opened = False
    line = 1
    for token in re.findall(TOKEN, text):
        if token == "\n":
            line += 1
        elif token == "(":
            path.append(Tree("", []))
            opened = True
        elif not path:
            raise UserError(f"{where}, line {line}: {token!r} stands outside brackets; wanted are {wanted}.")
        elif token == ")":
            tree = path.pop()
            opened = False
            if path:
                path[-1].append(tree)
            else:
                yield tree[0] if not tree.label() and len(tree) == 1 and isinstance(tree[0], Tree) else tree
        elif opened:
            path[-1].set_label(token)
            opened = False
        else:
            path[-1].append(token)
    if path:
        raise UserError(f"{where} ends within a tree: {len(path)} brackets are not closed. Is the file whole?")


def write_tree(tree: "Tree") -> str:
    """A tree as one line; brackets within words stand as -LRB- and -RRB-."""
    from nltk.tree import Tree

    parts: list[str] = []
    waiting: list[Tree | str | None] = [tree]  # None closes a bracket
    while waiting:
        node = waiting.pop()
        if node is None:
            parts[-1] += ")"
        elif isinstance(node, Tree):
            parts.append(f"({node.label()}")
            waiting += [None, *reversed(node)]
        else:
            parts.append(escape(node))
    return " ".join(parts)


def escape(word: str) -> str:
    """A word as it can stand in brackets."""
    return word.replace("(", ESCAPES["("]).replace(")", ESCAPES[")"])


def unescape(word: str) -> str:
    """The word that `escape` was given; -LRB- is taken for a bracket, as treebanks mean it."""
    return word.replace(ESCAPES["("], "(").replace(ESCAPES[")"], ")")


def plain_label(label: str) -> str:
    """A label without function tags and numbers: NP-SBJ-1, NP=2, ADJP*OC and ADVP|PRT are NP, NP, ADJP and ADVP.

    Tags that are punctuation, such as -LRB- and `$,`, stay whole.
    """
    return label if label.startswith("-") else FUNCTION_TAGS.sub("", label)
