"""Published files: any base name, JSON lines, every fault with file and line."""

import json
import unicodedata

import pytest

from tasks import load_task
from tasks.transformation.files import find_files, read_pairs
from zoo.errors import UserError

LINES = {
    "train": [
        ("my raven does change . quest", "does my raven change ?"),
        ("my yak does eat . decl", "my yak does eat ."),
    ],
    "dev": [("our newts do swim . quest", "do our newts swim ?")],
    "test": [("the newts do swim . decl", "the newts do swim .")],
    "gen": [("my raven that doesn't sleep does change . quest", "does my raven that doesn't sleep change ?")],
}
SETS = {"train": "train", "dev": "validation", "test": "test", "gen": "generalization"}


def write_tsv(folder, lines=LINES, base="some.name"):
    for suffix, rows in lines.items():
        text = "".join(f"{source}\t{target}\n" for source, target in rows)
        (folder / f"{base}.{suffix}").write_text(text, encoding="utf-8")
    return folder


def write_jsonl(folder, names):
    for suffix, rows in LINES.items():
        text = "".join(json.dumps({"source": source, "target": target}) + "\n" for source, target in rows)
        (folder / names(suffix)).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "write",
    [
        write_tsv,
        lambda folder: write_jsonl(folder, lambda suffix: f"{suffix}.jsonl"),
        lambda folder: write_jsonl(folder, lambda suffix: f"{SETS[suffix]}.jsonl"),
        lambda folder: write_jsonl(folder, lambda suffix: f"base.{suffix}.jsonl"),
    ],
)
def test_four_files_make_four_sets(tmp_path, write):
    (tmp_path / "notes.txt").write_text("not data")
    (tmp_path / "._some.name.dev").write_bytes(b"\0\5\x16\7")  # as macOS leaves them on other file systems
    data = load_task("question_formation").load_data(write(tmp_path))
    assert data.sets == {SETS[suffix]: rows for suffix, rows in LINES.items()}
    assert data.sizes == {"train": 2, "validation": 1, "test": 1, "generalization": 1}
    assert data.description.startswith("files ")
    assert "generated" not in data.description


def test_sizes_and_splits_of_files(tmp_path):
    task = load_task("question_formation")
    data = task.load_data(write_tsv(tmp_path), sizes={"train": 1}, splits=["test", "train"])
    assert data.sizes == {"train": 1, "test": 1}
    assert data.description == "files some.name.train, some.name.test"
    with pytest.raises(UserError, match=r"some\.name\.test holds 1 lines, fewer than the 5 asked for"):
        task.load_data(tmp_path, sizes={"test": 5})


def test_missing_training_set_is_generated_without_the_sentences_of_the_files(tmp_path):
    task = load_task("question_formation")
    usual = task.sample("train", 200, 0)
    rows = [("dev", 0, 50), ("test", 50, 100), ("gen", 100, 150)]
    write_tsv(tmp_path, {suffix: usual[first:last] for suffix, first, last in rows})
    data = task.load_data(tmp_path, sizes={"train": 500})
    bases = {example.base for example in usual[:150]}
    assert len(data.sets["train"]) == 500
    assert not bases & {example.base for example in data.sets["train"]}
    # Also those of sets that are not asked for.
    assert task.load_data(tmp_path, splits=["train"], sizes={"train": 500}).sets["train"] == data.sets["train"]
    assert data.description == ("files some.name.dev, some.name.test, some.name.gen, training set generated, seed 0")


def test_training_set_beside_the_published_files(task, published):
    data = task.load_data(published)
    assert len(data.sets["train"]) == 100_000
    train = {example.base for example in data.sets["train"]}
    for split in ("validation", "test", "generalization"):
        assert not train & {example.base for example in data.sets[split]}
    corrected = ", 230 targets corrected to the nominative, " in data.description
    assert corrected is (task.name == "german_passivization")
    for split in ("validation", "test", "generalization"):
        assert all(task.hierarchical(example.source) == example.target for example in data.sets[split])


