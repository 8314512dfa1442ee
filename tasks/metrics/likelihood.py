"""Log-probabilities of strings from the logits of a language model (seed 000, section 4 and equation 4)."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from zoo.errors import UserError

NOT_SCORED = -100


class SequenceScores(NamedTuple):
    """What `sequence_log_probability` returns, and by which convention."""

    log_probability: Tensor  # B, float64, nats
    tokens: Tensor  # B, number of scored tokens
    eos_counted: bool


def align(prefix: Sequence[int], continuation: Sequence[int], bos: int | None) -> tuple[list[int], list[int]]:
    """Inputs and targets of the same length for scoring `continuation` after `prefix`.

    The logits at position t predict target t, so no index is shifted later. Targets inside the prefix are
    NOT_SCORED. Without a `bos` nothing predicts the very first token, so it is never scored.
    """
    tokens = [*([] if bos is None else [bos]), *prefix, *continuation]
    inputs, targets = tokens[:-1], tokens[1:]
    scored = min(len(continuation), len(targets))
    return inputs, [NOT_SCORED] * (len(targets) - scored) + targets[len(targets) - scored :]


def token_log_probabilities(logits: Tensor, targets: Tensor) -> Tensor:
    """log p(target) at each position, 0 where the target is NOT_SCORED. Float64.

    logits : B x T x V, targets : B x T -> B x T
    """
    scored = targets != NOT_SCORED
    indexes = targets.masked_fill(~scored, 0).unsqueeze(-1)
    logits = logits.double()
    log_probabilities = logits.gather(-1, indexes).squeeze(-1) - logits.logsumexp(-1)
    return log_probabilities.masked_fill(~scored, 0.0)


def sequence_log_probability(logits: Tensor, targets: Tensor, *, include_eos: bool, eos: int = 2) -> SequenceScores:
    """Log-probability of each row of targets, the sum over its scored tokens, in nats.

    logits : B x T x V, targets : B x T with NOT_SCORED where nothing is to be counted.
    `include_eos` has no default: with it every row must hold a scored `eos` (UserError otherwise), without it
    eos is left out of both the sum and the number of tokens.
    """
    ends = targets == eos
    if include_eos and not bool(ends.any(-1).all()):
        raise UserError("eos is to be counted, but a row of targets has none: append it or set include_eos=False.")
    counted = targets if include_eos else targets.masked_fill(ends, NOT_SCORED)
    log_probability = token_log_probabilities(logits, counted).sum(-1)
    return SequenceScores(log_probability, (counted != NOT_SCORED).sum(-1), include_eos)


class GreedyScores(NamedTuple):
    """`correct`: greedy decoding gives the targets; `tied`: it could, but a target shares the maximum."""

    correct: Tensor  # B, bool
    tied: Tensor  # B, bool


def greedy_correct(logits: Tensor, targets: Tensor) -> GreedyScores:
    """Whether greedy decoding produces each row of targets, exactly, without decoding.

    Decoding follows the targets for as long as every target has the largest logit, so teacher-forced logits
    decide it. A target that shares the maximum with another token is a tie and is not correct.

    logits : B x T x V, targets : B x T with NOT_SCORED
    """
    scored = targets != NOT_SCORED
    indexes = targets.masked_fill(~scored, 0).unsqueeze(-1)
    chosen = logits.gather(-1, indexes).squeeze(-1)
    best_other = logits.scatter(-1, indexes, float("-inf")).amax(-1)
    correct = ((chosen > best_other) | ~scored).all(-1)
    reachable = ((chosen >= best_other) | ~scored).all(-1)
    return GreedyScores(correct, reachable & ~correct)
