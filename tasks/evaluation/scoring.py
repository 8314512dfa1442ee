"""Teacher-forced scores of `source target` strings under a language model: exact, nothing is sampled."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tasks.evaluation.processes import map_batches
from tasks.metrics import NOT_SCORED, align, greedy_correct, sequence_log_probability, token_log_probabilities
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


@torch.inference_mode()
def score_batch(model: PreTrainedModel, pairs: Sequence[EncodedPair]) -> list[PairScores]:
    """One forward pass over right-padded strings."""
    # inputs, mask, targets : B x T; logits : B x T x V
    whole = [align([], [*source, *target, EOS], BOS) for source, target in pairs]
    inputs = pad([ids for ids, _ in whole], PAD).to(model.device)
    string_targets = pad([ids for _, ids in whole], NOT_SCORED).to(model.device)
    targets = pad([align(source, [*target, EOS], BOS)[1] for source, target in pairs], NOT_SCORED)
    targets = targets.to(model.device)
    mask = (inputs != PAD).long()
    logits = model(input_ids=inputs, attention_mask=mask, use_cache=False).logits

    conditional = sequence_log_probability(logits, targets, include_eos=True)
    string = sequence_log_probability(logits, string_targets, include_eos=True)
    rows = torch.arange(len(pairs), device=logits.device)
    after_source = torch.tensor([len(source) for source, _ in pairs], device=logits.device)
    first = token_log_probabilities(logits[rows, after_source], targets[rows, after_source])
    greedy = greedy_correct(logits, targets)
    if bool(string.log_probability.isnan().any()):
        raise UserError("the model gives probabilities that are no numbers (NaN); train it again.")
    columns = (conditional.log_probability, first, string.log_probability, string.tokens, *greedy)
    return [PairScores(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def pad(rows: Sequence[Sequence[int]], filler: int, side: str = "right") -> Tensor:
    """Rows of unlike length as one tensor B x T."""
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=filler, padding_side=side)
