"""Slow and plain: the stacks as their definitions read."""

import torch
from torch import Tensor


def all_runs(action_logits: Tensor, pushed_vectors: Tensor, bottom_vector: Tensor) -> Tensor:
    """Equation 6 of seed 000 for one sequence, by listing every run. Arguments of nondeterministic_stack, without B."""
    # n x A x (2A+Q), n x m, m -> n+1 x A*m
    steps, size, columns = action_logits.shape
    states = columns - 2 * size
    symbols = size // states
    weights = action_logits.exp()
    runs = [(bottom_vector.new_ones(()), 0, ((0, bottom_vector),))]
    readings = []
    for t in range(steps + 1):
        blocks = [torch.zeros_like(bottom_vector) for _ in range(size)]
        total = sum(weight for weight, _, _ in runs)
        for weight, state, stack in runs:
            symbol, vector = stack[-1]
            blocks[state * symbols + symbol] = blocks[state * symbols + symbol] + weight / total * vector
        readings.append(torch.cat(blocks))
        if t == steps:
            return torch.stack(readings)
        longer = []
        for weight, state, stack in runs:
            symbol, vector = stack[-1]
            row = weights[t, state * symbols + symbol] * weight
            for target in range(size):
                new_state, new_symbol = divmod(target, symbols)
                longer.append((row[target], new_state, (*stack, (new_symbol, pushed_vectors[t]))))
                longer.append((row[size + target], new_state, (*stack[:-1], (new_symbol, vector))))
            if len(stack) > 1:
                longer += [(row[2 * size + new_state], new_state, stack[:-1]) for new_state in range(states)]
        runs = longer
    raise AssertionError("unreachable")


def three_stacks(actions: Tensor, pushed_vectors: Tensor) -> Tensor:
    """Section 3.1 of seed 000 for one sequence: three whole stacks, mixed. n x 3, n x m -> n+1 x m."""
    steps, size = pushed_vectors.shape
    stack = pushed_vectors.new_zeros(steps + 2, size)
    readings = [stack[0]]
    for (push, keep, pop), vector in zip(actions, pushed_vectors, strict=True):
        pushed = torch.cat([vector[None], stack[:-1]])
        popped = torch.cat([stack[1:], torch.zeros_like(stack[:1])])
        stack = push * pushed + keep * stack + pop * popped
        readings.append(stack[0])
    return torch.stack(readings)
