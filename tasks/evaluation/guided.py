"""Scores of models that are given a tree beside the source, by the same functions as those of language models."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from tasks.evaluation.prefixes import Prefixes, next_tokens
from tasks.evaluation.scoring import EncodedPair, pad
from tasks.metrics import NOT_SCORED
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from tasks.tokenization import BOS, EOS, PAD

Tree = tuple[list[int], list[int]]  # ids of nodes and of levels, with bos and eos


class GuidedReader:
    """A model of sources with trees, and the trees: by source, or by source and target where that is what is given.

    Stands where a language model stands in `tasks.evaluation`: beginnings of outputs follow the source.
    """

    def __init__(self, model: PreTrainedModel, trees: Mapping[tuple[tuple[int, ...], ...], Tree], guide: str) -> None:
        self.model, self.config, self.device = model, model.config, model.device
        self._trees, self._by_target = trees, guide == "target"

    def target_logits(self, pairs: Sequence[EncodedPair]) -> tuple[Tensor, Tensor]:
        """Logits B x T x V of the targets, and their tokens B x T with eos, NOT_SCORED behind their ends."""
        targets = pad([[BOS, *pair.target, EOS] for pair in pairs], PAD).to(self.device)
        inputs = self._sources([(pair.source, pair.target) for pair in pairs])
        logits = self.model(**inputs, decoder_input_ids=targets[:, :-1], use_cache=False).logits
        return logits, targets[:, 1:].masked_fill(targets[:, 1:] == PAD, NOT_SCORED)

    def read_prompts(self, sources: Sequence[Sequence[int]]) -> Prefixes:
        """The sources with their trees, each read once, followed by the beginning of an output."""
        encoded = self.model.get_encoder()(**self._sources([(source, ()) for source in sources]))
        start = torch.full((len(sources), 1), BOS, device=self.device)
        output = self(input_ids=start, attention_mask=None, cache=DecoderState(encoded, []), use_cache=True)
        rows = torch.arange(len(sources), device=self.device)
        return Prefixes(self, output.cache, next_tokens(output.logits[:, -1]), None, rows, len(rows))

    def __call__(self, input_ids: Tensor, attention_mask: None, cache: "DecoderState", use_cache: bool) -> Any:
        """One more token of each output, R x 1."""
        caches = (DynamicCache(), DynamicCache())
        count = self.config.decoder_layers
        for held, layers in zip(caches, (cache.layers[:count], cache.layers[count:]), strict=True):
            held.layers = layers
        output = self.model(
            decoder_input_ids=input_ids,
            encoder_outputs=cache.encoded,
            cache=EncoderDecoderCache(*caches) if cache.layers else None,
            use_cache=use_cache,
        )
        held = output.cache
        output.cache = DecoderState(cache.encoded, held.self_attention_cache.layers + held.cross_attention_cache.layers)
        return output

    def _sources(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[str, Tensor]:
        rows = []
        for source, target in pairs:
            nodes, levels = self._trees[key_of(source, target, self._by_target)]
            rows.append({"input_ids": [BOS, *source, EOS], "node_ids": nodes, "level_ids": levels})
        return {name: pad([row[name] for row in rows], PAD).to(self.device) for name in rows[0]}


class DecoderState:
    """What `tasks.evaluation.prefixes.select` asks of a cache: layers, and rows that can be chosen."""

    def __init__(self, encoded: Any, layers: list[Any]) -> None:
        self.encoded, self.layers = encoded, layers

    def reorder_cache(self, rows: Tensor) -> None:
        self.encoded = type(self.encoded)(*(part[rows] for part in self.encoded.to_tuple()))
        for layer in self.layers:
            layer.reorder_cache(rows)


def key_of(source: Sequence[int], target: Sequence[int], by_target: bool) -> tuple[tuple[int, ...], ...]:
    return (tuple(source), tuple(target)) if by_target else (tuple(source),)


def reader_for(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: Any,
    pairs: Mapping[str, Sequence[tuple[str, str]]],
    encoded: Mapping[str, Sequence[EncodedPair]],
) -> Any:
    """The model itself if it reads strings; else the model with the gold trees of the pairs, set by set.

    Raises UserError for a sentence outside the task's grammar.
    """
    if getattr(model, "reads", "strings") == "strings":
        return model
    from tasks.transformation.corpus import Example
    from tasks.transformation.guided import guide_tree

    vocabulary = SyntaxVocabulary.of(tokenizer)
    trees: dict[tuple[tuple[int, ...], ...], Tree] = {}
    for name, texts in pairs.items():
        for (source, target), ids in zip(texts, encoded[name], strict=True):
            key = key_of(*ids, by_target=task.guide == "target")
            if key not in trees:
                trees[key] = vocabulary.encode(*guide_tree(task, Example(source, target), task.guide))
    return GuidedReader(model, trees, task.guide)
