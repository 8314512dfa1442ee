"""Perplexity: sentences from the initial state, or one text with its state carried on; each token is scored once."""

import math
from collections.abc import Sequence

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.evaluation.figures import NO_ITEMS, Figure
from tasks.evaluation.processes import map_batches
from tasks.tokenization import UNKNOWN, encode
from tasks.training.batches import IGNORE, Strings, to_device
from tasks.training.carried_state import CarriedState
from tasks.training.objective import summed_cross_entropy
from tasks.training.stream import Stream
from zoo.errors import UserError


def sentence_losses(model: PreTrainedModel, strings: Strings, batch_tokens: int, description: str) -> list[float]:
    """-log p(sentence eos) of each sentence, in nats, over all processes."""

    @torch.inference_mode()
    def compute(batch: list[int]) -> list[float]:
        inputs, labels = to_device(strings.batch(torch.tensor(batch).numpy()), model.device)
        # logits : B x T x V
        logits = model(**inputs, use_cache=False).logits.double()
        losses = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), labels, ignore_index=IGNORE, reduction="none"
        )
        return losses.sum(1).tolist()

    return map_batches(compute, strings.lengths.tolist(), batch_tokens, description)


@torch.inference_mode()
def stream_loss(model: PreTrainedModel, stream: Stream) -> float:
    """-log p of the whole text in nats, read from its beginning to its end with the state carried on."""
    carried, total = CarriedState(), 0.0
    for indices in stream.scoring_batches(int(stream.lengths[0])):
        total += summed_cross_entropy(model, *to_device(stream.batch(indices), model.device), carried).item()
    return total


def perplexity_figures(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    name: str,
    sentences: Sequence[str],
    segment_tokens: int | None,
    batch_tokens: int,
) -> list[Figure]:
    """Cross-entropy (nats) and perplexity per token of a set; `segment_tokens` None: sentence by sentence.

    Convention: exp of the mean of -log p over all tokens, where each word is a token, <unk> as well, and so is the
    eos that ends each sentence; bos is given, never predicted.
    """
    if not sentences:
        return [
            Figure(name, metric, None, 0, NO_ITEMS) for metric in ("perplexity_per_token", "cross_entropy_per_token")
        ]
    ids = [encode(tokenizer, sentence) for sentence in sentences]
    tokens = sum(len(row) + 1 for row in ids)
    unknown = sum(row.count(tokenizer.get_vocab()[UNKNOWN]) for row in ids)
    if segment_tokens is None:
        strings = Strings(tokenizer, ((sentence,) for sentence in sentences))
        longest = max(batch_tokens, int(strings.lengths.max()))
        loss = math.fsum(sentence_losses(model, strings, longest, name))
        how = "each sentence from the initial state"
    else:
        loss = stream_loss(model, Stream(tokenizer, sentences, segment_tokens))
        how = "state carried over the whole set"
    if not math.isfinite(loss):
        raise UserError("the model gives probabilities that are no numbers or 0; train it again.")
    note = f"words and eos counted, {unknown / tokens:.2%} of them <unk>; {how}; {len(sentences)} sentences"
    mean = loss / tokens
    return [
        Figure(name, "perplexity_per_token", math.exp(mean), tokens, note),
        Figure(name, "cross_entropy_per_token", mean, tokens, note),
    ]
