import dataclasses
import json
import math
import os
import shutil
import signal

import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors.torch import load_file
from tiny_run import record_gradients, tiny_model, tiny_trainer
from transformers import GPT2LMHeadModel

from tasks.training import loop
from tasks.training.checkpoints import parameter_digest
from tasks.training.schedule import Budget
from tasks.training.signals import Interrupted
from zoo.errors import UserError


def log_of(folder, drop=("seconds",)):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in drop} for line in lines]


def stop_at_step(trainer, step):
    """Lets the trainer die, as from a kill, before it makes the update after `step`."""
    original = trainer._step

    def dying(*arguments):
        if trainer.progress.step == step:
            raise KeyboardInterrupt
        return original(*arguments)

    trainer._step = dying


@pytest.fixture
def validation_values(monkeypatch):
    """Replaces the validation figures by given ones."""

    def replace(values):
        values = iter(values)
        monkeypatch.setattr(loop, "validation_cross_entropy", lambda *_: next(values))

    return replace


def test_run_folder_after_a_budget(tmp_path):
    summary = tiny_trainer(tmp_path, budget=Budget(max_examples=100)).train()
    assert json.loads((tmp_path / "finished.json").read_text()) == summary
    assert (summary["reason"], summary["budget"]) == ("max_examples", "100 examples")
    assert 100 <= summary["examples"] < 110
    log = log_of(tmp_path)
    assert [line["checkpoint"] for line in log] == [1, 2, 3]  # at 40, at 80, and where the budget ends
    assert [line["examples"] // 10 for line in log] == [4, 8, 10]
    best = min(log, key=lambda line: line["validation_cross_entropy"])
    progress = json.loads((tmp_path / "best" / "progress.json").read_text())
    assert progress.items() <= best.items()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("arguments.json", "best", "finished.json", "last", "log.jsonl", "state-000003")
    ]
    model = GPT2LMHeadModel.from_pretrained(tmp_path / "last")
    assert parameter_digest(model) == summary["digest"]


def test_a16_two_runs_have_the_same_log_and_parameters(tmp_path):
    runs = [tiny_trainer(tmp_path / name, budget=Budget(max_examples=100)).train() for name in "ab"]
    assert log_of(tmp_path / "a") == log_of(tmp_path / "b")
    assert runs[0]["digest"] == runs[1]["digest"]


@pytest.mark.parametrize("died_at", [1, 7, 14])
def test_a01_a_resumed_run_sees_the_rest_of_the_epoch_and_ends_as_the_unbroken_one(tmp_path, died_at):
    budget = Budget(max_examples=130)  # more than two epochs; dropout is on
    unbroken = tiny_trainer(tmp_path / "unbroken", budget=budget, save_minutes=0).train()
    trainer = tiny_trainer(tmp_path / "broken", budget=budget, save_minutes=0)
    stop_at_step(trainer, died_at)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    torch.rand(7)  # whatever happens in between
    resumed = tiny_trainer(tmp_path / "broken", budget=budget, save_minutes=0, resume=True)
    assert resumed.progress.step == died_at
    summary = resumed.train()
    assert summary["digest"] == unbroken["digest"]
    assert log_of(tmp_path / "broken") == log_of(tmp_path / "unbroken")


def test_a_run_that_died_before_its_first_save_starts_anew(tmp_path):
    budget = Budget(max_examples=50)
    unbroken = tiny_trainer(tmp_path / "unbroken", budget=budget).train()
    trainer = tiny_trainer(tmp_path / "broken", budget=budget)
    stop_at_step(trainer, 2)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert tiny_trainer(tmp_path / "broken", budget=budget, resume=True).train()["digest"] == unbroken["digest"]


def test_a09_checkpoint_numbers_go_on_after_resuming_with_a_larger_budget(tmp_path):
    tiny_trainer(tmp_path, budget=Budget(max_examples=100)).train()
    before = log_of(tmp_path, drop=())
    tiny_trainer(tmp_path, budget=Budget(max_examples=200), resume=True).train()
    after = log_of(tmp_path, drop=())
    assert after[:3] == before
    assert [line["checkpoint"] for line in after] == [1, 2, 3, 4, 5, 6]
    assert json.loads((tmp_path / "finished.json").read_text())["budget"] == "200 examples"


def test_resuming_a_finished_run_changes_nothing(tmp_path):
    first = tiny_trainer(tmp_path, budget=Budget(max_epochs=1)).train()
    log = log_of(tmp_path, drop=())
    assert tiny_trainer(tmp_path, budget=Budget(max_epochs=1), resume=True).train() == first
    assert log_of(tmp_path, drop=()) == log
    assert (first["reason"], first["examples"]) == ("max_epochs", 60)


