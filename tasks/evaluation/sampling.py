"""Ancestral sampling of outputs, to estimate partial accuracy (seed 000, section 5: 10 samples per input)."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from tasks.evaluation.processes import map_batches
from tasks.evaluation.scoring import pad
from tasks.tokenization import BOS, EOS, PAD


class SampleCounts(NamedTuple):
    """Of the samples of one input, how many match each rule's output, and how many hit the length bound."""

    hierarchical: int
    linear: int
    cut: int


class GumbelNoise(LogitsProcessor):
    """Adds given noise to the logits of each step.

    The largest of logits plus independent Gumbel noise is distributed as a sample from their softmax. As each
    row brings its own noise, what is sampled for an input depends neither on its batch nor on its process.
    """

    def __init__(self, noise: Tensor, prompt_length: int) -> None:
        self._noise = noise  # steps x rows x V
        self._prompt_length = prompt_length

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        # input_ids : rows x T, scores : rows x V
        return scores + self._noise[input_ids.shape[1] - self._prompt_length]


def count_matches(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sources: Sequence[list[int]],
    references: Sequence[tuple[str, str]],
    partial_match: Callable[[str, str], bool],
    *,
    samples: int,
    max_new_tokens: int,
    seed: int,
    batch_tokens: int,
) -> list[SampleCounts]:
    """Samples outputs for each source and tests them against its (hierarchical, linear) reference outputs.

    Plain ancestral sampling: temperature 1, nothing cut off the distribution. The same samples serve both rules.
    """

    def compute(batch: list[int]) -> list[SampleCounts]:
        noise = [gumbel_noise(seed, index, max_new_tokens, samples, model.config.vocab_size) for index in batch]
        rows = sample_rows(model, [sources[index] for index in batch], torch.cat(noise, dim=1))
        return [
            count(rows[position * samples : (position + 1) * samples], references[index])
            for position, index in enumerate(batch)
        ]

    def count(rows: list[list[int]], reference: tuple[str, str]) -> SampleCounts:
        outputs = Counter(str(tokenizer.decode(ids[: ids.index(EOS)] if EOS in ids else ids)) for ids in rows)
        hierarchical, linear = (
            sum(times * partial_match(output, rule_output) for output, times in outputs.items())
            for rule_output in reference
        )
        return SampleCounts(hierarchical, linear, cut=sum(EOS not in ids for ids in rows))

    lengths = [samples * (1 + len(source) + max_new_tokens) for source in sources]
    # One input with all its samples is the smallest batch there is.
    budget = max(batch_tokens, max(lengths, default=0))
    return map_batches(compute, lengths, budget, "sampling")


def gumbel_noise(seed: int, index: int, steps: int, samples: int, width: int) -> Tensor:
    """steps x samples x width noise of one input; more steps leave the first ones as they are."""
    random = np.random.default_rng([seed, index])
    return torch.from_numpy(random.gumbel(size=(steps, samples, width)).astype(np.float32))


@torch.inference_mode()
def sample_rows(model: PreTrainedModel, sources: Sequence[list[int]], noise: Tensor) -> list[list[int]]:
    """New token ids, one row per sample, those of an input together; noise : steps x (inputs * samples) x V."""
    steps, rows, _ = noise.shape
    prompts = pad([[BOS, *source] for source in sources], PAD, side="left")
    prompts = prompts.repeat_interleave(rows // len(sources), dim=0).to(model.device)
    generate: Callable[..., Tensor] = model.generate  # type: ignore[assignment]
    generated = generate(
        input_ids=prompts,
        attention_mask=(prompts != PAD).long(),
        generation_config=GenerationConfig(
            do_sample=False,  # the noise samples
            num_beams=1,
            max_new_tokens=steps,
            bos_token_id=BOS,
            eos_token_id=EOS,
            pad_token_id=PAD,
        ),
        logits_processor=LogitsProcessorList([GumbelNoise(noise.to(model.device), prompts.shape[1])]),
    )
    return generated[:, prompts.shape[1] :].tolist()
