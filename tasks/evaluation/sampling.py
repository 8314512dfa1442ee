"""Ancestral sampling of outputs, to estimate partial accuracy (seed 000, section 5: 10 samples per input)."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from tasks.evaluation.prefixes import read_prompts
from tasks.tokenization import EOS, PAD


def uniform_noise(seed: int, index: int, samples: int, steps: int) -> Tensor:
    """samples x steps numbers in [0, 1) of one input; more steps leave the first ones as they are.

    As each input has its own, what is sampled for it depends neither on its batch nor on its process.
    """
    random = np.random.default_rng([seed, index])
    return torch.from_numpy(random.random((steps, samples)).T)


@torch.inference_mode()
def sample_outputs(model: PreTrainedModel, sources: Sequence[Sequence[int]], noise: Tensor) -> Tensor:
    """Samples of the output of each source, without eos and padded on the right: n x samples x steps token ids.

    Temperature 1, nothing cut off the distribution. sources: token ids; noise : n x samples x steps.
    Each prompt is read once, and so is what several samples of an input begin with; samples that have ended leave the
    batch.
    """
    count, samples, steps = noise.shape
    noise = noise.to(model.device).flatten(0, 1)
    outputs = torch.full((count * samples, steps), PAD, device=model.device)
    prefixes = read_prompts(model, sources)
    rows = torch.arange(count, device=model.device).repeat_interleave(samples)  # prefix of each running sample
    running = torch.arange(count * samples, device=model.device)
    for step in range(steps):
        tokens = draw(prefixes.probabilities, rows, noise[running, step])
        goes_on = tokens != EOS
        running, rows, tokens = running[goes_on], rows[goes_on], tokens[goes_on]
        outputs[running, step] = tokens
        if not len(running) or step == steps - 1:
            break
        vocabulary = prefixes.probabilities.shape[1]
        pairs, rows = (rows * vocabulary + tokens).unique(return_inverse=True)
        prefixes = prefixes.follow(pairs // vocabulary, pairs % vocabulary)
    return outputs.view(count, samples, steps)


def draw(probabilities: Tensor, rows: Tensor, noise: Tensor) -> Tensor:
    """For each i a token from the distribution `rows[i]`: that in whose part of [0, 1) its noise lies.

    probabilities : N x V, rows : M, noise : M in [0, 1) -> M
    """
    sums = probabilities.cumsum(-1)
    sums = sums / sums[:, -1:]  # ends in 1 exactly, so that a token of probability 0 is never drawn
    return torch.searchsorted(sums[rows], noise[:, None], right=True)[:, 0]
