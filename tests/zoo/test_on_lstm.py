"""The ON-LSTM against the authors' numbers, against automatic differentiation of the equations, and what is its own."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

import zoo
from tests.zoo.forms import in_pytorch, leaves, needs_compiler
from tests.zoo.tiny_models import WORDS, pad, ragged, sentences, tiny
from zoo import on_lstm_scan
from zoo.configuration_on_lstm import OnLstmConfig
from zoo.on_lstm_cell import Levels, OnLstmCell
from zoo.on_lstm_layers import LockedDropout, OnLstm
from zoo.on_lstm_scan import Weights, scan
from zoo.recurrent_cells_compiled import CompiledCell

BATCH, STEPS, INPUTS = 3, 6, 4


def compiled(*arguments) -> tuple[Tensor, Tensor]:
    hidden, means, run = scan(*arguments)
    assert isinstance(run._cell, CompiledCell)
    return hidden, means


@in_pytorch
def plain(*arguments) -> tuple[Tensor, Tensor]:
    hidden, means, run = scan(*arguments)
    assert isinstance(run._cell, OnLstmCell)
    return hidden, means


forms = pytest.mark.parametrize("form", [pytest.param(compiled, marks=needs_compiler), plain])


def naive(inputs: Tensor, hidden: Tensor, cells: Tensor, weights: Weights, levels: Levels) -> tuple[Tensor, Tensor]:
    """The complete update of seed 001 word for word, the gates in the authors' order."""
    size, after, means = hidden.shape[1], [hidden], []
    for x in inputs:
        sums = x @ weights.inputs.t() + weights.bias + hidden @ weights.hidden.t()
        for_input, for_forget, *gates = sums.split([levels.number] * 2 + [size] * 4, 1)
        out, candidate, in_gate, forget = gates[0].sigmoid(), gates[1].tanh(), gates[2].sigmoid(), gates[3].sigmoid()
        master_forget = for_forget.softmax(1).cumsum(1)
        probabilities = for_input.softmax(1)
        master_input = probabilities.flip(1).cumsum(1).flip(1) if levels.reverse else 1 - probabilities.cumsum(1)
        means.append(torch.stack([master_input.mean(1), 1 - master_forget.mean(1)], 1))
        f, i = (master.repeat_interleave(levels.size, 1) for master in (master_forget, master_input))
        both = f * i
        cells = both * (forget * cells + in_gate * candidate) + (f - both) * cells + (i - both) * candidate
        hidden = out * cells.tanh()
        after.append(hidden)
    return torch.stack(after), torch.stack(means)


def case(levels: Levels, scale: float = 1.0, dtype: torch.dtype = torch.float64) -> tuple:
    size = levels.number * levels.size
    shapes = [(STEPS, BATCH, INPUTS), (levels.gates, INPUTS), (levels.gates, size), (levels.gates,)]
    inputs, *weights = leaves(*(scale * torch.randn(shape, dtype=torch.float64) for shape in shapes), dtype=dtype)
    hidden, cells = torch.randn(2, BATCH, size, dtype=torch.float64).to(dtype)
    return inputs, hidden, cells, Weights(*weights), levels


def outcomes(form, arguments: tuple, hidden_too: bool = True, levels_too: bool = True) -> list[Tensor]:
    """Hidden vectors, levels, and the gradients of a weighted sum of those that are asked for."""
    found = form(*arguments)
    generator = torch.Generator().manual_seed(1)
    factors = [torch.randn(part.shape, generator=generator, dtype=torch.float64).to(part) for part in found]
    wanted = [hidden_too, levels_too]
    loss = sum((part * factor).sum() for part, factor, take in zip(found, factors, wanted, strict=True) if take)
    return [*found, *torch.autograd.grad(loss, [arguments[0], *arguments[3]])]


@forms
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("count", "size"), [(1, 3), (5, 1), (4, 3), (3, 16)])
@pytest.mark.parametrize("asked", [(True, True), (True, False), (False, True)])
def test_hidden_vectors_levels_and_gradients_equal_the_equations(form, reverse, count, size, asked) -> None:
    arguments = case(Levels(count, size, reverse))
    for one, other in zip(outcomes(form, arguments, *asked), outcomes(naive, arguments, *asked), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@forms
def test_float32_and_sums_in_the_hundreds(form) -> None:
    for scale, atol in ((1.0, 2e-5), (60.0, 2e-3)):
        exact = case(Levels(4, 5, False), scale)
        single = (*leaves(exact[0], dtype=torch.float32), *(part.float() for part in exact[1:3]))
        single = (*single, Weights(*leaves(*exact[3], dtype=torch.float32)), exact[4])
        for one, other in zip(form(*single), naive(*exact), strict=True):
            torch.testing.assert_close(one.double(), other, rtol=0, atol=atol)
        assert all(part.isfinite().all() for part in outcomes(form, single))


@forms
def test_gradients_that_are_not_contiguous(form) -> None:
    arguments = case(Levels(4, 2, False))
    for one, other in zip(form(*arguments), naive(*arguments), strict=True):
        found, wanted = (torch.autograd.grad(part.sum(), arguments[0], retain_graph=True)[0] for part in (one, other))
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-11)


