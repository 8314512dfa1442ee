"""The default pairs, which need no download: sentences of the transformation grammars and their transforms.

Declarative and question, active and passive, past and present, each way round, with exact trees on both sides.
"""

import random
import zlib
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING

from tasks.brackets import write_tree
from tasks.paraphrase.pairs import Pair
from tasks.transformation import load_task
from tasks.transformation.cache import cached_lines
from zoo.errors import UserError

if TYPE_CHECKING:
    from tasks.transformation.task import TransformationTask

GRAMMARS = ("question_formation", "passivization", "tense_reinflection")
SIZES = {"train": 20_000, "validation": 500, "test": 500}
PARTS = 20  # of all sentences, one part is kept for validation and one for test
PART = {"validation": 0, "test": 1}
VERSION = 1  # part of the cache's key: raise it whenever the same seed gives other pairs
MAX_REJECTED = 100_000


def grammar_pairs(grammars: Sequence[str], split: str, seed: int, size: int) -> list[Pair]:
    """A set of a seed, from the cache if it is there; a smaller one is the beginning of a larger one.

    No sentence is in two sets. Raises UserError where the grammars have too few sentences.
    """
    tasks = [load_task(name) for name in grammars]
    key = [list(grammars), split, seed, size, VERSION, [repr(task.grammar.rules) for task in tasks]]
    rng = random.Random(f"paraphrase {split} {seed}")
    lines = cached_lines(
        "paraphrase", key, size, lambda: ["\t".join(p) for p in islice(_draw(tasks, split, rng), size)]
    )
    return [Pair(*line.split("\t")) for line in lines]


def grammar_words(grammars: Sequence[str]) -> list[str]:
    """All word types of the pairs, sorted."""
    tasks = [load_task(name) for name in grammars]
    return sorted({word for task in tasks for word in task.words if word not in task.entry.tags})


def _draw(tasks: "Sequence[TransformationTask]", split: str, rng: random.Random) -> Iterator[tuple[str, ...]]:
    """Endless stream of different pairs, the tasks in turn."""
    taken: set[str] = set()
    for task in cycle(tasks):
        for _ in range(MAX_REJECTED):
            words = task.grammar.sample(rng)
            sentence, transform = " ".join(words), " ".join(task.rules.hierarchical(words))
            # Some are their own transforms: "my newts read ." is past and present.
            if sentence not in taken and sentence != transform and _split_of(sentence) == split:
                break
        else:
            raise UserError(
                f"{task.name} gave no new {split} sentence in {MAX_REJECTED:,} draws after {len(taken):,} pairs of the"
                " grammars; ask for a smaller set."
            )
        taken.add(sentence)
        texts = [sentence, transform]
        trees = [write_tree(task.parse(sentence)), write_tree(task.parse_target(transform))]
        if rng.random() < 0.5:
            texts.reverse()
            trees.reverse()
        yield *texts, *trees


def _split_of(sentence: str) -> str:
    part = zlib.crc32(sentence.encode()) % PARTS
    return next((split for split, number in PART.items() if number == part), "train")
