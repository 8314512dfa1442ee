"""A transformation task: its rules on lines of text, its gold trees, its data."""

import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.interface import TaskData
from tasks.tokenization import unknown_word, word_tokenizer
from tasks.transformation import Entry, corpus, trees
from tasks.transformation.columns import COLUMNS, LEGEND
from tasks.transformation.corpus import SIZES, Example
from tasks.transformation.files import SPLITS, SUFFIXES, find_files, read_pairs
from tasks.transformation.grammar import Grammar
from tasks.transformation.partial import PartialTest
from tasks.transformation.rules import Rules
from zoo.errors import UserError, unknown_name

if TYPE_CHECKING:
    from nltk.tree import Tree
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from tasks.evaluation.evaluation import EvaluationSettings
    from tasks.evaluation.figures import Figure
    from tasks.training.batches import Examples


@dataclass(frozen=True, eq=False)
class TransformationTask:
    """One of the tasks of seed 000, section 2. Sources and targets are lines of blank-separated words; the last word
    of a source is its tag. Text is taken in Unicode normal form C.

    name, entry: key and description in `ENTRIES`.
    grammar: derives source sentences from `S`, transformed ones from `target`, those of the generalization set from
        `gen`, and from `linear` the linear rule's where they differ in form.
    rules: the two rules, on words.
    options: what `load_task` was given, with defaults.
    guide: whose gold tree models are given that read one, `source` or `target`.
    """

    name: str
    entry: Entry
    grammar: Grammar
    rules: Rules
    options: Mapping[str, Any] = field(default_factory=dict)
    guide: str = "source"

    family = "transformation"
    scored_splits = ("validation", "test", "generalization")
    budget_counts_embeddings = True
    columns = COLUMNS
    legend = LEGEND
    grids = ()

    @property
    def label(self) -> str:
        return self.entry.label

    @property
    def partial(self) -> str:
        """How partial accuracy is found: `first_word` (exact) or `sampled`."""
        return self.entry.partial

    @property
    def transform_tags(self) -> tuple[str, ...]:
        """Tags that ask for more than a copy."""
        return self.entry.tags[1:]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def words(self) -> list[str]:
        """All word types of sources and targets, tags included, sorted."""
        lists = self.grammar.reachable_lists(["S", "target"])
        return sorted({word for words in lists.values() for word in words} | set(self.entry.tags))

    def hierarchical(self, source: str) -> str:
        """The output of the hierarchical rule, which may apply to more than the task's sentences.

        Raises UserError for a line without a tag, with a word outside the vocabulary, or out of the rule's reach.
        """
        return self._apply(self.rules.hierarchical, source)

    def linear(self, source: str) -> str:
        """The output of the linear rule, under the same conditions as `hierarchical`."""
        return self._apply(self.rules.linear, source)

    def partial_match(self, output: str, reference: str) -> bool:
        """Whether `output` has the telling part of `reference`: first word (questions), second word (passives), or
        word classes and the form of the main verb (tense)."""
        return self.partial_test(reference).passes(_words(output))

    def partial_test(self, reference: str) -> PartialTest:
        """The test behind `partial_match`, which also tells of a beginning whether it can still pass."""
        try:
            return self.rules.partial_test(_words(reference))
        except LookupError:
            raise UserError(f"{reference!r} is no reference of {self.name}; give an output of its rules.") from None

    def parse(self, source: str) -> "Tree":
        """Gold tree of a source, without its tag. Raises UserError for a sentence outside the task's grammar."""
        words = _words(source)
        return trees.parse(self.grammar, words[:-1] if set(words[-1:]) & set(self.entry.tags) else words, ["S"])

    def parse_target(self, target: str) -> "Tree":
        """Gold tree of an output of either rule, transformed or copied, in the labels of `parse`.

        An output that may be several is taken as that of the hierarchical rule, a copy, that of the linear rule, in
        this order ("my newts read ." is present). Raises UserError for any other line.
        """
        words = _words(target)
        starts = ("target", "S", "linear") if "linear" in self.grammar.rules else ("target", "S")
        tree = trees.parse(self.grammar, self.rules.grammatical(words), starts)
        for position, word in zip(tree.treepositions("leaves"), words, strict=True):
            tree[position] = word
        return tree

    def sample(self, split: str, count: int, seed: int) -> list[Example]:
        """The first `count` lines of a generated set of the corpus of (task, seed), which has `SIZES` lines.

        Raises UserError for an unknown split, a count outside 1 ... size, and a seed that is no whole number from 0.
        """
        _check_splits([split])
        _check_whole("seed", seed, 0)
        _check_whole("count", count, 1)
        if count > SIZES[split]:
            raise UserError(
                f"count {count} is more than {SIZES[split]:,}, the size of the {split} set; for larger sets use"
                " load_data with sizes."
            )
        if split == "train":  # drawn first, so that nothing else needs to be
            return list(islice(corpus.examples(self, split, seed, set()), count))
        return corpus.load_sets(self, seed, SIZES)[split][:count]

    def load_data(
        self,
        data_dir: str | Path | None = None,
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        splits: Iterable[str] | None = None,
    ) -> TaskData:
        """The sets of the task, generated or from published files.

        data_dir: folder of files (`tasks.transformation.files`). A training set that it lacks is generated without
            any sentence of its files. None: all sets are generated.
        seed: of generated sets.
        sizes: lines by split; a smaller set is the beginning of the full one, a larger one is drawn to its size.
        splits: sets wanted, all by default.
        Raises UserError for unknown splits, a seed or a size that is no whole number or too small, a size above a
        file's, and all that is wrong in a file.
        """
        sizes = dict(sizes or {})
        wanted = list(SIZES) if splits is None else list(splits)
        _check_splits([*wanted, *sizes])
        _check_whole("seed", seed, 0)
        for split, size in sizes.items():
            _check_whole(f"size of the {split} set", size, 1)
        if data_dir is None:
            drawn = {split: max(size, sizes.get(split, 0)) for split, size in SIZES.items()}
            sets = corpus.load_sets(self, seed, drawn)
            description = f"generated, seed {seed}" + "".join(f", {key} {value}" for key, value in self._changed())
        else:
            sets, description = self._load_files(Path(data_dir), seed, sizes, wanted)
        return TaskData({split: sets[split][: sizes.get(split)] for split in SIZES if split in wanted}, description)

    def make_tokenizer(self, data: TaskData, reads: str = "strings") -> "PreTrainedTokenizerFast":
        """The tokenizer of the task's closed vocabulary, the same for all data; with nodes and levels for trees."""
        from tasks.transformation.guided import guided_tokenizer

        return word_tokenizer(self.words) if reads == "strings" else guided_tokenizer(self)

    def encode_set(
        self, tokenizer: "PreTrainedTokenizerFast", examples: Sequence[Example], reads: str = "strings"
    ) -> "Examples":
        """Strings `source target` in batches of similar length (seed 000, appendix D), or source, tree and target."""
        from tasks.training.batches import Strings
        from tasks.transformation.guided import guided_rows

        if reads == "guided":
            return guided_rows(self, tokenizer, examples, self.guide)
        return Strings(tokenizer, examples)

    def check_model(self, model: "PreTrainedModel") -> None:
        """Every language model can be trained."""

    def figures(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerFast",
        data: TaskData,
        training_set: Callable[[], Sequence[Example]],
        settings: "EvaluationSettings",
    ) -> "list[Figure]":
        """Accuracies, cross-entropies and log ratios (seed 000, section 5)."""
        from tasks.evaluation.transformation import score_task

        return score_task(model, tokenizer, self, data.sets, settings)

    def _load_files(
        self, folder: Path, seed: int, sizes: Mapping[str, int], wanted: list[str]
    ) -> tuple[dict[str, list[Example]], str]:
        files = find_files(folder)
        for split in wanted:
            if split not in files and split != "train":
                raise UserError(f"{folder} holds no {split} set; add a file ending in .{SUFFIXES[split]}.")
        make_train = "train" in wanted and "train" not in files
        # For a generated training set all files are read: none of their sentences may be in it.
        sets = {split: self._read(path) for split, path in files.items() if make_train or split in wanted}
        for split in sets:
            if sizes.get(split, 0) > len(sets[split]):
                raise UserError(
                    f"{files[split]} holds {len(sets[split]):,} lines, fewer than the {sizes[split]:,} asked for;"
                    f" ask for {split}={len(sets[split])} or less."
                )
        parts = [f"files {', '.join(files[split].name for split in files if split in sets)}"]
        corrected = sum(example.target != raw for rows in sets.values() for example, raw in rows)
        if corrected:
            parts.append(f"{corrected} targets corrected to the nominative")
        examples = {split: [example for example, _ in rows] for split, rows in sets.items()}
        if make_train:
            bases = frozenset(example.base for rows in examples.values() for example in rows)
            size = max(SIZES["train"], sizes.get("train", 0))
            examples |= corpus.load_sets(self, seed, {"train": size}, bases)
            parts.append(f"training set generated, seed {seed}")
        return examples, ", ".join(parts)

    def _read(self, path: Path) -> list[tuple[Example, str]]:
        """Examples of a published file, and their targets as they stand there."""
        rows = []
        for number, source, target in read_pairs(path):
            where = f"{path}, line {number}"
            for word in f"{source} {target}".split():
                if word not in self._known:
                    raise UserError(f"{where}: {unknown_word(word, self._known)}")
            base, _, tag = source.rpartition(" ")
            if tag not in self.entry.tags or not base:
                raise UserError(
                    f"{where}: a source is a sentence and, as its last word, {' or '.join(self.entry.tags)};"
                    f" this is {source!r}."
                )
            rows.append((Example(source, " ".join(self.rules.correct(target.split()))), target))
        return rows

    def _apply(self, rule: Any, source: str) -> str:
        words = _words(source)
        tags = self.entry.tags
        if not words or words[-1] not in tags:
            raise UserError(f"{source!r} lacks a tag; the last word of a source is {' or '.join(tags)}.")
        for word in words:
            if word not in self._known:
                raise unknown_word(word, self._known)
        *sentence, tag = words
        if tag == tags[0]:
            return " ".join(sentence)
        try:
            return " ".join(rule(sentence))
        except LookupError:
            self.parse(source)  # says which word is out of place
            raise

    def _changed(self) -> list[tuple[str, Any]]:
        return [(key, value) for key, value in self.options.items() if value != self.entry.options[key]]


def _words(line: str) -> list[str]:
    return unicodedata.normalize("NFC", line).split()


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= sys.maxsize:
        raise UserError(f"{name} is {value!r}; allowed: a whole number, {least} or more.")


def _check_splits(splits: Iterable[str]) -> None:
    for split in splits:
        if split not in SIZES:
            raise unknown_name("split", split, SPLITS.values())
