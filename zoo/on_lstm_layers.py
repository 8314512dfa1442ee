"""The layers of an ON-LSTM (seed 001), one after the other over the whole sequence."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import initialization as init

from .dropout import dropout
from .on_lstm_cell import Levels
from .on_lstm_scan import Scan, Weights, scan


class LockedDropout(nn.Module):
    """Variational dropout: each row of the batch has one mask for all of its steps."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        # n x B x E -> n x B x E
        if not self.training or not self.rate:
            return x
        return x * dropout(x.new_ones(x.shape[1:]), self.rate, True)


class OnLstmLayer(nn.Module):
    """One layer: `inputs` numbers come in at each step.

    weight_dropout: DropConnect, one mask on the recurrent weights for each call; the kept ones are scaled up, where the
    authors scale all weights down in evaluation.
    """

    def __init__(self, inputs: int, levels: Levels, weight_dropout: float) -> None:
        super().__init__()
        size = levels.number * levels.size
        self.levels, self.weight_dropout = levels, weight_dropout
        self.input_weight = nn.Parameter(torch.empty(levels.gates, inputs))
        self.hidden_weight = nn.Parameter(torch.empty(levels.gates, size))
        self.bias = nn.Parameter(torch.empty(levels.gates))

    def initialize_as_linear(self) -> None:
        """As two linear layers begin, one for the inputs and one, which has the bias, for the hidden vectors."""
        pairs = (self.input_weight,) * 2, (self.hidden_weight,) * 2, (self.bias, self.hidden_weight)
        for parameter, weight in pairs:
            bound = weight.shape[1] ** -0.5
            init.uniform_(parameter, -bound, bound)

    def forward(self, inputs: Tensor, hidden: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Scan]:
        """inputs [n, B, E], state [B, d] before the first step -> as `scan`."""
        kept = dropout(self.hidden_weight, self.weight_dropout, self.training)
        return scan(inputs, hidden, cells, Weights(self.input_weight, kept, self.bias), self.levels)


class OnLstmOutputs(NamedTuple):
    """hidden [n+1, B, d] of the last layer before and after each step; levels [n, B, 2]: d_i and d_f of each layer."""

    hidden: Tensor
    levels: list[Tensor]
    runs: list[Scan]


class OnLstm(nn.Module):
    """Layers of the given sizes: sizes[0] numbers come in, layer l has sizes[l] units; locked dropout between them."""

    def __init__(
        self, sizes: list[int], chunk_size: int, reverse: bool, dropout: float = 0.0, weight_dropout: float = 0.0
    ) -> None:
        super().__init__()
        levels = [Levels(size // chunk_size, chunk_size, reverse) for size in sizes[1:]]
        pairs = zip(sizes[:-1], levels, strict=True)
        self.layers = nn.ModuleList(OnLstmLayer(inputs, own, weight_dropout) for inputs, own in pairs)
        self.dropout = LockedDropout(dropout)
        self._sizes = sizes[1:]

    def initial_state(self, like: Tensor) -> tuple[Tensor, ...]:
        """Zeros for inputs [n, B, E]: hidden vectors and cells [B, d] of the first layer, of the second, ..."""
        return tuple(like.new_zeros(like.shape[1], size) for size in self._sizes for _ in range(2))

    def forward(self, inputs: Tensor, state: tuple[Tensor, ...] | None = None) -> OnLstmOutputs:
        """All steps: inputs [n, B, E], state before the first (None: zeros). Gradients do not reach the state."""
        # Autocast: the recurrence stays in the parameters' precision.
        with torch.autocast(inputs.device.type, enabled=False):
            hidden = inputs = inputs.to(next(self.parameters()).dtype)
            state = self.initial_state(inputs) if state is None else state
            levels, runs = [], []
            for number, layer in enumerate(self.layers):
                below = self.dropout(hidden[1:]) if number else inputs
                hidden, of_layer, run = layer(below, *state[2 * number : 2 * number + 2])
                levels.append(of_layer)
                runs.append(run)
        return OnLstmOutputs(hidden, levels, runs)
