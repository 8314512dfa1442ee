"""What tests of an operation with several forms share."""

import os
import shlex
import shutil
from collections.abc import Callable
from typing import TypeVar

import pytest
import torch
from torch import Tensor

from zoo import native

Result = TypeVar("Result")
needs_compiler = pytest.mark.skipif(
    not native.wanted() or shutil.which(shlex.split(os.environ.get("CC") or "cc")[0]) is None,
    reason="needs a C compiler, and SYNTAX_ZOO_NATIVE not 0",
)


def in_pytorch(operation: Callable[..., Result]) -> Callable[..., Result]:
    """The PyTorch form of an operation that would use compiled kernels."""

    def call(*arguments: Tensor | None) -> Result:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SYNTAX_ZOO_NATIVE", "0")
            return operation(*arguments)

    call.__name__ = f"{operation.__name__}_in_pytorch"
    return call


def leaves(*tensors: Tensor, dtype: torch.dtype | None = None) -> tuple[Tensor, ...]:
    """Copies of inputs, in `dtype` if given, whose gradients can be asked for."""
    return tuple(tensor.detach().to(dtype or tensor.dtype, copy=True).requires_grad_() for tensor in tensors)


def right_padded(lengths: Tensor, steps: int) -> Tensor:
    """Mask [B, n] of sequences of these lengths [B]."""
    return torch.arange(steps) < lengths[:, None]
