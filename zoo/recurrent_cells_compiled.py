"""The cells of the LSTM and the ON-LSTM on a CPU by the compiled kernels of `recurrent_cells.c`."""

import ctypes
from typing import Any

import torch
from torch import Tensor

from .native import load, pointer
from .on_lstm_cell import Levels, OnLstmCell
from .recurrent_cells import LstmCell

SOURCE = "recurrent_cells.c"


class CompiledCell:
    """As `LstmCell` and `OnLstmCell`; forward and backward: the kernel's functions; sizes: what they are told of the
    shape after the size of the batch. hidden [n+1, B, d] may be part of longer rows."""

    def __init__(
        self, cells: Tensor, gates: Tensor, hidden: Tensor, forward: Any, backward: Any, sizes: tuple[int, ...]
    ) -> None:
        (steps, batch, _), size = gates.shape, cells.shape[1]
        self.cells = cells.new_empty(steps + 1, batch, size)
        self.cells[0] = cells
        self._arrays = [gates, self.cells]
        self._sizes = batch, *sizes
        self._kept = [hidden]  # arrays that the kernel is given the address of
        self._run_forward, self._run_backward = forward, backward
        self._forward = (*self._sizes, *map(pointer, self._arrays), pointer(hidden), ctypes.c_int64(hidden.stride(1)))

    def forward(self, t: int) -> None:
        self._run_forward(t, *self._forward, torch.get_num_threads())

    def start_backward(self, grad_gates: Tensor, *grads: Tensor | None) -> None:
        arrays = [*self._arrays, torch.zeros_like(self.cells[0]), grad_gates, *grads]
        self._backward_arrays = arrays
        self._backward = (*self._sizes, *(None if array is None else pointer(array) for array in arrays))

    def backward(self, t: int, grad: Tensor) -> None:
        grad = grad if grad.stride(1) == 1 else grad.contiguous()
        stride = ctypes.c_int64(grad.stride(0))
        self._run_backward(t, *self._backward, pointer(grad), stride, torch.get_num_threads())

    def states(self) -> tuple[Tensor, ...]:
        return (self.cells,)


def lstm_cell(cells: Tensor, gates: Tensor, hidden: Tensor) -> LstmCell | CompiledCell:
    """The compiled cell where it can be had and used, else the one in PyTorch."""
    library = load(SOURCE, gates)
    if library is None:
        return LstmCell(cells, gates, hidden)
    return CompiledCell(cells, gates, hidden, library.lstm_forward, library.lstm_backward, (cells.shape[1],))


def on_lstm_cell(cells: Tensor, gates: Tensor, hidden: Tensor, levels: Levels) -> OnLstmCell | CompiledCell:
    """The compiled cell where it can be had and used, else the one in PyTorch."""
    library = load(SOURCE, gates)
    if library is None:
        return OnLstmCell(cells, gates, hidden, levels)
    return CompiledCell(cells, gates, hidden, library.on_lstm_forward, library.on_lstm_backward, levels)
