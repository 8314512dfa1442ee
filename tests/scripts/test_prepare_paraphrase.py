"""scripts/prepare_paraphrase.py from files to data that train."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from tasks import load_task
from tasks.paraphrase import preparation
from tasks.paraphrase.vocabulary import SyntaxVocabulary

SCRIPT = Path(__file__).parents[2] / "scripts" / "prepare_paraphrase.py"
PARSER = """
import sys
for line in sys.stdin:
    print(f"(S {' '.join(f'(X {word})' for word in line.split())})")
"""


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("prepare_paraphrase", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse(text, label="X"):
    return f"(S {' '.join(f'({label} {word})' for word in text.split())})"


def row(source, target, label="X"):
    return {
        "source": source,
        "target": target,
        "source_parse": parse(source),
        "target_parse": parse(target, label),
    }


def write(folder, name, rows):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(of_row) + "\n" for of_row in rows))


def good(count):
    return [row(f"the cat of number {n} sat here", f"here the cat {n} was sitting") for n in range(count)]


@pytest.fixture
def pairs(tmp_path):
    """100 good rows, and one for each reason to drop a row."""
    rows = good(100)
    rows[10:10] = [row("für den", "for the"), row("a b " * 26, "b"), row("a", "b", "RARE"), row("a", "")]
    rows.append(row("one", "two") | {"target_parse": "(S (X two)"})
    write(tmp_path / "pairs", "train.jsonl", rows)
    test = [row("für " * 60, "a", "RARE"), row("b", "c") | {"source_parse": "(S (X c))"}]
    write(tmp_path / "pairs", "test.jsonl", test)
    return tmp_path / "pairs"


def run(script, pairs, output, *arguments):
    return script.main(["--input", str(pairs), "--output", str(output), "--pieces", "320", *arguments])


def test_rows_are_dropped_and_counted_and_parted(script, pairs, tmp_path, capsys):
    output = tmp_path / "prepared"
    assert run(script, pairs, output, "--rare", "2", "--workers", "2") == 0
    told = json.loads((output / "prepared.json").read_text())
    assert told["rows"] == {"train": 90, "validation": 10, "test": 1}
    assert told["left_out"]["train"] == {
        "non-ASCII text": 1,
        "text too long": 1,
        "rare parse label": 1,
        "empty side": 1,
        "brackets that are no single tree": 1,
    }
    assert told["left_out_rows"]["test"] == {"leaves that do not match the text": ["line 2"]}
    assert set(told["labels"]) == {"S", "X"}
    assert not (output / ".work").exists()
    shown = capsys.readouterr().out
    assert "1  rare parse label" in shown
    assert "2 labels: S X" in shown

    task = load_task("paraphrase")
    data = task.load_data(output)
    assert data.sizes == told["rows"]
    assert data.sets["test"][0].source.startswith("für für")  # a test row is not filtered
    tokenizer = task.make_tokenizer(data, "guided")
    assert SyntaxVocabulary.of(tokenizer) == SyntaxVocabulary(("S", "X"), 8)
    assert len(task.encode_set(tokenizer, data.sets["test"], "guided")) == 1
    texts = {pair.source for split in ("train", "validation") for pair in data.sets[split]}
    assert texts == {of_row["source"] for of_row in good(100)}


def test_the_seed_decides_the_split(script, pairs, tmp_path):
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, seed in zip(folders, ("0", "0", "1"), strict=True):
        assert run(script, pairs, folder, "--seed", seed, "--workers", "1") == 0
    first, same, other = [(folder / "validation.jsonl").read_text() for folder in folders]
    assert first == same
    assert first != other


def test_d14_with_and_without_the_filter(script, tmp_path):
    rows = [
        row("it is a copy", "it is a copy"),
        row("it is a copy", "It is a copy"),
        row("the cat is here", "le chat est ici avec nous"),
        row("it is", ""),
        *good(2),
    ]
    write(tmp_path / "pairs", "train.jsonl", rows)
    write(tmp_path / "pairs", "dev.jsonl", good(1))
    for folder, arguments, kept in (("all", [], 5), ("filtered", ["--filter"], 2)):
        assert run(script, tmp_path / "pairs", tmp_path / folder, "--rare", "0", *arguments) == 0
        told = json.loads((tmp_path / folder / "prepared.json").read_text())
        assert told["rows"] == {"train": kept, "validation": 1}  # a validation set of its own is kept
        assert sum(told["left_out"]["train"].values()) == 6 - kept


def test_a_stopped_preparation_goes_on(script, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "PART_ROWS", 30)
    done = []
    do_part = preparation._do_part

    def interrupted(part):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(part.path.name)
        do_part(part)

    monkeypatch.setattr(preparation, "_do_part", interrupted)
    assert run(script, pairs, tmp_path / "stopped", "--workers", "1") == 130
    assert not (tmp_path / "stopped" / "prepared.json").exists()
    resumed = []

    def recorded(part):
        resumed.append(part.path.name)
        do_part(part)

    monkeypatch.setattr(preparation, "_do_part", recorded)
    assert run(script, pairs, tmp_path / "stopped", "--workers", "1") == 0
    assert not set(resumed) & set(done)
    assert run(script, pairs, tmp_path / "whole", "--workers", "1") == 0
    for name in ("train.jsonl", "validation.jsonl", "test.jsonl", "prepared.json", "tokenizer/tokenizer.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_missing_trees_are_made_by_a_program(script, tmp_path):
    program = tmp_path / "parse.py"
    program.write_text(PARSER)
    rows = [{"source": of_row["source"], "target": of_row["target"]} for of_row in good(20)]
    write(tmp_path / "pairs", "train.jsonl", rows)
    output = tmp_path / "prepared"
    assert run(script, tmp_path / "pairs", output, "--parser", f"command:{sys.executable} {program}") == 0
    first = json.loads((output / "train.jsonl").read_text().splitlines()[0])
    assert first == good(1)[0]


def test_what_cannot_be_prepared(script, pairs, tmp_path, capsys):
    assert run(script, pairs, pairs) == 2
    assert "the folder of the input" in capsys.readouterr().err
    assert run(script, tmp_path / "none", tmp_path / "out") == 2
    assert run(script, pairs, tmp_path / "out", "--rare", "1000") == 2
    assert "no row of the train set remains" in capsys.readouterr().err
    assert run(script, pairs, tmp_path / "out", "--workers", "0") == 2
    assert run(script, pairs, tmp_path / "out", "--language", "xx") == 2
    assert run(script, pairs, tmp_path / "out") == 0
    assert run(script, pairs, tmp_path / "out") == 2
    assert "is prepared already" in capsys.readouterr().err
    assert run(script, pairs, tmp_path / "out", "--force") == 0


def test_d04_empty_files(script, tmp_path, capsys):
    write(tmp_path / "pairs", "train.jsonl", [])
    assert run(script, tmp_path / "pairs", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert "train.jsonl is empty" in error
    assert error.count("\n") == 1
