"""Paraphrase from end to end on sentences of the grammars: every kind of model is trained, scored and compared."""

import json
import subprocess
import sys

import pytest

from tests.scripts.tiny_runs import ROOT, WITHOUT_NETWORK

SIZES = {
    "guig": ["hidden_size=8", "inner_size=12", "key_size=4", "value_size=4", "text_layers=1", "syntax_layers=1",
             "decoder_layers=1"],
    "transformer-concat": ["hidden_size=8", "inner_size=12", "key_size=4", "value_size=4", "encoder_layers=1",
                           "decoder_layers=1"],
    "guig-expander": ["hidden_size=8", "inner_size=12", "key_size=4", "value_size=4", "encoder_layers=1",
                      "decoder_layers=1"],
    "lstm": ["hidden_size=8"],
}  # fmt: skip


def script(name, *arguments):
    """Runs a script that is refused every connection (H13)."""
    command = [sys.executable, "-c", WITHOUT_NETWORK, ROOT / "scripts" / name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paraphrase")
    for name, settings in SIZES.items():
        sizes = [word for setting in settings for word in ("--set", setting)]
        script(
            "train.py", "--model", name, "--task", "paraphrase", "--train-size", 200, "--validation-size", 20,
            "--max-epochs", 1, "--threads", 1, "--output", folder / name, *sizes,
        )  # fmt: skip
    return folder


def figures(folder):
    return {row["metric"]: row for row in json.loads((folder / "results.json").read_text()) if row["set"] == "test"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["guig", "transformer-concat", "lstm"])
def test_texts_are_generated_parsed_and_scored_under_each_condition(runs, name):
    expander = ["--expander", runs / "guig-expander"]
    script("evaluate.py", runs / name, "--sets", "test", "--limit", 12, "--beams", 2,
           "--given", "target", "template", "expanded", *expander)  # fmt: skip
    found = figures(runs / name)
    for ending, condition in (("", "the target's parse is given"), ("_from_template", "the template is given directly"),
                              ("_expanded", "expanded from the template"), ("_source_copied", "no model")):  # fmt: skip
        for metric in ("bleu", "ted", "n_ted_2", "n_ted_8", "n_ted_full", "top_2_match", "unparsed"):
            row = found[metric + ending]
            assert row["n"] == 12
            assert row["value"] >= 0
            assert condition in row["note"]
        assert "parser grammar" in found[f"ted{ending}"]["note"]
        assert "version:" in found[f"bleu{ending}"]["note"]  # sacrebleu's signature
    assert 0 <= found["finished_expanded"]["value"] <= 1
    assert found["bracket_length"]["value"] > 2 * found["node_level_length"]["value"]
    lines = [json.loads(line) for line in (runs / name / "generated.jsonl").read_text().splitlines()]
    assert [line["given"] for line in lines] == ["target"] * 12 + ["template"] * 12 + ["expanded"] * 12
    assert "BLEU" in script("compare.py", runs / name, "--output", runs / "comparison")


@pytest.mark.slow
def test_an_expander_is_scored_by_its_parses(runs):
    script("evaluate.py", runs / "guig-expander", "--sets", "test", "--limit", 12)
    found = figures(runs / "guig-expander")
    assert {"ted", "n_ted_2", "n_ted_full", "finished"} <= found.keys()
    assert "bleu" not in found
    assert found["top_2_match_template_copied"]["value"] == 1
    assert found["n_ted_full_source_copied"]["value"] > 0


@pytest.mark.slow
def test_the_parser_of_real_text_must_be_named(runs, tmp_path):
    line = {"source": "it rains .", "source_parse": "(S (NP (PRP it)) (VP (VBZ rains)) (. .))"}
    line |= {"target": "rain falls .", "target_parse": "(S (NP (NN rain)) (VP (VBZ falls)) (. .))"}
    (tmp_path / "test.jsonl").write_text(json.dumps(line) + "\n")
    command = [sys.executable, ROOT / "scripts" / "evaluate.py", runs / "guig", "--sets", "test", "--data", tmp_path]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 2
    assert "name the parser" in done.stderr or "vocabulary" in done.stderr


def paraphrase(*arguments):
    command = [sys.executable, ROOT / "scripts" / "paraphrase.py", *map(str, arguments)]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.mark.slow
def test_g12_each_guide_gives_a_paraphrase_that_is_labelled_with_it(runs):
    sentence, other = "my newt doesn't sleep .", "the zebra does eat ."
    guides = ["--parse", "(S (NP (PRP$) (NN)) (VP (VB)) (.))", "--template", "(S (NP) (VP))", "--exemplar", other]
    expander = ["--expander", runs / "guig-expander"]
    done = paraphrase(runs / "guig", "--sentence", sentence, *guides, *expander, "--parser", "grammar", "--beams", 2)
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first == sentence
    labels = [line.strip() for line in lines if line.startswith("    guided by")]
    assert [label.split()[3] for label in labels] == ["parse", "template", "exemplar"]
    assert repr(other) in labels[2]
    assert sum(line.startswith("    expanded to (") for line in lines) == 1
    assert sum(line.startswith("    its tree") for line in lines) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parse", "(S (NP))"], "there is no sentence"),
        (["--sentence", "the zebra does eat ."], "nothing guides"),
        (["--sentence", "the zebra does eat .", "--exemplar", "the newt does eat ."], "a parser is needed"),
        (["--sentence", "the zebra does eat .", "--parse", "(S (NP)"], "brackets are not closed"),
        (["--sentence", "the zebra does eat .", "--exemplar", "eat", "--parser", "grammar"], "cannot be parsed"),
    ],
)
def test_what_cannot_be_paraphrased_is_one_line(runs, arguments, message):
    done = paraphrase(runs / "guig", *arguments)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
