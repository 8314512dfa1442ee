import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.zoo.forms import in_pytorch
from tests.zoo.reference import all_runs
from zoo.stack_nondeterministic import (
    StackShape,
    StepByStep,
    initial_state,
    nondeterministic_stack,
    reading,
    stack_tape,
    step,
)


def taped(logits: Tensor, vectors: Tensor, bottom: Tensor) -> Tensor:
    readings: Tensor = StepByStep.apply(logits, vectors, bottom, StackShape.of(logits, vectors))
    return readings


# Whole sequences and steps, compiled (where there is a compiler) and in PyTorch.
FORMS = [nondeterministic_stack, in_pytorch(nondeterministic_stack), taped, in_pytorch(taped)]
FIXTURES = [
    "q1s1", "q1s2_n80", "q2s2", "q2s2_masked", "q2s2_scale10", "q2s2_scale40", "q2s3_n40", "q3s3", "q3s3_scale10",
    "q3s3_scale40",
]  # fmt: skip


def stepped(logits: Tensor, vectors: Tensor, bottom: Tensor) -> Tensor:
    shape = StackShape.of(logits, vectors)
    state = initial_state(bottom, len(logits), shape)
    readings = [reading(state, shape)]
    for t in range(logits.shape[1]):
        now, state = step(state, logits[:, t], vectors[:, t])
        readings.append(now)
    return torch.stack(readings, 1)


def leaves(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple(tensor.detach().clone().requires_grad_() for tensor in tensors)


def random_input(batch: int, n: int, states: int, symbols: int, m: int, scale: float = 1.0, dtype=torch.float64):
    size = states * symbols
    logits = torch.randn(batch, n, size, 2 * size + states, dtype=dtype) * scale
    return leaves(logits, torch.rand(batch, n, m, dtype=dtype), torch.rand(m, dtype=dtype))


def gradients(readings: Tensor, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    weights = torch.randn(readings.shape, generator=generator, dtype=torch.float64).to(readings.dtype)
    return list(torch.autograd.grad((readings * weights).sum(), inputs, allow_unused=True))


def relative(a: Tensor, b: Tensor) -> float:
    return float(((a.detach().double() - b).abs() / (1 + b.abs())).max()) if a.numel() else 0.0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", FIXTURES)
def test_readings_and_gradients_equal_the_reference_numbers(shared: Path, name: str, dtype, form) -> None:
    path = shared / "fixtures" / f"nondeterministic_stack_{name}.safetensors"
    tolerance = json.loads(path.with_suffix(".json").read_text())["tolerance"]["float32"]
    readings_limit, gradients_limit = (
        (1e-9, 1e-9) if dtype == torch.float64 else (tolerance["readings_abs"], tolerance["gradients_abs"])
    )
    known = load_file(path)
    inputs = leaves(*(known[key].to(dtype) for key in ("logits", "vectors", "bottom_vector")))
    readings = form(*inputs)
    assert relative(readings, known["readings"]) < readings_limit
    found = torch.autograd.grad((readings * known["loss_weights"].to(dtype)).sum(), inputs)
    for gradient, key in zip(found, ("logits", "vectors", "bottom_vector"), strict=True):
        assert relative(gradient, known[f"grad_{key}"]) < gradients_limit


@pytest.mark.parametrize("name", FIXTURES)
def test_step_form_equals_the_reference_numbers(shared: Path, name: str) -> None:
    known = load_file(shared / "fixtures" / f"nondeterministic_stack_{name}.safetensors")
    assert relative(stepped(known["logits"], known["vectors"], known["bottom_vector"]), known["readings"]) < 1e-9


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("states", "symbols", "n"), [(1, 1, 5), (1, 2, 5), (2, 1, 5), (2, 2, 3), (1, 3, 4), (3, 1, 3)])
def test_n04_readings_and_gradients_equal_the_sum_over_all_runs(states: int, symbols: int, n: int, form) -> None:
    inputs = random_input(2, n, states, symbols, 2)
    logits, vectors, bottom = inputs
    slow = torch.stack([all_runs(logits[b], vectors[b], bottom) for b in range(2)])
    fast = form(*inputs)
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-12)
    for one, other in zip(gradients(fast, inputs), gradients(slow, inputs), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


def test_gradients_pass_gradcheck() -> None:
    torch.autograd.gradcheck(nondeterministic_stack, random_input(2, 4, 2, 2, 2))


def test_reading_blocks_are_a_distribution_times_a_mean() -> None:
    logits, _, _ = random_input(2, 6, 2, 2, 1)
    ones = torch.ones(2, 6, 1, dtype=torch.float64)
    readings = nondeterministic_stack(logits, ones, ones[0, 0])
    torch.testing.assert_close(readings.sum(-1), torch.ones(2, 7, dtype=torch.float64))
    assert (readings >= 0).all()


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_short_sequences(n: int) -> None:
    inputs = random_input(2, n, 2, 2, 3)
    readings = nondeterministic_stack(*inputs)
    assert readings.shape == (2, n + 1, 12)
    torch.testing.assert_close(stepped(*inputs), readings)
    grads = gradients(readings, inputs)
    assert all(gradient.isfinite().all() for gradient in grads)
    torch.testing.assert_close(grads[2], gradients(taped(*inputs), inputs)[2])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1, 10, 40])
