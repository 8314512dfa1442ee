import math
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator

from tasks.tokenization import word_tokenizer
from tasks.training.batches import Strings
from tasks.training.objective import summed_cross_entropy, validation_cross_entropy


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


class Fixed(torch.nn.Module):
    """Always the same logits."""

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def forward(self, use_cache):
        return SimpleNamespace(logits=self.logits)


def test_label_smoothing_is_that_of_pytorch_where_every_token_is_possible():
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([[1, 4, -100], [0, 2, 3]])
    expected = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), reduction="sum", label_smoothing=0.1
    )
    torch.testing.assert_close(summed_cross_entropy(Fixed(logits), {}, labels, label_smoothing=0.1), expected)


def test_label_smoothing_leaves_out_tokens_that_cannot_be_predicted():
    logits = torch.randn(1, 3, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    labels = torch.tensor([[1, 2, -100]])
    masked = torch.cat([logits, torch.full((1, 3, 2), -math.inf)], -1)
    loss = summed_cross_entropy(Fixed(masked), {}, labels, label_smoothing=0.1)
    torch.testing.assert_close(loss, summed_cross_entropy(Fixed(logits), {}, labels, label_smoothing=0.1))
    loss.backward()
    assert logits.grad.isfinite().all()
