"""The levels that a model gives to the words of sentences."""

import inspect
import re
from collections.abc import Sequence

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.evaluation.processes import map_batches
from tasks.tokenization import BOS, PAD, encode
from zoo.errors import UserError

NUMBER = re.compile(r"[+-]?\d[\d.,:/\\-]*")
NUMBER_WORD = "N"  # what texts like that of the Penn Treebank have for numbers

Levels = list[list[float]]  # of a sentence: layer by layer, the level of each word


def has_levels(model: PreTrainedModel) -> bool:
    """Whether the model orders its neurons, and so has levels."""
    return "output_levels" in inspect.signature(model.forward).parameters


def check_levels(model: PreTrainedModel, name: str) -> None:
    """Raises UserError if the model, called `name`, has no levels."""
    if not has_levels(model):
        raise UserError(
            f"{name} has no levels to make trees from; allowed: models with ordered neurons, such as on-lstm."
        )


def known_form(word: str, vocabulary: set[str]) -> str:
    """How a text that may be in lower case and without numbers has a word of a treebank: as it is, or else in lower
    case, or else as N if it is a number."""
    forms = [word, word.lower(), *([NUMBER_WORD] if NUMBER.fullmatch(word) else [])]
    return next((form for form in forms if form in vocabulary), word)


def encode_words(tokenizer: PreTrainedTokenizerBase, words: Sequence[str]) -> list[int]:
    """An id for each word, in its `known_form`. Raises UserError for an unknown word if the vocabulary is closed."""
    vocabulary = set(tokenizer.get_vocab())
    ids = encode(tokenizer, " ".join(known_form(word, vocabulary) for word in words))
    if len(ids) != len(words):
        raise UserError(f"{' '.join(words)!r}: a word holds a blank, or is empty.")
    return ids


def sentence_levels(model: PreTrainedModel, sentences: Sequence[list[int]], batch_tokens: int) -> list[Levels]:
    """d_f of each word of each sentence (token ids) in every layer, as the word is read, over all processes."""

    @torch.inference_mode()
    def compute(batch: list[int]) -> list[Levels]:
        # ids : B x T; stacked : layers x B x T
        rows = [torch.tensor([BOS, *sentences[index]]) for index in batch]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(model.device)
        output = model(input_ids=ids, attention_mask=(ids != PAD).long(), use_cache=False, output_levels=True)
        stacked = torch.stack(output.forget_levels).float().cpu()
        return [stacked[:, row, 1 : len(rows[row])].tolist() for row in range(len(batch))]

    lengths = [1 + len(sentence) for sentence in sentences]
    return map_batches(compute, lengths, max([batch_tokens, *lengths]), "levels")


def middle_layer(layers: int) -> int:
    """The layer, counted from 1, whose levels the authors make trees from: the second of three."""
    return (layers + 1) // 2
