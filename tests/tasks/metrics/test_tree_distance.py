"""Tree edit distance against zss, against its definition, and against reference numbers."""

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import zss
from nltk.tree import Tree

from tasks.metrics import Nodes, normalized_tree_edit_distance, tree_distance, tree_edit_distance, tree_nodes
from zoo.errors import UserError

ROOT = Path(__file__).resolve().parents[3]


def random_nodes(source: random.Random, most: int) -> Nodes:
    """A tree of 1 to `most` nodes with 4 labels."""
    levels = [1]
    for _ in range(source.randint(1, most) - 1):
        levels.append(source.randint(2, levels[-1] + 1))
    return Nodes([source.choice("abcd") for _ in levels], levels)


def nested(nodes: Nodes) -> tuple:
    """(label, children)"""
    path: list[tuple] = [("", [])]
    for label, level in zip(*nodes, strict=True):
        del path[level:]
        node = (label, [])
        path[-1][1].append(node)
        path.append(node)
    return path[0][1][0]


def zss_distance(a: Nodes, b: Nodes) -> int:
    trees = nested(a), nested(b)
    return zss.simple_distance(*trees, lambda node: node[1], lambda node: node[0], lambda x, y: int(x != y))


def defined_distance(a: Nodes, b: Nodes) -> int:
    """By the definition: the last root of a forest is deleted, inserted, or matched."""

    def frozen(node: tuple) -> tuple:
        return node[0], tuple(map(frozen, node[1]))

    def count(forest: tuple) -> int:
        return sum(1 + count(children) for _, children in forest)

    @cache
    def distance(first: tuple, second: tuple) -> int:
        if not first or not second:
            return count(first) + count(second)
        (label, children), (other, others) = first[-1], second[-1]
        return min(
            distance(first[:-1] + children, second) + 1,
            distance(first, second[:-1] + others) + 1,
            distance(first[:-1], second[:-1]) + distance(children, others) + (label != other),
        )

    return distance((frozen(nested(a)),), (frozen(nested(b)),))


def right_branching(words: int, label: str = "X") -> str:
    tags = [f"({label}{number} (T w{number}) " for number in range(words - 1)]
    return "".join(tags) + "(T end)" + ")" * (words - 1)


