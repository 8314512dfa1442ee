"""Dropout whose random numbers cost a quarter on a CPU."""

import torch
from torch import Tensor, nn

STEPS = 2**16


class Dropout(nn.Module):
    """As `nn.Dropout`; on a CPU each 64-bit random number decides over four elements, 16 bits each.

    The rate is then rounded to a multiple of 2**-16, and the kept elements are scaled by just that rate.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.rate, self.training)


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """x with a share `rate` of its elements set to 0 and the others scaled up, in training; x itself otherwise."""
    if not training or not rate:
        return x
    if x.device.type != "cpu":
        return nn.functional.dropout(x, rate, training)
    dropped = round(rate * STEPS)
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(torch.iinfo(torch.int64).min, None)
    kept = bits.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - STEPS // 2
    return x * kept.to(x.dtype).mul_(STEPS / (STEPS - dropped))
