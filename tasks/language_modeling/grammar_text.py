"""The default text: sentences of transformation grammars, whose gold trees are known."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tasks.transformation import corpus
from tasks.transformation import load_task as load_transformation
from zoo.errors import UserError

if TYPE_CHECKING:
    from nltk.tree import Tree

SIZES = {"train": 60_000, "validation": 1_000, "test": 2_000}
SPARE = 1.5  # times as many are drawn for validation and test, as some are sentences of another grammar's training set


def grammar_sets(grammars: Sequence[str], seed: int, sizes: Mapping[str, int]) -> dict[str, list[str]]:
    """Sentences by split: what each task in turn makes of its sources (statements, questions, passives, ...).

    No sentence comes twice in the validation and test sets, nor is one of them in the sets before it.
    """
    drawn = {split: max(size, sizes.get(split, 0)) for split, size in SIZES.items()}
    share = {
        split: int(size * (1 if split == "train" else SPARE)) // len(grammars) + 1 for split, size in drawn.items()
    }
    texts = [corpus.load_sets(load_transformation(name), seed, share) for name in grammars]
    taken: set[str] = set()
    sets = {}
    for split, size in drawn.items():
        in_turn = [
            example.target for examples in zip(*(text[split] for text in texts), strict=True) for example in examples
        ]
        new = in_turn if split == "train" else [line for line in dict.fromkeys(in_turn) if line not in taken]
        taken.update(new)
        sets[split] = new[: sizes.get(split, size)]
    return sets


def grammar_tree(grammars: Sequence[str], sentence: str) -> "Tree":
    """The gold tree of a sentence by the first of the grammars that has it. UserError if none has."""
    reasons: list[Any] = []
    for name in grammars:
        try:
            return load_transformation(name).parse_target(sentence)
        except UserError as error:
            reasons.append(error)
    raise UserError(f"{sentence!r} is a sentence of none of the grammars {', '.join(grammars)}: {reasons[0]}")
