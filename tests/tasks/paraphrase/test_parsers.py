"""Parsers by name."""

import sys
from types import SimpleNamespace

import pytest
from nltk.tree import Tree
from pair_files import SOURCES, TARGETS, parse, write_texts

from tasks import load_task
from tasks.paraphrase import Pair
from tasks.paraphrase.parsers import add_parses, get_parser
from zoo.errors import UserError

PROGRAM = """
import sys
for line in sys.stdin:
    print(f"(S {' '.join(f'(X {word})' for word in line.split())})" if "cat" in line else "")
"""


@pytest.fixture
def command(tmp_path):
    path = tmp_path / "a program.py"
    path.write_text(PROGRAM)
    return f"command:{sys.executable} '{path}'"


def test_a_program_that_writes_a_tree_a_line(command):
    parse_all = get_parser(command)
    assert parse_all(["a cat", "", "dogs", "ein Kätzchen cat"]) == [
        "(S (X a) (X cat))",
        None,
        None,
        "(S (X ein) (X Kätzchen) (X cat))",
    ]
    assert parse_all([]) == []


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("print('one')", "wrote 1 lines for 2 sentences"),
        ("raise SystemExit('no model')", "ended with status 1: no model"),
    ],
)
def test_programs_that_fail(tmp_path, program, message):
    path = tmp_path / "program.py"
    path.write_text(program)
    with pytest.raises(UserError, match=message):
        get_parser(f"command:{sys.executable} {path}")(["a", "b"])


def test_programs_that_are_none():
    with pytest.raises(UserError, match="cannot be started"):
        get_parser("command:no-such-program")(["a"])
    with pytest.raises(UserError, match="names no program"):
        get_parser("command:")


def test_trees_of_the_grammars_are_exact():
    parse_all = get_parser("grammar")
    sentence = "do her unicorns wait ?"
    (tree, none) = parse_all([sentence, "colourless green ideas"])
    assert tree == "(SQ (AUX do) (NP (DT her) (NNS unicorns)) (VP (VB wait)) ?)"
    assert none is None


def test_unknown_names_and_missing_packages(monkeypatch):
    with pytest.raises(UserError, match=r"unknown parser 'stnza'.*stanza"):
        get_parser("stnza")
    for name in ("stanza", "benepar"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
        with pytest.raises(UserError, match=rf'not installed.*pip install "syntax-zoo\[{name}\]"'):
            get_parser(name)


def test_stanza_gets_tokens_and_one_sentence_a_row(monkeypatch):
    asked = []

    def pipeline(language, **settings):
        asked.append((language, settings["tokenize_pretokenized"]))
        return lambda rows: SimpleNamespace(sentences=[SimpleNamespace(constituency=parse(" ".join(r))) for r in rows])

    monkeypatch.setitem(sys.modules, "stanza", SimpleNamespace(Pipeline=pipeline))
    assert get_parser("stanza:de")(["wild , right ? you need it .", "ja"]) == [
        parse("wild , right ? you need it ."),
        parse("ja"),
    ]
    assert asked == [("de", True)]


def test_benepar_keeps_words_as_they_are(monkeypatch):
    class Parser:
        def __init__(self, model):
            assert model == "benepar_en3"

        def parse_sents(self, inputs):
            return [Tree("S", [Tree("X", [word]) for word in given.escaped_words]) for given in inputs]

    fake = SimpleNamespace(Parser=Parser, InputSentence=lambda **fields: SimpleNamespace(**fields))
    monkeypatch.setitem(sys.modules, "benepar", fake)
    assert get_parser("benepar")(['" :)']) == ['(S (X ") (X :-RRB-))']


def test_only_missing_trees_are_made(command):
    pairs = [
        Pair("a cat", "the cat", source_parse="(S (Y a) (Y cat))"),
        Pair("dogs", "a cat", exemplar="one cat"),
    ]
    assert add_parses(pairs, get_parser(command)) == [
        Pair("a cat", "the cat", "(S (Y a) (Y cat))", "(S (X the) (X cat))"),
        Pair("dogs", "a cat", "", "(S (X a) (X cat))", "(S (X one) (X cat))", "one cat"),
    ]


def test_the_task_parses_what_has_no_tree(tmp_path, command):
    write_texts(tmp_path / "pairs", parses=False)
    with pytest.warns(UserWarning, match=r"2 for brackets that are no single tree \(line 1, line 2\)"):
        data = load_task("paraphrase", parser=command).load_data(tmp_path / "pairs")
    assert data.sets["train"] == [
        Pair(SOURCES[2], TARGETS[2], parse(SOURCES[2])[6:-1], parse(TARGETS[2])[6:-1]),
    ]
