"""A layer of the ON-LSTM over a sequence, with a hand-written reverse.

What the inputs add to the sums is known for all steps before the first. A step is then one matrix product and the
element-wise part; the gradient of the recurrent weights is one product over all steps.
"""

from typing import Any

import torch
from torch import Tensor
from torch.ops import mkldnn

from .on_lstm_cell import Levels
from .recurrent_cells_compiled import on_lstm_cell

PACKED_FROM = 2**18  # weights; smaller ones stay in the processor's cache anyway


class Product:
    """base + x @ weight.T for a weight [G, d] that many steps multiply by x [B, d].

    A large weight is packed once for oneDNN's linear operator where that is there (float32 on a CPU).
    """

    def __init__(self, weight: Tensor, batch: int) -> None:
        self._transposed = weight.t()
        self._packed: Any = None
        if weight.numel() >= PACKED_FROM and _has_packed_products(weight):
            self._packed = mkldnn._reorder_linear_weight(weight.to_mkldnn(), batch)

    def add(self, base: Tensor, x: Tensor, out: Tensor) -> None:
        if self._packed is None:
            torch.addmm(base, x, self._transposed, out=out)
        else:
            torch.add(base, mkldnn._linear_pointwise(x, self._packed, None, "none", [], ""), out=out)


def _has_packed_products(weight: Tensor) -> bool:
    plain = weight.device.type == "cpu" and weight.dtype == torch.float32
    return plain and torch.backends.mkldnn.is_available() and hasattr(mkldnn, "_reorder_linear_weight")


class Scan:
    """One run over n steps: projected [n, B, gates], what the inputs add to the sums; hidden and cells [B, d] before
    the first step; recurrent weight [gates, d]."""

    def __init__(self, projected: Tensor, hidden: Tensor, cells: Tensor, weight: Tensor, levels: Levels) -> None:
        steps, batch, _ = projected.shape
        self._steps, self._batch, self._weight, self._levels = steps, batch, weight, levels
        self._projected, self._gates = projected, torch.empty_like(projected)
        self.hidden = hidden.new_empty(steps + 1, *hidden.shape)
        self.hidden[0] = hidden
        self._cell = on_lstm_cell(cells, self._gates, self.hidden, levels)

    def forward(self) -> None:
        product = Product(self._weight, self._batch)
        for t, (base, before, sums) in enumerate(zip(self._projected, self.hidden, self._gates)):
            product.add(base, before, sums)
            self._cell.forward(t)

    def levels(self) -> Tensor:
        """d_i and d_f [n, B, 2] of each step."""
        probabilities = self._gates[..., : 2 * self._levels.count].unflatten(2, (2, self._levels.count))
        return self._levels.means(probabilities)

    def states(self) -> tuple[Tensor, Tensor]:
        """Hidden vectors and cells [n+1, B, d] before and after each step."""
        return self.hidden, self._cell.cells

    def backward(self, grad_hidden: Tensor, grad_levels: Tensor | None) -> tuple[Tensor, Tensor]:
        """Of the hidden vectors [n+1, B, d] and the levels -> of `projected` and of the recurrent weight."""
        grad_gates = torch.empty_like(self._gates)
        self._cell.start_backward(grad_gates, grad_levels)
        product = Product(self._weight.t(), self._batch)
        grad = grad_hidden.clone(memory_format=torch.contiguous_format)  # of the hidden vectors, with what comes from later steps
        each, sums = grad.unbind(), grad_gates.unbind()
        for t in reversed(range(self._steps)):
            self._cell.backward(t, each[t + 1])
            if t:
                product.add(each[t], sums[t], each[t])
        return grad_gates, grad_gates.flatten(0, 1).t() @ self.hidden[:-1].flatten(0, 1)


def scan(
    projected: Tensor, hidden: Tensor, cells: Tensor, weight: Tensor, levels: Levels
) -> tuple[Tensor, Tensor, Scan]:
    """Run it (arguments as for `Scan`) -> hidden vectors [n+1, B, d] before and after each step, the levels d_i and d_f
    [n, B, 2] of each step, and the run. Gradients reach projected and the recurrent weight."""
    run = Scan(projected.detach(), hidden.detach(), cells.detach(), weight.detach(), levels)
    after, means = _Scan.apply(run, projected, weight)
    return after, means, run


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: Scan, projected: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        run.forward()
        ctx.run = run
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(weight)  # asked for in the backward pass, so that a changed weight is noticed
        return run.hidden.detach(), run.levels()  # not the run's own tensor, which would then hold the run

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_hidden: Tensor | None, grad_levels: Tensor | None) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors
        if grad_hidden is None:
            grad_hidden = torch.zeros_like(ctx.run.hidden)
        return None, *ctx.run.backward(grad_hidden, None if grad_levels is None else grad_levels.contiguous())
