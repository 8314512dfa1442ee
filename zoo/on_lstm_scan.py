"""A layer of the ON-LSTM over a sequence, with a hand-written reverse.

What the inputs add to the sums is one product for all steps before the first. A step is then one matrix product and the
element-wise part; the gradient of each weight is one product over all steps.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.ops import mkldnn

from .on_lstm_cell import Levels
from .recurrent_cells_compiled import on_lstm_cell

PACKED_FROM = 2**18  # weights; smaller ones stay in the processor's cache anyway


class Weights(NamedTuple):
    """Of a layer: of the inputs [gates, E], of the hidden vectors [gates, d], and the bias [gates]."""

    inputs: Tensor
    hidden: Tensor
    bias: Tensor


class Product:
    """x @ weight.T for a weight [G, d] that many steps multiply by x [B, d].

    A large weight is packed once for oneDNN's linear operator where that is there (float32 on a CPU).
    """

    def __init__(self, weight: Tensor, batch: int) -> None:
        self._transposed = weight.t()
        self._packed: Any = None
        if weight.numel() >= PACKED_FROM and _has_packed_products(weight):
            self._packed = mkldnn._reorder_linear_weight(weight.contiguous(), batch)

    def add_to(self, sums: Tensor, x: Tensor) -> None:
        """Add the product to sums [B, G]."""
        if self._packed is None:
            sums.addmm_(x, self._transposed)
        else:
            sums.add_(mkldnn._linear_pointwise(x, self._packed, None, "none", [], ""))


def _has_packed_products(weight: Tensor) -> bool:
    plain = weight.device.type == "cpu" and weight.dtype == torch.float32
    return plain and torch.backends.mkldnn.is_available() and hasattr(mkldnn, "_reorder_linear_weight")


class Scan:
    """One run over n steps: inputs [n, B, E], hidden and cells [B, d] before the first step."""

    def __init__(self, inputs: Tensor, hidden: Tensor, cells: Tensor, weights: Weights, levels: Levels) -> None:
        self._inputs, self._weights, self._levels = inputs, weights, levels
        self._gates = torch.nn.functional.linear(inputs.contiguous(), weights.inputs, weights.bias)
        self.hidden = hidden.new_empty(len(inputs) + 1, *hidden.shape)
        self.hidden[0] = hidden
        self._cell = on_lstm_cell(cells, self._gates, self.hidden, levels)

    def forward(self) -> None:
        product = Product(self._weights.hidden, self.hidden.shape[1])
        for t, (before, sums) in enumerate(zip(self.hidden, self._gates, strict=False)):
            product.add_to(sums, before)
            self._cell.forward(t)

    def levels(self) -> Tensor:
        """d_i and d_f [n, B, 2] of each step."""
        return self._levels.means(self._gates[..., : 2 * self._levels.number].unflatten(2, (2, self._levels.number)))

    def states(self) -> tuple[Tensor, ...]:
        """Hidden vectors and cells [n+1, B, d] before and after each step."""
        return self.hidden, *self._cell.states()

    def backward(self, grad_hidden: Tensor, grad_levels: Tensor | None) -> tuple[Tensor, Weights]:
        """Of the hidden vectors [n+1, B, d] and the levels -> of the inputs and of the weights."""
        grad_gates = torch.empty_like(self._gates)
        self._cell.start_backward(grad_gates, grad_levels)
        product = Product(self._weights.hidden.t(), self.hidden.shape[1])
        # Of the hidden vectors, with what comes from later steps.
        grad = grad_hidden.clone(memory_format=torch.contiguous_format).unbind()
        for t, sums in reversed(list(enumerate(grad_gates))):
            self._cell.backward(t, grad[t + 1])
            product.add_to(grad[t], sums)
        flat = grad_gates.flatten(0, 1)
        factors = torch.cat([self._inputs, self.hidden[:-1]], 2).flatten(0, 1)
        of_inputs, of_hidden = (flat.t() @ factors).split([self._inputs.shape[2], self.hidden.shape[2]], 1)
        return grad_gates @ self._weights.inputs, Weights(of_inputs, of_hidden, flat.sum(0))


def scan(
    inputs: Tensor, hidden: Tensor, cells: Tensor, weights: Weights, levels: Levels
) -> tuple[Tensor, Tensor, Scan]:
    """Run it (arguments as for `Scan`) -> hidden vectors [n+1, B, d] before and after each step, the levels d_i and d_f
    [n, B, 2] of each step, and the run. Gradients reach inputs and weights."""
    constants = Weights(*(weight.detach() for weight in weights))
    run = Scan(inputs.detach(), hidden.detach(), cells.detach(), constants, levels)
    return *_Scan.apply(run, inputs, *weights), run


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: Scan, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        run.forward()
        ctx.run = run
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)  # asked for in the backward pass, so that changed weights are noticed
        return run.hidden.detach(), run.levels()  # not the run's own tensor, which would then hold the run

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_hidden: Tensor | None, grad_levels: Tensor | None) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors
        if grad_hidden is None:
            grad_hidden = torch.zeros_like(ctx.run.hidden)
        inputs, weights = ctx.run.backward(grad_hidden, None if grad_levels is None else grad_levels.contiguous())
        return None, inputs, *weights
