"""What the models of each kind read of a pair, as ids.

strings     language models: <bos>, the tree's nodes and levels, <sep>, source, <sep>, target, <eos>; loss on the target
guided      source text and a tree in, target text out
expansion   source tree and template in, target tree out, each step a pair of node and level
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from tasks.paraphrase.linearization import Linear
from tasks.paraphrase.vocabulary import FIRST, RESERVED, SEPARATOR, SyntaxVocabulary
from tasks.tokenization import BOS, EOS, encode
from zoo.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from tasks.training.rows import Rows

IGNORE = -100
Row: TypeAlias = dict[str, list[int]]


def text_rows(
    tokenizer: "PreTrainedTokenizerBase",
    reads: str,
    sources: Sequence[str],
    trees: Sequence[Linear],
    targets: Sequence[str],
) -> "Rows":
    """Training rows of models that write text under a tree; trees: those that guide, cut to the levels of the
    vocabulary. Raises UserError for a word outside a closed vocabulary."""
    from tasks.training.rows import Rows

    vocabulary = SyntaxVocabulary.of(tokenizer)
    ids = zip(text_ids(tokenizer, sources), trees, text_ids(tokenizer, targets), strict=True)
    if reads == "strings":
        rows = [_string(string_prompt(tokenizer, vocabulary, source, tree), target) for source, tree, target in ids]
    else:
        rows = [guided_inputs(vocabulary, source, tree) | _aligned([BOS, *target, EOS]) for source, tree, target in ids]
    return Rows(rows, [f"{source} -> {target}" for source, target in zip(sources, targets, strict=True)])


def expansion_rows(
    tokenizer: "PreTrainedTokenizerBase",
    sources: Sequence[Linear],
    templates: Sequence[Linear],
    targets: Sequence[Linear],
    texts: Sequence[str],
) -> "Rows":
    """Training rows of models that expand templates; all trees cut to the levels of the vocabulary.

    texts: the examples, for messages.
    """
    from tasks.training.rows import Rows

    vocabulary = SyntaxVocabulary.of(tokenizer)
    trees = zip(sources, templates, targets, strict=True)
    return Rows(
        [
            expansion_inputs(vocabulary, source, template) | _aligned(pair_ids(vocabulary, target))
            for source, template, target in trees
        ],
        texts,
    )


def text_ids(tokenizer: "PreTrainedTokenizerBase", lines: Sequence[str]) -> list[list[int]]:
    """Ids of each line without <bos> and <eos>.

    Raises UserError for a word outside a closed vocabulary, and a line that is empty or holds a reserved token.
    """
    rows: list[list[int]] = tokenizer(list(lines), add_special_tokens=False).input_ids if lines else []
    for line, ids in zip(lines, rows, strict=True):
        if not ids or RESERVED.search(line):
            raise UserError(f"{line!r} is empty or holds a token such as <eos>, which no text can; leave the line out.")
        if min(ids) < FIRST:
            encode(tokenizer, line)  # names the word
    return rows


def guided_inputs(vocabulary: SyntaxVocabulary, source: Sequence[int], tree: Linear) -> Row:
    """What a guided model is given; source: ids of its text."""
    node_ids, level_ids = vocabulary.encode(*tree)
    return {"input_ids": [BOS, *source, EOS], "node_ids": node_ids, "level_ids": level_ids}


def string_prompt(
    tokenizer: "PreTrainedTokenizerBase", vocabulary: SyntaxVocabulary, source: Sequence[int], tree: Linear
) -> list[int]:
    """What a language model goes on from; source: ids of its text."""
    ids: list[int] = tokenizer.convert_tokens_to_ids([*vocabulary.tokens(*tree), SEPARATOR])  # type: ignore[assignment]
    *nodes, separator = ids
    return [BOS, *nodes, separator, *source, separator]


def expansion_inputs(vocabulary: SyntaxVocabulary, source: Linear, template: Linear) -> Row:
    """What an expander is given."""
    node_ids, level_ids = vocabulary.encode(*source)
    template_node_ids, template_level_ids = vocabulary.encode(*template)
    return {
        "node_ids": node_ids,
        "level_ids": level_ids,
        "template_node_ids": template_node_ids,
        "template_level_ids": template_level_ids,
    }


def pair_ids(vocabulary: SyntaxVocabulary, tree: Linear) -> list[int]:
    """A tree, bos and eos included, on the one axis of all pairs of node and level: node x levels + level."""
    return [node * vocabulary.level_count + level for node, level in zip(*vocabulary.encode(*tree), strict=True)]


def _aligned(ids: list[int]) -> Row:
    return {"decoder_input_ids": ids[:-1], "labels": ids[1:]}


def _string(prompt: list[int], target: list[int]) -> Row:
    return {
        "input_ids": [*prompt, *target],
        "labels": [*[IGNORE] * (len(prompt) - 1), *target, EOS],
    }
