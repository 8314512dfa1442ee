import itertools
import random

import pytest

from tasks.language_modeling import extract_tree
from tasks.language_modeling.baselines import balanced, left_branching, random_branching, right_branching
from tasks.language_modeling.trees import bracketed, build_tree, level_spans
from zoo.errors import UserError


def nested(tree):
    """(a (b c)) as text, without labels."""
    return tree if isinstance(tree, str) else "(" + " ".join(map(nested, tree)) + ")"


def authors_tree(levels, words):
    """The published builder, word for word a recursion: [x_<k, [x_k, x_>k]]."""
    if len(words) == 1:
        return words[0]
    k = max(range(len(levels)), key=levels.__getitem__)
    rest = f"({words[k]} {authors_tree(levels[k + 1 :], words[k + 1 :])})" if k + 1 < len(words) else words[k]
    return f"({authors_tree(levels[:k], words[:k])} {rest})" if k else rest


def binary_tree(levels, words):
    """[x_<k, x_>=k], where k is not the first word."""
    if len(words) == 1:
        return words[0]
    k = max(range(1, len(levels)), key=levels.__getitem__)
    return f"({binary_tree(levels[:k], words[:k])} {binary_tree(levels[k:], words[k:])})"


def test_p01_two_tree_builders_by_name_and_a_stated_default():
    words, levels = ["a", "b", "c", "d"], [0.0, 0.9, 0.1, 0.5]
    assert nested(extract_tree(words, levels, "binary")) == "(a ((b c) d))"
    assert nested(extract_tree(words, levels, "split")) == "(a (b (c d)))"
    assert extract_tree(words, levels) == extract_tree(words, levels, "split")
    with pytest.raises(UserError, match=r"unknown method 'spilt'.*split"):
        extract_tree(words, levels, "spilt")


def found(words, levels, method):
    return {nested(extract_tree(words.split(), row, method)) for row in levels}


def test_p01_trees_that_the_split_rule_never_gives():
    # Levels of gaps, the first word having none: 4 words have 5 trees.
    gaps = [[0.0, *order] for order in itertools.permutations([0.1, 0.2, 0.3])]
    assert len(found("a b c d", gaps, "binary")) == 5
    assert found("a b c d", gaps, "binary") - found("a b c d", gaps, "split") == {"(a ((b c) d))"}
    # With a level of the first word too, 5 words have 14 trees, and one cannot come out.
    levels = list(itertools.permutations([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert len(found("a b c d e", levels, "binary")) == 14
    assert found("a b c d e", levels, "binary") - found("a b c d e", levels, "split") == {"((a b) ((c d) e))"}


@pytest.mark.parametrize(("method", "reference"), [("split", authors_tree), ("binary", binary_tree)])
def test_trees_equal_the_recursions_also_with_ties(method, reference):
    generator = random.Random(0)
    for length in [2, 3, 5, 8, 13, 40]:
        for _ in range(20):
            levels = [generator.randrange(5) / 5 for _ in range(length)]
            words = [f"w{i}" for i in range(length)]
            assert nested(extract_tree(words, levels, method)) == reference(levels, words)


def test_p11_equal_levels_give_the_documented_shape():
    for method in ("split", "binary"):
        assert nested(extract_tree(["a", "b", "c", "d"], [0.5] * 4, method)) == "(a (b (c d)))"


def test_one_token_is_a_tree_and_none_is_an_error():
    assert str(extract_tree(["a"], [0.1])) == "(X a)"
    with pytest.raises(UserError, match="0 tokens and 0 levels"):
        extract_tree([], [])
    with pytest.raises(UserError, match="2 tokens and 1 levels"):
        extract_tree(["a", "b"], [0.1])
    with pytest.raises(UserError, match="NaN"):
        extract_tree(["a", "b"], [0.1, float("nan")])


def test_brackets_are_those_of_the_tree_and_long_sentences_do_not_end_it():
    words, levels = ["a", "(", "b", ")", "c"], [0.1, 0.4, 0.2, 0.3, 0.9]
    line = bracketed(words, level_spans(levels, "binary"))
    assert line == "(X (X (X a (X -LRB- b)) -RRB-) c)".replace("(X a (X -LRB- b)) -RRB-", "a (X (X -LRB- b) -RRB-)")
    many = [f"w{i}" for i in range(5_000)]
    assert bracketed(many, level_spans([0.0] * 5_000, "split")).count("(") == 4_999
    tree = extract_tree(words[:1] + words[2:3] + words[4:], [0.1, 0.2, 0.9], "binary")
    assert bracketed(["a", "b", "c"], level_spans([0.1, 0.2, 0.9], "binary")) == " ".join(str(tree).split())


def test_baselines():
    words = ["a", "b", "c", "d", "e"]
    assert nested(build_tree(words, left_branching(5))) == "((((a b) c) d) e)"
    assert nested(build_tree(words, right_branching(5))) == "(a (b (c (d e))))"
    assert nested(build_tree(words, balanced(5))) == "((a b) (c (d e)))"
    assert random_branching(20, 1) == random_branching(20, 1) != random_branching(20, 2)
    assert len(random_branching(20, 1)) == 19  # binary
    assert [left_branching(1), right_branching(1), balanced(1), random_branching(1, 0)] == [[]] * 4