def test_float32_is_finite_and_right_at_any_scale(form, scale: int) -> None:
    inputs = random_input(3, 25, 3, 3, 5, scale=scale)
    exact = nondeterministic_stack(*inputs)
    wanted = gradients(exact, inputs)
    single = leaves(*(tensor.float() for tensor in inputs))
    exact_of_single = nondeterministic_stack(*(tensor.double() for tensor in single))
    readings = form(*single)
    assert relative(readings, exact_of_single.detach()) < 1e-4
    for gradient, reference in zip(gradients(readings, single), wanted, strict=True):
        assert gradient.isfinite().all()
        assert relative(gradient, reference) < 1e-3


def favour(logits: Tensor, case: str) -> None:
    if case == "pops":
        logits[..., 8:] += 50
    elif case == "first pushes, then pops":
        logits[:, :10, :, :4] += 20
        logits[:, 10:, :, 8:] += 20
    else:  # from one configuration there is no way on but a pop: the whole-sequence form in PyTorch goes step by step
        logits[:, :, 1, :8] = -torch.inf


@pytest.mark.parametrize("case", ["pops", "first pushes, then pops", "only pops from one configuration"])
def test_what_later_steps_make_unlikely_is_not_lost(case: str) -> None:
    inputs = random_input(2, 20, 2, 2, 3, dtype=torch.float32)
    with torch.no_grad():
        favour(inputs[0], case)
    exact = leaves(*(tensor.double() for tensor in inputs))
    wanted = taped(*exact)
    wanted_gradients = gradients(wanted, exact)
    for given, limit in ((inputs, 1e-5), (exact, 1e-9)):
        readings = in_pytorch(nondeterministic_stack)(*given)
        assert relative(readings, wanted.detach()) < limit
        for one, other in zip(gradients(readings, given), wanted_gradients, strict=True):
            assert relative(one, other) < 10 * limit


def test_n01_forbidden_transitions_leave_everything_finite() -> None:
    logits, vectors, bottom = random_input(2, 8, 2, 2, 3)
    with torch.no_grad():
        logits[:, :, :, [2, 3, 6, 7, 9]] = -torch.inf  # no way into state 1
    readings = nondeterministic_stack(logits, vectors, bottom)
    assert (readings.view(2, 9, 2, -1)[:, :, 1] == 0).all()
    grads = gradients(readings, (logits, vectors, bottom))
    assert all(gradient.isfinite().all() for gradient in grads)
    assert (grads[0][:, :, 2:] == 0).all(), "transitions out of an unreachable state have no effect"
    assert (grads[0][:, :, :, [2, 3, 6, 7, 9]] == 0).all()


