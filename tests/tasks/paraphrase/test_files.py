"""Pairs from files of all forms; rows that can be none are counted and named, and the others stay aligned."""

import json

import pytest
from pair_files import SOURCES, TARGETS, parse, row, write_lines, write_rows, write_texts

from tasks import load_task
from tasks.paraphrase import Pair
from tasks.paraphrase.files import find_files, read_pairs
from tasks.paraphrase.pairs import fault
from zoo.errors import UserError

WHOLE = [Pair(s, t, parse(s), parse(t)) for s, t in zip(SOURCES, TARGETS, strict=True)]


def read(folder, split="train"):
    return [pair for _, pair in read_pairs(find_files(folder)[split])]


def test_jsonl(tmp_path):
    rows = [row("a  cat", "one cat", template_parse="(S (X b))", exemplar="b", id="7"), {"source": "a", "target": "b"}]
    write_rows(tmp_path / "train.jsonl", rows)
    assert read(tmp_path) == [
        Pair("a cat", "one cat", parse("a cat"), parse("one cat"), "(S (X b))", "b"),
        Pair("a", "b"),
    ]


def test_text_and_trees(tmp_path):
    write_texts(tmp_path)
    write_texts(tmp_path, "dev", parses=False)
    assert read(tmp_path) == WHOLE
    assert read(tmp_path, "validation") == [Pair(pair.source, pair.target) for pair in WHOLE]


def test_d06_quotes_in_scpn_files(tmp_path):
    texts = ['" he said', 'no " there', "yes"]
    for side in ("source", "target"):
        lines = [f"{number}\t{text}\t {parse(text)}" for number, text in enumerate(texts)]
        write_lines(tmp_path / f"train.{side}.tsv", ["idx\ttokens\tparse", *lines])
    assert read(tmp_path) == [Pair(text, text, parse(text), parse(text)) for text in texts]


def test_d03_chen_input_and_reference_files_with_exemplars(tmp_path):
    exemplars = ["x y", "z", "x z x"]
    write_lines(tmp_path / "test_input.txt", [f"{s}\t{e}" for s, e in zip(SOURCES, exemplars, strict=True)])
    write_lines(tmp_path / "test_ref.txt", TARGETS)
    assert read(tmp_path, "test") == [
        Pair(s, t, exemplar=e) for s, t, e in zip(SOURCES, TARGETS, exemplars, strict=True)
    ]
    write_lines(tmp_path / "test_ref.parse", [parse(text) for text in TARGETS])
    write_lines(tmp_path / "test_exemplar.parse", [parse(text, "NP") for text in exemplars])
    task = load_task("paraphrase")
    pairs = task.load_data(tmp_path).sets["test"]
    assert [pair.target for pair in pairs] == TARGETS
    assert [pair.template_parse for pair in pairs] == [parse(text, "NP") for text in exemplars]
    assert task.template(pairs[0]).nodes[0] == "NP"  # the exemplar's, and the target's tree stays the target's
    assert task.tree(pairs[0].target_parse).nodes[0] == "S"


@pytest.mark.parametrize("content", ["", "\n \n"])
@pytest.mark.parametrize("name", ["train.target.parse", "train.source.txt"])
def test_d04_empty_files(tmp_path, name, content):
    write_texts(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=f"{name} is empty"):
        load_task("paraphrase").load_data(tmp_path)


def test_d01_files_of_different_lengths_are_refused(tmp_path):
    write_texts(tmp_path)
    first, *others = [parse(text) for text in SOURCES]
    write_lines(tmp_path / "train.source.parse", ["(S (X wild) (X ,))", "(S (X right) (X ?))", first, *others])
    with pytest.raises(UserError, match=r"train\.source\.parse 5.*line k of each must be pair k"):
        read(tmp_path)


def test_d01_two_trees_in_one_line_are_one_bad_row(tmp_path):
    write_texts(tmp_path)
    parses = [parse(text) for text in SOURCES]
    write_lines(tmp_path / "train.source.parse", ["(S (X wild) (X ,)) (S (X right) (X ?))", *parses[1:]])
    with pytest.warns(UserWarning, match=r"1 for brackets that are no single tree \(line 1\)"):
        data = load_task("paraphrase").load_data(tmp_path)
    assert data.sets["train"] == WHOLE[1:]


