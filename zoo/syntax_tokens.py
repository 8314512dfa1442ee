"""How the nodes and levels of a parse are called among the tokens of a tokenizer."""

from collections.abc import Mapping

SEPARATOR = "<sep>"
NODE, LEVEL = "<node:", "<level:"
UNKNOWN_NODE = "<node:?>"
SPECIAL_IDS = 4  # of node ids and of level ids: padding, bos, eos, unknown


def syntax_sizes(vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The configuration fields that follow from a tokenizer's vocabulary; none if it has no node tokens."""
    nodes = [token for token in vocabulary if token.startswith(NODE) and token != UNKNOWN_NODE]
    levels = [token for token in vocabulary if token.startswith(LEVEL)]
    if not nodes:
        return {}
    return {
        "node_vocab_size": len(nodes) + SPECIAL_IDS,
        "level_vocab_size": len(levels) + SPECIAL_IDS,
        "first_added_token": min(vocabulary[token] for token in (SEPARATOR, UNKNOWN_NODE, *nodes, *levels)),
    }
