"""Texts and parses that models generate for the items of a set, shared over processes.

Greedy (beams=1) or with beams: repeated, the same is generated. Outputs end at <eos> or after `longest` tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import GenerationConfig, PreTrainedTokenizerFast

from tasks.evaluation.processes import map_batches
from tasks.metrics import Nodes
from tasks.paraphrase.linearization import Linear
from tasks.paraphrase.rows import expansion_inputs, guided_inputs, string_prompt, text_ids
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from tasks.tokenization import BOS, EOS, PAD, UNK
from zoo.errors import UserError

Row = Mapping[str, list[int]]


@dataclass(frozen=True)
class Decoding:
    """How outputs are searched for."""

    beams: int = 1
    longest: int = 100  # tokens of an output, or nodes of a parse
    batch_tokens: int = 8192  # most in a batch, with outputs of each beam; changes speed, not results

    def __post_init__(self) -> None:
        for name, value in (("beams", self.beams), ("longest", self.longest)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UserError(f"{name} is {value!r}; allowed: a whole number from 1.")

    def __str__(self) -> str:
        return "greedy" if self.beams == 1 else f"{self.beams} beams"

    def configuration(self, suppressed: Sequence[int] = ()) -> GenerationConfig:
        return GenerationConfig(
            num_beams=self.beams,
            do_sample=False,
            max_new_tokens=self.longest,
            bos_token_id=BOS,
            eos_token_id=EOS,
            pad_token_id=PAD,
            decoder_start_token_id=BOS,
            suppress_tokens=list(suppressed) or None,
        )


class Expansion(NamedTuple):
    """A generated parse, and whether it came to an end before `longest`."""

    nodes: Nodes
    finished: bool


def generate_texts(
    model: Any,
    tokenizer: PreTrainedTokenizerFast,
    sources: Sequence[str],
    parses: Sequence[Nodes],
    decoding: Decoding,
) -> list[str]:
    """A text for each source under its parse, by a language model or a model that reads both separately.

    Levels beyond the vocabulary's are cut off, and nodes that it lacks are the unknown node.
    """
    vocabulary = SyntaxVocabulary.of(tokenizer)
    trees = [linear(parse, vocabulary.levels) for parse in parses]
    ids = zip(text_ids(tokenizer, sources), trees, strict=True)
    on_left = model.reads == "strings"
    if on_left:
        rows = [{"input_ids": string_prompt(tokenizer, vocabulary, *each)} for each in ids]
    else:
        rows = [guided_inputs(vocabulary, *each) for each in ids]
    configuration = decoding.configuration([PAD, BOS, UNK, *added_tokens(tokenizer)])

    def compute(batch: list[int]) -> list[str]:
        inputs = pad_rows([rows[index] for index in batch], on_left=on_left, device=model.device)
        outputs = model.generate(**inputs, generation_config=configuration)
        begin = inputs["input_ids"].shape[1] if on_left else 1
        return [decode(tokenizer, output) for output in outputs[:, begin:].tolist()]

    return _map(compute, rows, decoding, "generating texts")


def generate_parses(
    model: Any,
    tokenizer: PreTrainedTokenizerFast,
    sources: Sequence[Nodes],
    templates: Sequence[Nodes],
    decoding: Decoding,
) -> list[Expansion]:
    """A parse for each source parse, expanded from its template by a syntax expander."""
    vocabulary = SyntaxVocabulary.of(tokenizer)
    given = [[linear(tree, vocabulary.levels) for tree in pair] for pair in zip(sources, templates, strict=True)]
    rows = [expansion_inputs(vocabulary, *pair) for pair in given]
    configuration = GenerationConfig(num_beams=decoding.beams, do_sample=False, max_new_tokens=decoding.longest)

    def compute(batch: list[int]) -> list[Expansion]:
        inputs = pad_rows([rows[index] for index in batch], on_left=False, device=model.device)
        outputs = model.generate(**inputs, generation_config=configuration)
        return [expansion(vocabulary, output) for output in outputs[:, 1:].tolist()]

    return _map(compute, rows, decoding, "expanding templates")


def linear(nodes: Nodes, levels: int) -> Linear:
    """The nodes as models read them, cut to the levels of a vocabulary."""
    kept = nodes.cut(levels)
    return Linear([str(label) for label in kept.labels], list(kept.levels))


def added_tokens(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Ids that no text has: the separator, nodes and levels."""
    return sorted(index for index in tokenizer.added_tokens_decoder if index > UNK)


def pad_rows(rows: Sequence[Row], *, on_left: bool, device: Any) -> dict[str, Tensor]:
    """Each name as B x T, padded with 0, and the attention_mask of input_ids."""
    batch = {}
    for name in rows[0]:
        width = max(len(row[name]) for row in rows)
        fillers = [[PAD] * (width - len(row[name])) for row in rows]
        padded = [
            filler + row[name] if on_left else row[name] + filler for row, filler in zip(rows, fillers, strict=True)
        ]
        batch[name] = torch.tensor(padded, device=device)
    if "input_ids" in batch:
        batch["attention_mask"] = (batch["input_ids"] != PAD).long()
    return batch


def decode(tokenizer: PreTrainedTokenizerFast, ids: Sequence[int]) -> str:
    """The text up to the first <eos>, its tokens parted by single blanks."""
    ids = list(ids)
    text: Any = tokenizer.decode(ids[: ids.index(EOS)] if EOS in ids else ids, skip_special_tokens=True)
    return " ".join(text.split())


def expansion(vocabulary: SyntaxVocabulary, pairs: Sequence[int]) -> Expansion:
    """From pair ids, node * level_count + level, after bos."""
    node_ids, level_ids = list[int](), list[int]()
    for pair in pairs:
        node, level = divmod(pair, vocabulary.level_count)
        if node == EOS:
            return Expansion(Nodes(*vocabulary.decode(node_ids, level_ids)), True)
        node_ids.append(node)
        level_ids.append(level)
    return Expansion(Nodes(*vocabulary.decode(node_ids, level_ids)), False)


def _map(compute: Any, rows: Sequence[Row], decoding: Decoding, description: str) -> list[Any]:
    lengths = [decoding.beams * (sum(map(len, row.values())) + decoding.longest) for row in rows]
    with torch.inference_mode():
        return map_batches(compute, lengths, max(decoding.batch_tokens, max(lengths, default=0)), description)