BAD = {
    "empty side": Pair("a", "", parse("a"), "(S)"),
    "a token such as <eos> in the text": Pair("a <node:NP>", "b", parse("a"), parse("b")),
    "brackets that are no single tree": Pair("a", "b", "(S (X a)", parse("b")),
    "too deep": Pair("a", "b", "(S " * 2001 + "a" + ")" * 2001, parse("b")),
    "leaves that do not match the text": Pair("a", "b", parse("a"), parse("b c")),
}


@pytest.mark.parametrize("reason", BAD)
def test_faults_of_a_row(reason):
    assert fault(BAD[reason]) == reason


def test_t11_a_lost_token_is_a_fault():
    lost = "(NP (JJ new) (HYPH ) (NN loan))"
    assert fault(Pair("new - loan", "a", lost, parse("a"))) == "leaves that do not match the text"
    assert fault(Pair("new loan", "a", lost, parse("a"))) is None


def test_t08_words_with_brackets_match_their_leaves():
    text = "like(d) :) (713)853-7041 t(est) ( -LRB-"
    assert fault(Pair(text, "a", parse(text), parse("a"))) is None


def test_bad_rows_are_counted_and_named_and_leave_the_others_aligned(tmp_path):
    pairs = [*WHOLE[:1], *BAD.values(), *WHOLE[1:], Pair("no", "tree")]
    rows = [{name: value for name, value in pair._asdict().items() if value is not None} for pair in pairs]
    write_rows(tmp_path / "train.jsonl", rows)
    with pytest.warns(UserWarning, match="train set: 6 rows are left out"):
        data = load_task("paraphrase").load_data(tmp_path)
    assert data.sets["train"] == WHOLE
    assert data.left_out["train"].rows == {
        **{reason: [f"line {number}"] for number, reason in enumerate(BAD, start=2)},
        "no tree of the target": ["line 9"],
    }
    assert data.description == "files train.jsonl, 6 rows left out"


def test_rows_without_trees_need_a_parser(tmp_path):
    write_texts(tmp_path, parses=False)
    with pytest.raises(UserError, match=r"No row remains.*option parser"):
        load_task("paraphrase").load_data(tmp_path)


@pytest.mark.parametrize(
    "line", ["no JSON", "[1]", json.dumps({"source": "a"}), json.dumps({"source": "a", "target": "b", "exemplar": 1})]
)
def test_lines_that_are_no_objects(tmp_path, line):
    write_lines(tmp_path / "train.jsonl", [json.dumps(row("a", "b")), line])
    with pytest.raises(UserError, match=r"train\.jsonl, line 2"):
        read(tmp_path)


def test_a_source_without_exemplar_among_others(tmp_path):
    write_lines(tmp_path / "test_input.txt", ["a\tb", "c"])
    write_lines(tmp_path / "test_ref.txt", ["d", "e"])
    with pytest.raises(UserError, match=r"test_input\.txt, line 2: 1 fields"):
        read(tmp_path, "test")


def test_folders_that_hold_no_pairs(tmp_path):
    with pytest.raises(UserError, match="is no folder"):
        find_files(tmp_path / "none")
    write_lines(tmp_path / "notes.txt", ["a"])
    with pytest.raises(UserError, match="holds no pairs"):
        find_files(tmp_path)
    write_lines(tmp_path / "train.source.txt", ["a"])
    with pytest.raises(UserError, match="no file of target texts"):
        find_files(tmp_path)
    write_lines(tmp_path / "train.src", ["a"])
    with pytest.raises(UserError, match="two files for one thing"):
        find_files(tmp_path)


def test_what_is_asked_for_and_not_there(tmp_path):
    write_texts(tmp_path)
    task = load_task("paraphrase")
    with pytest.raises(UserError, match="holds no test set"):
        task.load_data(tmp_path, splits=["test"])
    with pytest.raises(UserError, match="3 pairs, fewer than the 4"):
        task.load_data(tmp_path, sizes={"train": 4})
    with pytest.raises(UserError, match="unknown split"):
        task.load_data(tmp_path, splits=["dev"])
    assert task.load_data(tmp_path, sizes={"train": 2}).sets["train"] == WHOLE[:2]


def test_real_pairs(shared):
    data = load_task("paraphrase").load_data(shared / "data" / "paranmt")
    assert data.sizes == {"train": 8_000, "validation": 500, "test": 500}
    assert not any(map(len, data.left_out.values()))