def test_minutes_count_across_resumptions(tmp_path):
    trainer = tiny_trainer(tmp_path, save_minutes=0)
    stop_at_step(trainer, 3)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    used = trainer.progress.seconds
    resumed = tiny_trainer(tmp_path, budget=Budget(max_minutes=used / 60), resume=True)
    summary = resumed.train()
    assert (summary["reason"], summary["step"]) == ("max_minutes", 3)
    assert len(log_of(tmp_path)) == 1  # the end of a budget always makes a checkpoint


def test_training_converges_by_the_plateau_rule(tmp_path, validation_values):
    validation_values([3.0, 2.0, 2.5, 2.1, 2.0])
    summary = tiny_trainer(tmp_path).train()
    assert (summary["reason"], summary["budget"]) == ("converged", "to convergence")
    log = log_of(tmp_path)
    assert [line["best"] for line in log] == [True, True, False, False, False]
    assert [line["learning_rate"] for line in log] == [0.01, 0.01, 0.01, 0.01, 0.005]
    assert json.loads((tmp_path / "best" / "progress.json").read_text())["checkpoint"] == 2
    assert json.loads((tmp_path / "last" / "progress.json").read_text())["checkpoint"] == 5


def test_a07_nan_at_validation_is_noted_and_not_best(tmp_path, validation_values):
    validation_values([math.nan, 2.0, 1.5, math.nan, 1.6, 1.7])
    tiny_trainer(tmp_path).train()
    log = log_of(tmp_path)
    assert [line["best"] for line in log] == [False, True, True, False, False, False]
    assert [line["validation_cross_entropy"] for line in log][:2] == [None, 2.0]
    assert "nan" in log[0]["note"]
    assert "note" not in log[1]
    assert json.loads((tmp_path / "best" / "progress.json").read_text())["checkpoint"] == 3


