"""Checkpoints: exact round trips, their own code, and what is said of damaged ones."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

import zoo
from tasks.tokenization import save_tokenizer, word_tokenizer
from tests.zoo import guig_inputs
from tests.zoo.guig_inputs import inputs_for, without_target
from tests.zoo.tiny_models import MODELS, WORDS, every_model, sentences, some_models, tiny


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


@pytest.mark.parametrize("name", guig_inputs.MODELS)
@pytest.mark.parametrize("tied", [True, False])
def test_h01_h02_h03_models_of_trees_come_back_exactly(name: str, tied: bool, tmp_path: Path) -> None:
    model, inputs = guig_inputs.tiny(name, words=WORDS, tie_word_embeddings=tied), inputs_for(name, words=WORDS)
    model.save_pretrained(tmp_path)
    save_tokenizer(word_tokenizer([f"w{number:02}" for number in range(WORDS)]), tmp_path)
    for _ in range(2):
        loaded, _ = zoo.load_model(tmp_path)
        assert type(loaded) is type(model)
        assert (loaded.get_output_embeddings() is loaded.get_input_embeddings()) == tied
        assert loaded(**inputs).logits.equal(model(**inputs).logits)


PROGRAM = """
import sys, torch, transformers
from pathlib import Path
from importlib.util import find_spec
# An editable installation leaves a folder with registry.yaml alone, which is no package.
assert getattr(find_spec("zoo"), "origin", None) is None, "zoo must not be importable"
here = Path(sys.argv[1])
for name in sys.argv[2:]:
    stored = torch.load(here / name / "expected.pt")
    auto = getattr(transformers, stored["auto"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(here / name, trust_remote_code=True)
    assert tokenizer("w01 w02").input_ids == stored["ids"], name
    for _ in range(2):
        model = auto.from_pretrained(here / name, trust_remote_code=True)
        assert model(**stored["inputs"]).logits.equal(stored["logits"]), name
    for beams, text in stored["texts"].items():
        found = model.generate(**stored["prompt"], do_sample=False, max_new_tokens=6, num_beams=beams)
        assert found.equal(text), (name, beams)
print("loaded", len(sys.argv) - 2)
"""


@pytest.mark.slow
def test_h01_h03_h05_h07_every_entry_in_a_fresh_process_without_this_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All models in one process that cannot import zoo, from the code that travels with each checkpoint."""
    monkeypatch.setenv("SYNTAX_ZOO_NATIVE", "0")  # C files do not travel
    words = word_tokenizer([f"w{number:02}" for number in range(WORDS)])
    names = zoo.list_models()
    for name in names:
        if name in MODELS:
            model, inputs = tiny(name), {"input_ids": sentences(2, 7)}
            prompt = inputs
        else:
            model = guig_inputs.tiny(name, words=WORDS)
            inputs = inputs_for(name, words=WORDS)
            prompt = without_target(inputs)
        model.save_pretrained(tmp_path / name)
        save_tokenizer(words, tmp_path / name)
        texts = {
            beams: model.generate(**prompt, do_sample=False, max_new_tokens=6, num_beams=beams) for beams in (1, 4)
        }
        stored = {"inputs": inputs, "prompt": prompt, "logits": model(**inputs).logits, "texts": texts}
        stored |= {"ids": words("w01 w02").input_ids}
        stored |= {"auto": "AutoModelForCausalLM" if name in MODELS else "AutoModelForSeq2SeqLM"}
        torch.save(stored, tmp_path / name / "expected.pt")
    environment = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin"}
    script = tmp_path / "load.py"
    # An editable installation puts a checkout on the path, this one or another.
    hide = "import os, sys; sys.path = [p for p in sys.path if not os.path.isfile(f'{p}/zoo/__init__.py')]\n"
    script.write_text(hide + PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), *names],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"loaded {len(names)}" in done.stdout


@pytest.mark.parametrize("name", ["tf-nd", "guig"])
def test_with_the_package_the_plain_auto_classes_and_the_pipeline_work(name: str, tmp_path: Path) -> None:
    model = guig_inputs.tiny(name, words=WORDS) if name == "guig" else tiny(name)
    model.save_pretrained(tmp_path)
    save_tokenizer(word_tokenizer([f"w{number:02}" for number in range(WORDS)]), tmp_path)
    auto = AutoModelForSeq2SeqLM if name == "guig" else AutoModelForCausalLM
    assert type(auto.from_pretrained(tmp_path)) is type(model)
    assert len(AutoTokenizer.from_pretrained(tmp_path)) == model.config.vocab_size
    if name != "guig":
        writer = pipeline("text-generation", model=str(tmp_path))
        prompt = "<bos> w01 w02"
        (found,) = writer(prompt, add_special_tokens=False, do_sample=False, max_new_tokens=4)
        assert found["generated_text"].startswith("w01 w02") or found["generated_text"].startswith(prompt)


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
