"""The recurrence of controller and stack against automatic differentiation of the equations, step by step."""

import gc
import weakref

import pytest
import torch
from torch import Tensor

import zoo
from tests.zoo.forms import in_pytorch
from tests.zoo.tiny_models import sentences, tiny
from zoo.recurrence import Recurrence, Weights, recur
from zoo.recurrent_stacks import INTERFACES, StackRun
from zoo.stack_nondeterministic import nondeterministic_stack
from zoo.stack_superposition import superposition_stack

SIZE, LAYERS, BATCH, STEPS = 4, 3, 5, 7
STACKS = ["none", "superposition", "nondeterministic"]
CASES = [(controller, stack) for controller in ("rnn", "lstm") for stack in STACKS]


def interface(stack: str, activation: str = "sigmoid"):
    """A stack interface in float64, or None."""
    if stack == "none":
        return None
    config = zoo.create_model(
        "lstm-nd" if stack == "nondeterministic" else "lstm-sup", word_types=5, hidden_size=SIZE
    ).config
    config.pushed_vector_activation, config.pda_states, config.pda_symbols = activation, 2, 3
    found = INTERFACES[stack](config).double()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.normal_()
    return found


def inputs(controller: str, reading: int) -> tuple[Tensor, tuple[Tensor, ...], list[Tensor], list[Tensor]]:
    """Projected inputs, first state, weights and biases of the layers."""
    gates = 4 * SIZE if controller == "lstm" else SIZE

    def leaf(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    state = tuple(
        torch.randn(BATCH, LAYERS, SIZE, dtype=torch.float64) for _ in range(2 if controller == "lstm" else 1)
    )
    state[0].requires_grad_()
    layers = [leaf(gates, below + SIZE) for below in [reading] + [SIZE] * (LAYERS - 1)]
    return leaf(STEPS, BATCH, gates), state, layers, [leaf(gates) for _ in layers[1:]]


def naive(projected: Tensor, state, layers, biases, masks: Tensor | None, stack) -> tuple[Tensor, Tensor]:
    """Equations 7 and 8 word for word; each reading is the last of a stack that is run anew from the beginning."""
    hidden = list(state[0].unbind(1))
    cells = list(state[1].unbind(1)) if len(state) == 2 else []
    sums: list[Tensor] = []

    def reading() -> Tensor:
        if stack is None:
            return projected.new_zeros(len(hidden[0]), 0)
        below = torch.stack(sums, 1) if sums else projected.new_zeros(len(hidden[0]), 0, len(stack.joint()[1]))
        actions, vectors = below[..., : stack.actions.out_features], below[..., stack.actions.out_features :]
        vectors = {"sigmoid": torch.sigmoid, "exp": torch.exp, "identity": lambda x: x}[stack.activation](vectors)
        if stack.start() is None:
            return superposition_stack(actions.softmax(-1), vectors)[:, -1]
        return nondeterministic_stack(actions.unflatten(2, stack.shape.action_shape), vectors, stack.start())[:, -1]

    outputs, readings = [hidden[-1]], [reading()]
    for t, added in enumerate(projected):
        for layer, weight in enumerate(layers):
            below = readings[-1] if not layer else hidden[layer - 1] * (1 if masks is None else masks[layer - 1, t])
            gates = torch.cat([below, hidden[layer]], 1) @ weight.t() + (biases[layer - 1] if layer else added)
            if cells:
                i, f, g, o = gates.chunk(4, 1)
                cells[layer] = f.sigmoid() * cells[layer] + i.sigmoid() * g.tanh()
                hidden[layer] = o.sigmoid() * cells[layer].tanh()
            else:
                hidden[layer] = gates.tanh()
        if stack is not None:
            sums.append(torch.nn.functional.linear(hidden[-1], *stack.joint()))
        outputs.append(hidden[-1])
        readings.append(reading())
    return torch.stack(outputs), torch.stack(readings)


def fused(projected: Tensor, state, layers, biases, masks: Tensor | None, stack) -> tuple[Tensor, Tensor, Recurrence]:
    run = None if stack is None else StackRun(stack, BATCH, len(projected), False, None)
    none = projected.new_empty(0, SIZE)
    return recur(projected, state, Weights(layers, biases, *(run.weights if run else (none, none[:, 0]))), masks, run)


@pytest.mark.parametrize("activation", ["sigmoid", "exp", "identity"])
@pytest.mark.parametrize("form", [fused, in_pytorch(fused)])
@pytest.mark.parametrize(("controller", "stack"), CASES)
@pytest.mark.parametrize("dropout", [True, False])
def test_readings_and_gradients_equal_the_naive_form(controller, stack, form, activation, dropout) -> None:
    torch.manual_seed(0)
    known = interface(stack, activation)
    projected, state, layers, biases = inputs(controller, known.reading_size if known else 0)
    masks = torch.randn(LAYERS - 1, STEPS, BATCH, SIZE, dtype=torch.float64) if dropout else None
    leaves = [projected, state[0], *layers, *biases, *(known.parameters() if known else ())]
    results = []
    for run in (naive, form):
        found = run(projected, state, layers, biases, masks, known)[:2]
        generator = torch.Generator().manual_seed(1)
        loss = sum((part * torch.randn(part.shape, generator=generator, dtype=torch.float64)).sum() for part in found)
        results.append([*found, *torch.autograd.grad(loss, leaves)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_logits_that_span_too_much_for_float32_are_computed_in_float64() -> None:
    """Pops favoured by 120 nats in every configuration: float32 alone loses the runs that may still pop."""
    torch.manual_seed(0)
    known = interface("nondeterministic")
    with torch.no_grad():
        logits = known.actions.bias.view(known.shape.action_shape)
        logits[:, -known.shape.states :] += 120
    exact = inputs("lstm", known.reading_size)
    wanted = fused(*exact, None, known)[1].detach()
    single = [exact[0].float(), tuple(s.float() for s in exact[1]), *([w.float() for w in ws] for ws in exact[2:])]
    found = fused(*single, None, known.float())[1]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.detach().double(), wanted, rtol=0, atol=1e-3)


def test_gradients_can_be_asked_for_twice_and_are_the_same() -> None:
    torch.manual_seed(0)
    known = interface("nondeterministic")
    case = inputs("lstm", known.reading_size)
    hidden = fused(*case, None, known)[0]
    first = torch.autograd.grad(hidden.square().sum(), case[0], retain_graph=True)[0]
    second = torch.autograd.grad(hidden.square().sum(), case[0])[0]
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_weights_changed_after_the_forward_pass_are_noticed() -> None:
    projected, state, layers, biases = inputs("rnn", 0)
    hidden = fused(projected, state, layers, biases, None, None)[0]
    with torch.no_grad():
        layers[1].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        hidden.sum().backward()


@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("stack", STACKS[1:])
def test_memory_is_freed_with_the_last_reference(stack: str, backward: bool) -> None:
    known = interface(stack)
    hidden, _, run = fused(*inputs("lstm", known.reading_size), None, known)
    if backward:
        hidden.sum().backward()
    seen = weakref.ref(run)
    del hidden, run, _
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("name", ["rnn-sup-r", "lstm-sup", "lstm-nd-r"])
def test_gradients_with_a_kept_state_equal_those_without(name: str) -> None:
    model, ids = tiny(name).double(), sentences(3, 6)
    found = []
    for use_cache in (False, True):
        model.zero_grad()
        model(ids, labels=ids, use_cache=use_cache).loss.backward()
        found.append([parameter.grad.clone() for parameter in model.parameters()])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_of_steps_after_a_kept_superposition_stack() -> None:
    """The state itself is a constant: what is learned after it equals a run whose first part is not differentiated."""
    model, ids = tiny("rnn-sup-r").double(), sentences(3, 6)
    cache = model(ids[:, :4], use_cache=True).cache
    model(ids[:, 4:], cache=cache).logits[..., 4:].square().sum().backward()
    bias = model.stack.actions.bias
    step, expected = 1e-6, []
    for number in range(3):
        losses = []
        for sign in (1, -1):
            with torch.no_grad():
                start = model(ids[:, :4], use_cache=True).cache
                bias[number] += sign * step
                losses.append(model(ids[:, 4:], cache=start).logits[..., 4:].square().sum())
                bias[number] -= sign * step
        expected.append((losses[0] - losses[1]) / (2 * step))
    torch.testing.assert_close(bias.grad, torch.stack(expected), rtol=1e-5, atol=1e-7)


def test_gradients_through_a_kept_nondeterministic_stack_are_refused() -> None:
    model, ids = tiny("lstm-nd"), sentences(2, 4)
    cache = model(ids, use_cache=True).cache
    loss = model(torch.tensor([[5, 6], [7, 8]]), cache=cache).logits[..., 4:].sum()
    with pytest.raises(RuntimeError, match="whole sequence without a cache"):
        loss.backward()
