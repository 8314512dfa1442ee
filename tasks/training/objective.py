"""The loss, and the validation figure that steers the schedule."""

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tasks.training.batches import IGNORE, Examples, length_batches, to_device


def summed_cross_entropy(model: nn.Module, inputs: dict[str, Tensor], labels: Tensor) -> Tensor:
    """Sum over all labels of -log p, in nats: for strings, the sum of -log p(w) with eos.

    inputs : keyword arguments of the model; labels : B x T, aligned with the logits, -100 is skipped.
    """
    # logits : B x T x V
    logits = model(**inputs, use_cache=False).logits
    return cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE, reduction="sum")


@torch.no_grad()
def validation_cross_entropy(
    accelerator: Accelerator, model: nn.Module, examples: Examples, batch_tokens: int
) -> float:
    """Cross-entropy per token in nats, eos counted: one mean over the tokens of all strings and processes.

    Not a mean of batch means, so the value does not depend on the batches. Each string is scored once, by one
    process. `model` is the unwrapped model: processes may have unequal numbers of batches.
    """
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64)
    batches: list[np.ndarray] = length_batches(examples.lengths, batch_tokens)
    for indices in batches[accelerator.process_index :: accelerator.num_processes]:
        inputs, labels = to_device(examples.batch(indices), accelerator.device)
        totals[0] += summed_cross_entropy(model, inputs, labels).item()
        totals[1] += int((labels != IGNORE).sum())
    model.train()
    total, tokens = accelerator.reduce(totals.to(accelerator.device), reduction="sum").tolist()
    return total / tokens
