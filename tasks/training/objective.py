"""The loss, and the validation figure that steers the schedule."""

import math

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tasks.training.batches import IGNORE, Examples, to_device
from tasks.training.carried_state import CarriedState


def summed_cross_entropy(
    model: nn.Module,
    inputs: dict[str, Tensor],
    labels: Tensor,
    carried: CarriedState | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Sum over all labels of -log p, in nats: for strings, the sum of -log p(w) with eos.

    inputs : keyword arguments of the model; labels : B x T, aligned with the logits, -100 is skipped;
    carried: the state to go on from, which then becomes that at the end of this batch;
    label_smoothing: share of the label's probability that is spread evenly over all tokens that the model can predict.
    """
    # logits : B x T x V
    logits = model(**inputs, use_cache=False).logits if carried is None else carried.logits(model, inputs)
    logits, labels = logits.flatten(0, 1), labels.flatten()
    loss = cross_entropy(logits, labels, ignore_index=IGNORE, reduction="sum")
    if not label_smoothing:
        return loss
    return (1 - label_smoothing) * loss + label_smoothing * _spread_cross_entropy(logits[labels != IGNORE])


def _spread_cross_entropy(logits: Tensor) -> Tensor:
    """Sum over rows of the mean of -log p over the tokens that a model can predict: those of logit -inf it cannot.

    logits : N x V
    """
    possible = logits != -math.inf
    log_probabilities = logits.log_softmax(-1).masked_fill(~possible, 0.0)
    return -(log_probabilities.sum(-1) / possible.sum(-1)).sum()


@torch.no_grad()
def validation_cross_entropy(
    accelerator: Accelerator, model: nn.Module, examples: Examples, batch_tokens: int
) -> float:
    """Cross-entropy per token in nats, eos counted: one mean over the tokens of all strings and processes.

    Not a mean of batch means, so the value does not depend on the batches of strings; for continuous text it depends
    on the places where rows begin. Each token is scored once, by one process. `model` is the unwrapped model: processes
    may have unequal numbers of batches.
    """
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64)
    carried = CarriedState() if examples.carries_state else None
    for indices in examples.scoring_batches(batch_tokens, accelerator.process_index, accelerator.num_processes):
        inputs, labels = to_device(examples.batch(indices), accelerator.device)
        totals[0] += summed_cross_entropy(model, inputs, labels, carried).item()
        totals[1] += int((labels != IGNORE).sum())
    model.train()
    total, tokens = accelerator.reduce(totals.to(accelerator.device), reduction="sum").tolist()
    return total / tokens
