"""The compiled, the PyTorch and the naive form of each stack agree on random input, readings and gradients."""

import random
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from tests.zoo.forms import in_pytorch, leaves, needs_compiler, right_padded
from tests.zoo.reference import all_runs, three_stacks
from zoo import native, stack_compiled, stack_nondeterministic, stack_superposition
from zoo.stack_nondeterministic import nondeterministic_stack
from zoo.stack_shapes import StackShape
from zoo.stack_superposition import superposition_stack

SHAPES = [StackShape(1, 2, 3), StackShape(2, 1, 1), StackShape(2, 3, 4), StackShape(3, 3, 5)]  # each is compiled twice
LIMITS = {torch.float64: (1e-9, 1e-8), torch.float32: (1e-4, 1e-3)}  # readings, gradients; relative above 1
NAIVE_RUNS, NAIVE_NATS = 1500, 200  # most runs that are listed, and sum of scales beyond which their weights overflow

Form = Callable[..., Tensor]


def with_gradients(form: Form, inputs: tuple[Tensor, ...], mask: Tensor, weights: Tensor) -> list[Tensor]:
    inputs = leaves(*inputs)
    readings = form(*inputs, mask)
    if not readings.requires_grad:  # a naive form that met no step
        return [readings, *map(torch.zeros_like, inputs)]
    loss = (readings * weights.to(readings.dtype)).sum()
    return [readings.detach(), *torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)]


def one_by_one(naive: Form) -> Form:
    """A naive form that takes a batch of padded sequences; a bottom vector, if any, is shared."""

    def call(actions: Tensor, vectors: Tensor, *rest: Tensor) -> Tensor:
        *bottom, mask = rest
        lengths = mask.sum(1).tolist()
        rows = [naive(a[:length], v[:length], *bottom) for a, v, length in zip(actions, vectors, lengths, strict=True)]
        return torch.stack([torch.cat([row, row[-1:].expand(mask.shape[1] + 1 - len(row), -1)]) for row in rows])

    return call


def check(form: Form, naive: Form | None, inputs: tuple[Tensor, ...], mask: Tensor) -> None:
    """All forms against the PyTorch form in float64: in float64, then in float32 on the same numbers."""
    inputs = tuple(tensor.float().double() for tensor in inputs)
    portable = in_pytorch(form)
    shape = portable(*inputs, mask).shape
    weights = torch.randn(shape, dtype=torch.float64)
    wanted = with_gradients(portable, inputs, mask, weights)
    for dtype, forms in {torch.float64: [form, naive], torch.float32: [form, portable]}.items():
        for other in filter(None, forms):
            found = with_gradients(other, tuple(tensor.to(dtype) for tensor in inputs), mask, weights)
            readings_limit, gradients_limit = LIMITS[dtype]
            for number, (one, two) in enumerate(zip(found, wanted, strict=True)):
                error = (one.double() - two).abs() / (1 + two.abs())
                assert error.numel() == 0 or error.max() < (gradients_limit if number else readings_limit), number


def random_sizes(seed: int, longest: int) -> tuple[int, int, Tensor]:
    """Batch, steps and a right-padded mask; some sequences may be empty."""
    chance = random.Random(seed)
    batch, steps = chance.randint(1, 11), chance.randint(0, longest)
    lengths = torch.tensor([chance.randint(int(seed % 4 > 0), max(steps, 1)) for _ in range(batch)]).clamp(max=steps)
    torch.manual_seed(seed)
    return batch, steps, right_padded(lengths, steps)


@pytest.mark.parametrize("scale", [1, 10, 100])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nondeterministic_forms_agree(shape: StackShape, seed: int, scale: int) -> None:
    batch, steps, mask = random_sizes(seed * 101 + scale, 4 if seed % 2 else 14)
    logits = torch.randn(batch, steps, *shape.action_shape) * scale
    vectors, bottom = torch.rand(batch, steps, shape.vector_size), torch.rand(shape.vector_size)
    small = shape.action_shape[1] ** steps <= NAIVE_RUNS and scale * steps <= NAIVE_NATS
    check(nondeterministic_stack, one_by_one(all_runs) if small else None, (logits, vectors, bottom), mask)


