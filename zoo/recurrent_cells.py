"""The element-wise part of a step of the simple RNN and the LSTM (seed 000, equations 7a and 8a), and its reverse.

A cell is made for one run over n steps, with gates [n, B, gates] and hidden [n+1, B, d]. `forward(t)`, for t = 0, 1,
..., puts the gates' activations in the place of the sums gates[t] and the hidden vectors after the step into
hidden[t+1]. After `start_backward(grad_gates)`, `backward(t, grad)`, for t = n-1, ..., 0, writes the gradient of these
sums; grad [B, d] is that of the hidden vectors. `states()` are the other parts of a state, before and after each step.
"""

import torch
from torch import Tensor
from torch.ops import aten


class RnnCell:
    """h = tanh(sums)."""

    def __init__(self, gates: Tensor, hidden: Tensor) -> None:
        self._gates, self._hidden = gates.unbind(), hidden.unbind()

    def forward(self, t: int) -> None:
        self._hidden[t + 1].copy_(self._gates[t].tanh_())

    def start_backward(self, grad_gates: Tensor) -> None:
        self._grads = grad_gates.unbind()

    def backward(self, t: int, grad: Tensor) -> None:
        aten.tanh_backward.grad_input(grad, self._gates[t], grad_input=self._grads[t])

    def states(self) -> tuple[Tensor, ...]:
        return ()


class LstmCell:
    """c = f * c + i * g, h = o * tanh(c), with sums in the order i, f, g, o. cells [B, d]: those before the first."""

    def __init__(self, cells: Tensor, gates: Tensor, hidden: Tensor) -> None:
        steps, size = len(gates), cells.shape[1]
        self.cells = cells.new_empty(steps + 1, *cells.shape)
        self.cells[0] = cells
        self._outputs = cells.new_empty(steps, *cells.shape)  # tanh(c)
        arrays = (
            gates[..., : 2 * size], *gates.split(size, 2), self.cells[:-1], self.cells[1:], self._outputs, hidden[1:]
        )  # fmt: skip
        self._views = list(zip(*(array.unbind() for array in arrays), strict=True))

    def forward(self, t: int) -> None:
        in_forget, in_gate, forget, candidate, out_gate, before, after, output, hidden = self._views[t]
        in_forget.sigmoid_()
        candidate.tanh_()
        out_gate.sigmoid_()
        torch.mul(forget, before, out=after)
        after.addcmul_(in_gate, candidate)
        torch.tanh(after, out=output)
        torch.mul(out_gate, output, out=hidden)

    def start_backward(self, grad_gates: Tensor) -> None:
        self._grad_views = list(zip(*(part.unbind() for part in grad_gates.split(self.cells.shape[2], 2)), strict=True))
        self._grad = torch.zeros_like(self.cells[0])  # of the cells after the step

    def backward(self, t: int, grad: Tensor) -> None:
        _, in_gate, forget, candidate, out_gate, before, _, output, _ = self._views[t]
        grad_in, grad_forget, grad_candidate, grad_out = self._grad_views[t]
        grad_cells = aten.tanh_backward(grad * out_gate, output).add_(self._grad)
        aten.sigmoid_backward.grad_input(grad_cells * candidate, in_gate, grad_input=grad_in)
        aten.sigmoid_backward.grad_input(grad_cells * before, forget, grad_input=grad_forget)
        aten.tanh_backward.grad_input(grad_cells * in_gate, candidate, grad_input=grad_candidate)
        aten.sigmoid_backward.grad_input(grad * output, out_gate, grad_input=grad_out)
        self._grad = grad_cells.mul_(forget)

    def states(self) -> tuple[Tensor, ...]:
        """The cells [n+1, B, d] before and after each step."""
        return (self.cells,)
