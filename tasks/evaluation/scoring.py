"""Teacher-forced scores of `source target` strings under a language model: exact, nothing is sampled."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tasks.evaluation.prefixes import holds_keys_only, select
from tasks.evaluation.processes import map_batches, map_groups
from tasks.metrics import NOT_SCORED, greedy_correct, token_log_probabilities
from tasks.tokenization import BOS, EOS, PAD
from zoo.errors import UserError


class EncodedPair(NamedTuple):
    """Token ids without bos and eos."""

    source: list[int]
    target: list[int]


class PairScores(NamedTuple):
    """Scores of one pair, in nats; eos is counted everywhere."""

    log_probability: float  # log p(target eos | source)
    first_word: float  # log p(first word of the target | source)
    string_log_probability: float  # log p(source target eos)
    tokens: int  # of the string, with eos
    greedy: bool  # greedy decoding from the source gives exactly the target
    tied: bool  # it would, if ties went the target's way


def score_pairs(
    model: PreTrainedModel, pairs: Sequence[EncodedPair], batch_tokens: int, description: str
) -> list[PairScores]:
    """Scores every pair once, over all processes. Raises UserError where the model gives NaN."""

    def compute(batch: list[int]) -> list[PairScores]:
        return score_batch(model, [pairs[index] for index in batch])

    lengths = [len(source) + len(target) + 1 for source, target in pairs]
    return map_batches(compute, lengths, batch_tokens, description)


def score_rules(
    model: PreTrainedModel,
    sources: Sequence[list[int]],
    targets: Sequence[Sequence[list[int]]],
    batch_tokens: int,
    description: str,
) -> list[tuple[PairScores, ...]]:
    """Scores several targets of each source, as `score_pairs` does to 1e-6, over all processes.

    Where the cache holds keys and values only, each source is read once, and the targets go on from there. A stack or a
    recurrent state is carried on step by step, which takes longer than a whole pass saves.
    """
    if not holds_keys_only(model):
        pairs = [EncodedPair(source, target) for source, row in zip(sources, targets, strict=True) for target in row]
        scores = iter(score_pairs(model, pairs, batch_tokens, description))
        return [tuple(next(scores) for _ in row) for row in targets]

    def compute(group: list[int]) -> list[tuple[PairScores, ...]]:
        return score_shared(model, [sources[index] for index in group], [targets[index] for index in group])

    lengths = [
        sum(len(source) + len(target) + 1 for target in row) for source, row in zip(sources, targets, strict=True)
    ]
    return map_groups(compute, sources, lengths, max(batch_tokens, max(lengths, default=0)), description)


@torch.inference_mode()
def score_batch(model: Any, pairs: Sequence[EncodedPair]) -> list[PairScores]:
    """One forward pass over right-padded strings; of a model that is given a tree, over the targets alone."""
    if hasattr(model, "target_logits"):
        logits, targets = model.target_logits(pairs)
        return read_scores(logits, targets, torch.zeros(len(pairs), dtype=torch.long, device=logits.device))
    # inputs, mask, targets : B x T; logits : B x T x V
    strings = pad([[BOS, *source, *target, EOS] for source, target in pairs], PAD).to(model.device)
    inputs, targets = strings[:, :-1], strings[:, 1:].masked_fill(strings[:, 1:] == PAD, NOT_SCORED)
    logits = model(input_ids=inputs, attention_mask=(targets != NOT_SCORED).long(), use_cache=False).logits
    return read_scores(logits, targets, torch.tensor([len(source) for source, _ in pairs], device=logits.device))


@torch.inference_mode()
def score_shared(
    model: PreTrainedModel, sources: Sequence[list[int]], targets: Sequence[Sequence[list[int]]]
) -> list[tuple[PairScores, ...]]:
    """A pass over the sources, which have one length, and one over all targets from where their sources end."""
    # prompts : n x S; ends : n*R x T, right-padded; logits : n*R x S+T x V
    count = len(targets[0])
    prompts = torch.tensor([[BOS, *source] for source in sources], device=model.device)
    ends = pad([[*target, EOS] for row in targets for target in row], PAD).to(model.device)
    start = model(input_ids=prompts, use_cache=True)
    rows = torch.arange(len(prompts), device=model.device).repeat_interleave(count)
    # Padding after a row's end is never looked at, so no mask is needed. What follows eos or padding is not scored.
    following = model(input_ids=ends[:, :-1], cache=select(start.cache, rows), use_cache=True).logits
    logits = torch.cat([start.logits[rows], following], 1)
    tokens = torch.cat([prompts[rows, 1:], ends.masked_fill(ends == PAD, NOT_SCORED)], 1)
    scores = read_scores(logits, tokens, torch.full((len(rows),), prompts.shape[1] - 1, device=logits.device))
    return [tuple(scores[first : first + count]) for first in range(0, len(scores), count)]


def read_scores(logits: Tensor, tokens: Tensor, source_lengths: Tensor) -> list[PairScores]:
    """Scores of strings from the logits of their tokens. UserError where those are NaN.

    logits : B x T x V, tokens : B x T with NOT_SCORED where a string has ended, source_lengths : B
    """
    # by_token : B x T
    by_token = token_log_probabilities(logits, tokens)
    in_target = torch.arange(tokens.shape[1], device=tokens.device) >= source_lengths[:, None]
    string = by_token.sum(-1)
    if bool(string.isnan().any()):
        raise UserError("the model gives probabilities that are no numbers (NaN); train it again.")
    columns = (
        (by_token * in_target).sum(-1),
        by_token.gather(1, source_lengths[:, None])[:, 0],
        string,
        (tokens != NOT_SCORED).sum(-1),
        *greedy_correct(logits, tokens.where(in_target, NOT_SCORED)),
    )
    return [PairScores(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def pad(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
    """Rows of unlike length as one tensor B x T, padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows])
