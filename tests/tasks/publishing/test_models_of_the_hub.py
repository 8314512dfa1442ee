"""model.push_to_hub, and the same model by its name on the Hub, in a process that cannot import this package."""

import subprocess
import sys

import torch

from tasks.tokenization import word_tokenizer
from tests.tasks.publishing.fake_hub import fake_hub, log_in
from tests.zoo.tiny_models import WORDS, sentences, tiny

NAME = "someone/tf-nd"
PROGRAM = """
import os, sys
sys.path = [path for path in sys.path if not os.path.isfile(f"{path}/zoo/__init__.py")]
from importlib.util import find_spec
assert getattr(find_spec("zoo"), "origin", None) is None, "zoo must not be importable"
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
name, file = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(name, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
ids, logits = torch.load(file)
assert model(ids).logits.equal(logits)
assert tokenizer("w01 w02").input_ids == [1, 5, 6, 2]
"""


def test_model_push_to_hub_carries_the_code(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTAX_ZOO_NATIVE", "0")  # C files do not travel
    model, ids = tiny("tf-nd"), sentences(2, 7)
    torch.save((ids, model(ids).logits), tmp_path / "expected.pt")
    with fake_hub() as hub:
        log_in(hub, monkeypatch)
        model.push_to_hub(NAME)
        word_tokenizer([f"w{number:02}" for number in range(WORDS)]).push_to_hub(NAME)
        assert {"config.json", "generation_config.json", "model.safetensors", "modeling_stack_transformer.py"} <= (
            hub.repositories[NAME]["main"].keys()
        )
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, NAME, tmp_path / "expected.pt"],
            env={"PATH": "/usr/bin", "OMP_NUM_THREADS": "1", **hub.environment(tmp_path / "home")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr[-2000:]
