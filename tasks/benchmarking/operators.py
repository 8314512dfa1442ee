"""Rows of the stacks as operators, beside one layer of a transformer."""

import argparse
import statistics
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tasks.benchmarking.common import Row, Work, backwards, in_form, take_turns
from zoo.stack_nondeterministic import nondeterministic_stack
from zoo.stack_superposition import superposition_stack

STACK = (3, 3, 5)  # states, symbols, vector size


def operator_row(kind: str, batch: int, steps: int, aim: str) -> Callable[..., list[Row]]:
    def measure(row: str, arguments: argparse.Namespace) -> list[Row]:
        torch.manual_seed(0)
        run, counted = OPERATORS[kind](batch, steps)
        layer = layer_work(batch, steps)
        rows = []
        for name, compiled in (("compiled", True), ("PyTorch", False)):
            # In pairs: what the other form leaves of the caches and the memory would be measured too.
            seconds = take_turns({"layer": layer, name: in_form(run, compiled)}, 4 * arguments.rounds)
            ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds["layer"], strict=True))
            what = f"{kind} operator B={batch} n={steps}, {name}"
            wanted = aim if compiled else ""
            rows.append(Row(row, what, statistics.median(seconds[name]), "layer", ratio, wanted, gflop=counted))
        return rows

    return measure


def nondeterministic_work(batch: int, steps: int) -> tuple[Work, float]:
    states, symbols, size = STACK
    count = states * symbols
    logits = torch.randn(batch, steps, count, 2 * count + states, requires_grad=True)
    vectors = torch.rand(batch, steps, size, requires_grad=True)
    bottom = torch.rand(size, requires_grad=True)
    grad = torch.randn(batch, steps + 1, count * size)
    pairs, triples = steps * (steps - 1) / 2, steps * (steps - 1) * (steps - 2) / 6
    products = symbols * states**3 * triples + (2 * count**2 * states + symbols * states**2 * size) * pairs
    work = backwards(lambda: nondeterministic_stack(logits, vectors, bottom), [logits, vectors, bottom], grad)
    return work, 3 * 2 * batch * products / 1e9


def superposition_work(batch: int, steps: int) -> tuple[Work, float]:
    actions = torch.randn(batch, steps, 3).softmax(-1).requires_grad_()
    vectors = torch.rand(batch, steps, 50, requires_grad=True)
    grad = torch.randn(batch, steps + 1, 50)
    heights = sum(min(t, steps - t + 1) for t in range(1, steps + 1))
    work = backwards(lambda: superposition_stack(actions, vectors), [actions, vectors], grad)
    return work, 3 * 2 * batch * heights * 3 * 50 / 1e9


OPERATORS = {"nondeterministic": nondeterministic_work, "superposition": superposition_work}


def layer_work(batch: int, steps: int) -> Work:
    layer = nn.TransformerEncoderLayer(68, 4, 136, 0.1, batch_first=True, norm_first=True)
    inputs, grad = torch.randn(batch, steps, 68, requires_grad=True), torch.randn(batch, steps, 68)

    def run() -> Tensor:
        return layer(inputs, src_mask=nn.Transformer.generate_square_subsequent_mask(steps), is_causal=True)

    return backwards(run, [inputs, *layer.parameters()], grad)
