import math
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator

from tasks.tokenization import word_tokenizer
from tasks.training.batches import Strings
from tasks.training.objective import validation_cross_entropy


class OneOrThree(torch.nn.Module):
    """Every token costs 1 nat in rows of 2 predictions, and 3 nats in longer ones."""

    def forward(self, input_ids, attention_mask, use_cache):
        cost = torch.where(attention_mask.sum(1) == 2, 1.0, 3.0)
        logits = torch.zeros(*input_ids.shape, 6)  # classes: eos, a, b
        logits[..., [0, 1, 3]] = -math.inf
        logits[..., 5] = torch.log(torch.exp(cost) - 2)[:, None]  # b, which never comes, takes the rest
        return SimpleNamespace(logits=logits)


@pytest.mark.parametrize("batch_tokens", [9, 12, 1024])
def test_s05_validation_is_one_mean_over_tokens_whatever_the_batches(batch_tokens):
    strings = Strings(word_tokenizer(["a", "b"]), [("a", ""), ("a a a a", "a a a")])
    value = validation_cross_entropy(Accelerator(cpu=True), OneOrThree(), strings, batch_tokens)
    assert value == pytest.approx((2 * 1 + 8 * 3) / 10, abs=1e-6)
