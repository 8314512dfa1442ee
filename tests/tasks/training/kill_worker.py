"""Trains, and dies as from SIGKILL at the n-th operation on a file, for n = 1, 2, ...; then resumes each run.

    python kill_worker.py FOLDER     prints one JSON line per n: {"killed_at", "operation", "digest", "log"}

Each run is a fork of this process, which itself never trains, so that libraries are imported once.
"""

import itertools
import json
import os
import shutil
import sys
from pathlib import Path

import torch
from tiny_run import tiny_trainer
from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

from tasks.training.schedule import Budget

# What the run folder is written with.
OPERATIONS = [
    (os, "replace"),
    (shutil, "rmtree"),
    (torch, "save"),
    (GPT2LMHeadModel, "save_pretrained"),
    (PreTrainedTokenizerFast, "save_pretrained"),
]
KILLED = 9


def die_at(count):
    """From now on, the `count`-th operation on a file is begun by ending the process, without any clean-up."""
    counter = itertools.count(1)

    def dying(operation, name):
        def call(*arguments, **options):
            if next(counter) == count:
                print(name, flush=True)
                os._exit(KILLED)
            return operation(*arguments, **options)

        return call

    for owner, name in OPERATIONS:
        setattr(owner, name, dying(getattr(owner, name), name))


def train(folder, *, resume=False):
    """Two checkpoints, one of them forced by the budget, and a state saved at each of the few steps."""
    budget = Budget(max_examples=60)
    tiny_trainer(folder, budget=budget, batch_tokens=256, save_minutes=0, resume=resume).train()


def fork(function, *arguments, **options):
    """Runs a function in a fork of this process; returns the exit status and what it printed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        status = 1
        try:
            function(*arguments, **options)
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as stream:
        printed = stream.read().strip()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed


def train_and_die(folder, count):
    die_at(count)
    train(folder)


def main(root):
    for count in range(1, 1_000):
        folder = root / str(count)
        status, operation = fork(train_and_die, folder, count)
        if status == KILLED:
            begun = (folder / "arguments.json").exists()
            status, _ = fork(train, folder, resume=begun)
            assert status == 0, f"resuming after a kill at operation {count} ({operation}) failed"
        elif status == 0:
            operation = None
        else:
            raise AssertionError(f"training failed with status {status}")
        digest = json.loads((folder / "finished.json").read_text())["digest"]
        log = [json.loads(line) | {"seconds": 0} for line in (folder / "log.jsonl").read_text().splitlines()]
        left = sorted(path.name.rstrip("0123456789") for path in folder.iterdir())
        result = {"killed_at": count, "operation": operation, "digest": digest, "log": log, "left": left}
        print(json.dumps(result), flush=True)
        shutil.rmtree(folder)
        if operation is None:
            return


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
