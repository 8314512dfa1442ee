"""Nodes of trees, from brackets and from nltk's trees."""

import pytest
from nltk.tree import Tree

from tasks.metrics import Nodes, brackets, tree_nodes
from zoo.errors import UserError

SAME = [
    ("(S (NP (DT the) (NN cat)) (VP sleeps))", "S NP DT the NN cat VP sleeps", (1, 2, 3, 4, 3, 4, 2, 3)),
    ("(DT)", "DT", (1,)),
    ("(DT the)", "DT the", (1, 2)),
    ("(A H)", "A H", (1, 2)),
    ("(A (B (C c d) e))", "A B C c d e", (1, 2, 3, 4, 4, 3)),
]


@pytest.mark.parametrize(("text", "labels", "levels"), SAME)
def test_brackets_and_trees_of_nltk_have_the_same_nodes(text, labels, levels):
    nodes = tree_nodes(text)
    assert (nodes.labels, tuple(nodes.levels)) == (labels.split(), levels)
    assert tree_nodes(Tree.fromstring(text)) == nodes
    assert tree_nodes(nodes) is nodes


def test_what_has_no_label_is_a_node():
    assert tree_nodes("( (S a) b)") == Nodes(["", "S", "a", "b"], [1, 2, 3, 2])
    assert tree_nodes("()") == Nodes([""], [1])


def test_no_brackets_are_the_empty_tree():
    assert tree_nodes("") == tree_nodes(" \f\n") == Nodes([], [])


def test_the_german_tag_of_brackets_opens_no_node():
    assert tree_nodes("(S ($( -LRB-) (XY a))").labels == ["S", "$(", "-LRB-", "XY", "a"]


@pytest.mark.parametrize("text", ["(S", "(S (NP a)", "S)", "S", "(A) (B)", "(A))", "(A) b", "a (A)", ")("])
def test_what_is_no_tree_is_refused(text):
    with pytest.raises(UserError, match=r"is no tree: .* Wanted are brackets"):
        tree_nodes(text)


@pytest.mark.parametrize("text", ["(A)", "(A (B))", "(A (B) (C))", "(A (B (C (D))) (E (F) (G)) (H))", ""])
def test_brackets_are_written_as_they_are_read(text):
    assert brackets(tree_nodes(text)) == text


def test_cutting_keeps_the_first_levels():
    nodes = tree_nodes("(S (NP (DT the)) (VP (V b)))")
    assert nodes.cut(2) == Nodes(["S", "NP", "VP"], [1, 2, 2])
    assert nodes.cut(None) is nodes
    assert nodes.cut(9) == nodes


@pytest.mark.parametrize("levels", [0, -1, True, 2.0, "3"])
def test_a_number_of_levels_is_checked(levels):
    with pytest.raises(UserError, match="allowed: a whole number from 1"):
        tree_nodes("(S a)").cut(levels)
