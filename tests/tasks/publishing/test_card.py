"""The card of every model of the registry."""

import dataclasses
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

import tasks
import zoo
from scripts.push_to_hub import PAPER
from tasks.evaluation.run_folder import FinishedRun
from tasks.publishing.card import make_card
from tasks.publishing.upload import Place
from tasks.training.arguments import TrainingArguments
from tasks.training.schedule import protocol_for
from tests.tasks.comparison.example_rows import make_row

CLASSES = {"strings": "AutoModelForCausalLM", "guided": "AutoModelForSeq2SeqLM", "expansion": "AutoModelForSeq2SeqLM"}


def finished(name, task):
    entry = zoo.get_entry(name)
    arguments = dataclasses.asdict(TrainingArguments(model=name, task=task, output="run"))
    arguments |= dataclasses.asdict(protocol_for(entry.preset))
    arguments |= {"processes": 1, "parameter_count": 5, "code_version": "0.1", "versions": {"torch": "2"}, "data": "d"}
    return FinishedRun(Path("run"), arguments, {"examples": 7}, {"budget": "to convergence"})


def card_of(name, task, rows=(), **changes):
    place = Place("someone/thing", changes.get("branch"))
    text = make_card(finished(name, task), rows, place, "apache-2.0", changes.get("paper", PAPER), None)
    return ModelCard(text)


@pytest.mark.parametrize("name", zoo.list_models())
@pytest.mark.parametrize("task", ["question_formation", "paraphrase", "language_modeling"])
def test_every_model_has_a_card_on_every_task_it_can_be_trained_on(name, task):
    entry = zoo.get_entry(name)
    if tasks.load_task(task).family not in entry.tasks:
        return
    row = make_row(model=name, task=task, metric="own", value=0.25, n=3, note="a note", lower=0.2, upper=0.3)
    card = card_of(name, task, [row, dataclasses.replace(row, metric="other", value=None, note="no items")])
    (result,) = card.data.eval_results
    assert (result.metric_type, result.metric_value, result.dataset_type) == ("own", 0.25, task)
    assert f"{CLASSES[entry.reads]}.from_pretrained" in card.text
    for text in (
        entry.citation,
        protocol_for(entry.preset).describe(),
        "0.2000 to 0.3000",
        "[1] a note",
        "[2] no items",
    ):
        assert text in card.text
    assert "\n\n\n" not in card.text


def test_a_branch_is_named_wherever_the_repository_is():
    text = card_of("tf", "question_formation", branch="seed-2").text
    assert text.count('"someone/thing", revision="seed-2", trust_remote_code=True') == 2
    assert text.count("someone/thing@seed-2") == 2


def test_without_the_paper_at_hand_there_is_a_card():
    row = make_row(metric="full_accuracy", set="test")
    shown = [card_of("tf", "question_formation", [row], paper=path).text for path in (PAPER, Path("missing.csv"))]
    assert ["0.999 ± 0.000 (5 runs)" in text for text in shown] == [True, False]


def test_the_protocol_of_guig_in_words():
    assert protocol_for("guig").describe() == (
        "Adam, learning rate 0.0011; batches of at most 256 examples and 16,384 tokens; 12,800 steps of warm-up, then "
        "1/sqrt(step); label smoothing 0.1; validation every epoch; at most 30 epochs"
    )
