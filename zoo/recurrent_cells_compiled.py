"""The cells of the LSTM and the ON-LSTM on a CPU by the compiled kernels of `recurrent_cells.c`."""

import ctypes

import torch
from torch import Tensor

from .native import load, pointer
from .on_lstm_cell import Levels, OnLstmCell

SOURCE = "recurrent_cells.c"


class CompiledOnLstmCell:
    """As `OnLstmCell`; hidden [n+1, B, d] may be part of longer rows."""

    def __init__(
        self, cells: Tensor, gates: Tensor, hidden: Tensor, levels: Levels, library: ctypes.CDLL
    ) -> None:
        (steps, batch, _), size = gates.shape, cells.shape[1]
        self._arrays, self._library = (gates, hidden), library
        self.cells = cells.new_empty(steps + 1, batch, size)
        self.cells[0] = cells
        self._sizes = batch, *levels
        stride = ctypes.c_int64(hidden.stride(1))
        self._forward = (*self._sizes, *map(pointer, (gates, self.cells, hidden)), stride)

    def forward(self, t: int) -> None:
        self._library.on_lstm_forward(t, *self._forward, torch.get_num_threads())

    def start_backward(self, grad_gates: Tensor, grad_levels: Tensor | None) -> None:
        grad_cells = torch.zeros_like(self.cells[0])
        self._kept = grad_cells, grad_gates, grad_levels
        arrays = (self._arrays[0], self.cells, grad_cells, grad_gates)
        given = None if grad_levels is None else pointer(grad_levels)
        self._backward = (*self._sizes, *map(pointer, arrays), given)

    def backward(self, t: int, grad: Tensor) -> None:
        stride = ctypes.c_int64(grad.stride(0))
        self._library.on_lstm_backward(t, *self._backward, pointer(grad), stride, torch.get_num_threads())


def on_lstm_cell(cells: Tensor, gates: Tensor, hidden: Tensor, levels: Levels) -> OnLstmCell | CompiledOnLstmCell:
    """The compiled cell where it can be had and used, else the one in PyTorch."""
    library = load(SOURCE, gates)
    if library is None:
        return OnLstmCell(cells, gates, hidden, levels)
    return CompiledOnLstmCell(cells, gates, hidden, levels, library)
