from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.zoo.reference import three_stacks
from zoo.stack_superposition import step, superposition_stack


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


@pytest.mark.parametrize("form", [superposition_stack, stepped])
@pytest.mark.parametrize("name", ["n1_m2", "n1_m50", "n5_m2", "n5_m50", "n30_m2", "n30_m50", "onehot"])
def test_readings_and_gradients_equal_the_reference_numbers(shared: Path, name: str, form) -> None:
    known = load_file(shared / "fixtures" / f"superposition_stack_{name}.safetensors")
    inputs = tuple(known[key].clone().requires_grad_() for key in ("actions", "vectors"))
    readings = form(*inputs)
    torch.testing.assert_close(readings, known["readings"], rtol=0, atol=1e-12)
    for gradient, key in zip(
        torch.autograd.grad((readings * known["loss_weights"]).sum(), inputs), ("actions", "vectors"), strict=True
    ):
        torch.testing.assert_close(gradient, known[f"grad_{key}"], rtol=0, atol=1e-11)


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
    for form in (superposition_stack, stepped):
        found = torch.autograd.grad((form(*inputs) * weights).sum(), inputs)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other)


def test_gradients_pass_gradcheck() -> None:
    torch.autograd.gradcheck(superposition_stack, random_input(2, 5, 2))


def test_masked_steps_leave_the_stack_alone() -> None:
    actions, vectors = random_input(1, 6, 3)
    mask = torch.tensor([[False, True, False, True, True, False]])
    padded = superposition_stack(actions, vectors, mask)
    plain = superposition_stack(actions[:, mask[0]], vectors[:, mask[0]])
    torch.testing.assert_close(padded[:, [0, 2, 4, 5]], plain)


def test_shapes_that_do_not_fit_are_named() -> None:
    actions, vectors = random_input(1, 5, 3)
    with pytest.raises(ValueError, match=r"wanted are \[B, n, 3\] and \[B, n, m\]"):
        superposition_stack(actions[:, :4], vectors)
