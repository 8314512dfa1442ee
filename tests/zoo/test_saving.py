"""Checkpoints: exact round trips, their own code, and what is said of damaged ones."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import zoo
from tasks.tokenization import word_tokenizer
from tests.zoo.tiny_models import MODELS, WORDS, every_model, greedy, sentences, some_models, tiny


@every_model
@pytest.mark.parametrize("tied", [True, False])
def test_h01_h02_h03_round_trip_is_exact(name: str, tied: bool, tmp_path: Path) -> None:
    model = tiny(name, tie_word_embeddings=tied)
    ids = sentences(2, 7)
    model.save_pretrained(tmp_path)
    word_tokenizer([f"w{number:02}" for number in range(WORDS)]).save_pretrained(tmp_path)
    for _ in range(2):
        loaded, tokenizer = zoo.load_model(tmp_path)
        assert type(loaded) is type(model)
        assert len(tokenizer) == loaded.config.vocab_size
        assert (loaded.output_embeddings.weight is loaded.embeddings.weight) == tied
        assert dict(loaded.named_buffers()).keys() == dict(model.named_buffers()).keys()
        assert loaded(ids).logits.equal(model(ids).logits)


@pytest.mark.slow
def test_h01_h03_h05_fresh_process_without_this_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All models in one process that cannot import zoo, from the code that travels with each checkpoint."""
    monkeypatch.setenv("SYNTAX_ZOO_NATIVE", "0")  # C files do not travel
    ids = sentences(2, 7)
    for name in MODELS:
        model = tiny(name)
        model.save_pretrained(tmp_path / name)
        torch.save((model(ids).logits, greedy(model, input_ids=ids)), tmp_path / name / "expected.pt")
    torch.save(ids, tmp_path / "ids.pt")
    program = """
import sys, torch
from pathlib import Path
from importlib.util import find_spec
from transformers import AutoModelForCausalLM
# An editable installation leaves a folder with registry.yaml alone, which is no package.
assert getattr(find_spec("zoo"), "origin", None) is None, "zoo must not be importable"
here = Path(sys.argv[1])
ids = torch.load(here / "ids.pt")
for name in sys.argv[2:]:
    model = AutoModelForCausalLM.from_pretrained(here / name, trust_remote_code=True)
    logits, text = torch.load(here / name / "expected.pt")
    assert model(ids).logits.equal(logits), name
    for _ in range(2):
        again = AutoModelForCausalLM.from_pretrained(here / name, trust_remote_code=True)
        assert again(ids).logits.equal(logits), name
    assert model.generate(ids, do_sample=False, max_new_tokens=8, eos_token_id=None).equal(text), name
print("loaded", len(sys.argv) - 2)
"""
    environment = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin"}
    script = tmp_path / "load.py"
    # An editable installation would put the checkout on the path.
    hide = f"import sys; sys.path = [p for p in sys.path if p != {str(Path(zoo.__file__).parents[1])!r}]\n"
    script.write_text(hide + program)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), *MODELS],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"loaded {len(MODELS)}" in done.stdout


def test_h10_weights_of_another_shape_fail_loudly(tmp_path: Path) -> None:
    tiny("tf").save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    from safetensors.torch import save_file

    save_file(
        {f"module.{key}": value for key, value in weights.items()}, tmp_path / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(zoo.UserError, match="do not fit"):
        zoo.load_model(tmp_path)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", lambda _: "{", "cannot be loaded"),
        ("config.json", lambda _: "[]", "no zoo_name"),
        ("config.json", lambda text: text.replace('"tf-nd"', '["tf-nd"]'), "unknown model"),
        ("config.json", lambda text: text.replace('"hidden_size": 8', '"hidden_size": "8"'), "hidden_size"),
        ("config.json", lambda text: text.replace('"hidden_size": 8', '"hidden_size": 16'), "do not fit"),
        ("model.safetensors", lambda _: "", "cannot be loaded"),
        ("tokenizer.json", lambda _: "{", "cannot be loaded"),
    ],
)
def test_damaged_checkpoints_are_named(tmp_path: Path, file: str, change, message: str) -> None:
    tiny("tf-nd").save_pretrained(tmp_path)
    word_tokenizer(["a", "b"]).save_pretrained(tmp_path)
    path = tmp_path / file
    path.write_text(change("" if path.suffix == ".safetensors" else path.read_text()))
    with pytest.raises(zoo.UserError, match=message) as error:
        zoo.load_model(tmp_path)
    assert str(tmp_path) in str(error.value) or message == "unknown model"


def test_load_model_names_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(zoo.UserError, match="is no checkpoint"):
        zoo.load_model("x" * 400)
    with pytest.raises(zoo.UserError, match=r"no config\.json"):
        zoo.load_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(zoo.UserError, match="no checkpoint of this zoo"):
        zoo.load_model(tmp_path)


@some_models
def test_h10_compiled_models_save_plain_keys(name: str, tmp_path: Path) -> None:
    model = tiny(name)
    torch.compile(model, backend="eager")
    model.save_pretrained(tmp_path)
    assert all(not key.startswith(("module.", "_orig_mod.")) for key in load_file(tmp_path / "model.safetensors"))


def test_configuration_survives_a_deep_copy() -> None:
    model = tiny("tf-nd")
    assert copy.deepcopy(model.config).to_dict() == model.config.to_dict()
