"""Language modelling as a task: text, vocabulary, batches, perplexity, and trees from levels."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.interface import Grid, TaskData
from tasks.language_modeling.grammar_text import SIZES, grammar_sets, grammar_tree
from tasks.language_modeling.text import FORMS, NAMES, read_text
from tasks.tokenization import SPECIAL_TOKENS, UNKNOWN, word_tokenizer
from tasks.transformation import TASKS as GRAMMARS
from zoo.errors import UserError, unknown_name

if TYPE_CHECKING:
    from nltk.tree import Tree
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from tasks.evaluation.evaluation import EvaluationSettings
    from tasks.evaluation.figures import Figure
    from tasks.training.batches import Examples

BATCHES = ("sentences", "continuous")
COLUMNS = {
    ("perplexity_per_token", "validation"): "PPL valid.",
    ("perplexity_per_token", "test"): "PPL test",
    ("sentence_f1_split", "trees"): "F1 split",
    ("sentence_f1_binary", "trees"): "F1 binary",
    ("sentence_f1_left", "trees"): "F1 left",
    ("sentence_f1_right", "trees"): "F1 right",
    ("sentence_f1_balanced", "trees"): "F1 balanced",
    ("sentence_f1_random", "trees"): "F1 random",
    ("corpus_f1_split", "trees"): "corpus F1 split",
    ("corpus_f1_binary", "trees"): "corpus F1 binary",
}
LEGEND = (
    "Language modelling: mean ± sample standard deviation over n runs. PPL: perplexity per token, words and eos "
    "counted. F1: unlabelled, between 0 and 1, against gold trees, mean over sentences (corpus F1: from the counts of "
    "all sentences); split and binary: trees from the levels of the middle layer by either method; left, right, "
    "balanced, random: trees that need no model."
)
GRIDS = (
    Grid(
        "unlabelled F1 of trees",
        {
            ("sentence_f1_", "trees"): "sentence F1",
            ("corpus_f1_", "trees"): "corpus F1",
            ("sentence_f1_", "trees_10"): "WSJ10",
        },
    ),
)


@dataclass(frozen=True)
class TextData(TaskData):
    """Sentences by split, and whether they are those of the grammars, so that gold trees are known."""

    from_grammars: bool = False


@dataclass(frozen=True, eq=False)
class LanguageModelingTask:
    """Language modelling word by word (seed 001). The fields are the options of the task, explained in its package."""

    text: str = "lines"
    batches: str = "sentences"
    segment_tokens: int = 70
    min_count: int | None = None
    grammars: Sequence[str] = ("question_formation", "tense_reinflection", "passivization")

    name = "language_modeling"
    label = "language modelling"
    family = "language_modeling"
    scored_splits = ("validation", "test")
    budget_counts_embeddings = False  # else a large vocabulary would leave nothing for the layers
    columns = COLUMNS
    legend = LEGEND
    grids = GRIDS

    def __post_init__(self) -> None:
        for option, value, allowed in (("text", self.text, FORMS), ("batches", self.batches, BATCHES)):
            if value not in allowed:
                raise unknown_name(f"value of {option}", str(value), allowed)
        for option, number in (("segment_tokens", self.segment_tokens), ("min_count", self.min_count)):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
                raise UserError(f"{option} is {number!r}; allowed: a whole number, 1 or more.")
        if isinstance(self.grammars, str) or not isinstance(self.grammars, Sequence) or not self.grammars:
            raise UserError(f"grammars is {self.grammars!r}; write it like grammars=[{GRAMMARS[0]}].")
        for grammar in self.grammars:
            if grammar not in GRAMMARS:
                raise unknown_name("grammar", str(grammar), GRAMMARS)

    @property
    def carries_state(self) -> bool:
        """Whether batches go on from the state at the end of the last."""
        return self.batches == "continuous"

    def load_data(
        self,
        data_dir: str | Path | None = None,
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        splits: Iterable[str] | None = None,
    ) -> "TextData":
        """Sentences of a text (see `read_text`), or drawn from the grammars; sizes: the first sentences of a set."""
        sizes = dict(sizes or {})
        wanted = list(NAMES) if splits is None else list(splits)
        for split in [*wanted, *sizes]:
            if split not in NAMES:
                raise unknown_name("split", split, NAMES)
        if data_dir is None:
            sets = grammar_sets(self.grammars, seed, sizes)
            description = f"sentences of the grammars of {', '.join(self.grammars)}, seed {seed}"
        else:
            sets, description = read_text(Path(data_dir), self.text, wanted)
        for split in wanted:
            if sizes.get(split, 0) > len(sets[split]):
                raise UserError(
                    f"the {split} set has {len(sets[split]):,} sentences, fewer than the {sizes[split]:,} asked for; "
                    "ask for fewer."
                )
        sets = {split: sets[split][: sizes.get(split)] for split in SIZES if split in wanted}
        return TextData(sets, description, from_grammars=data_dir is None)

    def make_tokenizer(self, data: TaskData, reads: str = "strings") -> "PreTrainedTokenizerFast":
        """An open vocabulary: the words of the training set that come `min_count` times or more, and <unk>."""
        counts = Counter(word for sentence in data.sets["train"] for word in sentence.split())
        least = self.min_count or (1 if UNKNOWN in counts else 2)
        words = [word for word, count in counts.items() if count >= least and word not in SPECIAL_TOKENS]
        if not words:
            raise UserError(f"no word comes {least} times or more; give more text or a smaller min_count.")
        return word_tokenizer(words, is_open=True)

    def encode_set(
        self, tokenizer: "PreTrainedTokenizerFast", examples: Sequence[str], reads: str = "strings"
    ) -> "Examples":
        """Sentences in batches of similar length, or one continuous text."""
        from tasks.training.batches import Strings
        from tasks.training.stream import Stream

        if self.carries_state:
            return Stream(tokenizer, examples, self.segment_tokens)
        return Strings(tokenizer, ((sentence,) for sentence in examples))

    def check_model(self, model: "PreTrainedModel") -> None:
        """Raises UserError if the state is to be carried over and the model's grows with the text."""
        from tasks.training.carried_state import can_be_carried

        if self.carries_state and not can_be_carried(model):
            raise UserError(
                f"batches is continuous, but the state of {model.config.zoo_name} grows with the text and cannot be "
                "carried over; leave the option out (batches=sentences), or take a model without attention and stack."
            )

    def parse(self, sentence: str) -> "Tree":
        """The gold tree of a sentence of the grammars; UserError for any other."""
        return grammar_tree(self.grammars, sentence)

    def figures(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerFast",
        data: TaskData,
        training_set: Callable[[], Sequence[str]],
        settings: "EvaluationSettings",
    ) -> "list[Figure]":
        """Perplexities, and F1 of the trees of a model with levels where gold trees are known."""
        from tasks.language_modeling.levels import check_levels, has_levels
        from tasks.language_modeling.parsing import score_trees
        from tasks.language_modeling.scoring import perplexity_figures

        if settings.trees is not None:
            check_levels(model, model.config.zoo_name)
        segment = self.segment_tokens if self.carries_state else None
        figures = [
            figure
            for name, sentences in data.sets.items()
            for figure in perplexity_figures(model, tokenizer, name, sentences, segment, settings.batch_tokens)
        ]
        trees, source = self._gold_trees(data, settings) if has_levels(model) else ([], "")
        if not trees:
            return figures
        return figures + score_trees(model, tokenizer, trees, source, training_set(), settings)

    def _gold_trees(self, data: TaskData, settings: "EvaluationSettings") -> "tuple[list[Tree], str]":
        """Trees and where they come from: the treebank that is named, or the grammars of the test set."""
        from tasks.language_modeling.treebank import read_treebank

        if settings.trees is not None:
            return read_treebank(settings.trees)[: settings.limit], f"treebank {Path(settings.trees).name}"
        if not (isinstance(data, TextData) and data.from_grammars):
            return [], ""
        return [self.parse(sentence) for sentence in data.sets.get("test", [])], "trees of the grammars, test set"
