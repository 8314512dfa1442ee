"""Runs of scripts/train.py with a tiny model, for tests."""

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "train.py"
# A tiny Tf with dropout, on 300 generated lines; a checkpoint every 200 examples.
TINY = ["--model", "tf", "--task", "question_formation", "--set", "hidden_size=8", "--train-size", "300"]
TINY += ["--validation-size", "50", "--batch-tokens", "512", "--checkpoint-examples", "200", "--threads", "1"]
BUDGET = ["--max-examples", "1000"]
# A program that runs a script with its arguments and refuses every connection.
WITHOUT_NETWORK = """
import runpy, socket, sys
def refuse(*arguments):
    raise AssertionError("the network was asked")
socket.socket.connect = refuse
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def start(*arguments):
    """The script as a process of its own."""
    return subprocess.Popen([sys.executable, SCRIPT, *map(str, arguments)], stderr=subprocess.PIPE, text=True)


def read(folder, name="finished.json"):
    return json.loads((folder / name).read_text())


def log_of(folder):
    return [json.loads(line) | {"seconds": None} for line in (folder / "log.jsonl").read_text().splitlines()]


def wait_for(path, process):
    deadline = time.monotonic() + 120
    while not path() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert path()


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
