"""What a model is given under each condition."""

import pytest

from tasks.metrics import Nodes, brackets
from tasks.paraphrase import Pair
from tasks.paraphrase.guidance import asked_for, check_given, syntax
from zoo.errors import UserError

PAIR = Pair("a", "b c", "(ROOT (S (X a)))", "(ROOT (S (NP (B b)) (VP (V (C c)))))")
EXEMPLAR = PAIR._replace(template_parse="(ROOT (S (ADVP (RB (Z d))) (. .)))", exemplar="d .")


@pytest.mark.parametrize(
    ("pair", "given", "tree"),
    [
        (PAIR, "target", "(S (NP (B)) (VP (V (C))))"),
        (PAIR, "template", "(S (NP) (VP))"),
        (PAIR, "expanded", "(S (NP) (VP))"),
        (EXEMPLAR, "target", "(S (NP (B)) (VP (V (C))))"),
        (EXEMPLAR, "template", "(S (ADVP) (.))"),
        (EXEMPLAR, "exemplar", "(S (ADVP (RB (Z))) (.))"),
    ],
)
def test_what_is_asked_for(pair, given, tree):
    assert [brackets(nodes) for nodes in asked_for([pair], given, template_levels=2)] == [tree]


def test_g12_an_exemplar_without_a_parse_is_named():
    with pytest.raises(UserError, match=r"pair 2 has no template_parse.* target, template, expanded"):
        asked_for([EXEMPLAR, PAIR], "exemplar", 3)


def test_a_condition_that_there_is_not_is_refused():
    with pytest.raises(UserError, match="exemplar"):
        check_given(["target", "exemplars"])


def test_words_and_root_are_no_nodes():
    assert syntax("(ROOT (S (NP-SBJ (DT the) (NN cat))))") == Nodes(["S", "NP", "DT", "NN"], [1, 2, 3, 3])
    assert syntax(None) == syntax("") == Nodes([], [])
