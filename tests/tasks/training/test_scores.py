import json
import math
import time

import pytest
import torch
from accelerate import Accelerator
from tiny_run import TOKENIZER, pairs, tiny_model, tiny_sample, tiny_trainer

from tasks import load_task
from tasks.tokenization import BOS, EOS, encode, word_tokenizer
from tasks.training import scores as module
from tasks.training.loop import describe_scores
from tasks.training.schedule import Budget
from tasks.training.scores import GeneralizationSample
from zoo.errors import UserError


def lines_of(folder):
    return [json.loads(line) | {"seconds": None} for line in (folder / "log.jsonl").read_text().splitlines()]


def log_probabilities(model, source, target):
    """log p of each word of the target and of eos, one string at a time."""
    words, output = encode(TOKENIZER, source), [*encode(TOKENIZER, target), EOS]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[BOS, *words, *output[:-1]]])).logits[0, len(words) :]
    return logits.double().log_softmax(-1).gather(-1, torch.tensor(output)[:, None])[:, 0]


def test_scores_are_those_of_single_strings():
    model = tiny_model().eval()
    scores = tiny_sample().score(Accelerator(cpu=True), model)
    sources = pairs(11, seed=2)
    turned = [(source, " ".join(reversed(source.split()))) for source, _ in sources]
    full, first = {}, {}
    for rule, rows in {"hierarchical": sources, "linear": turned}.items():
        words = [log_probabilities(model.eval(), *row) for row in rows]
        full[rule] = [float(row.sum()) for row in words]
        first[rule] = sum(float(row[0].exp()) for row in words) / 11
    differences = [h - lin for h, lin in zip(full["hierarchical"], full["linear"], strict=True)]
    assert scores["n"] == 11
    assert scores["partial_accuracy"] == pytest.approx(first, rel=1e-5)
    assert scores["full_mean_log_ratio"] == pytest.approx(sum(differences) / 11, rel=1e-5)
    for rule, values in full.items():
        assert scores["full_accuracy"][rule] == pytest.approx(sum(map(math.exp, values)) / 11, rel=1e-5)


def test_partial_accuracy_only_where_it_is_exact():
    assert "partial_accuracy" not in tiny_sample(partial="sampled").score(Accelerator(cpu=True), tiny_model())


def test_the_sample_is_500_lines_and_the_same_every_time():
    task = load_task("question_formation")
    examples = task.sample("test", 700, seed=3)
    samples = []
    for number in (1, 2):
        torch.manual_seed(number)
        samples.append(GeneralizationSample(task, word_tokenizer(task.words), examples)._pairs)
    assert samples[0] == samples[1]
    assert [len(pairs) for pairs in samples[0].values()] == [500, 500]
    whole = GeneralizationSample(task, word_tokenizer(task.words), examples[:30])._pairs
    assert len(whole["linear"]) == 30


def test_an_empty_set_is_an_error():
    with pytest.raises(UserError, match="leave out --score-during"):
        tiny_sample(0)


def test_training_with_dropout_is_the_same_with_scores_and_without(tmp_path):
    budget = Budget(max_examples=130)
    plain = tiny_trainer(tmp_path / "plain", budget=budget).train()
    scored = tiny_trainer(tmp_path / "scored", budget=budget, sample=tiny_sample()).train()
    assert scored["digest"] == plain["digest"]
    log = lines_of(tmp_path / "scored")
    assert [line.pop("scores")["n"] for line in log] == [11] * 4
    assert log == lines_of(tmp_path / "plain")


def test_a_resumed_run_has_each_line_once_with_its_scores(tmp_path):
    arguments = {"budget": Budget(max_examples=130), "save_minutes": 0, "sample": tiny_sample()}
    tiny_trainer(tmp_path / "unbroken", **arguments).train()
    trainer = tiny_trainer(tmp_path / "broken", **arguments)
    publish = trainer._publish

    def dying():  # the state of the checkpoint is saved, its line is not
        if trainer.progress.checkpoint == 2:
            raise KeyboardInterrupt
        publish()

    trainer._publish = dying
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    tiny_trainer(tmp_path / "broken", **arguments, resume=True).train()
    assert lines_of(tmp_path / "broken") == lines_of(tmp_path / "unbroken")


def test_a_model_that_gives_nan_is_left_to_the_rules_of_training(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.training.loop.validation_cross_entropy", lambda *_: math.nan)
    tiny_trainer(tmp_path, budget=Budget(max_examples=50), sample=tiny_sample()).train()
    assert all("scores" not in line and "nan" in line["note"] for line in lines_of(tmp_path))


def test_scoring_takes_nothing_from_a_budget_of_minutes(tmp_path, monkeypatch):
    moment = 0.0
    score_batch = module.score_batch

    def slow(*arguments):
        nonlocal moment
        moment += 1e6
        return score_batch(*arguments)

    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + moment)
    monkeypatch.setattr(module, "score_batch", slow)
    tiny_trainer(tmp_path, budget=Budget(max_examples=100, max_minutes=1e4), sample=tiny_sample()).train()
    assert moment > 0
    assert json.loads((tmp_path / "finished.json").read_text())["reason"] == "max_examples"


def test_the_line_on_the_terminal_tells_both_rules():
    record = {"scores": {"full_accuracy": {"hierarchical": 0.25, "linear": 0.5}}}
    assert describe_scores(record) == "; full accuracy: hierarchical 0.250, linear 0.500"
    assert describe_scores({}) == ""