@pytest.mark.parametrize("value", [80.0, 1e4])
def test_n03_very_large_log_weights(value: float) -> None:
    logits, vectors, bottom = random_input(2, 20, 2, 2, 3, dtype=torch.float32)
    with torch.no_grad():
        logits[0] += value
        logits[1, :, :, 0] = value
    readings = nondeterministic_stack(logits, vectors, bottom)
    torch.testing.assert_close(
        readings, nondeterministic_stack(logits.double(), vectors.double(), bottom.double()).float(), rtol=0, atol=1e-4
    )
    ones = torch.ones_like(vectors[..., :1])
    total = nondeterministic_stack(logits, ones, ones[0, 0]).sum(-1)
    torch.testing.assert_close(total, torch.ones(2, 21), rtol=0, atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right", "middle"])
def test_masked_steps_leave_the_stack_alone(side: str) -> None:
    logits, vectors, bottom = random_input(1, 4, 2, 2, 3)
    kept = {"left": [3, 4, 5, 6], "right": [0, 1, 2, 3], "middle": [0, 1, 5, 6]}[side]
    wide = random_input(1, 7, 2, 2, 3)
    with torch.no_grad():
        wide[0][:, kept], wide[1][:, kept] = logits, vectors
    mask = torch.zeros(1, 7, dtype=torch.bool)
    mask[:, kept] = True
    padded = nondeterministic_stack(wide[0], wide[1], bottom, mask)
    plain = nondeterministic_stack(logits, vectors, bottom)
    torch.testing.assert_close(padded[:, [0, *(k + 1 for k in kept)]], plain)
    grads = gradients(padded, (wide[0], wide[1]))
    assert (grads[0][:, ~mask[0]] == 0).all()
    assert (grads[1][:, ~mask[0]] == 0).all()


def test_only_a_prefix_of_the_readings_may_be_used() -> None:
    inputs = random_input(2, 6, 2, 2, 3)
    short = tuple(tensor[:, :4] for tensor in inputs[:2])
    wanted = gradients(nondeterministic_stack(*short, inputs[2]), inputs)
    for form in (nondeterministic_stack, taped):
        for one, other in zip(gradients(form(*inputs)[:, :5], inputs), wanted, strict=True):
            torch.testing.assert_close(one, other)


def test_half_precision_input_is_computed_in_single() -> None:
    logits, vectors, bottom = random_input(1, 5, 2, 2, 3, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        readings = nondeterministic_stack(logits.bfloat16(), vectors.bfloat16(), bottom.bfloat16())
    assert readings.dtype == torch.bfloat16
    assert readings.isfinite().all()


def test_shapes_that_do_not_fit_are_named() -> None:
    logits, vectors, bottom = random_input(1, 5, 2, 2, 3)
    with pytest.raises(ValueError, match=r"wanted are \[B, n, 4, 10\]"):
        nondeterministic_stack(logits, vectors[:, :4], bottom)
    with pytest.raises(ValueError, match=r"bottom_vector \[2\] does not fit: wanted is \[3\]"):
        nondeterministic_stack(logits, vectors, bottom[:2])
    with pytest.raises(ValueError, match="4 rows and 7 columns"):
        nondeterministic_stack(logits[..., :7], vectors, bottom)


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_batch(form) -> None:
    inputs = random_input(0, 4, 2, 2, 3)
    readings = form(*inputs)
    assert readings.shape == (0, 5, 12)
    assert [gradient.shape for gradient in gradients(readings, inputs)] == [tensor.shape for tensor in inputs]


@pytest.mark.parametrize("form", [stack_tape, in_pytorch(stack_tape)])
def test_each_backward_pass_over_a_tape_begins_anew(form) -> None:
    logits, vectors, bottom = random_input(2, 6, 2, 2, 3)
    tape = form(bottom.detach(), 2, 6, StackShape(2, 2, 3), False)
    with torch.no_grad():
        readings = [tape.forward(logits[:, t], vectors[:, t]) for t in range(6)]
    for last in (6, 3, 2, 1):
        grad = 2 * readings[last - 1]
        found = []
        for j in range(last, 0, -1):
            found.append(tape.backward(j, grad if j == last else torch.zeros_like(grad), vectors[:, j - 1], j == last))
        whole = nondeterministic_stack(logits, vectors, bottom)[:, last]
        wanted = torch.autograd.grad(whole.square().sum(), (logits, vectors, bottom))
        for parts, other in zip(zip(*found, strict=True), wanted, strict=False):
            torch.testing.assert_close(torch.stack(parts[::-1], 1), other[:, :last])
        torch.testing.assert_close(tape.grad_bottom().sum(0), wanted[2])


@pytest.mark.parametrize("form", FORMS[:2])
def test_vectors_changed_after_the_forward_pass_are_noticed(form) -> None:
    logits, vectors, bottom = random_input(1, 4, 2, 2, 3)
    changed = vectors * 1
    readings = form(logits, changed, bottom)
    with torch.no_grad():
        changed.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        readings.sum().backward()


def test_masks_and_kinds_of_number_are_checked() -> None:
    logits, vectors, bottom = random_input(2, 5, 2, 2, 3)
    with pytest.raises(ValueError, match=r"mask \[2, 4\] does not fit: wanted is \[2, 5\]"):
        nondeterministic_stack(logits, vectors, bottom, torch.ones(2, 4))
    with pytest.raises(ValueError, match="wanted are real numbers"):
        nondeterministic_stack(logits, torch.ones(2, 5, 3, dtype=torch.long), bottom)


@pytest.mark.parametrize("form", FORMS)
def test_a_logit_that_is_no_number_is_not_hidden(form) -> None:
    logits, vectors, bottom = random_input(2, 7, 2, 3, 4)
    with torch.no_grad():
        logits[0, 3, 0, 0] = torch.nan
    readings = form(logits, vectors, bottom)
    assert readings[0, 4:].isnan().any(-1).all()
    assert readings[1].isfinite().all()


@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize("kept", [[2, 3, 4], [0, 1, 2], [0, 4]])
def test_what_stands_at_padding_does_not_matter(form, kept: list[int]) -> None:
    logits, vectors, bottom = random_input(1, 5, 2, 2, 3)
    mask = torch.zeros(1, 5, dtype=torch.bool)
    mask[:, kept] = True
    wanted = form(logits, vectors, bottom, mask)
    with torch.no_grad():
        logits[~mask], vectors[~mask] = torch.nan, torch.nan
    torch.testing.assert_close(form(logits, vectors, bottom, mask), wanted, rtol=0, atol=0)
