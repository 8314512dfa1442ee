"""Padding, missing and wrong inputs of the models that read trees."""

import pytest
import torch
from torch.nn.functional import pad as pad_tensor
from transformers.cache_utils import DynamicCache

import zoo
from tests.zoo.guig_inputs import MODELS, inputs_for, labels_for, tiny, without_target

SOURCES = ("input_ids", "node_ids", "level_ids", "template_node_ids", "template_level_ids")
every_model = pytest.mark.parametrize("name", MODELS)


def sources(inputs):
    return {key: value for key, value in inputs.items() if key in SOURCES}


def to_the_right(ids):
    """Padding moved before the tokens, three columns more of it."""
    rows = [pad_tensor(row[row != 0], (3 + int((row == 0).sum()), 0)) for row in ids]
    return torch.stack(rows)


@every_model
def test_n08_padding_changes_nothing_and_a_root_alone_is_finite(name):
    model, inputs = tiny(name), inputs_for(name)
    expected = model(**inputs).logits
    assert not expected.isnan().any()
    longer = {key: pad_tensor(value, (0, 3)) for key, value in sources(inputs).items()}
    alone = {key: value[2:] for key, value in inputs.items()}
    torch.testing.assert_close(model(**inputs | longer).logits, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model(**alone).logits, expected[2:], rtol=1e-5, atol=1e-5)


@every_model
def test_g05_sources_may_be_padded_on_either_side(name):
    model, inputs = tiny(name), inputs_for(name)
    left = {key: to_the_right(value) for key, value in sources(inputs).items()}
    torch.testing.assert_close(model(**inputs | left).logits, model(**inputs).logits, rtol=1e-5, atol=1e-5)


@every_model
@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_n08_rows_of_padding_alone_are_finite_and_leave_the_others(name, rate):
    model, inputs = tiny(name, dropout=rate).train(), inputs_for(name)
    empty = {key: value.index_fill(0, torch.tensor([1]), 0) for key, value in sources(inputs).items()}
    model(**inputs | empty, labels=labels_for(inputs)).loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    model.eval()
    rows = [0, 2]
    torch.testing.assert_close(model(**inputs | empty).logits[rows], model(**inputs).logits[rows], rtol=1e-5, atol=1e-5)


@every_model
def test_n11_what_stands_at_padding_does_not_matter(name):
    model, inputs = tiny(name, tie_word_embeddings=False), inputs_for(name)  # so that the rows are inputs only
    if "input_ids" in inputs:  # words where the mask has padding
        mask = torch.ones_like(inputs["input_ids"])
        mask[0, -3:] = 0
        inputs |= {"attention_mask": mask}
    expected = model(**inputs).logits
    if "input_ids" in inputs:
        inputs["input_ids"] = torch.where(mask == 0, 9, inputs["input_ids"])
    with torch.no_grad():
        for module in model.encoder.modules():
            if isinstance(module, torch.nn.Embedding):
                module.weight[0] = 1e3
    real = inputs["decoder_input_ids"] != 0
    assert torch.equal(model(**inputs).logits[real], expected[real])


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize(
    ("name", "unread"),
    [
        ("guig-no-source", ["input_ids"]),
        ("guig-no-syntax", ["node_ids", "level_ids"]),
        ("guig-expander-no-source", ["node_ids", "level_ids"]),
        ("guig-expander-no-template", ["template_node_ids", "template_level_ids"]),
    ],
)
def test_what_an_ablation_does_not_read_may_be_left_out(name, unread, beams):
    model, inputs = tiny(name), without_target(inputs_for(name))
    read = {key: value for key, value in inputs.items() if key not in unread}
    options = {"num_beams": beams, "max_new_tokens": 6}
    assert torch.equal(model.generate(**read, **options), model.generate(**inputs, **options))


def test_a_missing_input_is_named():
    inputs = inputs_for("guig")
    with pytest.raises(ValueError, match="node_ids is missing"):
        tiny("guig")(**{**inputs, "node_ids": None})
    with pytest.raises(ValueError, match="template_level_ids is missing"):
        tiny("guig-expander")(**{**inputs_for("guig-expander"), "template_level_ids": None})
    with pytest.raises(ValueError, match="decoder_input_ids is missing"):
        tiny("guig")(**without_target(inputs))


@pytest.mark.parametrize("name", ["guig", "guig-no-path-attention", "transformer-concat", "guig-expander"])
def test_t15_a_tree_deeper_than_the_levels_is_one_clear_error(name):
    model, inputs = tiny(name), inputs_for(name)
    deep = torch.where(inputs["level_ids"] == 7, 203, inputs["level_ids"])
    with pytest.raises(ValueError, match=r"level 200; this model knows levels up to 8 .*cut trees"):
        model(**inputs | {"level_ids": deep})
    with pytest.raises(ValueError, match=r"node id 12; allowed: below node_vocab_size=12"):
        model(**inputs | {"node_ids": inputs["node_ids"].clamp(min=12)})
    with pytest.raises(ValueError, match=r"node ids are \[3, 10\], level ids \[3, 9\]"):
        model(**inputs | {"level_ids": inputs["level_ids"][:, :-1]})


@pytest.mark.parametrize("depth", [200, 501])
def test_t15_deep_trees_with_as_many_levels_run(depth):
    model = tiny("guig", level_vocab_size=depth + 4)
    levels = torch.tensor([[1, *range(4, depth + 4), 2]])
    inputs = inputs_for("guig", batch=1) | {"node_ids": levels.clamp(max=11), "level_ids": levels}
    assert not model(**inputs).logits.isnan().any()


def test_paths_through_a_node_are_another_average():
    inputs = inputs_for("guig")
    assert not torch.allclose(tiny("guig")(**inputs).logits, tiny("guig", averages="through")(**inputs).logits)
    with pytest.raises(zoo.UserError, match="averages is 'none'; allowed: all, through"):
        tiny("guig", averages="none")


@every_model
def test_a_filled_cache_of_another_kind_is_refused(name):
    model, inputs = tiny(name), inputs_for(name)
    full = DynamicCache()
    full.update(torch.zeros(3, 8, 4, 4), torch.zeros(3, 8, 4, 4), 0)
    with pytest.raises(ValueError, match="filled DynamicCache"):
        model(**inputs, cache=full)
    torch.testing.assert_close(model(**inputs, cache=DynamicCache(), use_cache=True).logits, model(**inputs).logits)


@every_model
def test_g02_cached_equals_uncached_step_by_step(name):
    model, inputs = tiny(name).double(), inputs_for(name)
    target = inputs.pop("decoder_input_ids")
    with torch.no_grad():
        whole = model(**inputs, decoder_input_ids=target, use_cache=False).logits
        output = model(**inputs, decoder_input_ids=target[:, :2], use_cache=True)
        parts = [output.logits]
        for t in range(2, target.shape[1]):
            output = model(**inputs, decoder_input_ids=target[:, t : t + 1], cache=output.cache, use_cache=True)
            parts.append(output.logits)
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=0, atol=1e-12)
