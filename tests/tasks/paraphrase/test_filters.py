"""Which pairs are dropped from training data."""

import pytest

from tasks.paraphrase import Pair
from tasks.paraphrase.filters import over_limits, useless
from zoo.errors import UserError

GOOD = Pair("the cat sat on the mat .", "on the mat sat a cat .")


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (GOOD, None),
        (Pair("well , yes .", "of course ."), None),
        (Pair("die or come in !", "you must die , man !"), None),  # `die` and `man` are English too
        (Pair("the cat sat .", "the cat sat ."), "copy"),
        (Pair("the cat sat .", "The cat sat !"), "copy but for case and punctuation"),
        (Pair("the cat is on the table .", "le chat est sur la table ."), "other language"),
        (Pair("der Hund ist nicht hier .", "the dog is not here ."), "other language"),
    ],
)
def test_d14_what_teaches_nothing(pair, reason):
    assert useless(pair) == reason


def test_d14_for_german():
    german = Pair("der Hund ist nicht hier .", "hier ist der Hund nicht .")
    assert useless(german, "de") is None
    assert useless(german, "en") == "other language"
    assert useless(GOOD, "de") == "other language"
    with pytest.raises(UserError, match="unknown language 'xx'"):
        useless(GOOD, "xx")


@pytest.mark.parametrize(("words", "reason"), [(29, None), (30, None), (31, "text too long")])
def test_d15_texts_of_the_longest_length_are_kept(words, reason):
    assert over_limits(Pair("a", "b " * words), 30, 8) == reason
    assert over_limits(Pair("b " * words, "a"), 30, 8) == reason


@pytest.mark.parametrize(("nodes", "reason"), [(29, None), (30, None), (31, "syntax too long")])
def test_d15_trees_are_counted_as_they_are_cut(nodes, reason):
    tree = f"(S {'(X (Y (Z a)))' * (nodes - 1)})"  # the root, and so many nodes on level 2
    assert over_limits(Pair("a", "b", target_parse=tree), 30, 2) == reason
    assert over_limits(Pair("a", "b", source_parse=tree), 30, 2) == reason
    assert over_limits(Pair("a", "b", source_parse=tree), 30, 3) == "syntax too long"


def test_text_that_is_not_ascii():
    assert over_limits(Pair("für", "a"), 30, 8) == "non-ASCII text"
    assert over_limits(Pair("für", "a"), 30, 8, ascii_only=False) is None
