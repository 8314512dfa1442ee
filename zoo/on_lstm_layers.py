"""The layers of an ON-LSTM (seed 001), one after the other over the whole sequence."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from .dropout import dropout
from .on_lstm_cell import Levels
from .on_lstm_scan import Scan, scan


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


class LayersOutput(NamedTuple):
    """hidden [n+1, B, d] of the last layer before and after each step; levels [n, B, 2]: d_i and d_f of each layer."""

    hidden: Tensor
    levels: list[Tensor]
    runs: list[Scan]


class OnLstmLayers(nn.Module):
    """ON-LSTM layers of the given sizes: sizes[0] numbers come in, layer l has sizes[l] units.

    dropout: locked, between layers. weight_dropout: DropConnect, one mask on the recurrent weights for each call; the
    kept ones are scaled up, where the authors scale all weights down in evaluation.
    """

    def __init__(
        self, sizes: list[int], chunk_size: int, reverse: bool, dropout: float = 0.0, weight_dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.levels = [Levels(size // chunk_size, chunk_size, reverse) for size in sizes[1:]]
        pairs = list(zip(self.levels, sizes, sizes[1:], strict=False))
        self.input_weights = nn.ParameterList(torch.empty(levels.gates, below) for levels, below, _ in pairs)
        self.hidden_weights = nn.ParameterList(torch.empty(levels.gates, size) for levels, _, size in pairs)
        self.biases = nn.ParameterList(torch.empty(levels.gates) for levels in self.levels)
        self.dropout, self.weight_dropout = LockedDropout(dropout), weight_dropout

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        """Zeros: hidden vectors and cells [B, d] of the first layer, of the second, ..."""
        return tuple(weight.new_zeros(batch, weight.shape[1]) for weight in self.hidden_weights for _ in range(2))

    def forward(self, inputs: Tensor, state: tuple[Tensor, ...]) -> LayersOutput:
        """All steps: inputs [n, B, E], state before the first. Gradients do not reach the state."""
        # Autocast: the recurrence stays in the parameters' precision.
        with torch.autocast(inputs.device.type, enabled=False):
            hidden = inputs.to(self.biases[0].dtype)
            levels, runs = [], []
            layers = zip(self.input_weights, self.hidden_weights, self.biases, self.levels, strict=True)
            for number, (w_in, w_hidden, bias, sizes) in enumerate(layers):
                below = self.dropout(hidden[1:]) if number else hidden
                weight = dropout(w_hidden, self.weight_dropout, self.training)
                projected = nn.functional.linear(below, w_in, bias)
                hidden, means, run = scan(projected, *state[2 * number : 2 * number + 2], weight, sizes)
                levels.append(means)
                runs.append(run)
        return LayersOutput(hidden, levels, runs)
