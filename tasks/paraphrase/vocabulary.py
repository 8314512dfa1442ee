"""Nodes and levels of trees as ids of the models' own small vocabularies, and as tokens of the tokenizer.

The tokenizer holds both vocabularies, so that a checkpoint needs nothing else: after its text tokens come `<sep>`,
`<node:?>` (an unknown node), `<node:NP>` ..., `<level:1>`, `<level:2>` ...
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.tokenization import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from zoo.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

SEPARATOR = "<sep>"
UNKNOWN_NODE = "?"
FIRST = len(SPECIAL_TOKENS)  # id of the first label, one less than that of level 1
NODE = re.compile(r"<node:(.+)>")
LEVEL = re.compile(r"<level:(\d+)>")
RESERVED = re.compile("|".join([*SPECIAL_TOKENS, SEPARATOR, NODE.pattern, LEVEL.pattern]))


def node_token(label: str) -> str:
    return f"<node:{label}>"


def level_token(level: int) -> str:
    return f"<level:{level}>"


@dataclass(frozen=True)
class SyntaxVocabulary:
    """Ids of nodes: 0 padding, 1 bos, 2 eos, 3 the unknown node, then the labels. Of levels: 0, 1, 2 alike, 3 unused,
    level k is k + 3. (The 74 nodes and 12 levels of seed 002 are 70 labels and 8 levels.)"""

    labels: tuple[str, ...]
    levels: int
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {label: FIRST + place for place, label in enumerate(self.labels)})

    @classmethod
    def of(cls, tokenizer: "PreTrainedTokenizerBase") -> "SyntaxVocabulary":
        """The vocabulary whose tokens a tokenizer has. Raises UserError if it has none (see `add_syntax`)."""
        tokens = sorted(tokenizer.get_added_vocab().items(), key=lambda item: item[1])
        labels = [match[1] for token, _ in tokens if (match := NODE.fullmatch(token))]
        levels = sum(LEVEL.fullmatch(token) is not None for token, _ in tokens)
        if UNKNOWN_NODE not in labels or not levels:
            raise UserError(
                "the tokenizer has no node and level tokens; take the tokenizer of a model that was trained on trees."
            )
        return cls(tuple(label for label in labels if label != UNKNOWN_NODE), levels)

    @property
    def node_count(self) -> int:
        """Size of the node vocabulary, special ids counted."""
        return len(self.labels) + FIRST

    @property
    def level_count(self) -> int:
        """Size of the level vocabulary, special ids counted."""
        return self.levels + FIRST

    def encode(self, nodes: Sequence[str], levels: Sequence[int]) -> tuple[list[int], list[int]]:
        """Ids of nodes and of levels, each with bos and eos; a label that is not in the vocabulary is the unknown node.

        Raises UserError for a level outside the vocabulary.
        """
        self._check(levels)
        node_ids = [self._ids.get(node, UNK) for node in nodes]
        return [BOS, *node_ids, EOS], [BOS, *(level + FIRST - 1 for level in levels), EOS]

    def decode(self, node_ids: Sequence[int], level_ids: Sequence[int]) -> tuple[list[str], list[int]]:
        """Nodes and levels up to eos or padding; the unknown node is `?`.

        Raises UserError for an id that is none of a node or level.
        """
        nodes, levels = list[str](), list[int]()
        for node, level in zip(node_ids, level_ids, strict=True):
            if node == BOS and level == BOS and not nodes:
                continue
            if node in (PAD, EOS) or level in (PAD, EOS):
                break
            if not (UNK <= node < self.node_count and FIRST <= level < self.level_count):
                raise UserError(f"node id {node} on level id {level} is no node of a tree.")
            nodes.append(UNKNOWN_NODE if node == UNK else self.labels[node - FIRST])
            levels.append(level - FIRST + 1)
        return nodes, levels

    def tokens(self, nodes: Sequence[str], levels: Sequence[int]) -> list[str]:
        """Node and level in turn, as language models read a tree: <node:S> <level:1> <node:NP> <level:2> ..."""
        self._check(levels)
        pairs = zip(nodes, levels, strict=True)
        known = ((node if node in self._ids else UNKNOWN_NODE, level) for node, level in pairs)
        return [token for node, level in known for token in (node_token(node), level_token(level))]

    def _check(self, levels: Sequence[int]) -> None:
        for level in levels:
            if not 1 <= level <= self.levels:
                raise UserError(f"level {level} is not in the vocabulary; cut the tree to {self.levels} levels.")


def add_syntax(tokenizer: "PreTrainedTokenizerFast", labels: Iterable[str], levels: int) -> "PreTrainedTokenizerFast":
    """The tokenizer, with a separator, and tokens for the labels and levels, behind its text tokens.

    They decode to what was encoded, blanks included. Raises UserError for no level, and for a label that is empty, has
    a blank or an angle bracket, or is `?`.
    """
    from tokenizers import AddedToken

    labels = list(dict.fromkeys(labels))
    for label in labels:
        if label.split() != [label] or set("<>") & set(label) or label == UNKNOWN_NODE:
            raise UserError(f"{label!r} cannot be a label: labels are not empty, hold no blank, < or >, and are not ?.")
    if levels < 1:
        raise UserError(f"levels is {levels}; allowed: 1 or more.")
    tokens = [SEPARATOR, *map(node_token, [UNKNOWN_NODE, *labels]), *map(level_token, range(1, levels + 1))]
    tokenizer.add_tokens([AddedToken(token, normalized=False, special=False) for token in tokens])
    return tokenizer
