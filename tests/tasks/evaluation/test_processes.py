import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.evaluation.processes import map_batches
from zoo.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}


@pytest.mark.parametrize("processes", [1, 2])
def test_s17_every_item_counts_once_whatever_the_number_of_processes(processes, tmp_path):
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    worker = [str(Path(__file__).with_name("count_items.py")), str(tmp_path / "report.json")]
    subprocess.run([sys.executable, *launcher, *worker], env=ENVIRONMENT, check=True, timeout=120, capture_output=True)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["processes"] == processes
    for n, accuracy in ((7, 5 / 7), (8, 6 / 8), (9, 7 / 9), (1, 1.0), (0, None)):
        result = report["sets"][str(n)]
        assert result["items"] == list(range(n))
        assert result["n"] == n
        assert result["accuracy"] == accuracy
        assert result["mine"] == (n + processes - 1) // processes  # the main process did its share, no more


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