def test_published_files_as_they_stand_without_the_fix(shared):
    task = load_task("german_passivization", nominative_fix=False)
    data = task.load_data(shared / "data" / "transformations" / task.name, splits=["generalization"])
    assert data.description == "files german_passivization.gen"
    assert sum(e.target.startswith(("der Löwen", "der Raben")) for e in data.sets["generalization"]) > 10


def test_d06_lone_quotes_in_tsv(tmp_path):
    path = tmp_path / "a.dev"
    path.write_text('" a b\tc\nd " e\t"f\ng\th\n', encoding="utf-8")
    assert list(read_pairs(path)) == [(1, '" a b', "c"), (2, 'd " e', '"f'), (3, "g", "h")]


def test_decomposed_umlauts_windows_line_ends_and_runs_of_blanks(tmp_path):
    source, target = "dein  Löwe kann lächeln . quest", "kann dein Löwe lächeln ?"
    for suffix in ("dev", "test", "gen"):
        text = "﻿" + unicodedata.normalize("NFD", f"{source}\t{target}\r\n")
        (tmp_path / f"a.{suffix}").write_text(text, encoding="utf-8", newline="")
    data = load_task("german_question_formation").load_data(tmp_path, splits=["test"])
    assert data.sets["test"] == [(source.replace("  ", " "), target)]


GOOD = "my yak does eat . decl\tmy yak does eat .\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x.test is empty"),
        ("\n\n", "x.test is empty"),
        (f"{GOOD}no tab here\n", "x.test, line 2: 1 fields instead of SOURCE<tab>TARGET"),
        (f"{GOOD}a\tb\tc\n", "x.test, line 2: 3 fields"),
        (f"{GOOD}\n{GOOD}", "x.test, line 2 is blank"),
        (f"{GOOD} \tmy yak does eat .\n", "x.test, line 2: the source is blank"),
        (f"{GOOD}my yak does eat . decl\t \n", "x.test, line 2: the target is blank"),
        (f"{GOOD}my yack does eat . decl\tmy yak does eat .\n", "x.test, line 2: the word 'yack'.*did you mean yak"),
        (f"{GOOD}my yak does eat . decl\tmy yak did eat .\n", "x.test, line 2: the word 'did'"),
        (f"{GOOD}my yak does eat .\tmy yak does eat .\n", "line 2: a source is .* its last word, decl or quest"),
        ("decl\tmy yak does eat .\n", "x.test, line 1: a source is a sentence and"),
        ("f\xfcr\ta\n".encode("latin-1"), "x.test is not UTF-8"),
    ],
)
def test_d20_faults_of_tsv_files_name_file_and_line(tmp_path, content, message):
    path = tmp_path / "x.test"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=message):
        load_task("question_formation").load_data(tmp_path, splits=["test"])


@pytest.mark.parametrize(
    "line", ["{", "[]", "[" * 100_000, '"text"', '{"source": "a"}', '{"source": "a", "target": 3}', "a\tb"]
)
def test_faults_of_json_files_name_file_and_line(tmp_path, line):
    path = tmp_path / "test.jsonl"
    path.write_text('{"source": "my yak does eat . decl", "target": "my yak does eat ."}\n' + line, encoding="utf-8")
    with pytest.raises(UserError, match=r'test\.jsonl, line 2: no JSON object with texts "source" and "target"'):
        load_task("question_formation").load_data(tmp_path, splits=["test"])


def test_faults_of_folders(tmp_path):
    with pytest.raises(UserError, match="is no folder"):
        find_files(tmp_path / "missing")
    with pytest.raises(UserError, match=r"holds no data; wanted are files ending in \.train"):
        find_files(tmp_path)
    write_tsv(tmp_path, {"test": LINES["test"]})
    with pytest.raises(UserError, match=r"holds no validation set; add a file ending in \.dev"):
        load_task("question_formation").load_data(tmp_path)
    (tmp_path / "test.jsonl").write_text("{}")
    with pytest.raises(UserError, match=r"holds 2 files for the test set \(some\.name\.test, test\.jsonl\)"):
        load_task("question_formation").load_data(tmp_path)
