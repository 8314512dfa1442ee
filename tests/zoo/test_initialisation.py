"""Initial parameters of every model: appendix D of seed 000, and seeds."""

import pytest
import torch

import zoo
from tests.zoo.tiny_models import WORDS, every_model, small
from zoo.initialization import SCALE
from zoo.on_lstm_layers import OnLstmLayer


@every_model
def test_seed_fixes_the_initial_parameters_and_leaves_the_global_state(name: str) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, two = (zoo.create_model(name, word_types=WORDS, hidden_size=8, seed=4, **small(name)) for _ in range(2))
    assert torch.get_rng_state().equal(before)
    assert all(a.equal(b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    other = zoo.create_model(name, word_types=WORDS, hidden_size=8, seed=5, **small(name))
    assert not one.embeddings.weight.equal(other.embeddings.weight)


@every_model
@pytest.mark.parametrize("scheme", ["paper", "authors"])
def test_initialisation_follows_appendix_d(name: str, scheme: str) -> None:
    model = zoo.create_model(name, word_types=200, hidden_size=64, seed=0, initialization=scheme, **small(name))
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
    if isinstance(owner, OnLstmLayer) and scheme == "authors":
        return (owner.input_weight if part == "input_weight" else owner.hidden_weight).shape[1] ** -0.5
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
