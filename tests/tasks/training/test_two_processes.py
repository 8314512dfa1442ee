"""Two CPU processes. All checks run in one start of torchrun (pair_worker.py); each test here reads one of them."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from accelerate import Accelerator
from pair_worker import FALLING_OUT
from safetensors.torch import load_file
from tiny_run import TOKENIZER, pairs, tiny_model, tiny_sample, tiny_trainer
from transformers import GPT2LMHeadModel

from tasks.training import loop
from tasks.training.batches import Strings
from tasks.training.objective import validation_cross_entropy
from tasks.training.stream import Stream
from zoo import create_model

HERE = Path(__file__).parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    path = os.pathsep.join([str(HERE.parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [*torchrun, HERE / "pair_worker.py", folder]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert result.returncode == 0, result.stderr[-5000:]
    return folder


@pytest.fixture(scope="module")
def results(folder):
    results = json.loads((folder / "results.json").read_text())
    assert results["processes"] == 2  # else nothing below means anything
    return results


def test_a04_gradients_of_two_processes_are_those_of_one_with_both_batches(results):
    for result in results["gradients"]:
        assert result["sizes"][0] != result["sizes"][1]  # so that a mean of means would show
        assert result["difference"] < 1e-6


def test_a06_both_processes_stop_at_the_same_step(results):
    assert results["early_stop"][0] == results["early_stop"][1]
    assert results["early_stop"][0][0] == "converged"


def test_a03_the_learning_rate_does_not_depend_on_the_number_of_processes(results, folder, tmp_path, monkeypatch):
    values = iter(FALLING_OUT)
    monkeypatch.setattr(loop, "validation_cross_entropy", lambda *_: next(values))
    tiny_trainer(tmp_path).train()
    one, two = (
        [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
        for run in (tmp_path, folder / "early_stop")
    )
    assert [line["learning_rate"] for line in two] == [0.01, 0.01, 0.01, 0.01, 0.005]
    assert [line["learning_rate"] for line in one] == [line["learning_rate"] for line in two]
    assert [line["examples"] // 40 for line in one] == [line["examples"] // 40 for line in two]


def test_a01_a_resumed_run_ends_as_the_unbroken_one(results):
    for result in results["resumed"]:
        assert result["begun"] == 5
    assert len({digest for result in results["resumed"] for digest in result["digests"]}) == 1


def test_a_signal_to_one_process_ends_both_with_the_state_saved(results):
    assert results["signalled"] == [[4, 15, True], [4, 15, True]]


def test_a_loss_of_nan_in_one_process_ends_both(results):
    assert all("diverged at step 4" in message for message in results["diverging"])


def test_s05_a12_validation_is_exact_whatever_the_number_of_processes(results):
    accelerator, model = Accelerator(cpu=True), tiny_model()
    for values in results["validation"]:
        for value, count in zip(values, (9, 1), strict=True):
            one = validation_cross_entropy(accelerator, model, Strings(TOKENIZER, pairs(count)), 64)
            assert value == pytest.approx(one, rel=1e-6)


def test_continuous_text_trains_on_two_processes_and_its_validation_is_exact(results):
    first, second = results["continuous"]
    assert first == second
    assert first["summary"]["examples"] == 56
    assert math.isfinite(first["loss"])
    model = create_model("lstm", tokenizer=TOKENIZER, hidden_size=8, seed=1, dropout=0.0)
    stream = Stream(TOKENIZER, [target for _, target in pairs(60, seed=5)], 7)
    one = validation_cross_entropy(Accelerator(cpu=True), model, stream, 28)
    assert first["validation"] == pytest.approx(one, rel=1e-6)


def test_scores_during_training_are_those_of_one_process_and_change_nothing(results, folder):
    for result in results["scored"]:
        for scores, count in zip(result["scores"], (11, 1), strict=True):
            one = tiny_sample(count).score(Accelerator(cpu=True), tiny_model())
            assert scores["n"] == count
            assert scores["full_mean_log_ratio"] == pytest.approx(one["full_mean_log_ratio"], rel=1e-5)
            for metric in ("full_accuracy", "partial_accuracy"):
                assert scores[metric] == pytest.approx(one[metric], rel=1e-5)
        assert result["digests"][0] == result["digests"][1]
    lines = [json.loads(line) for line in (folder / "scored" / "scored" / "log.jsonl").read_text().splitlines()]
    assert [line["scores"]["n"] for line in lines] == [11] * 4


def test_h10_checkpoints_of_a_wrapped_model_have_no_prefix(results, folder):
    best = folder / "early_stop" / "best"
    keys = load_file(best / "model.safetensors").keys()
    assert keys
    assert not [key for key in keys if key.startswith("module.")]
    _, report = GPT2LMHeadModel.from_pretrained(best, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]


def test_a13_every_entry_of_the_registry_trains_on_two_processes(results):
    for entries in results["registry"]:
        assert entries
        assert not {name: entry["error"] for name, entry in entries.items() if "error" in entry}
        assert all(entry["step"] >= 3 and math.isfinite(entry["loss"]) for entry in entries.values())


def test_a13_models_of_trees_train_without_unused_parameters(results):
    one, two = results["trees"]
    assert one == two
    assert all(isinstance(figure, float) for figure in one.values()), one
