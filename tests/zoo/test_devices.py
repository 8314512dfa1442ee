"""Stacks and models on a GPU: the numbers of the CPU, and no tensor left on another device.

On a real GPU where there is one; always on a pretended one, which notices tensors that were made on the CPU.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from tests.zoo import guig_inputs
from tests.zoo.forms import in_pytorch, leaves, right_padded
from tests.zoo.pretended_gpu import GpuTensor, PretendedGpu, to_cpu, to_gpu
from tests.zoo.tiny_models import every_model, greedy, no_dropout, ragged, sentences, tiny
from zoo.stack_nondeterministic import nondeterministic_stack
from zoo.stack_shapes import StackShape
from zoo.stack_superposition import step, superposition_stack, superposition_tape

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
SHAPE = StackShape(2, 3, 4)
MASKS = {
    "none": None,
    "right": right_padded(torch.tensor([5, 2, 0]), 5),
    "left": right_padded(torch.tensor([5, 2, 1]), 5).flip(1),
}


class Gpu(NamedTuple):
    """How tensors, modules and structures of tensors get there, and how a tensor comes back."""

    move: Callable[[Any], Any]
    back: Callable[[Tensor], Tensor]


def to_cuda(x: Any) -> Any:
    if isinstance(x, torch.nn.Module):
        return x.cuda()
    return tree_map(lambda leaf: leaf.detach().cuda().requires_grad_(leaf.requires_grad), x)


def from_cuda(x: Tensor) -> Tensor:
    assert x.is_cuda
    return x.detach().cpu()


@pytest.fixture(params=["pretended", pytest.param("real", marks=needs_gpu)])
def gpu(request: pytest.FixtureRequest) -> Iterator[Gpu]:
    if request.param == "real":
        yield Gpu(to_cuda, from_cuda)
    else:
        with PretendedGpu():
            yield Gpu(to_gpu, to_cpu)


def with_gradients(form: Callable[..., Tensor], inputs: tuple[Tensor, ...], mask: Tensor | None) -> list[Tensor]:
    readings = form(*inputs, mask)
    return [readings, *torch.autograd.grad((readings * readings.cos()).sum(), inputs)]


def naive_superposition(actions: Tensor, vectors: Tensor, mask: Tensor | None) -> Tensor:
    elements = vectors[:, :0]
    readings = []
    for t in range(actions.shape[1]):
        elements = step(elements, actions[:, t], vectors[:, t], None if mask is None else mask[:, t])
        readings.append(elements[:, 0])
    return torch.stack(readings, 1)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_nondeterministic_stack(mask: Tensor | None, gpu: Gpu) -> None:
    numbers = torch.randn(3, 5, *SHAPE.action_shape), torch.rand(3, 5, 4), torch.rand(4)
    check_stack(nondeterministic_stack, leaves(*numbers, dtype=torch.float64), mask, gpu)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("form", [superposition_stack, naive_superposition])
def test_superposition_stack(form, mask: Tensor | None, gpu: Gpu) -> None:
    numbers = torch.randn(3, 5, 3).softmax(-1), torch.rand(3, 5, 4)
    check_stack(form, leaves(*numbers, dtype=torch.float64), mask, gpu)


def check_stack(form: Callable[..., Tensor], inputs: tuple[Tensor, ...], mask: Tensor | None, gpu: Gpu) -> None:
    wanted = with_gradients(in_pytorch(form), inputs, mask)
    found = with_gradients(form, gpu.move(inputs), None if mask is None else gpu.move(mask))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(gpu.back(one), other.detach())


def test_superposition_tape(gpu: Gpu) -> None:
    actions, vectors, grad = torch.randn(3, 5, 3).softmax(-1), torch.rand(3, 5, 4), torch.randn(3, 5, 4)
    steps = range(5)

    def run(actions: Tensor, vectors: Tensor, grad: Tensor) -> list[Tensor]:
        tape = superposition_tape(vectors[:, 0], 5)
        found = [tape.initial_reading(), *(tape.forward(actions[:, t], vectors[:, t]) for t in steps)]
        for t in reversed(steps):
            found += tape.backward(t + 1, grad[:, t], vectors[:, t], begins=t == 4)
        return found

    wanted = run(actions, vectors, grad)
    for one, other in zip(run(*gpu.move((actions, vectors, grad))), wanted, strict=True):
        torch.testing.assert_close(gpu.back(one), other)


@every_model
@pytest.mark.parametrize("side", ["none", "left", "right"])
def test_logits_and_gradients_of_models(name: str, side: str, gpu: Gpu) -> None:
    ids = sentences(3, 6)
    batch = {"input_ids": ids} if side == "none" else ragged(side)[1]
    labels = batch["input_ids"].masked_fill(batch["input_ids"] == 0, -100)

    def run(move: Callable[[Any], Any]) -> list[Tensor]:
        model = move(tiny(name, **no_dropout(name)).double().train())
        output = model(**move(batch), labels=move(labels))
        output.loss.backward()
        return [output.logits[..., 4:], *(parameter.grad for parameter in model.parameters())]

    wanted = in_pytorch(run)(lambda x: x)
    for one, other in zip(run(gpu.move), wanted, strict=True):
        torch.testing.assert_close(gpu.back(one), other.detach())


@every_model
def test_generation(name: str, gpu: Gpu) -> None:
    batch = ragged("left")[1]
    for settings in ({}, {"num_beams": 3}):
        wanted = greedy(tiny(name).double(), **batch, **settings)
        found = greedy(gpu.move(tiny(name).double()), **gpu.move(batch), **settings)
        assert gpu.back(found).equal(wanted)


@pytest.mark.parametrize("name", guig_inputs.MODELS)
def test_logits_gradients_and_generation_of_models_of_trees(name: str, gpu: Gpu) -> None:
    inputs = guig_inputs.inputs_for(name)
    labels = guig_inputs.labels_for(inputs)

    def run(move: Callable[[Any], Any]) -> list[Tensor]:
        model = move(guig_inputs.tiny(name).double())
        output = model(**move(inputs), labels=move(labels))
        output.loss.backward()
        prompt = move(guig_inputs.without_target(inputs))
        texts = [model.generate(**prompt, max_new_tokens=6, num_beams=beams) for beams in (1, 3)]
        return [output.logits, *texts, *(parameter.grad for parameter in model.parameters())]

    for one, other in zip(run(gpu.move), run(lambda x: x), strict=True):
        torch.testing.assert_close(gpu.back(one), other.detach())


@every_model
def test_training_with_dropout(name: str, gpu: Gpu) -> None:
    model, ids = gpu.move(tiny(name, dropout=0.2).train()), gpu.move(sentences(3, 6))
    model(ids, labels=ids).loss.backward()
    assert all(gpu.back(parameter.grad).isfinite().all() for parameter in model.parameters())


@needs_gpu
@every_model
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_is_finite(name: str, dtype: torch.dtype) -> None:
    model, ids = tiny(name).cuda().train(), sentences(2, 6).cuda()
    with torch.autocast("cuda", dtype):
        loss = model(ids, labels=ids).loss
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_the_pretended_gpu_notices_a_tensor_on_the_cpu() -> None:
    x = GpuTensor(torch.ones(3))
    with pytest.raises(RuntimeError, match="expected all tensors on one device"):
        x + torch.ones(3)
    with PretendedGpu():
        assert to_cpu(x * torch.arange(3, device=x.device) + x.new_tensor([1.0, 1, 1])).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="found one on the CPU"):
        to_cpu(torch.ones(3))