def test_the_reference_numbers(shared):
    rows = json.loads((shared / "fixtures" / "tree_edit_distance.json").read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 60
    for row in rows:
        first, second = tree_nodes(row["tree_1"]), tree_nodes(row["tree_2"])
        assert (len(first.labels), len(second.labels)) == (row["nodes_1"], row["nodes_2"])
        assert tree_edit_distance(first, second) == row["distance"], row["id"]
        assert tree_edit_distance(first.cut(3), second.cut(3)) == row["distance_first_3_levels"], row["id"]


def test_t01_the_order_of_children_counts():
    first = "(F (A H (C L)) E)"
    assert tree_edit_distance(first, "(F (A D (C B)) E)") == 2
    assert tree_edit_distance(first, "(F E (A D (C B)))") == 4
    assert tree_edit_distance("(S (A) (B))", "(S (B) (A))") == 2


STUB = "def eval(a, b):\n    return 99\n\ndef distance(a, b):\n    return 99\n"
T02 = "from tasks.metrics import tree_edit_distance as d; print(d('(S (NP a))', '(S (SBAR a))'))"


@pytest.mark.parametrize("installed", [(), ("editdist", "editdistance")])
def test_t02_a_label_costs_1_whatever_else_is_installed(installed, tmp_path):
    for name in installed:
        (tmp_path / f"{name}.py").write_text(STUB, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    found = subprocess.run([sys.executable, "-c", T02], env=environment, check=True, capture_output=True, text=True)
    assert found.stdout == "1\n"


def test_t04_equal_to_zss_and_to_the_definition_on_random_trees():
    source = random.Random(4)
    for _ in range(200):
        a, b = random_nodes(source, 12), random_nodes(source, 12)
        assert tree_edit_distance(a, b) == zss_distance(a, b) == defined_distance(a, b)


def test_t04_equal_to_zss_on_larger_trees():
    source = random.Random(5)
    for most in (40, 40, 40, 80):
        a, b = random_nodes(source, most), random_nodes(source, most)
        assert tree_edit_distance(a, b) == zss_distance(a, b)


@pytest.mark.parametrize("words", [15, 30, 60])
def test_t04_right_branching_trees(words):
    tree = right_branching(words)
    assert tree_edit_distance(tree, tree) == 0
    assert tree_edit_distance(tree, right_branching(words, "Y")) == words - 1


def test_t05_a_distance_is_a_metric():
    source = random.Random(6)
    for _ in range(200):
        a, b, c = (random_nodes(source, 15) for _ in range(3))
        ab = tree_edit_distance(a, b)
        assert ab == tree_edit_distance(b, a)
        assert tree_edit_distance(a, a) == 0
        assert tree_edit_distance(a, c) <= ab + tree_edit_distance(b, c)


def test_both_decompositions_give_the_same():
    source = random.Random(7)
    for _ in range(50):
        a, b = random_nodes(source, 20), random_nodes(source, 20)
        distances = {
            tree_distance._Rows(*(tree_distance._Postorder.of(nodes, mirrored) for nodes in (a, b))).distance()
            for mirrored in (True, False)
        }
        assert distances == {tree_edit_distance(a, b)}


def test_wide_numbers_give_the_same(monkeypatch):
    """Trees with very many key roots need 8 bytes a number: here, from 3 of them on."""
    source = random.Random(8)
    pairs = [(random_nodes(source, 30), random_nodes(source, 30)) for _ in range(20)]
    expected = [tree_edit_distance(*pair) for pair in pairs]
    monkeypatch.setattr(tree_distance, "LARGEST", 100)
    assert [tree_edit_distance(*pair) for pair in pairs] == expected


def test_t07_divided_by_the_nodes_of_the_reference():
    short, long = "(S (NP a) (VP (V b)))", "(S (NP a) (VP (V b) (NP c)))"
    assert tree_edit_distance(short, long) == tree_edit_distance(long, short) == 2
    assert normalized_tree_edit_distance(short, long) == 2 / 8
    assert normalized_tree_edit_distance(long, short) == 2 / 6
    assert normalized_tree_edit_distance("(S (NP (DT)) (X))", "(S (NP (NN)) (VP))", levels=2) == 1 / 3
    assert normalized_tree_edit_distance("(A (B))", "(C (D))", levels=1) == 1
    with pytest.raises(UserError, match="levels is 0"):
        normalized_tree_edit_distance(short, long, levels=0)


def test_t07_empty_trees_divide_nothing_by_zero():
    assert normalized_tree_edit_distance("", "") == 0
    assert normalized_tree_edit_distance("(S a)", "") == 2
    assert normalized_tree_edit_distance("", "(S a)") == 1


def test_s07_nothing_is_as_far_as_the_tree_is_large():
    assert tree_edit_distance("", "(S (NP the) (NN cat))") == 5
    assert tree_edit_distance("(S (NP the) (NN cat))", "\f") == 5
    assert tree_edit_distance("", "") == 0


def test_t14_chains_of_single_children_are_kept():
    assert len(tree_nodes("(S (VP (VB go)))").labels) == 4
    assert tree_edit_distance("(NP (NP (N cat)))", "(NP (N cat))") == 1
    assert tree_edit_distance("(S (VP (VB go)))", "(S::VP (VB go))") == 2


@pytest.mark.parametrize("depth", [200, 501, 1500])
def test_t15_deep_trees(depth):
    tree = "(X v " * (depth - 1) + "(X w)" + ")" * (depth - 1)
    other = "(X v (Y v " * (depth // 2 - 1) + "(X v " * (1 + depth % 2) + "(X w)" + ")" * (depth - 1)
    assert tree.count("(") == other.count("(") == depth
    assert tree_edit_distance(tree, other) == depth // 2 - 1


def test_t15_deep_trees_of_nltk_and_deep_brackets():
    tree = Tree("X", ["w"])
    for _ in range(1500):
        tree = Tree("X", ["v", tree])
    text = "(X v " * 1500 + "(X w)" + ")" * 1500
    assert tree_nodes(tree) == tree_nodes(text)
    assert tree_edit_distance(tree, text) == 0


def test_trees_that_do_not_fit_are_refused():
    chain = Nodes(["X"] * 40_000, [1] + [2] * 39_999)
    with pytest.raises(UserError, match=r"trees of 40,000 and 40,000 nodes .* too large"):
        tree_edit_distance(chain, chain)


def test_labels_compare_as_a_whole():
    assert tree_edit_distance("(NP-SBJ a)", "(NP a)") == 1
    assert tree_edit_distance(Tree("S", ["a b"]), Tree("S", ["a b"])) == 0
