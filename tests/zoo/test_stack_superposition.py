from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.zoo.forms import in_pytorch, leaves, right_padded
from tests.zoo.reference import three_stacks
from zoo.stack_superposition import step, superposition_stack

portable = in_pytorch(superposition_stack)
BOTH = pytest.mark.parametrize("form", [superposition_stack, portable])
# of readings and gradients: the largest of the fixtures are about 10
LIMITS = {torch.float64: (1e-12, 1e-11), torch.float32: (1e-5, 1e-4)}


def stepped(actions: Tensor, vectors: Tensor) -> Tensor:
    elements = vectors[:, :0]
    readings = [torch.zeros_like(vectors[:, 0])]
    for t in range(actions.shape[1]):
        elements = step(elements, actions[:, t], vectors[:, t])
        readings.append(elements[:, 0])
    return torch.stack(readings, 1)


def random_input(batch: int, n: int, m: int) -> tuple[Tensor, Tensor]:
    actions = torch.randn(batch, n, 3, dtype=torch.float64).softmax(-1)
    return actions.requires_grad_(), torch.rand(batch, n, m, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("form", [superposition_stack, portable, stepped])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", ["n1_m2", "n1_m50", "n5_m2", "n5_m50", "n30_m2", "n30_m50", "onehot"])
def test_readings_and_gradients_equal_the_reference_numbers(shared: Path, name: str, dtype, form) -> None:
    known = load_file(shared / "fixtures" / f"superposition_stack_{name}.safetensors")
    inputs = leaves(known["actions"], known["vectors"], dtype=dtype)
    readings_limit, gradients_limit = LIMITS[dtype]
    readings = form(*inputs)
    assert readings.dtype == dtype
    torch.testing.assert_close(readings.double(), known["readings"], rtol=0, atol=readings_limit)
    found = torch.autograd.grad((readings * known["loss_weights"].to(dtype)).sum(), inputs)
    for gradient, key in zip(found, ("actions", "vectors"), strict=True):
        torch.testing.assert_close(gradient.double(), known[f"grad_{key}"], rtol=0, atol=gradients_limit)


def test_step_form_keeps_the_whole_stack(shared: Path) -> None:
    known = load_file(shared / "fixtures" / "superposition_stack_n5_m2.safetensors")
    elements = known["vectors"][:, :0]
    for t in range(5):
        elements = step(elements, known["actions"][:, t], known["vectors"][:, t])
    torch.testing.assert_close(elements, known["final_stack"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
def test_equals_three_stacks_mixed(n: int) -> None:
    inputs = random_input(3, n, 2)
    slow = torch.stack([three_stacks(*pair) for pair in zip(*inputs, strict=True)])
    torch.testing.assert_close(superposition_stack(*inputs), slow)
    weights = torch.randn_like(slow)
    wanted = torch.autograd.grad((slow * weights).sum(), inputs)
    for form in (superposition_stack, portable, stepped):
        found = torch.autograd.grad((form(*inputs) * weights).sum(), inputs)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other)


@BOTH
def test_gradients_pass_gradcheck(form) -> None:
    torch.autograd.gradcheck(form, random_input(2, 5, 2))


@BOTH
@pytest.mark.parametrize("mask", ["010110", "111100", "001111", "000000"])
def test_masked_steps_leave_the_stack_alone(mask: str, form) -> None:
    actions, vectors = random_input(1, 6, 3)
    kept = torch.tensor([[digit == "1" for digit in mask]])
    padded = form(actions, vectors, kept)
    plain = superposition_stack(actions[:, kept[0]], vectors[:, kept[0]])
    torch.testing.assert_close(padded, plain[:, [0, *kept[0].cumsum(0).tolist()]])
    for gradient in torch.autograd.grad(padded.square().sum(), (actions, vectors)):
        assert (gradient[:, ~kept[0]] == 0).all()


@BOTH
def test_readings_after_the_end_of_a_sequence_count_for_its_last_step(form) -> None:
    inputs = random_input(4, 9, 5)
    lengths = torch.tensor([9, 4, 1, 8])
    weights = torch.randn(4, 10, 5, dtype=torch.float64)
    readings = form(*inputs, right_padded(lengths, 9))
    found = torch.autograd.grad((readings * weights).sum(), inputs)
    for sequence, length in enumerate(lengths.tolist()):
        alone = leaves(*(tensor[sequence : sequence + 1, :length] for tensor in inputs))
        wanted = three_stacks(alone[0][0], alone[1][0])
        wanted = torch.cat([wanted, wanted[-1:].expand(9 - length, -1)])
        torch.testing.assert_close(readings[sequence], wanted)
        loss = (wanted * weights[sequence]).sum()
        for one, other in zip(found, torch.autograd.grad(loss, alone), strict=True):
            torch.testing.assert_close(one[sequence, :length], other[0])


@BOTH
@pytest.mark.parametrize(("batch", "n", "m"), [(2, 0, 3), (0, 4, 3), (2, 4, 0)])
def test_empty_input(batch: int, n: int, m: int, form) -> None:
    inputs = random_input(batch, n, m)
    readings = form(*inputs)
    assert readings.shape == (batch, n + 1, m)
    assert (readings == 0).all()
    for gradient, tensor in zip(torch.autograd.grad(readings.sum(), inputs), inputs, strict=True):
        torch.testing.assert_close(gradient, torch.zeros_like(tensor))


@BOTH
def test_two_backward_passes_over_one_graph_of_strided_input(form) -> None:
    inputs = tuple(tensor.detach().mT.contiguous().mT.requires_grad_() for tensor in random_input(3, 7, 4))
    readings = form(*inputs)
    first = torch.autograd.grad(readings.mT.square().sum(), inputs, retain_graph=True)
    second = torch.autograd.grad(readings.square().sum(), inputs)
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_shapes_that_do_not_fit_are_named() -> None:
    actions, vectors = random_input(1, 5, 3)
    with pytest.raises(ValueError, match=r"wanted are \[B, n, 3\] and \[B, n, m\]"):
        superposition_stack(actions[:, :4], vectors)
