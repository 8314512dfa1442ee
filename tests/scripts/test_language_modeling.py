"""Language modelling from the command line: train, evaluate, compare, extract trees."""

import json
import runpy
import xml.dom.minidom
from pathlib import Path

import pytest

from tests.tasks.language_modeling.levelled_model import TOKENIZER, LevelledModel, PlainModel

ROOT = Path(__file__).resolve().parents[2]
TINY = ["--model", "lstm", "--task", "language_modeling", "--set", "hidden_size=8", "--threads", "1"]
BUDGET = ["--max-examples", "300", "--checkpoint-examples", "150", "--batch-tokens", "256"]
CONTINUOUS = ["--task-option", "batches=continuous", "--task-option", "segment_tokens=16"]
BOOK = "".join(f"the {animal} {verb} .\n" for animal in ("cat", "dog", "cow") for verb in ("eats", "runs")) * 20


@pytest.fixture
def run(monkeypatch):
    """Runs a script in this process and returns its exit status."""

    def call(script, *arguments):
        monkeypatch.setattr("sys.argv", [f"scripts/{script}.py", *map(str, arguments)])
        return runpy.run_path(str(ROOT / "scripts" / f"{script}.py"))["main"]()

    return call


@pytest.fixture
def book(tmp_path):
    (tmp_path / "book.txt").write_text(BOOK)
    return tmp_path / "book.txt"


def rows_of(folder):
    return {(row["set"], row["metric"]): row for row in json.loads((folder / "results.json").read_text())}


@pytest.mark.parametrize("batches", [[], CONTINUOUS], ids=["sentences", "continuous"])
def test_train_evaluate_and_compare(run, book, tmp_path, capsys, batches):
    folder = tmp_path / "run"
    assert run("train", *TINY, *BUDGET, *batches, "--data", book, "--output", folder, "--learning-rate", "1e-2") == 0
    log = [json.loads(line)["validation_cross_entropy"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert log[-1] < log[0]
    assert run("evaluate", folder) == 0
    rows = rows_of(folder)
    perplexity, entropy = (rows["test", f"{name}_per_token"] for name in ("perplexity", "cross_entropy"))
    assert perplexity["value"] == pytest.approx(2.718281828459045 ** entropy["value"])
    assert perplexity["n"] == 6 * 5  # sentences of 4 words and eos
    assert ("continuous" in perplexity["settings"]) == bool(batches)
    assert ("state carried over" in perplexity["note"]) == bool(batches)
    assert "eos counted" in perplexity["note"]
    if not batches:
        assert rows["validation", "cross_entropy_per_token"]["value"] == pytest.approx(min(log), abs=1e-5)
    capsys.readouterr()
    assert run("compare", folder, "--output", tmp_path / "comparison") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Language modelling, budget: 300 examples; data: text book.txt, first 90%")
    assert "PPL test" in printed
    assert "PPL: perplexity per token" in printed
    assert not list((tmp_path / "comparison").glob("*.png"))  # there are no accuracies to draw


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [*TINY, *CONTINUOUS, "--model", "tf"],
            "state of tf grows with the text and cannot be carried over; leave the",
        ),
        ([*TINY, "--score-during"], "--score-during scores the generalization set, which language_modeling has not"),
        ([*TINY, "--task-option", "batches"], "--task-option 'batches' has no KEY=VALUE form"),
        ([*TINY, "--task-option", "bathces=continuous"], "Did you mean batches"),
        ([*TINY, "--task", "passivization", "--task-option", "batches=continuous"], "unknown option of passivization"),
        ([*TINY, "--train-size", "1000"], "the train set has 108 sentences, fewer than the 1,000 asked for"),
    ],
)
def test_bad_input_is_one_line(run, book, tmp_path, capsys, arguments, message):
    arguments = [*arguments, "--output", tmp_path / "run"]
    data = [] if "passivization" in arguments else ["--data", book]
    assert run("train", *arguments, *data) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_the_default_text_needs_nothing(run, tmp_path, capsys):
    folder = tmp_path / "run"
    small = ["--train-size", "400", "--validation-size", "50", "--output", folder]
    assert run("train", *TINY, *BUDGET, *small) == 0
    assert run("evaluate", folder, "--limit", "20", "--sets", "test") == 0
    assert rows_of(folder).keys() == {("test", "perplexity_per_token"), ("test", "cross_entropy_per_token")}
    capsys.readouterr()
    assert run("evaluate", folder, "--sets", "generalization") == 2
    assert "language_modeling has no generalization set; allowed" in capsys.readouterr().err
    assert run("extract_trees", folder, "--input", __file__) == 2
    assert "has no levels to make trees from" in capsys.readouterr().err


@pytest.fixture
def levelled(monkeypatch):
    monkeypatch.setattr("zoo.load_model", lambda _: (LevelledModel(), TOKENIZER))


def test_p11_three_sentences_of_plain_text_give_three_trees(run, levelled, tmp_path):
    (tmp_path / "x.txt").write_text("a b c d\n\nthe zebra & ( dog\nd\n")
    assert run("extract_trees", tmp_path, "--input", tmp_path / "x.txt", "--method", "both", "--layer", "all") == 0
    folder = tmp_path / "trees"
    lines = {path.name: path.read_text().splitlines() for path in folder.glob("*.txt")}
    assert set(lines) == {f"x.layer-{layer}.{method}.txt" for layer in (1, 2) for method in ("split", "binary")}
    assert lines["x.layer-1.binary.txt"] == [
        "(X (X (X a b) c) d)",
        "(X (X the (X zebra (X & -LRB-))) dog)",  # the three in the middle are all <unk>
        "(X d)",
    ]
    pictures = sorted(folder.glob("x.layer-1.binary.*.svg"))
    assert len(pictures) == 3
    for picture in pictures:
        xml.dom.minidom.parse(str(picture))
    texts = [node.firstChild.data for node in xml.dom.minidom.parse(str(pictures[1])).getElementsByTagName("text")]
    assert texts[1:6] == ["the", "zebra", "&", "(", "dog"]
    assert texts[6:] == ["level", "1.300", "0.500", "0.500", "0.500", "1.200"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layer", "3"], "--layer is 3; allowed: 1 to 2, middle, all"),
        (["--pictures", "-1"], "--pictures is -1"),
        (["--input", "nothing.txt"], "nothing.txt: No such file"),
    ],
)
def test_what_is_wrong_with_extracting(run, levelled, book, tmp_path, capsys, arguments, message):
    assert run("extract_trees", tmp_path, "--input", book, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_model_without_levels_is_named(run, monkeypatch, book, tmp_path, capsys):
    monkeypatch.setattr("zoo.load_model", lambda _: (PlainModel(), TOKENIZER))
    assert run("extract_trees", tmp_path, "--input", book) == 2
    assert "has no levels to make trees from; allowed: models with ordered neurons" in capsys.readouterr().err