@forms
def test_packed_weights_give_the_same(form, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = case(Levels(4, 5, False), dtype=torch.float32)
    expected = outcomes(form, arguments)
    monkeypatch.setattr(on_lstm_scan, "PACKED_FROM", 0)
    if not on_lstm_scan._has_packed_products(arguments[1]):
        pytest.skip("this build of PyTorch has no oneDNN linear operator")
    for one, other in zip(outcomes(form, arguments), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_weights_changed_after_the_forward_pass_are_noticed() -> None:
    arguments = case(Levels(4, 2, False))
    hidden = scan(*arguments)[0]
    with torch.no_grad():
        arguments[3].hidden.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        hidden.sum().backward()


def test_levels_of_the_master_gates_cover_what_the_definitions_say() -> None:
    """With all probability on level k, the history keeps k.. and the input writes ..k (seed), ..k-1 (authors)."""
    for reverse, written in ((False, [1, 0, 0, 0]), (True, [1, 1, 0, 0])):
        to_units = Levels(4, 1, reverse).masters(torch.zeros(1))
        probabilities = torch.tensor([0.0, 1, 0, 0])
        assert (probabilities @ to_units[0]).tolist() == written
        assert (probabilities @ to_units[1]).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("form", [pytest.param(lambda f: f, marks=needs_compiler, id="compiled"), in_pytorch])
@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_equal_to_the_authors_numbers(shared: Path, chunk: int, form) -> None:
    name = shared / "fixtures" / f"on_lstm_chunk{chunk}"
    sizes = json.loads(name.with_suffix(".json").read_text())["sizes"]
    stored = load_file(name.with_suffix(".safetensors"))
    model = OnLstm(sizes["layer_sizes"], chunk, reverse=False).double()
    with torch.no_grad():
        for number, layer in enumerate(model.layers):
            here = f"cells.{number}."
            layer.input_weight.copy_(stored[f"{here}ih.0.weight"])
            layer.hidden_weight.copy_(stored[f"{here}hh.weight"])
            layer.bias.copy_(stored[f"{here}ih.0.bias"] + stored[f"{here}hh.bias"])
    inputs = stored["io.input"].requires_grad_()

    def check(found: Tensor, key: str, atol: float = 1e-11) -> None:
        torch.testing.assert_close(found, stored[key], rtol=0, atol=atol)

    hidden, levels, runs = form(model.forward)(inputs)
    both = torch.stack(levels)
    check(both[..., 0], "io.distance_in")
    check(both[..., 1], "io.distance_forget")
    for number, run in enumerate(runs, 1):
        of_layer, cells = run.states()
        check(of_layer[1:], f"io.output_layer{number}")
        check(of_layer[-1], f"io.final_h_layer{number}")
        check(cells[-1].unflatten(1, (-1, chunk)), f"io.final_c_layer{number}")
    if "io.loss_weights_output" not in stored:
        return
    outputs = hidden[1:] * stored["io.loss_weights_output"]
    (outputs.sum() + (both[..., 1] * stored["io.loss_weights_distance"]).sum()).backward()
    check(inputs.grad, "grad.io.input", 1e-10)
    for number, layer in enumerate(model.layers):
        check(layer.input_weight.grad, f"grad.cells.{number}.ih.0.weight", 1e-10)
        check(layer.hidden_weight.grad, f"grad.cells.{number}.hh.weight", 1e-10)
        check(layer.bias.grad, f"grad.cells.{number}.ih.0.bias", 1e-10)


@pytest.mark.parametrize("side", ["left", "right"])
def test_levels_stand_at_their_words(side: str) -> None:
    model = tiny("on-lstm")
    rows, batch = ragged(side)
    output = model(**batch, output_levels=True)
    assert model(**batch).forget_levels is None
    for levels, key in ((output.forget_levels, "forget_levels"), (output.input_levels, "input_levels")):
        assert len(levels) == model.config.num_hidden_layers
        for layer, of_layer in enumerate(levels):
            for number, row in enumerate(rows):
                length = row.shape[1]
                here = of_layer[number, -length:] if side == "left" else of_layer[number, :length]
                torch.testing.assert_close(here, model(row, output_levels=True)[key][layer][0])
                assert of_layer[number].count_nonzero() == length, "0 at padding"


def test_levels_are_learned_from() -> None:
    model = tiny("on-lstm").train()
    model(sentences(2, 5), output_levels=True).forget_levels[-1].sum().backward()
    assert model.recurrence.layers[-1].hidden_weight.grad[4:8].all(), "rows of the master forget gate"


def test_both_master_input_gates_make_different_models() -> None:
    ids = sentences(2, 5)
    one, other = (tiny("on-lstm", master_input_gate=kind)(ids) for kind in ("one_minus_cumax", "reverse_cumax"))
    assert not torch.allclose(one.logits[..., 4:], other.logits[..., 4:])


def test_p12_state_is_carried_over_detached_and_gradients_stay_inside_a_chunk() -> None:
    model, ids = tiny("on-lstm", dropout=0.0, input_dropout=0.0, hidden_dropout=0.0).double().train(), sentences(2, 9)
    first = model(ids[:, :4], use_cache=True)
    assert all(not part.requires_grad for part in first.cache.layers[0].state)
    model(ids[:, 4:], cache=first.cache).logits[..., 4:].sum().backward()
    found = model.recurrence.layers[0].hidden_weight.grad.clone()
    whole = model(ids).logits
    torch.testing.assert_close(model(ids[:, :4]).logits, whole[:, :4])
    model.zero_grad()
    whole[:, 4:, 4:].sum().backward()
    assert found.isfinite().all()
    assert not torch.allclose(found, model.recurrence.layers[0].hidden_weight.grad), "the first chunk adds to these"


def test_p12_p13_a_sentence_scores_the_same_wherever_it_stands() -> None:
    model, ids = tiny("on-lstm"), sentences(4, 6)
    order = torch.tensor([2, 0, 3, 1])
    before = model(ids).logits
    torch.testing.assert_close(model(ids[order]).logits, before[order], rtol=0, atol=1e-6)
    torch.testing.assert_close(model(ids).logits, before, rtol=0, atol=0)


def test_locked_dropout_has_one_mask_for_all_steps() -> None:
    x = LockedDropout(0.5)(torch.ones(7, 4, 50))
    assert (x == x[0]).all()
    assert set(x.unique().tolist()) == {0.0, 2.0}
    assert not x[0, 0].equal(x[0, 1]), "each row has its own"


OFF = {"embedding_dropout": 0.0, "input_dropout": 0.0, "hidden_dropout": 0.0, "dropout": 0.0, "weight_dropout": 0.0}


@pytest.mark.parametrize("name", OFF)
def test_each_kind_of_dropout_alone_acts_in_training_only(name: str) -> None:
    model, ids = tiny("on-lstm", **{**OFF, name: 0.5}), sentences(2, 6)
    expected = tiny("on-lstm", **OFF)(ids).logits
    assert model(ids).logits.equal(expected)
    model.train()
    assert not torch.allclose(model(ids).logits[..., 4:], expected[..., 4:])


def test_embedding_dropout_drops_whole_words_wherever_they_stand() -> None:
    model = tiny("on-lstm", **{**OFF, "embedding_dropout": 0.5}).train()
    ids = torch.arange(4, WORDS + 4).repeat(2, 1)
    vectors = model._embed(ids)
    assert vectors[0].equal(vectors[1])
    ratios = vectors[0] / model.embeddings.embed(ids)[0]
    assert set(ratios.round(decimals=3).unique().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_size": 10, "chunk_size": 3}, "hidden_size 10 is not a multiple of chunk_size 3"),
        ({"hidden_size": 12, "chunk_size": 3, "embedding_size": 10}, "embedding_size 10 is not a multiple"),
        ({"chunk_size": 0}, "chunk_size is 0"),
        ({"weight_dropout": 1.0}, "weight_dropout is 1.0; allowed: 0 <= weight_dropout < 1"),
        ({"master_input_gate": "cumax"}, "'cumax'; allowed: one_minus_cumax, reverse_cumax"),
    ],
)
def test_p08_bad_settings_are_named(settings: dict, message: str) -> None:
    with pytest.raises(zoo.UserError, match=message):
        zoo.create_model("on-lstm", word_types=5, **settings)


def test_p08_master_gates_have_a_unit_for_each_level() -> None:
    model = zoo.create_model("on-lstm", word_types=5, hidden_size=12, chunk_size=3)
    assert model.recurrence.layers[0].hidden_weight.shape == (2 * 4 + 4 * 12, 12)
    assert model(sentences(1, 3) % 9).logits.shape == (1, 4, 9)


def test_p09_settings_of_the_entries() -> None:
    """The authors' sizes and dropout; a chunk size of 5 and seed 000's dropout for the transformation tasks."""
    ours, authors = OnLstmConfig(), zoo.create_model("on-lstm-ptb", word_types=5).config
    assert (ours.chunk_size, ours.master_input_gate, ours.num_hidden_layers) == (5, "one_minus_cumax", 3)
    assert (ours.embedding_dropout, ours.input_dropout, ours.hidden_dropout, ours.dropout) == (0.0, 0.1, 0.1, 0.1)
    assert authors.layer_sizes() == [400, 1150, 1150, 400]
    assert authors.chunk_size == 10
    assert (authors.embedding_dropout, authors.input_dropout, authors.hidden_dropout) == (0.1, 0.5, 0.3)
    assert (authors.dropout, authors.weight_dropout) == (0.45, 0.45)


def test_a_batch_of_nothing_but_padding_is_finite() -> None:
    batch = pad(torch.zeros(2, 3, dtype=torch.long))
    output = tiny("on-lstm")(**batch, output_levels=True)
    assert output.logits[..., 4:].isfinite().all()
    assert not output.forget_levels[0].any()
