"""Scores of whole sets: which text and which tree is compared with which, parsers, processes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks.evaluation.evaluation import EvaluationSettings
from tasks.interface import TaskData
from tasks.paraphrase import Pair, scoring
from tasks.paraphrase.scoring import paraphrase_figures, parser_label
from tests.tasks.paraphrase.small_models import grammar_data, small_model
from zoo.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
PAIRS = [
    Pair(
        f"s{i} t{i} u{i} v{i} w{i}",
        f"a{i} b{i} c{i} d{i} e{i}",
        "(S (Q q) (Q q))",
        "(ROOT (S (A a) (B (C c) (D d)) (E e)))",
        "(ROOT (X (Y (Z z))))",
        f"k{i} l{i} m{i} n{i} o{i}",
    )
    for i in range(3)
]
SIDES = {
    "source": ("source_parse", [pair.source for pair in PAIRS]),
    "target": ("target_parse", [pair.target for pair in PAIRS]),
    "exemplar": ("template_parse", [pair.exemplar for pair in PAIRS]),
}
TREES = {text: getattr(PAIRS[0], parse) for parse, texts in SIDES.values() for text in texts}


@pytest.fixture
def scored(monkeypatch, tmp_path):
    """Figures of a model that writes these outputs, under these conditions."""

    def score(outputs, given=("target",), pairs=PAIRS):
        monkeypatch.setattr(scoring, "generate_texts", lambda *arguments: outputs)
        monkeypatch.setattr(scoring, "get_parser", lambda name: lambda texts: [TREES.get(text) for text in texts])
        settings = EvaluationSettings(given=given, parser="command:/home/me/parse.sh", run_folder=tmp_path)
        data = TaskData({"test": list(pairs)}, "files")
        figures = paraphrase_figures(SimpleNamespace(reads="guided"), None, data, settings, 3)
        return {figure.metric: figure for figure in figures}

    return score


def test_d03_outputs_are_compared_with_the_target_and_its_tree(scored):
    found = scored(SIDES["target"][1])
    assert found["bleu"].value == pytest.approx(100)
    assert (found["ted"].value, found["n_ted_full"].value, found["top_2_match"].value) == (0, 0, 1)
    found = scored(SIDES["exemplar"][1], ("target", "exemplar"))
    assert found["bleu"].value == found["bleu_from_exemplar"].value == 0
    assert found["ted"].value == found["ted_from_exemplar"].value == 6  # against the target's tree, whatever was given
    assert (found["top_2_match"].value, found["top_2_match_from_exemplar"].value) == (0, 1)


def test_copied_sources_stand_beside(scored):
    found = scored(SIDES["target"][1])
    assert found["bleu_source_copied"].value == 0
    assert found["ted_source_copied"].value == 5
    assert "no model" in found["ted_source_copied"].note


def test_s07_empty_outputs_count_as_empty_trees(scored):
    found = scored(["", "", ""])
    assert (found["bleu"].value, found["unparsed"].value, found["output_tokens"].value) == (0, 1, 0)
    assert (found["ted"].value, found["n_ted_2"].value, found["n_ted_full"].value) == (6, 1, 1)


def test_what_is_no_tree_counts_as_unparsed(scored, monkeypatch):
    for tree in ("(S (A a)", "a b", "(S a) (S b)", "S"):
        monkeypatch.setitem(TREES, "odd", tree)
        found = scored(["odd", *SIDES["target"][1][1:]])
        assert found["unparsed"].value == pytest.approx(1 / 3), tree
        assert found["ted"].value == 2


def test_the_note_says_what_was_given_how_it_was_searched_and_who_parsed(scored):
    found = scored(SIDES["target"][1], ("template",))
    assert "bleu" not in found
    assert found["ted_from_template"].note.startswith("the template is given directly; greedy; parser command:parse.sh")
    assert "tok:13a" in found["bleu_from_template"].note
    assert parser_label("command:/usr/bin/python3 /a/b.py --fast") == "command:python3 b.py --fast"


def test_what_was_generated_can_be_read(scored, tmp_path):
    scored([PAIRS[0].target, "", PAIRS[2].target], ("target", "exemplar"))
    lines = [json.loads(line) for line in (tmp_path / "generated.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["given"] for line in lines] == ["target"] * 3 + ["exemplar"] * 3
    assert lines[0] == {
        "set": "test",
        "given": "target",
        "source": PAIRS[0].source,
        "target": PAIRS[0].target,
        "parse_given": "(S (A) (B (C) (D)) (E))",
        "output": PAIRS[0].target,
        "output_parse": "(S (A) (B (C) (D)) (E))",
    }
    assert lines[4]["parse_given"] == "(X (Y (Z)))"
    assert lines[4]["output_parse"] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"given": ("targets",), "parser": "grammar"}, "target"),
        ({"parser": None}, "name the parser"),
        ({"parser": "grammars"}, "grammar"),
        ({"given": ("target", "expanded"), "parser": "grammar"}, "--expander RUN"),
        ({"given": ("target", "exemplar"), "parser": "grammar"}, "no template_parse"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_generated(settings, message, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("something was generated")

    monkeypatch.setattr(scoring, "generate_texts", refuse)
    data = TaskData({"test": [pair._replace(template_parse=None) for pair in PAIRS]}, "files")
    with pytest.raises(UserError, match=message):
        paraphrase_figures(SimpleNamespace(reads="guided"), None, data, EvaluationSettings(**settings))


def test_an_expander_is_compared_with_what_it_read():
    task, data, tokenizer = grammar_data(4)
    model = small_model("guig-expander", tokenizer)
    figures = task.figures(model, tokenizer, data, list, EvaluationSettings(beams=2))
    found = {figure.metric: figure for figure in figures}
    assert found["top_2_match_template_copied"].value == 1
    assert found["n_ted_full_source_copied"].value > 0
    assert found["n_ted_2_template_copied"].value == found["n_ted_3_template_copied"].value == 0
    assert found["n_ted_full"].n == found["finished"].n == 4
    assert "2 beams" in found["n_ted_full"].note


def test_a_model_of_texts_is_no_expander(tmp_path):
    task, data, tokenizer = grammar_data(2)
    model = small_model("guig", tokenizer)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "best")
    settings = EvaluationSettings(given=("expanded",), expander=str(tmp_path))
    with pytest.raises(UserError, match="is a run of guig; give one of guig-expander"):
        task.figures(model, tokenizer, data, list, settings)


def run_worker(folder, processes, expander):
    folder.mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    worker = [str(Path(__file__).with_name("score_pairs.py")), str(folder), str(expander)]
    done = subprocess.run([sys.executable, *launcher, *worker], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "report.json").read_text()), (folder / "generated.jsonl").read_text()


def test_a14_two_processes_generate_and_score_what_one_does(tmp_path):
    _, _, tokenizer = grammar_data(7)
    expander = small_model("guig-expander", tokenizer)
    for part in (expander, tokenizer):
        part.save_pretrained(tmp_path / "expander" / "best")
    reports = [run_worker(tmp_path / str(processes), processes, tmp_path / "expander") for processes in (1, 2)]
    (one, lines), (two, same_lines) = reports
    assert (one["processes"], two["processes"]) == (1, 2)
    assert one["figures"] == two["figures"]
    assert lines == same_lines
    assert len(lines.splitlines()) == 3 * 7
    assert {figure[3] for figure in one["figures"]} == {7}
