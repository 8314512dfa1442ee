"""The element-wise part of a step of the ON-LSTM (seed 001), and its reverse, in PyTorch.

The d = p*q units are p levels of q units, the authors' chunks. The sums' 2p + 4d numbers are, in the authors' order: p
logits of the master input gate, p of the master forget gate, and the gates o, candidate, i, f. A master gate is a
cumulative sum over levels of softmax probabilities (cumax), and so are its mean over levels and its gradients linear in
them. All that the reverse multiplies the gradients of a step by is computed for all steps at once before it begins.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.ops import aten


class Levels(NamedTuple):
    """p levels of q units; reverse: whether the master input gate is the reverse cumax (seed 001), else 1 - cumax."""

    number: int
    size: int
    reverse: bool

    @property
    def gates(self) -> int:
        """Numbers in a step's sums."""
        return self.number * (2 + 4 * self.size)

    def masters(self, like: Tensor) -> Tensor:
        """What takes the probabilities [B, p] of each master gate, input and forget, to its units: [2, p, p*q]."""
        ones = like.new_ones(self.number, self.number)
        both = torch.stack([ones.tril(0 if self.reverse else -1), ones.triu()])
        return both.repeat_interleave(self.size, 2)

    def means(self, probabilities: Tensor) -> Tensor:
        """Levels d_i and d_f [..., 2] of probabilities [..., 2, p]: the mean of the master input gate, and one minus
        that of the master forget gate."""
        mean = (probabilities * self.ramp(probabilities)).sum(-1)
        return mean + mean.new_tensor([1 / self.number, 0]) if self.reverse else mean

    def ramp(self, like: Tensor) -> Tensor:
        """Gradient [p] of both means by the probabilities, up to a constant, which a softmax does not feel."""
        return torch.arange(self.number, dtype=like.dtype, device=like.device) / self.number


class OnLstmCell:
    """A cell as in recurrent_cells.py, for cells [B, d] before the first step. Probabilities take the place of the
    master gates' logits."""

    def __init__(self, cells: Tensor, gates: Tensor, hidden: Tensor, levels: Levels) -> None:
        (steps, batch, _), size = gates.shape, cells.shape[1]
        self._gates, self._levels, self._to_units = gates, levels, levels.masters(gates)
        self.cells = cells.new_empty(steps + 1, batch, size)
        self.cells[0] = cells
        self._masters = cells.new_empty(steps, 2, batch, size)
        self._kept = cells.new_empty(steps, 2, batch, size)  # what candidate and old cells are multiplied by
        self._outputs = cells.new_empty(steps, batch, size)  # tanh of the cells
        logits, out_gate, candidate, in_forget = _blocks(gates, levels)
        arrays = (
            logits, out_gate, candidate, in_forget, self._masters, *self._masters.unbind(1), self._kept,
            *self._kept.unbind(1), self._outputs, self.cells[:-1], self.cells[1:], hidden[1:]
        )  # fmt: skip
        self._views = list(zip(*(array.unbind() for array in arrays), strict=True))

    def forward(self, t: int) -> None:
        (
            logits, out_gate, candidate, in_forget, masters, master_input, master_forget, kept, kept_candidate,
            kept_cells, output, before, after, hidden
        ) = self._views[t]  # fmt: skip
        logits.copy_(aten._softmax(logits, 2, False))
        torch.bmm(logits, self._to_units, out=masters)
        out_gate.sigmoid_()
        candidate.tanh_()
        in_forget.sigmoid_()
        both = master_input * master_forget
        torch.addcmul(masters - both, both, in_forget, out=kept)
        torch.mul(kept_cells, before, out=after)
        after.addcmul_(kept_candidate, candidate)
        torch.tanh(after, out=output)
        torch.mul(out_gate, output, out=hidden)

    def start_backward(self, grad_gates: Tensor, grad_levels: Tensor | None) -> None:
        """Get ready to write the sums' gradient [n, B, 2p+4d]; grad_levels [n, B, 2]: of the levels' means, or None."""
        # Everything n x 2 x B x .. or n x B x d, as in `_blocks`.
        probabilities, out_gate, candidate, in_forget = _blocks(self._gates, self._levels)
        written = torch.stack([candidate, self.cells[:-1]], 1)  # what the master gates let in
        closed = ((1 - in_forget) * written).sum(1, keepdim=True)
        of_masters = written - self._masters.flip(1) * closed
        of_in_forget = self._masters.prod(1, keepdim=True) * written * in_forget * (1 - in_forget)
        of_candidate = self._kept[:, 0] * (1 - candidate.square())
        of_cells = out_gate * (1 - self._outputs.square())
        of_out = self._outputs * out_gate * (1 - out_gate)
        grads = _blocks(grad_gates, self._levels)
        given = self._means_grad(grad_levels, probabilities)
        arrays = (of_cells, of_out, torch.cat([of_candidate[:, None], of_in_forget], 1), of_masters, self._kept[:, 1])
        views = (*arrays, probabilities, given, grads[0], grads[1], _last(grad_gates, 3, self.cells.shape[2]))
        self._backward_views = list(zip(*(array.unbind() for array in views), strict=True))
        self._to_levels = self._to_units.transpose(1, 2)
        self._grad = torch.zeros_like(self.cells[0])  # of the cells after the step

    def backward(self, t: int, grad: Tensor) -> None:
        (
            of_cells, of_out, of_gates, of_masters, kept, probabilities, given, grad_logits, grad_out, grad_gates
        ) = self._backward_views[t]  # fmt: skip
        cells = torch.addcmul(self._grad, grad, of_cells)
        torch.mul(grad, of_out, out=grad_out)
        torch.mul(cells, of_gates, out=grad_gates)
        of_levels = torch.baddbmm(given, cells * of_masters, self._to_levels)
        grad_logits.copy_(aten._softmax_backward_data(of_levels, probabilities, 2, cells.dtype))
        self._grad = cells.mul_(kept)

    def states(self) -> tuple[Tensor, ...]:
        """The cells [n+1, B, d] before and after each step."""
        return (self.cells,)

    def _means_grad(self, grad_levels: Tensor | None, probabilities: Tensor) -> Tensor:
        # n x B x 2 -> n x 2 x B x p
        if grad_levels is None:
            return probabilities.new_zeros(()).expand_as(probabilities)
        return grad_levels.transpose(1, 2)[..., None] * self._levels.ramp(probabilities)


def _blocks(gates: Tensor, levels: Levels) -> tuple[Tensor, ...]:
    """Views of gates [n, B, 2p+4d]: master logits [n, 2, B, p], o and candidate [n, B, d], i and f [n, 2, B, d]."""
    size = levels.number * levels.size
    logits = gates[..., : 2 * levels.number].unflatten(2, (2, levels.number)).transpose(1, 2)
    last = _last(gates, 4, size)
    return logits, last[:, 0], last[:, 1], last[:, 2:]


def _last(gates: Tensor, count: int, size: int) -> Tensor:
    # n x B x .. + count*d -> n x count x B x d
    return gates[..., -count * size :].unflatten(2, (count, size)).transpose(1, 2)
