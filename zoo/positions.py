"""Where a token stands, as a vector."""

import math

import torch
from torch import Tensor


def sinusoidal_code(positions: Tensor, width: int) -> Tensor:
    """Sinusoidal position codes [..., width] for positions [...]: sin in even columns, cos in odd ones."""
    columns = torch.arange(width, device=positions.device)
    rates = torch.exp((columns - columns % 2).double() * (-math.log(10000.0) / width))
    angles = positions[..., None].double() * rates
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())
