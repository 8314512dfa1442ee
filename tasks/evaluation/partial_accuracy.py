"""Partial accuracy of single inputs: certified where that is possible, else estimated from samples."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.evaluation.exploration import Interval, explore
from tasks.evaluation.pass_table import PassTable
from tasks.evaluation.processes import map_batches
from tasks.evaluation.sampling import sample_outputs, uniform_noise
from tasks.tokenization import PAD
from tasks.transformation.partial import PartialTest

TOLERANCE = 1e-3  # widest interval of an input that counts as certified
# Where the test ends with the second word, all first words but those that float32 cannot tell from impossible.
SECOND_WORD_TOLERANCE = 1e-6
SHARED = 4  # of the samples of an input, so many are taken for one in the size of a batch: most begin alike
WIDTH = 128  # prefixes of one length that an input may need before it is given up and sampled


class PartialScore(NamedTuple):
    """Of one input under one rule."""

    interval: Interval  # holds the probability that an output passes
    matches: int | None  # samples that pass; None: the interval is as narrow as asked for, no sample was needed

    @property
    def certified(self) -> float:
        """The share of the explored probability that passes; it lies in the interval."""
        return self.interval.lower / (1 - self.interval.upper + self.interval.lower)


def score_partial(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sources: Sequence[list[int]],
    tests: Sequence[tuple[PartialTest, ...]],
    *,
    samples: int,
    seed: int,
    batch_tokens: int,
    sample_all: bool = False,
) -> list[tuple[PartialScore, ...]]:
    """Scores each source under its tests (one per rule), over all processes.

    An input whose interval is wider than the tolerance under a rule is scored there by `samples` sampled outputs, the
    same for all rules; with `sample_all` every input is, as in the paper.
    """

    def intervals_of(group: list[int]) -> list[tuple[Interval, ...]]:
        return explore(
            model,
            [sources[index] for index in group],
            table(group),
            tolerance=tolerance,
            width=WIDTH,
            most_rows=max(1, batch_tokens // max(lengths[index] for index in group)),
        )

    def matches_of(group: list[int]) -> list[list[int]]:
        asked = table(group)
        steps = asked.longest + 1  # with one word more than is tested, an output is decided
        noise = torch.stack([uniform_noise(seed, index, samples, steps) for index in group])
        outputs = sample_outputs(model, [sources[index] for index in group], noise).flatten(0, 1)
        inputs = torch.arange(len(group), device=outputs.device).repeat_interleave(samples)
        passing = asked.passes(inputs, outputs, (outputs != PAD).sum(1))
        return passing.view(len(group), samples, -1).sum(1).tolist()

    def table(group: list[int]) -> PassTable:
        return PassTable([tests[index] for index in group], tokenizer, model.config.vocab_size, model.device)

    lengths = [
        1 + len(source) + max(len(test.words) for test in row) for source, row in zip(sources, tests, strict=True)
    ]
    brief = all(len(test.words) <= 2 and not test.ends for row in tests for test in row)
    tolerance = SECOND_WORD_TOLERANCE if brief else TOLERANCE
    if sample_all:
        intervals = [tuple(Interval(0.0, 1.0) for _ in row) for row in tests]
    else:
        intervals = map_batches(intervals_of, lengths, batch_tokens, "exploring")
    wide = [[high - low > tolerance for low, high in row] for row in intervals]
    sampled = [index for index, row in enumerate(wide) if any(row)]
    matches = map_batches(
        lambda group: matches_of([sampled[place] for place in group]),
        [lengths[index] * samples for index in sampled],
        max(SHARED * batch_tokens, samples * max(lengths, default=0)),
        "sampling",
    )
    counts = dict(zip(sampled, matches, strict=True))
    return [
        tuple(
            PartialScore(interval, counts[index][rule] if is_wide else None)
            for rule, (interval, is_wide) in enumerate(zip(intervals[index], wide[index], strict=True))
        )
        for index in range(len(sources))
    ]
