"""The tapes of the superposition stack against autograd over `step`, which keeps the whole stack."""

import random

import pytest
import torch
from torch import Tensor

from tests.zoo.forms import in_pytorch, leaves, needs_compiler
from zoo import stack_superposition
from zoo.stack_superposition import no_op_actions, step, superposition_tape
from zoo.stack_tape import Tape

FORMS = pytest.mark.parametrize("form", [superposition_tape, in_pytorch(superposition_tape)])
LIMITS = {torch.float64: 1e-10, torch.float32: 1e-3}  # relative above 1


def stepped(actions: Tensor, vectors: Tensor, mask: Tensor) -> Tensor:
    elements = vectors[:, :0]
    readings = [torch.zeros_like(vectors[:, 0])]
    for t in range(actions.shape[1]):
        elements = step(elements, actions[:, t], vectors[:, t], mask[:, t])
        readings.append(elements[:, 0])
    return torch.stack(readings, 1)


def write(tape: Tape, actions: Tensor, vectors: Tensor) -> Tensor:
    readings = [tape.initial_reading()]
    readings += [tape.forward(*pair) for pair in zip(actions.unbind(1), vectors.unbind(1), strict=True)]
    return torch.stack(readings, 1)


def read(tape: Tape, grad: Tensor, vectors: Tensor) -> list[Tensor]:
    """Gradients of actions and vectors of the steps up to the last that `grad` [B, k+1, m] has."""
    last = grad.shape[1] - 1
    found = [tape.backward(j, grad[:, j], vectors[:, j - 1], begins=j == last) for j in range(last, 0, -1)]
    return [torch.stack(parts[::-1], 1) for parts in zip(*found, strict=True)]


def random_input(batch: int, steps: int, size: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    actions = (3 * torch.randn(batch, steps, 3)).softmax(-1)
    return leaves(actions, torch.randn(batch, steps, size), dtype=dtype)


def assert_close(found: Tensor, wanted: Tensor, dtype: torch.dtype) -> None:
    assert found.shape == wanted.shape
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), wanted.double(), rtol=LIMITS[dtype], atol=LIMITS[dtype])


@FORMS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("room", [1, 2, 3, *range(5, 30, 3)])
def test_readings_and_gradients_equal_those_of_the_naive_form(room: int, dtype: torch.dtype, form) -> None:
    """Some rows keep their stack at some steps; the tape may have room for more steps than are taken."""
    chance = random.Random(room)
    steps, batch, size = room - (room % 2 and chance.randrange(room)), chance.randint(1, 9), chance.randint(1, 60)
    actions, vectors = random_input(batch, steps, size, torch.float64)
    mask = torch.rand(batch, steps) < 0.8
    weights = torch.randn(batch, steps + 1, size, dtype=torch.float64)
    readings = stepped(actions, vectors, mask)
    wanted = torch.autograd.grad((readings * weights).sum(), (actions, vectors))

    actions, vectors, weights = (tensor.detach().to(dtype) for tensor in (actions, vectors, weights))
    tape = form(vectors[:, 0], room)
    assert_close(write(tape, no_op_actions(actions, mask), vectors), readings.detach(), dtype)
    grad_actions, grad_vectors = read(tape, weights, vectors)
    assert_close(grad_actions * mask[..., None], wanted[0], dtype)
    assert_close(grad_vectors, wanted[1], dtype)
    assert (grad_vectors[~mask] == 0).all()


@FORMS
def test_each_backward_pass_begins_anew(form) -> None:
    actions, vectors = random_input(3, 8, 5, torch.float64)
    tape = form(vectors[:, 0], 8)
    readings = stepped(actions, vectors, torch.ones(3, 8))
    write(tape, actions.detach(), vectors.detach())
    for last in (8, 8, 3, 1, 5):
        weights = torch.randn(3, last + 1, 5, dtype=torch.float64)
        loss = (readings[:, : last + 1] * weights).sum()
        wanted = torch.autograd.grad(loss, (actions, vectors), retain_graph=True)
        for one, other in zip(read(tape, weights, vectors), wanted, strict=True):
            torch.testing.assert_close(one, other[:, :last])


@FORMS
def test_a_reading_is_a_tensor_of_its_own(form) -> None:
    actions, vectors = (tensor.detach() for tensor in random_input(2, 4, 3, torch.float64))
    plain, spoiled = form(vectors[:, 0], 4), form(vectors[:, 0], 4)
    wanted = write(plain, actions, vectors)
    spoiled.initial_reading().fill_(9)
    for t in range(4):
        reading = spoiled.forward(actions[:, t], vectors[:, t])
        torch.testing.assert_close(reading, wanted[:, t + 1], rtol=0, atol=0)
        reading.fill_(9)


@FORMS
def test_half_precision_is_computed_in_single(form) -> None:
    actions, vectors = (tensor.detach() for tensor in random_input(2, 4, 3, torch.bfloat16))
    tape, exact = form(vectors[:, 0], 4), form(vectors[:, 0].double(), 4)
    readings = write(tape, actions, vectors)
    assert_close(readings, write(exact, actions.double(), vectors.double()), torch.float32)
    grad = torch.randn(readings.shape).bfloat16()
    for one, other in zip(read(tape, grad, vectors), read(exact, grad.double(), vectors), strict=True):
        assert_close(one, other, torch.float32)


@FORMS
@pytest.mark.parametrize(("batch", "size"), [(0, 3), (2, 0)])
def test_an_empty_batch_and_vectors_without_numbers(batch: int, size: int, form) -> None:
    actions, vectors = (tensor.detach() for tensor in random_input(batch, 4, size, torch.float64))
    tape = form(vectors[:, 0], 4)
    readings = write(tape, actions, vectors)
    assert readings.shape == (batch, 5, size)
    found = read(tape, readings, vectors)
    assert [gradient.shape for gradient in found] == [actions.shape, vectors.shape]
    assert (found[0] == 0).all()


@needs_compiler
def test_the_compiled_tape_is_what_runs_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would compare the PyTorch form with itself."""
    monkeypatch.setattr(stack_superposition, "SuperpositionTape", None)
    superposition_tape(torch.ones(2, 3), 4)
