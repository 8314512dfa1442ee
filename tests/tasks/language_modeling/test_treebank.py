import pytest

from tasks.brackets import parse_trees
from tasks.language_modeling.treebank import constituents, read_treebank
from tasks.transformation import load_task
from zoo.errors import UserError

TRACED = """
( (S (NP-SBJ-1 (DT The) (NN cat))
     (VP (VBD was) (VP (VBN seen) (NP (-NONE- *-1)) (PP-LGS=2 (IN by) (NP (NNP Ann)))))
     (. .)) )
(X (, ,) (. .))
"""


def one(text):
    (tree,) = parse_trees(text, "here")
    return constituents(tree)


def test_traces_and_function_tags_are_left_out():
    first, second = (constituents(tree) for tree in parse_trees(TRACED, "here"))
    assert first.words == ["The", "cat", "was", "seen", "by", "Ann", "."]
    labels = [("S", 0, 7), ("NP", 0, 2), ("VP", 2, 6), ("VP", 3, 6), ("PP", 4, 6), ("NP", 5, 6)]
    assert first.spans == labels
    assert first.punctuation == [False] * 6 + [True]
    assert second.words == [",", "."]


def test_p06_punctuation_is_left_out_of_words_and_constituents():
    sentence = one("(S (NP (DT the) (NN cat)) (, ,) (NP (DT the) (NN dog)) (. .))").without_punctuation()
    assert sentence.words == ["the", "cat", "the", "dog"]
    assert sentence.spans == [("S", 0, 4), ("NP", 0, 2), ("NP", 2, 4)]


@pytest.mark.parametrize("tag", ["$.", "$,", "$(", ",", ".", ":", "``", "''", "-LRB-"])
def test_p06_tags_of_punctuation_of_english_and_german_treebanks(tag):
    assert one(f"(S (NE Anna) ({tag} x))").punctuation == [False, True]


def test_p06_signs_of_currency_are_words_and_marks_without_a_tag_are_not():
    assert one("(NP ($ $) (CD 3))").punctuation == [False, False]
    assert one("(S (NP Anna) ... ?)").punctuation == [False, True, True]
    assert constituents(load_task("question_formation").parse("my newt does swim . decl")).punctuation[-1]


def test_p06_a_sentence_of_nothing_but_punctuation():
    assert one("(S (NP (, ,)) (. .))").without_punctuation() == ([], [], [])


def test_p05_an_empty_or_wrong_folder_says_what_is_wanted(tmp_path):
    with pytest.raises(UserError, match=r"no such files; wanted are bracketed trees .* \.mrg"):
        read_treebank(tmp_path)
    (tmp_path / "readme.md").write_text("(S (A a))")
    with pytest.raises(UserError, match="no such files"):
        read_treebank(tmp_path)
    (tmp_path / "empty.mrg").write_text("\n")
    with pytest.raises(UserError, match="holds no trees"):
        read_treebank(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        read_treebank(tmp_path / "none")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "wsj_0001.mrg").write_text(TRACED)
    assert len(read_treebank(tmp_path)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (A a))\nhello", "line 2: 'hello' stands outside brackets"),
        ("(S (A a)))", r"line 1: '\)' stands outside"),
        ("(S (A a)", "1 brackets are not closed"),
    ],
)
def test_damaged_files_name_the_place(tmp_path, text, message):
    (tmp_path / "x.mrg").write_text(text)
    with pytest.raises(UserError, match=message):
        read_treebank(tmp_path / "x.mrg")


def test_the_real_sample(shared):
    trees = read_treebank(shared / "data" / "trees" / "wsj_sample.txt")
    assert len(trees) == 3914
    first = constituents(trees[0]).without_punctuation()
    assert " ".join(first.words[:6]) == "Pierre Vinken 61 years old will"
    assert not any("*" in word and word != "*" for tree in trees[:200] for word in constituents(tree).words)
