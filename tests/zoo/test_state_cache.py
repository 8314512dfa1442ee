import pytest
import torch
from transformers.cache_utils import DynamicLayer

from zoo.state_cache import ROOM, KeyValueLayer


def step(layers, random, batch, new):
    """Adds the same keys and values to each layer and compares what they hold."""
    keys, values = (torch.randn(batch, 2, new, 3, generator=random) for _ in range(2))
    held = [layer.update(keys, values) for layer in layers]
    for one, other in zip(*held, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    "change",
    [
        lambda layer: layer.reorder_cache(torch.tensor([2, 0, 0, 1])),
        lambda layer: layer.batch_select_indices(torch.tensor([1, 2, 0, 0])),
        lambda layer: (layer.batch_select_indices(torch.tensor([1, 0])), layer.batch_repeat_interleave(2)),
        lambda layer: (layer.crop(-3), layer.reorder_cache(torch.tensor([0, 1, 2, 2]))),
        lambda layer: layer.reset(),
    ],
)
def test_a_layer_with_room_holds_what_the_librarys_layer_holds(change):
    random = torch.Generator().manual_seed(0)
    layers = [KeyValueLayer(), DynamicLayer()]
    step(layers, random, 3, 5)
    for _ in range(ROOM + 2):
        step(layers, random, 3, 1)
    for layer in layers:
        change(layer)
    step(layers, random, 4, 1)
    step(layers, random, 4, ROOM + 1)
    assert layers[0].get_seq_length() == layers[1].get_seq_length()


def test_steps_write_into_the_room_that_there_is():
    layer = KeyValueLayer()
    states = torch.zeros(1, 1, 4, 2)
    before = layer.update(states, states)[0].data_ptr()
    assert layer.update(states, states)[0].data_ptr() == before
    layer.reorder_cache(torch.tensor([0, 0]))
    after = layer.keys.data_ptr()
    assert after != before
    assert layer.update(states.repeat(2, 1, 1, 1), states.repeat(2, 1, 1, 1))[0].data_ptr() == after


def test_gradients_pass_through_keys_of_earlier_steps():
    layer = KeyValueLayer()
    first, second = (torch.randn(1, 1, 2, 2, requires_grad=True) for _ in range(2))
    layer.update(first, first)
    layer.update(second, second)[0].sum().backward()
    assert torch.equal(first.grad, torch.ones_like(first))
