"""Rows of the ON-LSTM, beside the library's LSTM."""

import argparse
import statistics

import torch
from torch import Tensor, nn

from tasks.benchmarking.common import Row, backwards, in_form, take_turns
from zoo.on_lstm_layers import OnLstm, OnLstmLayer

LAYERS = 3


def on_lstm_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    """Three layers, forward and backward, beside `nn.LSTM` of the same sizes: small ones, and those of the authors."""
    small = sizes_rows(row, 25, 40, 90, 5, 4 * arguments.rounds, (("compiled", "<= 1.15"), ("PyTorch", "<= 3")))
    large = sizes_rows(row, 70, 20, 1150, 10, arguments.rounds, (("compiled", "<= 1.15"), ("PyTorch", "<= 1.15")))
    return small + large


def sizes_rows(
    row: str, steps: int, batch: int, size: int, chunk_size: int, rounds: int, aims: tuple[tuple[str, str], ...]
) -> list[Row]:
    torch.manual_seed(0)
    inputs, grad = torch.randn(steps, batch, size, requires_grad=True), torch.randn(steps, batch, size)
    lstm, on_lstm = nn.LSTM(size, size, LAYERS), OnLstm([size] * (LAYERS + 1), chunk_size, reverse=False)
    for layer in on_lstm.modules():
        if isinstance(layer, OnLstmLayer):
            layer.initialize_as_linear()

    def run_lstm() -> Tensor:
        return lstm(inputs)[0]

    def run_on_lstm() -> Tensor:
        return on_lstm(inputs).hidden[1:]

    base = backwards(run_lstm, [inputs, *lstm.parameters()], grad)
    run = backwards(run_on_lstm, [inputs, *on_lstm.parameters()], grad)
    gflop = 3 * 2 * steps * batch * sum(weight.numel() for weight in on_lstm.parameters() if weight.dim() == 2) / 1e9
    rows = []
    for name, aim in aims:
        # In pairs, as the operators.
        seconds = take_turns({"nn.LSTM": base, name: in_form(run, name == "compiled")}, rounds)
        ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds["nn.LSTM"], strict=True))
        what = f"ON-LSTM T={steps} B={batch} H={size}, {name}"
        rows.append(Row(row, what, statistics.median(seconds[name]), "nn.LSTM", ratio, aim, gflop=gflop))
    return rows
