"""The element-wise part of a step of the simple RNN and the LSTM (seed 000, equations 7a and 8a), and its reverse.

A cell keeps what a run of n steps needs to be read backwards. `forward(t, sums, hidden)` is called for t = 0, 1, ...,
and puts the gates' activations in the place of the sums [B, gates]. `backward(t, gates, grad, grad_sums)` is called for
t = n-1, ..., 0 with these activations and the gradient of the hidden vectors, and writes the gradient of the sums.
"""

from torch import Tensor
from torch.ops import aten


class RnnCell:
    """h = tanh(sums)."""

    parts = 1  # a state is the hidden vectors

    def __init__(self, state: tuple[Tensor, ...], steps: int) -> None:
        pass

    def forward(self, t: int, sums: Tensor, hidden: Tensor) -> None:
        # sums : B x d -> hidden : B x d
        hidden.copy_(sums.tanh_())

    def backward(self, t: int, gates: Tensor, grad: Tensor, grad_sums: Tensor) -> None:
        # all : B x d
        aten.tanh_backward.grad_input(grad, gates, grad_input=grad_sums)

    def states(self) -> tuple[Tensor, ...]:
        return ()


class LstmCell:
    """c = f * c + i * g, h = o * tanh(c), with the sums in the order i, f, g, o."""

    parts = 2  # a state is the hidden vectors and the cells

    def __init__(self, state: tuple[Tensor, ...], steps: int) -> None:
        # state: the cells B x d
        (cells,) = state
        self._cells = cells.new_empty(steps + 1, *cells.shape)
        self._cells[0] = cells
        self._outputs = cells.new_empty(steps, *cells.shape)  # tanh(c)
        self._grad = cells  # gradient of the cells before the step last read backwards

    def forward(self, t: int, sums: Tensor, hidden: Tensor) -> None:
        # sums : B x 4d -> hidden : B x d
        size = hidden.shape[1]
        sums[:, : 2 * size].sigmoid_()
        in_gate, forget, candidate, out_gate = sums.split(size, 1)
        candidate.tanh_()
        out_gate.sigmoid_()
        cells, output = self._cells[t + 1], self._outputs[t]
        aten.mul.out(forget, self._cells[t], out=cells)
        cells.addcmul_(in_gate, candidate)
        aten.tanh.out(cells, out=output)
        aten.mul.out(out_gate, output, out=hidden)

    def backward(self, t: int, gates: Tensor, grad: Tensor, grad_sums: Tensor) -> None:
        # gates, grad_sums : B x 4d, grad : B x d
        size, output = grad.shape[1], self._outputs[t]
        in_gate, forget, candidate, out_gate = gates.split(size, 1)
        grad_in, grad_forget, grad_candidate, grad_out = grad_sums.split(size, 1)
        grad_cells = aten.tanh_backward(grad * out_gate, output)
        if t + 1 < len(self._outputs):
            grad_cells += self._grad
        aten.sigmoid_backward.grad_input(grad_cells * candidate, in_gate, grad_input=grad_in)
        aten.sigmoid_backward.grad_input(grad_cells * self._cells[t], forget, grad_input=grad_forget)
        aten.tanh_backward.grad_input(grad_cells * in_gate, candidate, grad_input=grad_candidate)
        aten.sigmoid_backward.grad_input(grad * output, out_gate, grad_input=grad_out)
        self._grad = grad_cells.mul_(forget)

    def states(self) -> tuple[Tensor, ...]:
        """The cells [n+1, B, d] before and after each step."""
        return (self._cells,)
