"""The sets of one task and seed: disjoint, reproducible, cached on disk."""

import random
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tasks.transformation.cache import cached_lines
from zoo.errors import UserError

if TYPE_CHECKING:
    from tasks.transformation.task import TransformationTask

# In the order in which they are drawn: short sentences are few and are used up by the training set, as in the published
# data (their test sets hardly have any).
SIZES = {"train": 100_000, "validation": 1_000, "test": 10_000, "generalization": 10_000}
# Part of the cache's key: raise it whenever the same seed gives other sentences.
VERSION = 1
MAX_REJECTED = 100_000


class Example(NamedTuple):
    """A line: the sentence with its tag, and what the rules make of it. Blank-separated words."""

    source: str
    target: str

    @property
    def base(self) -> str:
        """The sentence without its tag."""
        return self.source.rpartition(" ")[0]


def examples(task: "TransformationTask", split: str, seed: int, taken: set[str]) -> Iterator[Example]:
    """Endless stream of the lines of a set, the same for the same arguments.

    No line comes twice, nor a sentence of `taken`. Outside the generalization set each sentence gets a tag by the toss
    of a fair coin, and a line on which the rules differ is left out. Raises UserError when no new line comes.
    """
    rng = random.Random(f"{task.name} {split} {seed}")
    seen: set[str] = set()
    rejected = 0
    while rejected < MAX_REJECTED:
        example = _draw(task, split, rng)
        if example is None or example.source in seen or example.base in taken:
            rejected += 1
            continue
        rejected = 0
        seen.add(example.source)
        yield example
    raise UserError(
        f"the grammar of {task.name} gave no new {split} line in {MAX_REJECTED:,} draws after {len(seen):,} lines; ask"
        " for a smaller set."
    )


def _draw(task: "TransformationTask", split: str, rng: random.Random) -> Example | None:
    copy, transform = task.entry.tags
    if split == "generalization":
        words = task.grammar.sample(rng, "gen" if "gen" in task.grammar.rules else "S")
        if not task.rules.generalizes(words):
            return None
        return Example(" ".join([*words, transform]), " ".join(task.rules.hierarchical(words)))
    words = task.grammar.sample(rng)
    if rng.random() < 0.5:
        return Example(" ".join([*words, copy]), " ".join(words))
    target = task.rules.hierarchical(words)
    if target != task.rules.linear(words):
        return None
    return Example(" ".join([*words, transform]), " ".join(target))


def build_sets(
    task: "TransformationTask", seed: int, sizes: Mapping[str, int], excluded: frozenset[str]
) -> dict[str, list[Example]]:
    """Sets of the given sizes, each without the sentences of `excluded` and of the sets before it."""
    taken, sets = set(excluded), {}
    for split, size in sizes.items():
        sets[split] = list(islice(examples(task, split, seed, taken), size))
        taken |= {example.base for example in sets[split]}
    return sets


def load_sets(
    task: "TransformationTask", seed: int, sizes: Mapping[str, int], excluded: frozenset[str] = frozenset()
) -> dict[str, list[Example]]:
    """The sets of `build_sets`, from the cache if they are there."""
    key = [task.name, task.options, seed, dict(sizes), sorted(excluded), VERSION, repr(task.grammar.rules)]
    lines = cached_lines(
        task.name,
        key,
        sum(sizes.values()),
        lambda: ["\t".join(line) for set_ in build_sets(task, seed, sizes, excluded).values() for line in set_],
    )
    found = (Example(*line.split("\t")) for line in lines)
    return {split: list(islice(found, size)) for split, size in sizes.items()}
