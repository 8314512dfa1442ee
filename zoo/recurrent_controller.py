"""The simple RNN and the LSTM of seed 000 (equations 7 and 8)."""

import torch
from torch import Tensor, nn

from .dropout import dropout
from .recurrence import Recurrence, Weights, recur
from .recurrent_stacks import StackRun


class Controller(nn.Module):
    """L layers of a simple RNN or an LSTM (gates in the order i, f, g, o) with learned initial hidden states.

    A state is (hidden [B, L, d],) for the RNN and (hidden, cells), both [B, L, d], for the LSTM.
    """

    def __init__(self, kind: str, inputs: int, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        gates = 4 * size if kind == "lstm" else size
        widths = [inputs] + [size] * (layers - 1)
        self.is_lstm, self.dropout = kind == "lstm", dropout
        self.input_weights = nn.ParameterList(torch.empty(gates, width) for width in widths)
        self.hidden_weights = nn.ParameterList(torch.empty(gates, size) for _ in widths)
        self.biases = nn.ParameterList(torch.empty(gates) for _ in widths)
        self.initial_hidden = nn.Parameter(torch.empty(layers, size))  # w_0, before the tanh

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        """Equations 7c, 8c and 8d."""
        hidden = self.initial_hidden.tanh().expand(batch, -1, -1)
        return (hidden, torch.zeros_like(hidden)) if self.is_lstm else (hidden,)

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, ...], stack: StackRun | None, active: Tensor | None, keep_state: bool
    ) -> tuple[Tensor, Tensor | None, Recurrence | None]:
        """All steps, by the library's kernels where they can do it.

        inputs [n, B, E], state before the first step, active [n, B]: rows whose stack takes part in a step (None: all),
        keep_state: whether the run will be asked for a state
        -> last layer's hidden states [n+1, B, d] before and after each step, the stack's readings [n+1, B, r], the run
        """
        # Autocast: the recurrence stays in the parameters' precision, which the library's CPU kernel needs as well.
        with torch.autocast(inputs.device.type, enabled=False):
            inputs = inputs.to(self.initial_hidden.dtype)
            if stack is None and not keep_state:
                return self._library(inputs, state), None, None
            projected = nn.functional.linear(inputs, self.input_weights[0][:, : inputs.shape[-1]], self.biases[0])
            return recur(projected, state, self._joint(inputs.shape[-1], stack), self._masks(projected), stack, active)

    def _library(self, inputs: Tensor, state: tuple[Tensor, ...]) -> Tensor:
        # n x B x E -> n+1 x B x d
        none = torch.zeros_like(self.biases[0])  # the library has two biases per layer, the paper one
        layers = zip(self.input_weights, self.hidden_weights, self.biases, strict=True)
        weights = [tensor for w_in, w_hidden, bias in layers for tensor in (w_in, w_hidden, bias, none)]
        first = state[0][None, :, -1]
        if not len(inputs):
            return first
        state = tuple(part.transpose(0, 1).contiguous() for part in state)
        settings = (weights, True, len(self.biases), self.dropout, self.training, False, False)
        if self.is_lstm:
            hidden = torch.lstm(inputs, state, *settings)[0]
        else:
            hidden = torch.rnn_tanh(inputs, state[0], *settings)[0]
        return torch.cat([first, hidden])

    def _joint(self, inputs: int, stack: StackRun | None) -> Weights:
        """The weights of each step's products. inputs: columns of the first layer that `projected` has dealt with."""
        below = [weight[:, inputs if not layer else 0 :] for layer, weight in enumerate(self.input_weights)]
        layers = [torch.cat(pair, 1) for pair in zip(below, self.hidden_weights, strict=True)]
        if stack is None:
            none = self.initial_hidden.new_empty(0, self.initial_hidden.shape[1])
            return Weights(layers, list(self.biases)[1:], none, none[:, 0])
        return Weights(layers, list(self.biases)[1:], *stack.weights)

    def _masks(self, projected: Tensor) -> Tensor | None:
        """Dropout of what one layer passes to the next [L-1, n, B, d]."""
        if not self.training or not self.dropout or len(self.biases) == 1:
            return None
        shape = len(self.biases) - 1, *projected.shape[:2], self.initial_hidden.shape[1]
        return dropout(projected.new_ones(shape), self.dropout, True)
