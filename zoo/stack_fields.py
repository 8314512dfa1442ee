"""Checks that the configurations of stack models share, and the activations of pushed vectors."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Activation(NamedTuple):
    """backward: gradient of the activated vector, activated vector -> gradient of the vector before."""

    forward: Callable[[Tensor], Tensor]
    backward: Callable[[Tensor, Tensor], Tensor]


ACTIVATIONS = {
    "sigmoid": Activation(torch.sigmoid, torch.ops.aten.sigmoid_backward),
    "identity": Activation(lambda vector: vector, lambda grad, vector: grad),
    "exp": Activation(torch.exp, torch.mul),
}


def check_choice(name: str, value: str, allowed: Iterable[str]) -> None:
    """ValueError unless `value` is one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; allowed: {', '.join(allowed)}")


def check_dropout(value: float, name: str = "dropout") -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name} is {value}; allowed: 0 <= {name} < 1")


def check_normaliser(value: float) -> None:
    if not value > 0:
        raise ValueError(f"layer_norm_eps is {value}; allowed: more than 0")


def check_positive(config: Any, *names: str) -> None:
    """ValueError unless each named field of `config` is at least 1; vocab_size must have room for words."""
    for name in names:
        if getattr(config, name) < 1:
            raise ValueError(f"{name} is {getattr(config, name)}; it must be at least 1")
    if config.vocab_size < 5:
        raise ValueError(f"vocab_size is {config.vocab_size}; it must be at least 5: four special tokens and a word")
