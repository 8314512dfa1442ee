"""Attention over all positions that a mask allows."""

import torch
from torch import Tensor, nn

from .dropout import dropout


def attend(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, rate: float) -> Tensor:
    """Scaled dot-product attention, causal where `allowed` is None, with dropout of its probabilities.

    Where a row of `allowed` is empty, what comes out is finite and means nothing.
    """
    # query : B x H x T x D, key : B x H x K x D, value : B x H x K x V, allowed : B x 1 x T x K -> B x H x T x V
    if not rate or query.device.type != "cpu":
        return nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=allowed, dropout_p=rate, is_causal=allowed is None
        )
    # The library's form with dropout is slow on a CPU: its random numbers are, and it looks for empty rows.
    if allowed is None:
        allowed = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()
    bias = torch.zeros((), dtype=query.dtype).where(allowed, torch.finfo(query.dtype).min)
    if bias.dim() == 4:
        bias = bias.expand(-1, query.shape[1], query.shape[2], -1).flatten(0, 1)
    scores = torch.baddbmm(bias, query.flatten(0, 1), key.flatten(0, 1).mT, alpha=query.shape[-1] ** -0.5)
    mixed = dropout(scores.softmax(-1), rate, True) @ value.flatten(0, 1)
    return mixed.unflatten(0, query.shape[:2])
