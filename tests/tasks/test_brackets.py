"""Brackets: reading and writing trees, words that hold brackets, labels."""

import pytest

from tasks.brackets import escape, parse_trees, plain_label, unescape, write_tree
from zoo.errors import UserError

BRACKETED_WORDS = ["like(d)", ":)", "(713)853-7041", "t(est)", "(", ")"]


@pytest.mark.parametrize("word", BRACKETED_WORDS)
def test_t08_brackets_in_words_survive(word):
    text = f"(S (NN {escape(word)}) (. .))"
    (tree,) = parse_trees(text, "here")
    assert len(tree) == 2
    assert unescape(tree[0][0]) == word
    assert write_tree(tree) == text


def test_written_trees_are_read_back():
    text = "(ROOT (S (NP (DT the) cat) (VP (VBZ sleeps)) ($( -LRB-) (XP)))"
    (tree,) = parse_trees(text, "here")
    assert write_tree(tree) == text
    assert list(parse_trees(write_tree(tree), "here")) == [tree]


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-SB", "NP"),
        ("ADJP*OC", "ADJP"),
        ("ADVP|PRT", "ADVP"),
        *((whole, whole) for whole in ("-LRB-", "-RRB-", "-NONE-", "$,", "$(", "PRP$", "``", ":", "--", "-", "=", "*")),
    ],
)
def test_t16_labels_without_function_tags(label, plain):
    assert plain_label(label) == plain


@pytest.mark.parametrize("text", ["(S (NP a)", "(S (NP a)))", "word (S a)"])
def test_brackets_that_do_not_match(text):
    with pytest.raises(UserError, match="here"):
        list(parse_trees(text, "here"))