@pytest.mark.parametrize("scale", [1, 10, 100])
@pytest.mark.parametrize("seed", range(10))
def test_superposition_forms_agree(seed: int, scale: int) -> None:
    batch, steps, mask = random_sizes(seed * 101 + scale, 24)
    actions = (torch.randn(batch, steps, 3) * scale).softmax(-1)
    vectors = torch.rand(batch, steps, random.Random(seed).randint(1, 70))
    check(superposition_stack, one_by_one(three_stacks), (actions, vectors), mask)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("form", [nondeterministic_stack, superposition_stack])
def test_threads_do_not_change_a_bit(form: Form, dtype: torch.dtype) -> None:
    batch, steps = 19, 13
    mask = right_padded(torch.arange(batch) % steps + 1, steps)
    vectors, bottom = torch.rand(batch, steps, 5, dtype=dtype), torch.rand(5, dtype=dtype)
    logits = torch.randn(batch, steps, 9, 21, dtype=dtype)
    nondeterministic = form is nondeterministic_stack
    inputs = (logits, vectors, bottom) if nondeterministic else (logits[:, :, 0, :3].softmax(-1), vectors)
    weights = torch.randn(batch, steps + 1, 45 if nondeterministic else 5)
    found, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2, 2):
            torch.set_num_threads(threads)
            found.append(with_gradients(form, inputs, mask, weights))
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert torch.equal(one, other)


@needs_compiler
@pytest.mark.parametrize(
    ("module", "name"), [(stack_nondeterministic, "WholeSequence"), (stack_superposition, "_WholeSequence")]
)
def test_the_compiled_form_is_what_runs_on_a_cpu(module, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would compare the PyTorch form with itself."""
    monkeypatch.setattr(module, name, None)
    logits, vectors = torch.randn(2, 4, 2, 5), torch.rand(2, 4, 3)
    if module is stack_nondeterministic:
        nondeterministic_stack(logits, vectors, vectors[0, 0])
    else:
        superposition_stack(logits[:, :, 0, :3], vectors)


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("part", [0.9, 0])
def test_n06_less_memory_gives_the_same_numbers(part: float, dtype: torch.dtype) -> None:
    """Half of the chart, then all of it, is computed again in the backward pass."""
    batch, steps, shape = 19, 13, StackShape(3, 3, 5)
    mask = right_padded(torch.full((batch,), steps), steps)
    inputs = (torch.randn(batch, steps, *shape.action_shape, dtype=dtype), torch.rand(batch, steps, 5, dtype=dtype))
    inputs = (*inputs, torch.rand(5, dtype=dtype))
    library = stack_compiled.kernel(inputs[0], shape)
    groups = -(-batch // native.LANES[dtype])
    whole = groups * library.stack_memory(steps, stack_compiled.ALL) * dtype.itemsize
    weights = torch.randn(batch, steps + 1, shape.reading_size)
    forms = [partial(nondeterministic_stack, kept_bytes=kept) for kept in (whole, int(part * whole))]
    found = [with_gradients(form, inputs, mask, weights) for form in forms]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


@needs_compiler
def test_n06_a_limit_bounds_what_is_kept_for_the_backward_pass() -> None:
    batch, steps, shape = 19, 30, StackShape(3, 3, 5)
    logits = torch.randn(batch, steps, *shape.action_shape, requires_grad=True)
    inputs = logits, torch.rand(batch, steps, 5), torch.rand(5)

    def kept(limit: int | None) -> int:
        saved = nondeterministic_stack(*inputs, kept_bytes=limit).grad_fn.saved_tensors
        sizes = {tensor.data_ptr(): tensor.nbytes for tensor in saved}
        return sum(size for place, size in sizes.items() if place != logits.data_ptr())

    whole = kept(None)
    without_h, nothing = kept(int(0.9 * whole)), kept(0)
    assert nothing < 0.1 * whole < without_h < 0.8 * whole
