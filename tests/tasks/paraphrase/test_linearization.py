"""Trees as nodes and levels, their inverse, cuts and paths; beside them slow recursive twins."""

import json
import random

import pytest
from nltk.tree import Tree

from tasks.brackets import write_tree
from tasks.paraphrase import delinearize, linearize
from tasks.paraphrase.linearization import DEEPEST, TooDeep, path_mask, paths, read_parse
from zoo.errors import UserError

APPLE = "(S (NP (PRP I)) (VP (VBD ate) (NP (DT an) (NN apple))))"


def naive_linearize(tree, level=1):
    """By recursion, for trees without wrappers, function tags and traces."""
    pairs = [(tree.label(), level)]
    for child in tree:
        if isinstance(child, Tree):
            pairs += naive_linearize(child, level + 1)
    return pairs


def naive_paths(tree, number=None, above=()):
    """By recursion over a tree without words: the indices in preorder from the root to each leaf."""
    number = iter(range(10_000)) if number is None else number
    path = (*above, next(number))
    found = [found for child in tree for found in naive_paths(child, number, path)]
    return found or [list(path)]


def random_tree(rng, depth=6):
    children = [random_tree(rng, depth - 1) for _ in range(rng.randint(0, 3))] if depth else []
    return Tree(rng.choice(["S", "NP", "VP", "-LRB-", "$,"]), children)


def right_branching(depth):
    return "(A (w x) " * depth + "(A y)" + ")" * depth


def test_the_example_of_the_seed():
    nodes, levels = linearize(APPLE)
    assert " ".join(nodes) == "S NP PRP VP VBD NP DT NN"
    assert levels == [1, 2, 3, 2, 3, 3, 4, 4]
    assert write_tree(delinearize(nodes, levels)) == "(S (NP (PRP)) (VP (VBD) (NP (DT) (NN))))"


def test_every_tree_of_the_fixtures(shared):
    rows = json.loads((shared / "fixtures" / "guig_linearisation.json").read_text())["rows"]
    assert len(rows) == 18
    for row in rows:
        for max_level, ending in ((None, ""), (8, "_8_levels"), (3, "_template_3_levels")):
            nodes, levels = linearize(row["parse"], max_level)
            assert " ".join(nodes) == row[f"nodes{ending}"]
            assert " ".join(map(str, levels)) == row[f"levels{ending}"]
            assert linearize(delinearize(nodes, levels)) == (nodes, levels)
        assert paths(linearize(row["parse"], 8).levels) == row["paths_8_levels"]
        assert paths(linearize(row["parse"], 3).levels) == row["paths_template"]


def test_inverse_paths_and_masks_against_the_naive_twins():
    rng = random.Random(0)
    for _ in range(300):
        tree = random_tree(rng)
        nodes, levels = linearize(tree)
        assert list(zip(nodes, levels, strict=True)) == naive_linearize(tree)
        assert delinearize(nodes, levels) == tree
        assert paths(levels) == naive_paths(tree)
        assert path_mask(levels) == [[i in path for i in range(len(nodes))] for path in naive_paths(tree)]
        for max_level in (1, 2, 3, 7):
            kept = [pair for pair in naive_linearize(tree) if pair[1] <= max_level]
            assert list(zip(*linearize(tree, max_level), strict=True)) == kept
            assert linearize(delinearize(*zip(*kept, strict=True))) == linearize(tree, max_level)


def test_t09_outer_brackets_without_a_label():
    assert linearize("((S (NP a)))") == (["S", "NP"], [1, 2])
    assert linearize("( (S (NP a)) )") == (["S", "NP"], [1, 2])
    assert linearize("(ROOT (S (NP a)))") == (["S", "NP"], [1, 2])
    # Where the top branches nothing is lost: one tree with two children.
    assert linearize("( (S (NP a)) (S b) )") == (["ROOT", "S", "NP", "S"], [1, 2, 3, 2])
    assert linearize("(ROOT (S (NP a)) (S b) )") == (["ROOT", "S", "NP", "S"], [1, 2, 3, 2])
    with pytest.raises(UserError, match="no label"):
        linearize("(S ((NP a)) (VP b))")


def test_t12_nodes_that_mix_words_and_trees():
    linear, words = read_parse("(A (B (C c d) e))")
    assert linear == (["A", "B", "C"], [1, 2, 3])
    assert words == ["c", "d", "e"]
    assert write_tree(delinearize(*linear)) == "(A (B (C)))"
    assert {node for path in paths(linear.levels) for node in path} == {0, 1, 2}


@pytest.mark.parametrize("depth", [200, 501, 1500])
def test_t15_deep_trees(depth):
    linear, words = read_parse(right_branching(depth))
    assert len(words) == depth + 1
    assert max(linear.levels) == depth + 1
    assert linearize(delinearize(*linear)) == linear
    assert linear.cut(8).levels == [1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8]
    assert len(paths(linear.levels)) == depth + 1
    assert len(paths(linear.levels)[-1]) == depth + 1


def test_t15_too_deep_is_one_clear_error():
    with pytest.raises(TooDeep, match="more than 2,000 levels"):
        linearize(right_branching(DEEPEST))


def test_t14_chains_of_single_children_are_kept():
    assert linearize("(S (VP (VB go)))") == (["S", "VP", "VB"], [1, 2, 3])
    assert len(linearize("(NP (NP (N cat)))").nodes) == 3


def test_t16_function_tags_and_traces_are_left_out():
    tree = "( (S (NP-SBJ-1 (NNP Rudolph)) (VP (VBD was) (S (NP-SBJ (-NONE- *-1)) (NP=2 (-LRB- -LRB-) (NN x)))) (. .)))"
    linear, words = read_parse(tree)
    assert " ".join(linear.nodes) == "S NP NNP VP VBD S NP -LRB- NN ."
    assert linear.levels == [1, 2, 3, 2, 3, 3, 4, 5, 5, 2]
    assert words == ["Rudolph", "was", "(", "x", "."]
    with pytest.raises(UserError, match="nothing but traces"):
        linearize("(S (-NONE- *))")


@pytest.mark.parametrize("text", ["", "word", "(S a", "(S a))", "(S a) (S b)", "(S (NP a)"])
def test_texts_that_are_not_one_tree(text):
    with pytest.raises(UserError):
        linearize(text)


@pytest.mark.parametrize(
    ("nodes", "levels"),
    [([], []), (["S"], []), (["S"], [2]), (["S", "NP"], [1, 3]), (["S", "S"], [1, 1]), (["S", "NP"], [1, 0])],
)
def test_levels_of_no_tree(nodes, levels):
    with pytest.raises(UserError, match="level"):
        delinearize(nodes, levels)


@pytest.mark.parametrize("max_level", [0, -1, 1.5, True])
def test_cuts_that_are_none(max_level):
    with pytest.raises(UserError, match="allowed: a whole number from 1"):
        linearize(APPLE, max_level)
