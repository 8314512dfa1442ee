"""Paraphrasing as a task: pairs, vocabulary, and what each kind of model reads of them."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tasks.interface import TaskData
from tasks.paraphrase.columns import COLUMNS, LEGEND
from tasks.paraphrase.files import SPLITS, Files, find_files, read_pairs
from tasks.paraphrase.grammar_pairs import GRAMMARS, SIZES, grammar_pairs, grammar_words
from tasks.paraphrase.linearization import Linear, linearize
from tasks.paraphrase.pairs import NO_PARSE, LeftOut, Pair, good_rows
from tasks.paraphrase.parsers import add_parses, get_parser
from tasks.paraphrase.pieces import PIECES, piece_tokenizer
from tasks.paraphrase.rows import expansion_rows, text_rows
from tasks.paraphrase.vocabulary import SyntaxVocabulary, add_syntax
from tasks.tokenization import word_tokenizer
from tasks.transformation import TASKS as TRANSFORMATIONS
from zoo.errors import UserError, unknown_name

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from tasks.evaluation.evaluation import EvaluationSettings
    from tasks.evaluation.figures import Figure
    from tasks.training.batches import Examples

# Within prepared data: the folder of the tokenizer, and how the rows were chosen, which have been checked then.
TOKENIZER, PREPARED = "tokenizer", "prepared.json"
PARSED_AT_ONCE = 5_000


@dataclass(frozen=True)
class ParaphraseData(TaskData):
    """Pairs by split; the tokenizer that was prepared with them; whether they are those of the grammars; what rows of
    the files were left out, by split."""

    tokenizer: Path | None = None
    from_grammars: bool = False
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ParaphraseTask:
    """Paraphrasing under a parse (seed 002). The fields are the options of the task, explained in its package."""

    levels: int = 8
    template_levels: int = 3
    pieces: int | None = None
    parser: str | None = None
    grammars: Sequence[str] = GRAMMARS

    name = "paraphrase"
    label = "paraphrase"
    family = "paraphrase"
    scored_splits = ("validation", "test")
    budget_counts_embeddings = False  # else a large vocabulary would leave nothing for the layers
    columns = COLUMNS
    legend = LEGEND
    grids = ()

    def __post_init__(self) -> None:
        for option, number in (("levels", self.levels), ("template_levels", self.template_levels)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise UserError(f"{option} is {number!r}; allowed: a whole number, 1 or more.")
        if self.template_levels > self.levels:
            raise UserError(
                f"template_levels is {self.template_levels}, more than the {self.levels} levels of the trees; make it"
                " smaller."
            )
        if isinstance(self.grammars, str) or not isinstance(self.grammars, Sequence) or not self.grammars:
            raise UserError(f"grammars is {self.grammars!r}; write it like grammars=[{GRAMMARS[0]}].")
        for grammar in self.grammars:
            if grammar not in TRANSFORMATIONS:
                raise unknown_name("grammar", str(grammar), TRANSFORMATIONS)

    def load_data(
        self,
        data_dir: str | Path | None = None,
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        splits: Iterable[str] | None = None,
    ) -> ParaphraseData:
        """The sets of the task: pairs of the grammars, or those of a folder of files (`tasks.paraphrase.files`), which
        may have been prepared by scripts/prepare_paraphrase.py.

        splits: sets wanted, all that there are by default; sizes: pairs by split, the first ones. Rows of files that
        can be no pair are left out, with a warning that counts and names them.
        Raises UserError for an unknown split, a set that is not there or too small, rows without a tree and no
        `parser` to make it, and all that is wrong in a file.
        """
        sizes = dict(sizes or {})
        splits = None if splits is None else list(splits)
        for split in [*(splits or []), *sizes]:
            if split not in SPLITS:
                raise unknown_name("split", split, SPLITS)
        if data_dir is None:
            sets = {
                split: grammar_pairs(self.grammars, split, seed, sizes.get(split, SIZES[split]))
                for split in splits or SIZES
            }
            description = f"sentences of the grammars of {', '.join(self.grammars)} and their transforms, seed {seed}"
            return ParaphraseData(sets, description, from_grammars=True)
        return self._load_files(Path(data_dir), sizes, splits)

    def make_tokenizer(self, data: TaskData, reads: str = "strings") -> "PreTrainedTokenizerFast":
        """The tokenizer of prepared data; else one of pieces, or of words for pairs of the grammars, with the nodes of
        the training set and the levels of the task."""
        prepared = data.tokenizer if isinstance(data, ParaphraseData) else None
        if prepared is not None:
            return self._load_tokenizer(prepared)
        pairs = data.sets["train"]
        texts = [text for pair in pairs for text in (pair.source, pair.target)]
        if self.pieces is None and isinstance(data, ParaphraseData) and data.from_grammars:
            tokenizer = word_tokenizer(grammar_words(self.grammars))
        else:
            tokenizer = piece_tokenizer(texts, self.pieces or PIECES)
        parses = {parse for pair in pairs for parse in (pair.source_parse, pair.target_parse) if parse}
        labels = {node for parse in parses for node in self.tree(parse).nodes}
        return add_syntax(tokenizer, sorted(labels), self.levels)

    def encode_set(
        self, tokenizer: "PreTrainedTokenizerFast", examples: Sequence[Pair], reads: str = "strings"
    ) -> "Examples":
        """Pairs as rows of ids; the tree that guides is the target's (`tasks.paraphrase.rows`)."""
        targets = [self.tree(pair.target_parse) for pair in examples]
        sources = [pair.source for pair in examples]
        if reads != "expansion":
            return text_rows(tokenizer, reads, sources, targets, [pair.target for pair in examples])
        trees = [self.tree(pair.source_parse) for pair in examples]
        templates = [self.template(pair) for pair in examples]
        return expansion_rows(tokenizer, trees, templates, targets, sources)

    def tree(self, parse: str | None) -> Linear:
        """A parse as models read it, cut to the levels of the task. UserError for None."""
        if parse is None:
            raise UserError("a pair has no parse; name what makes it with the option parser, e.g. parser=stanza.")
        return linearize(parse, self.levels)

    def template(self, pair: Pair) -> Linear:
        """The template of a pair: the first levels of its template's parse, else of its target's."""
        return self.tree(pair.template).cut(self.template_levels)

    def check_model(self, model: "PreTrainedModel") -> None:
        """Every model can be trained."""

    def figures(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerFast",
        data: TaskData,
        training_set: Callable[[], Sequence[Pair]],
        settings: "EvaluationSettings",
    ) -> "list[Figure]":
        """BLEU, tree edit distance and N-TED of what a model generates (seed 002, "Experiments")."""
        from tasks.paraphrase.scoring import paraphrase_figures

        return paraphrase_figures(model, tokenizer, data, settings, self.template_levels)

    def _load_files(self, folder: Path, sizes: Mapping[str, int], splits: list[str] | None) -> ParaphraseData:
        files = find_files(folder)
        wanted = list(files) if splits is None else splits
        sets, left_out = {}, {}
        for split in wanted:
            if split not in files:
                raise UserError(
                    f"{folder} holds no {split} set, only {', '.join(files)}; add its files, or let"
                    " scripts/prepare_paraphrase.py part the training set."
                )
            left_out[split] = LeftOut()
            pairs = self._read(files[split], left_out[split], (folder / PREPARED).is_file())
            sets[split] = list(islice(pairs, sizes.get(split)))
            _report(folder, split, len(sets[split]), sizes.get(split, 0), left_out[split])
        names = [path.name for split in wanted for path in files[split].values()]
        rows = sum(map(len, left_out.values()))
        description = f"files {', '.join(names)}" + (f", {rows} rows left out" if rows else "")
        prepared = folder / TOKENIZER
        return ParaphraseData(sets, description, prepared if prepared.is_dir() else None, left_out=left_out)

    def _read(self, files: Files, left_out: LeftOut, is_prepared: bool) -> Iterator[Pair]:
        rows = read_pairs(files)
        if is_prepared:
            return (pair for _, pair in rows)
        if self.parser is None:
            return good_rows(rows, left_out, need_tree=True)
        return self._parsed(rows, left_out, self.parser)

    def _parsed(self, rows: Iterator[tuple[str, Pair]], left_out: LeftOut, parser: str) -> Iterator[Pair]:
        parse = get_parser(parser)
        while chunk := list(islice(rows, PARSED_AT_ONCE)):
            names, pairs = zip(*chunk, strict=True)
            yield from good_rows(zip(names, add_parses(pairs, parse), strict=True), left_out, need_tree=True)

    def _load_tokenizer(self, folder: Path) -> "PreTrainedTokenizerFast":
        from transformers import AutoTokenizer

        tokenizer = cast("PreTrainedTokenizerFast", AutoTokenizer.from_pretrained(folder))
        prepared = SyntaxVocabulary.of(tokenizer).levels
        if prepared != self.levels:
            raise UserError(
                f"{folder} was prepared for {prepared} levels, but levels is {self.levels}; give levels={prepared}, or"
                " prepare the data again."
            )
        return tokenizer


def _report(folder: Path, split: str, count: int, wanted: int, left_out: LeftOut) -> None:
    told = f"{folder}, {split} set: {len(left_out):,} rows are left out: {left_out}"
    if not count:
        hint = " Name what makes the trees with the option parser, e.g. parser=stanza." if NO_PARSE in left_out else ""
        raise UserError(f"{told}. No row remains.{hint}")
    if count < wanted:
        raise UserError(f"{folder}: the {split} set has {count:,} pairs, fewer than the {wanted:,} asked for.")
    if left_out:
        warnings.warn(told, stacklevel=2)