def test_a_loss_of_nan_stops_with_the_step_and_the_batch_named(tmp_path):
    trainer = tiny_trainer(tmp_path, budget=Budget(max_examples=200))
    original = trainer._step

    def spoilt(*arguments):
        if trainer.progress.step == 14:
            with torch.no_grad():
                trainer._parameters[0].fill_(math.nan)
        return original(*arguments)

    trainer._step = spoilt
    with pytest.raises(loop.Diverged, match=r"step 15: loss nan.*learning rate 0.01.*batch .* examples \d+") as error:
        trainer.train()
    assert "decl" in str(error.value)  # the first strings of the batch
    assert f"kept in {tmp_path / 'best'}" in str(error.value)
    weights = load_file(tmp_path / "best" / "model.safetensors")
    assert all(value.isfinite().all() for value in weights.values())
    assert not (tmp_path / "finished.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_step_and_saves_the_state(tmp_path, number):
    budget = Budget(max_examples=130)
    unbroken = tiny_trainer(tmp_path / "unbroken", budget=budget).train()
    trainer = tiny_trainer(tmp_path / "broken", budget=budget)
    original = trainer._step

    def signalled(*arguments):
        if trainer.progress.step == 4:
            os.kill(os.getpid(), number)
        return original(*arguments)

    trainer._step = signalled
    handler = signal.getsignal(number)
    with pytest.raises(Interrupted) as interruption:
        trainer.train()
    assert interruption.value.number == number
    assert signal.getsignal(number) is handler
    resumed = tiny_trainer(tmp_path / "broken", budget=budget, resume=True)
    assert resumed.progress.step == 5
    assert resumed.train()["digest"] == unbroken["digest"]


def test_h10_a_compiled_model_is_saved_without_prefix(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_DYNAMO_BACKEND", "EAGER")
    AcceleratorState._reset_state(reset_partial_state=True)
    trainer = tiny_trainer(tmp_path, budget=Budget(max_examples=20))
    assert type(trainer.model).__name__ == "OptimizedModule"
    trainer.train()
    keys = load_file(tmp_path / "best" / "model.safetensors").keys()
    assert not [key for key in keys if "_orig_mod" in key or key.startswith("module.")]
    AcceleratorState._reset_state(reset_partial_state=True)
    _, report = GPT2LMHeadModel.from_pretrained(tmp_path / "best", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]


def test_a_folder_that_holds_a_run_or_anything_else_is_refused(tmp_path):
    tiny_trainer(tmp_path / "run", budget=Budget(max_examples=20)).train()
    with pytest.raises(UserError, match=r"already holds a run. Add --resume"):
        tiny_trainer(tmp_path / "run")
    with pytest.raises(UserError, match="not an empty folder"):
        tiny_trainer(tmp_path)
    with pytest.raises(UserError, match="holds no run to resume"):
        tiny_trainer(tmp_path / "new", resume=True)
    assert not (tmp_path / "new").exists()


def test_names_like_those_of_states_are_left_alone(tmp_path):
    tiny_trainer(tmp_path, budget=Budget(max_examples=20)).train()
    (tmp_path / "state-backup").mkdir()
    for name in ("state-notes.txt", "state-000099", ".mine.tmp"):
        (tmp_path / name).write_text("mine")
    tiny_trainer(tmp_path, budget=Budget(max_examples=30), resume=True).train()
    names = {path.name for path in tmp_path.glob("*state*")} | {path.name for path in tmp_path.glob(".*")}
    assert names == {"state-000002", "state-backup", "state-notes.txt", "state-000099", ".mine.tmp"}


@pytest.mark.parametrize("name", ["pytorch_model.bin", "optimizer.bin", "random_states_0.pkl", "progress.json"])
@pytest.mark.parametrize("kept", [None, 0, 40])
def test_a_damaged_state_is_an_error_that_says_what_to_do(tmp_path, name, kept):
    budget = Budget(max_examples=20)
    whole = tiny_trainer(tmp_path, budget=budget).train()
    file = tmp_path / "state-000001" / name
    file.unlink() if kept is None else os.truncate(file, kept)
    with pytest.raises(UserError, match=r"state-000001 cannot be read: .*remove it: --resume then begins") as error:
        tiny_trainer(tmp_path, budget=budget, resume=True)
    assert "\n" not in str(error.value)
    shutil.rmtree(file.parent)
    assert tiny_trainer(tmp_path, budget=budget, resume=True).train()["digest"] == whole["digest"]


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_damaged_arguments_are_an_error_that_says_what_to_do(tmp_path, text):
    tiny_trainer(tmp_path, budget=Budget(max_examples=20)).train()
    (tmp_path / "arguments.json").write_text(text)
    with pytest.raises(UserError, match=r"arguments\.json is damaged: .*Put a copy of it back, or choose another"):
        tiny_trainer(tmp_path, resume=True)


def test_resuming_with_another_argument_names_it(tmp_path):
    tiny_trainer(tmp_path, budget=Budget(max_examples=20)).train()
    with pytest.raises(UserError, match=r"--batch-tokens was 64 there and is 80 now"):
        tiny_trainer(tmp_path, batch_tokens=80, resume=True)


def test_the_mean_over_strings_is_what_is_minimised(tmp_path):
    """One step of plain gradient descent on the same batch gives the gradient that the loop hands to Adam."""
    trainer = tiny_trainer(tmp_path, dropout=0.0, budget=Budget(max_examples=1), gradient_norm=1e9)
    (indices,) = trainer._plan[0]
    inputs, labels = trainer.run.training.batch(indices)
    model = tiny_model(dropout=0.0)
    logits = model(**inputs).logits
    log_p = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    string_losses = -(log_p * (labels >= 0)).sum(1)
    string_losses.mean().backward()
    seen = record_gradients(trainer)
    trainer.train()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(seen[name], parameter.grad, atol=1e-6, rtol=1e-5)


def test_a_rate_with_warm_up_is_that_of_each_step_also_after_resuming(tmp_path):
    protocol = {"warmup_steps": 5, "save_minutes": 0.0}
    rates = []

    def record(trainer):
        original = trainer.optimizer.step

        def recording():
            rates.append(trainer.optimizer.param_groups[0]["lr"])
            original()

        trainer.optimizer.step = recording
        return trainer

    trainer = record(tiny_trainer(tmp_path / "run", budget=Budget(max_examples=120), **protocol))
    stop_at_step(trainer, 4)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    record(tiny_trainer(tmp_path / "run", budget=Budget(max_examples=120), resume=True, **protocol)).train()
    assert len(rates) > 6
    assert rates == pytest.approx([1e-2 * min(step / 5, (5 / step) ** 0.5) for step in range(1, len(rates) + 1)])
    logged = [line["learning_rate"] for line in log_of(tmp_path / "run")]
    assert logged[-1] == pytest.approx(rates[-1])


def test_a_protocol_without_patience_goes_on_to_the_end_of_its_budget(tmp_path, validation_values):
    validation_values([1.0] + [2.0] * 20)
    trainer = tiny_trainer(tmp_path / "run", budget=Budget(max_epochs=4))
    trainer.run.protocol = dataclasses.replace(trainer.run.protocol, stop_patience=None, checkpoint_examples=None)
    assert trainer.train()["reason"] == "max_epochs"
    assert [line["examples"] for line in log_of(tmp_path / "run")] == [60, 120, 180, 240]  # one an epoch
