"""A GPU that is not there: tensors that say they are on "cuda" while their numbers lie on the CPU.

As on a GPU, an operation whose tensors lie on two devices is an error. So code can be tested where there is no GPU for
the mistake that is made most: a tensor made on the CPU among others. What kernels of a GPU compute is not tested.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map

GPU = torch.device("cuda", 0)
aten = torch.ops.aten
# They take tensors from two devices: copies, and numbers of rows that are counted on the CPU.
MIXED = {aten._to_copy.default, aten.copy_.default, aten.index.Tensor, aten.index_put.default, aten.index_put_.default}


class GpuTensor(Tensor):
    """A tensor that says it is on the GPU."""

    numbers: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, numbers: Tensor) -> "GpuTensor":
        layout = {"strides": numbers.stride(), "storage_offset": numbers.storage_offset(), "dtype": numbers.dtype}
        wrapper = Tensor._make_wrapper_subclass(cls, numbers.shape, **layout)
        wrapper.numbers = numbers
        return wrapper

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GPU

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True

    def tolist(self) -> Any:
        return self.numbers.tolist()

    def __repr__(self, **_: Any) -> str:
        return f"on a pretended GPU: {self.numbers!r}"

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = tree_leaves((args, kwargs))
        elsewhere = [x for x in given if isinstance(x, Tensor) and not isinstance(x, GpuTensor) and x.dim()]
        if elsewhere and operation not in MIXED:
            raise RuntimeError(f"{operation}: expected all tensors on one device, found cuda:0 and cpu")
        known = {id(x.numbers): x for x in given if isinstance(x, GpuTensor)}
        result = operation(*tree_map(_numbers, args), **tree_map(_numbers, kwargs or {}))
        if torch.Tag.inplace_view in operation.tags:  # the wrapper's own shape changes with it
            with no_dispatch():
                operation(*args, **kwargs or {})
        # What is changed in place stays the tensor it was.
        return tree_map(lambda x: known[id(x)] if id(x) in known else _moved(x), result)


def _numbers(x: Any) -> Any:
    return x.numbers if isinstance(x, GpuTensor) else x


def to_gpu(x: Any) -> Any:
    """A tensor, a module (changed in place) or a structure of tensors on the pretended GPU."""
    if isinstance(x, nn.Module):
        moved: dict[int, nn.Parameter] = {}  # parameters may be tied
        for module in x.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    new = nn.Parameter(GpuTensor(parameter.detach()), parameter.requires_grad)
                    module._parameters[name] = moved.setdefault(id(parameter), new)
            for name, buffer in module._buffers.items():
                module._buffers[name] = to_gpu(buffer)
        return x
    return tree_map(_moved, x)


def _moved(x: Any) -> Any:
    if not isinstance(x, Tensor) or isinstance(x, GpuTensor):
        return x
    return GpuTensor(x.detach()).requires_grad_(x.requires_grad)


def to_cpu(x: Tensor) -> Tensor:
    """The numbers of a tensor on the pretended GPU; ValueError for one elsewhere."""
    if not isinstance(x, GpuTensor):
        raise ValueError("expected a result on the GPU, found one on the CPU")
    return x.detach().numbers


class PretendedGpu(TorchFunctionMode):
    """Within it, tensors that are made on or sent to "cuda" are on the pretended GPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        named = any(map(_is_gpu, [*args, *kwargs.values()]))
        if named or (function is Tensor.new_tensor and isinstance(args[0], GpuTensor)):
            args, kwargs = tree_map(_on_cpu, (args, kwargs))
            return to_gpu(function(*args, **kwargs))
        attends = function is nn.functional.scaled_dot_product_attention and isinstance(args[0], GpuTensor)
        if attends and kwargs.pop("is_causal"):  # the library would make the mask where the numbers are
            shape = args[0].shape[-2], args[1].shape[-2]
            kwargs["attn_mask"] = to_gpu(torch.ones(shape, dtype=torch.bool).tril())
        return function(*args, **kwargs)


def _is_gpu(x: Any) -> bool:
    return isinstance(x, torch.device) and x.type == "cuda"


def _on_cpu(x: Any) -> Any:
    return torch.device("cpu") if _is_gpu(x) else x
