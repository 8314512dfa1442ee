"""The grammar format and its sampler."""

import random
import warnings
from collections import Counter

import pytest

from tasks.transformation import GRAMMARS
from tasks.transformation.grammar import load_grammar, parse_grammar
from zoo.errors import UserError


def draw(text, count, seed=0, **settings):
    grammar = parse_grammar(text)
    for name, value in settings.items():
        setattr(grammar, name, value)
    rng = random.Random(seed)
    return [" ".join(grammar.sample(rng)) for _ in range(count)]


def test_d16_recursive_grammar_stops_at_the_cap_with_a_message():
    text = "S -> S S [0.6] | a [0.4]"
    with pytest.warns(UserWarning, match="derivations of more than 50 words are drawn anew"):
        sentences = draw(text, 1000, max_length=50)
    assert max(len(sentence.split()) for sentence in sentences) <= 50
    assert len({len(sentence) for sentence in sentences}) > 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert draw(text, 1000, max_length=50) == sentences
        assert draw(text, 1000, seed=1, max_length=50) != sentences


def test_d16_grammar_that_hardly_ends_is_refused():
    with (
        pytest.warns(UserWarning, match="drawn anew"),
        pytest.raises(UserError, match="in a row had more than 20 words"),
    ):
        draw("S -> S S [999999/1000000] | a [1/1000000]", 1, max_length=20)


def test_d16_symbol_without_a_finite_sentence_is_refused():
    with pytest.raises(UserError, match="A derives no finite sentence"):
        parse_grammar("S -> a | A\nA -> a A")


def test_d18_fractions_are_weights():
    counts = Counter(draw("S -> b [1/3] | c [1/3] | d [1/3]", 3000))
    assert sorted(counts) == ["b", "c", "d"]
    deviation = (3000 * 1 / 3 * 2 / 3) ** 0.5
    assert all(abs(count - 1000) < 3 * deviation for count in counts.values())


def test_d18_probabilities_that_do_not_add_up_are_refused_by_name():
    with pytest.raises(UserError, match=r"probabilities of VP add up to 0\.9, not to 1"):
        parse_grammar("S -> VP\nVP -> b [0.5] | c [0.4]")


def test_relative_weights_have_any_sum():
    counts = Counter(draw("S -> b *3 | c *1", 4000))
    assert abs(counts["b"] - 3000) < 3 * (4000 * 3 / 16) ** 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S -> b [1/2] | c *1", "mixes kinds of weights"),
        ("S -> b [1/2] | c", "mixes kinds of weights"),
        ("S -> b *x | c *1", "no positive number"),
        ("S -> b *0 | c *1", "no positive number"),
        ("S -> b [1/0] | c [1]", "no positive number"),
        ("S -> b | ", "empty alternative"),
        ("S b", "'S b' is no rule"),
        ("feature n", "'feature n' is no rule"),
        ("S -> b\nS -> c", "two rules for S"),
        ("S -> NP.sg", "NP.sg, which has no rule"),
    ],
)
def test_faults_are_named(text, message):
    with pytest.raises(UserError, match=message):
        parse_grammar(text)


def test_features_bind_both_sides_and_free_ones_are_drawn_evenly():
    text = "feature n m = sg pl\nS -> N.n V.n N.m\nN.sg : cat\nN.pl : cats\nV.sg : eats\nV.pl : eat"
    counts = Counter(draw(text, 4000))
    assert sorted(counts) == ["cat eats cat", "cat eats cats", "cats eat cat", "cats eat cats"]
    assert all(abs(count - 1000) < 100 for count in counts.values())


def test_includes_stand_in_the_same_folder(tmp_path):
    (tmp_path / "words.grammar").write_text("N : cat dog\n", encoding="utf-8")
    (tmp_path / "main.grammar").write_text("# comment\ninclude words\n\nS -> N .\n", encoding="utf-8")
    grammar = load_grammar(tmp_path / "main.grammar")
    assert grammar.words("N") == ["cat", "dog"]
    assert grammar.reachable_lists(["S"]) == {"": ["."], "N": ["cat", "dog"]}


def test_every_task_grammar_is_shipped_beside_the_code(task):
    assert (GRAMMARS / f"{task.name}.grammar").is_file()
