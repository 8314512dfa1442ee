import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.evaluation.processes import map_batches
from tests.tasks.evaluation.sample_items import SOURCES, every_model, texts
from zoo.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}


def run_worker(script, processes, folder):
    """What a worker reports that runs in so many processes."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    worker = [str(Path(__file__).with_name(script)), str(folder / "report.json")]
    subprocess.run([sys.executable, *launcher, *worker], env=ENVIRONMENT, check=True, timeout=180, capture_output=True)
    return json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("processes", [1, 2])
def test_s17_every_item_counts_once_whatever_the_number_of_processes(processes, tmp_path):
    report = run_worker("count_items.py", processes, tmp_path)
    assert report["processes"] == processes
    for n, accuracy in ((7, 5 / 7), (8, 6 / 8), (9, 7 / 9), (1, 1.0), (0, None)):
        result = report["sets"][str(n)]
        assert result["items"] == list(range(n))
        assert result["n"] == n
        assert result["accuracy"] == accuracy
        assert result["mine"] == (n + processes - 1) // processes  # the main process did its share, no more


def test_a10_a14_two_processes_generate_the_texts_of_one_for_every_model(tmp_path):
    report = run_worker("sample_items.py", 2, tmp_path)
    assert report["processes"] == 2
    few, many = "g h", "b c d e f g h"
    assert report["unlike lengths"] == [[few, many, few, many, few], 3]  # process 0 has the short ones
    expected = {name: texts(model, SOURCES)[0] for name, model in every_model()}
    assert len(expected) >= 10
    for name, (found, mine) in report["models"].items():
        assert found == expected.pop(name)
        assert mine == 4
        assert len({len(text.split()) for text in found}) > 1
    assert expected == {}


def test_batches_respect_the_budget_and_results_keep_the_order():
    batches = []

    def compute(batch):
        batches.append(batch)
        return [f"item {item}" for item in batch]

    lengths = [5, 2, 9, 2, 5, 1]
    results = map_batches(compute, lengths, batch_tokens=10, description="")
    assert results == [f"item {item}" for item in range(6)]
    assert all(max(lengths[item] for item in batch) * len(batch) <= 10 for batch in batches)
    assert len(batches) < 6


def test_an_item_that_fits_no_batch_is_an_error():
    with pytest.raises(UserError, match="batch-tokens is 8"):
        map_batches(lambda batch: batch, [9], batch_tokens=8, description="")
