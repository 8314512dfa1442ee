"""Figures of outputs, from their texts and trees."""

import pytest

from tasks.metrics import Nodes, tree_nodes
from tasks.paraphrase.scores import (
    LEVELS,
    bracket_length,
    length_figures,
    score_all,
    score_syntax,
    syntax_figures,
    text_figures,
)

TARGET = tree_nodes("(S (NP (DT) (NN)) (VP (VBZ) (NP (NN))) (.))")


def values(figures):
    return {figure.metric: figure.value for figure in figures}


def test_s07_an_output_without_a_tree_is_as_far_as_the_reference_is_large():
    score = score_syntax(None, TARGET, TARGET)
    assert (score.parsed, score.distance, score.follows, score.nodes) == (False, 9, False, 0)
    assert score.normalized == (1.0,) * (len(LEVELS) + 1)
    found = values(syntax_figures("test", "", [score, score_syntax(TARGET, TARGET, TARGET)], "note"))
    assert (found["unparsed"], found["ted"], found["n_ted_full"], found["top_2_match"]) == (0.5, 4.5, 0.5, 0.5)
    assert found["output_nodes"] == 4.5


def test_n_ted_cuts_both_trees_to_so_many_levels():
    output = tree_nodes("(S (NP (PRP)) (VP (VBZ) (NP (DT) (NN))) (.))")
    score = score_syntax(output, TARGET, TARGET)
    named = dict(zip([*LEVELS, "full"], score.normalized, strict=True))
    assert named[2] == 0
    assert named[3] == pytest.approx(2 / 8)  # DT is PRP, NN is not there
    assert named[4] == named[8] == named["full"] == pytest.approx(3 / 9)
    assert score.distance == 3


def test_g13_the_first_two_levels_are_compared_with_what_was_asked_for():
    template = tree_nodes("(S (NP (XX)) (VP) (.))")
    assert score_syntax(TARGET, tree_nodes("(X)"), template).follows
    assert not score_syntax(TARGET, TARGET, tree_nodes("(S (NP) (VP))")).follows
    assert not score_syntax(TARGET, TARGET, tree_nodes("(S (VP) (NP) (.))")).follows
    assert not score_syntax(None, TARGET, tree_nodes("(S)")).follows


def test_every_score_belongs_to_its_output():
    trees = [tree_nodes("(A)"), None, tree_nodes("(A (B))")]
    references = [tree_nodes("(A)"), tree_nodes("(A (B))"), tree_nodes("(A (B))")]
    scored = score_all(lambda share: [trees[index] for index in share], references, references)
    assert [tree for tree, _ in scored] == trees
    assert [score.distance for _, score in scored] == [0, 2, 0]


def test_no_pairs_have_no_figures():
    for figures in (text_figures("test", "", [], [], "note"), syntax_figures("test", "", [], "note")):
        assert {(figure.value, figure.n) for figure in figures} == {(None, 0)}
        assert all("no items" in figure.note for figure in figures)
    assert values(length_figures("test", [])) == {"node_level_length": None, "bracket_length": None}


def test_s10_s12_bleu_has_its_signature_and_says_where_it_is_0_for_short_outputs():
    (bleu, length) = text_figures("test", "_x", ["yes sir"], ["yes sir"], "copied")
    assert (bleu.metric, bleu.value, bleu.n) == ("bleu_x", 0.0, 1)
    for part in ("copied", "tok:13a", "version:", "no prediction has 4 tokens"):
        assert part in bleu.note
    assert (length.metric, length.value) == ("output_tokens_x", 2)


def test_brackets_take_three_steps_where_a_node_with_its_level_takes_one():
    seed = tree_nodes("(S (NP (PRP)) (VP (VBD) (NP (DT) (NN))))")  # the example of seed 002
    assert (len(seed.labels), bracket_length(seed)) == (8, 24)
    found = values(length_figures("test", [seed, Nodes(["S"], [1])]))
    assert found == {"node_level_length": 4.5, "bracket_length": 13.5}
