"""The simple RNN and the LSTM of seed 000 (equations 7 and 8), as whole sequences and step by step."""

import contextlib

import torch
from torch import Tensor, nn


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

    def sequence(self, inputs: Tensor, state: tuple[Tensor, ...]) -> Tensor:
        """Inputs [B, T, E] -> last layer's hidden states [B, T, d], by the library's kernels."""
        # The library has two biases per layer; the paper has one.
        none = torch.zeros_like(self.biases[0])
        layers = zip(self.input_weights, self.hidden_weights, self.biases, strict=True)
        weights = [tensor for w_in, w_hidden, bias in layers for tensor in (w_in, w_hidden, bias, none)]
        layer_first = [part.transpose(0, 1).contiguous() for part in state]
        settings = (weights, True, len(self.biases), self.dropout, self.training, False, True)
        # The library's CPU kernel cannot be trained in half precision.
        with torch.autocast("cpu", enabled=False) if inputs.device.type == "cpu" else contextlib.nullcontext():
            inputs = inputs.to(none.dtype)
            if self.is_lstm:
                return torch.lstm(inputs, layer_first, *settings)[0]
            return torch.rnn_tanh(inputs, layer_first[0], *settings)[0]

    def project(self, inputs: Tensor) -> Tensor:
        """What inputs [B, T, E'] (the first E' columns of its input) add to the first layer's sums: [B, T, gates]."""
        return nn.functional.linear(inputs, self.input_weights[0][:, : inputs.shape[-1]], self.biases[0])

    def step(self, projected: Tensor, extra: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """One step of all layers.

        projected [B, gates] from `project`, extra [B, R] the rest of the first layer's input -> next state
        """
        hidden = state[0].unbind(1)
        cells = state[1].unbind(1) if self.is_lstm else ()
        new_hidden: list[Tensor] = []
        new_cells: list[Tensor] = []
        rest = self.input_weights[0][:, -extra.shape[-1] :] if extra.shape[-1] else None
        for number, before in enumerate(hidden):
            if number:
                below = nn.functional.dropout(new_hidden[-1], self.dropout, self.training)
                sums = torch.addmm(self.biases[number], below, self.input_weights[number].t())
            else:
                sums = projected if rest is None else torch.addmm(projected, extra, rest.t())
            sums = torch.addmm(sums, before, self.hidden_weights[number].t())
            if self.is_lstm:
                in_gate, forget, candidate, out_gate = sums.chunk(4, 1)
                candidate, in_gate, forget, out_gate = (
                    candidate.tanh(),
                    in_gate.sigmoid(),
                    forget.sigmoid(),
                    out_gate.sigmoid(),
                )
                new_cells.append(forget * cells[number] + in_gate * candidate)
                new_hidden.append(out_gate * new_cells[-1].tanh())
            else:
                new_hidden.append(sums.tanh())
        stacked = (torch.stack(new_hidden, 1),)
        return (*stacked, torch.stack(new_cells, 1)) if self.is_lstm else stacked
