"""The sets that a model is scored on (seed 000, sections 2 and 5)."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import PreTrainedTokenizerBase

from tasks.evaluation.scoring import EncodedPair
from tasks.tokenization import encode

SPLITS = ("validation", "test", "generalization")
# The generalization set is scored twice: with the targets of the hierarchical rule and of the linear rule.
RULES = ("hierarchical", "linear")


def scored_sets(task: Any, splits: Mapping[str, Sequence[Any]]) -> dict[str, list[tuple[str, str]]]:
    """(source, target) pairs by name of set: validation, test, hierarchical and linear."""
    sets: dict[str, list[tuple[str, str]]] = {}
    for split, examples in splits.items():
        pairs = [(example.source, example.target) for example in examples]
        if split == "generalization":
            linear = [(source, task.linear(source)) for source, _ in pairs]
            sets |= {"hierarchical": pairs, "linear": linear}
        else:
            sets[split] = pairs
    return sets


def encode_pairs(tokenizer: PreTrainedTokenizerBase, pairs: Sequence[tuple[str, str]]) -> list[EncodedPair]:
    """Raises UserError for a word that the model does not know."""
    return [EncodedPair(encode(tokenizer, source), encode(tokenizer, target)) for source, target in pairs]
