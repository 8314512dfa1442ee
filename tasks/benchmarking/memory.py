"""Rows of memory: one step of training, each in a process of its own."""

import argparse
import json
import subprocess
import sys

from tasks.benchmarking.common import Row

SIZES = ((8, 40), (5, 200), (40, 200), (5, 500))  # sequences, words
STEP = """
import json, sys, time
from pathlib import Path
import torch, zoo
from zoo import stack_nondeterministic

def memory(name):  # kB
    status = Path("/proc/self/status").read_text()
    return int(status.split(name + ":")[1].split()[0])

model, batch, length, kept, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
if kept >= 0:
    stack_nondeterministic.KEPT_BYTES = kept

def step(batch, length):
    ids = torch.randint(4, 72, (batch, length))
    network(input_ids=ids, labels=ids, use_cache=False).loss.backward()

network = zoo.create_model(model, word_types=68, seed=0).train()
step(1, 3)  # so that kernels are built and gradients are there
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
before, start = memory("VmRSS"), time.perf_counter()
step(batch, length)
print(json.dumps([time.perf_counter() - start, (memory("VmHWM") - before) / 1024]))
"""


def training_memory(model: str, batch: int, length: int, kept: int = -1, threads: int = 2) -> tuple[float, float]:
    """Seconds of a forward and backward pass, and MiB that it needs at most beside what is there before. On Linux.

    kept: bytes that the stack may keep for the backward pass, by default its own choice.
    """
    command = [sys.executable, "-c", STEP, model, *map(str, (batch, length, kept, threads))]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, mebibytes = json.loads(found.stdout)
    return seconds, mebibytes


def memory_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    rows = []
    for batch, length in SIZES:
        for kept, label in ((-1, ""), (0, ", all computed again")):
            seconds, mebibytes = training_memory("tf-nd", batch, length, kept)
            rows.append(Row(row, f"tf-nd B={batch} n={length}{label}", seconds, mebibytes=mebibytes))
    return rows
