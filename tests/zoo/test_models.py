"""What every model of the registry must do. Tiny sizes, random parameters."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

import zoo
from tasks.tokenization import word_tokenizer
from zoo.initialization import SCALE

WORDS = 12
MODELS = zoo.list_models()
every_model = pytest.mark.parametrize("name", MODELS)
some_models = pytest.mark.parametrize("name", ["tf", "tf-sup", "tf-nd", "rnn-sup-r", "lstm-nd-r", "lstm"])


def tiny(name: str, seed: int = 0, **settings):
    model = zoo.create_model(name, word_types=WORDS, hidden_size=8, seed=seed, **settings).eval()
    with torch.no_grad():  # sharper distributions, so that different states give different words
        for parameter in model.parameters():
            parameter.mul_(2)
    return model


def sentences(batch: int, length: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(4, WORDS + 4, (batch, length), generator=generator)
    return torch.nn.functional.pad(words, (1, 0), value=1)


def pad(ids: Tensor, left: int = 0, right: int = 0) -> dict[str, Tensor]:
    padded = torch.nn.functional.pad(ids, (left, right))
    return {"input_ids": padded, "attention_mask": (padded != 0).long()}


def ragged(side: str) -> tuple[list[Tensor], dict[str, Tensor]]:
    rows = [sentences(1, 2, seed=2), sentences(1, 7, seed=3)]
    parts = [pad(row, **{side: 8 - row.shape[1]}) for row in rows]
    return rows, {key: torch.cat([part[key] for part in parts]) for key in parts[0]}


def greedy(model, **kwargs):
    return model.generate(do_sample=False, max_new_tokens=8, eos_token_id=None, **kwargs)


@every_model
def test_probabilities_are_over_words_and_eos(name: str) -> None:
    logits = tiny(name)(sentences(2, 5)).logits
    assert logits.shape == (2, 6, WORDS + 4)
    assert (logits[..., [0, 1, 3]] == -torch.inf).all()
    assert logits[..., [2, *range(4, WORDS + 4)]].isfinite().all()


@every_model
def test_every_parameter_gets_a_gradient(name: str) -> None:
    model = tiny(name).train()
    ids = sentences(3, 6)
    model(ids, labels=ids).loss.backward()
    assert [key for key, parameter in model.named_parameters() if parameter.grad is None] == []
    assert [key for key, parameter in model.named_parameters() if not parameter.grad.any()] == []


@every_model
def test_loss_is_that_of_the_next_word(name: str) -> None:
    model, ids = tiny(name), sentences(2, 6)
    log_p = model(ids).logits.log_softmax(-1)[:, :-1].gather(2, ids[:, 1:, None])
    torch.testing.assert_close(model(ids, labels=ids).loss, -log_p.mean())


@every_model
def test_later_words_change_nothing_before(name: str) -> None:
    model, ids = tiny(name), sentences(2, 6)
    other = ids.clone()
    other[:, 4:] = 5
    torch.testing.assert_close(model(ids).logits[:, :4], model(other).logits[:, :4])


@every_model
def test_g02_cached_equals_uncached_step_by_step(name: str) -> None:
    model, ids = tiny(name), sentences(3, 12)
    with torch.no_grad():
        whole = model(ids, use_cache=False).logits
        output = model(ids[:, :4], use_cache=True)
        parts = [output.logits]
        for t in range(4, 13):
            output = model(ids[:, t : t + 1], cache=output.cache)
            parts.append(output.logits)
    torch.testing.assert_close(torch.cat(parts, 1)[..., 4:], whole[..., 4:], rtol=0, atol=1e-5)


@every_model
def test_several_words_at_once_from_a_cache(name: str) -> None:
    model, ids = tiny(name), sentences(2, 9)
    with torch.no_grad():
        first = model(ids[:, :3], use_cache=True)
        second = model(ids[:, 3:], cache=first.cache).logits
        whole = model(ids, use_cache=False).logits
    torch.testing.assert_close(second[..., 4:], whole[:, 3:, 4:], rtol=0, atol=1e-5)


@every_model
def test_g01_beams_with_and_without_cache_agree_with_the_teacher_forced_score(name: str) -> None:
    model, prompt = tiny(name), pad(sentences(2, 4))
    settings = {"num_beams": 4, "max_new_tokens": 6, "length_penalty": 0.0, "early_stopping": False}
    kept = model.generate(**prompt, **settings, output_scores=True, return_dict_in_generate=True, use_cache=True)
    other = model.generate(**prompt, **settings, output_scores=True, return_dict_in_generate=True, use_cache=False)
    assert kept.sequences.equal(other.sequences)
    torch.testing.assert_close(kept.sequences_scores, other.sequences_scores, rtol=0, atol=1e-4)
    start = prompt["input_ids"].shape[1]
    log_p = model(kept.sequences, use_cache=False).logits.log_softmax(-1).detach()
    for row, score in zip(range(2), kept.sequences_scores, strict=True):
        total = 0.0
        for t in range(start, kept.sequences.shape[1]):
            total += float(log_p[row, t - 1, kept.sequences[row, t]])
            if kept.sequences[row, t] == 2:
                break
        assert total == pytest.approx(float(score), abs=1e-4)


@every_model
def test_sampling_repeats_with_its_seed(name: str) -> None:
    model, prompt = tiny(name), pad(sentences(2, 4))
    texts = []
    for use_cache in (True, True, False):
        torch.manual_seed(5)
        texts.append(model.generate(**prompt, do_sample=True, top_k=0, max_new_tokens=8, use_cache=use_cache))
    assert texts[0].equal(texts[1])
    assert texts[0].equal(texts[2])


@every_model
def test_g05_left_padded_rows_equal_single_rows(name: str) -> None:
    model = tiny(name)
    rows, batch = ragged("left")
    together = greedy(model, **batch)[:, 8:]
    for number, row in enumerate(rows):
        assert together[number].equal(greedy(model, **pad(row))[0, row.shape[1] :])


@every_model
def test_g05_right_padding_is_refused_by_generate(name: str) -> None:
    _, batch = ragged("right")
    with pytest.raises(ValueError, match=r"pad on the left"):
        greedy(tiny(name), **batch)


@every_model
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("cached", [False, True])
def test_padding_on_either_side_changes_no_logits(name: str, side: str, cached: bool) -> None:
    model = tiny(name)
    rows, batch = ragged(side)
    logits = model(**batch, use_cache=cached).logits
    for number, row in enumerate(rows):
        length = row.shape[1]
        mine = logits[number, -length:] if side == "left" else logits[number, :length]
        torch.testing.assert_close(mine[:, 4:], model(row).logits[0, :, 4:], rtol=0, atol=1e-5)


@every_model
def test_g07_state_after_right_padding_is_the_state_after_the_last_word(name: str) -> None:
    model, row = tiny(name), sentences(1, 3)
    padded = pad(row, right=6)
    longer = torch.cat([padded["attention_mask"], torch.ones(1, 1, dtype=torch.long)], 1)
    word = torch.tensor([[7]])
    with torch.no_grad():
        alone = model(word, cache=model(row, use_cache=True).cache).logits
        output = model(**padded, use_cache=True)
        after = model(word, cache=output.cache, attention_mask=longer).logits
    torch.testing.assert_close(after[..., 4:], alone[..., 4:], rtol=0, atol=1e-5)


@every_model
def test_n11_n08_what_stands_at_padding_does_not_matter(name: str) -> None:
    model = tiny(name)
    _, batch = ragged("left")
    changed = {**batch, "input_ids": torch.where(batch["attention_mask"] == 0, 9, batch["input_ids"])}
    with torch.no_grad():
        before, after = model(**batch).logits, model(**changed).logits
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(after[real], before[real], rtol=0, atol=0)
    assert not before.isnan().any(), "a position that sees only padding is finite"


@every_model
def test_n08_gradients_with_padded_rows_are_finite(name: str) -> None:
    model = tiny(name).train()
    _, batch = ragged("left")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    model(**batch, labels=labels).loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@every_model
def test_d21_rows_do_not_depend_on_their_batch(name: str) -> None:
    model = tiny(name)
    rows = [sentences(1, length, seed=length) for length in (2, 5, 3, 4)]
    padded = [pad(row, right=6 - row.shape[1]) for row in rows]
    batch = {key: torch.cat([part[key] for part in padded]) for key in padded[0]}
    together = model(**batch).logits
    for number, row in enumerate(rows):
        torch.testing.assert_close(together[number, : row.shape[1], 4:], model(row).logits[0, :, 4:], rtol=0, atol=1e-5)


@every_model
def test_g10_twenty_new_words_after_a_prompt_of_fifteen(name: str) -> None:
    model, prompt = tiny(name), pad(sentences(1, 14))
    text = model.generate(**prompt, max_new_tokens=20, eos_token_id=None, do_sample=False)
    assert text.shape[1] == 15 + 20


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
def test_h01_h03_h05_fresh_process_without_this_package(tmp_path: Path) -> None:
    """All models in one process that cannot import zoo, from the code that travels with each checkpoint."""
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


@every_model
def test_g01_a_reordered_cache_goes_on_with_the_reordered_histories(name: str) -> None:
    model, ids = tiny(name).double(), sentences(4, 5)
    order = torch.tensor([2, 0, 3, 3])
    word = torch.tensor([[4], [5], [6], [7]])
    with torch.no_grad():
        cache = model(ids, use_cache=True).cache
        cache.reorder_cache(order)
        logits = model(word, cache=cache).logits
        expected = model(torch.cat([ids[order], word], 1)).logits[:, -1:]
        without = model(torch.cat([ids, word], 1)).logits[:, -1:]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-12)
    assert (expected - without)[..., 4:].abs().max() > 1e-6, "the histories must matter"


@every_model
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_dtypes_run_and_generate(name: str, dtype: torch.dtype) -> None:
    model, prompt = tiny(name).to(dtype), pad(sentences(2, 4), left=1)
    logits = model(**prompt).logits
    assert logits.dtype == dtype
    assert logits[:, 1:, 4:].isfinite().all()
    assert greedy(model, **prompt).equal(greedy(model, **prompt, use_cache=False)) or dtype != torch.float64


@some_models
def test_arguments_are_never_swallowed(name: str) -> None:
    model, ids = tiny(name), sentences(1, 3)
    output = model(ids, use_cache=True)
    word = torch.tensor([[5]])
    expected = model(torch.cat([ids, word], 1)).logits[:, -1:]
    torch.testing.assert_close(model(word, past_key_values=output.cache).logits, expected, rtol=0, atol=1e-5)
    assert model(ids, return_dict=False)[0].equal(model(ids).logits)
    with pytest.raises(TypeError, match="atention_mask"):
        model(ids, atention_mask=torch.ones_like(ids))
    with pytest.raises(ValueError, match="at least <bos>"):
        model(ids[:, :0])
    with pytest.raises(ValueError, match="at least <bos>"):
        model.generate(ids[:, :0])


@some_models
def test_an_untied_foreign_cache_is_refused_or_replaced(name: str) -> None:
    from transformers.cache_utils import DynamicCache

    model, ids = tiny(name), sentences(1, 3)
    empty = DynamicCache()
    torch.testing.assert_close(model(ids, cache=empty, use_cache=True).logits, model(ids).logits)
    full = DynamicCache()
    full.update(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), 0)
    with pytest.raises(ValueError, match="filled DynamicCache"):
        model(ids, cache=full)


@some_models
def test_cache_rows_can_be_repeated_and_selected(name: str) -> None:
    model, ids = tiny(name), sentences(2, 5)
    word = torch.tensor([[4], [5], [6], [7]])
    with torch.no_grad():
        cache = model(ids, use_cache=True).cache
        cache.batch_repeat_interleave(2)
        logits = model(word, cache=cache).logits
        expected = model(torch.cat([ids.repeat_interleave(2, 0), word], 1)).logits[:, -1:]
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
        cache.batch_select_indices(torch.tensor([3, 0]))
        logits = model(word[:2], cache=cache).logits
        history = torch.cat([ids[[1, 0]], word[[3, 0]], word[:2]], 1)
        torch.testing.assert_close(logits, model(history).logits[:, -1:], rtol=0, atol=1e-5)
        cache.reset()
        torch.testing.assert_close(model(ids, cache=cache).logits, model(ids).logits, rtol=0, atol=1e-5)


@some_models
def test_h10_compiled_models_save_plain_keys(name: str, tmp_path: Path) -> None:
    model = tiny(name)
    torch.compile(model, backend="eager")
    model.save_pretrained(tmp_path)
    assert all(not key.startswith(("module.", "_orig_mod.")) for key in load_file(tmp_path / "model.safetensors"))


@every_model
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_n09_autocast_is_finite(name: str, dtype: torch.dtype) -> None:
    model, ids = tiny(name).train(), sentences(2, 6)
    with torch.autocast("cpu", dtype):
        loss = model(ids, labels=ids).loss
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@every_model
def test_dropout_is_active_only_in_training(name: str) -> None:
    model, ids = tiny(name), sentences(2, 6)
    assert model(ids).logits.equal(model(ids).logits)
    model.train()
    assert not model(ids).logits.equal(model(ids).logits)


@every_model
def test_seed_fixes_the_initial_parameters_and_leaves_the_global_state(name: str) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, two = (zoo.create_model(name, word_types=WORDS, hidden_size=8, seed=4) for _ in range(2))
    assert torch.get_rng_state().equal(before)
    assert all(a.equal(b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    other = zoo.create_model(name, word_types=WORDS, hidden_size=8, seed=5)
    assert not one.embeddings.weight.equal(other.embeddings.weight)


@every_model
@pytest.mark.parametrize("scheme", ["paper", "authors"])
def test_initialisation_follows_appendix_d(name: str, scheme: str) -> None:
    model = zoo.create_model(name, word_types=200, hidden_size=64, seed=0, initialization=scheme)
    for key, value in model.named_parameters():
        bound = expected_bound(model, key, scheme)
        if bound == "one":
            assert (value == 1).all(), key
        elif bound == 0:
            assert (value == 0).all(), key
        else:
            assert value.abs().max() <= bound, key
            assert value.numel() < 100 or value.abs().max() > 0.95 * bound, key


def expected_bound(model, key: str, scheme: str) -> float | str:
    """Largest absolute value that a parameter may start with; 'one' for the scales of layer norm."""
    owner_name, _, part = key.rpartition(".")
    owner = model.get_submodule(owner_name)
    if isinstance(owner, torch.nn.LayerNorm):
        return "one" if part == "weight" else 0
    stack_layer = "actions" in key or "pushed_vector" in key or ("attention.output" in key and owner.bias is None)
    feedforward = "feedforward." in key
    if not (stack_layer or feedforward):
        return SCALE
    if scheme == "authors" and feedforward:
        kind = model.config.layers[int(key.split(".")[1])]
        if kind == "attention":
            return SCALE
        gain = 2**0.5 if "feedforward.0" in key else 1
    else:
        gain = 1
        if scheme == "authors" and getattr(model.config, "stack", None) == "nondeterministic":
            return SCALE
    if part == "bias":
        return 0
    return gain * (6 / (owner.in_features + owner.out_features)) ** 0.5


def test_configuration_survives_a_deep_copy() -> None:
    model = tiny("tf-nd")
    assert copy.deepcopy(model.config).to_dict() == model.config.to_dict()
