"""Scores of models that paraphrase under a parse, and of syntax expanders (seed 002)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tasks.evaluation.figures import Figure
from tasks.evaluation.processes import process_state
from tasks.evaluation.run_folder import checkpoint_of
from tasks.files import write_text
from tasks.metrics import Nodes, brackets, mean
from tasks.paraphrase import Pair
from tasks.paraphrase.generation import Decoding, Expansion, generate_parses, generate_texts
from tasks.paraphrase.guidance import GIVEN, TEMPLATE_LEVELS, asked_for, check_given, syntax
from tasks.paraphrase.parsers import Parser, get_parser
from tasks.paraphrase.scores import length_figures, score_all, syntax_figures, text_figures
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from zoo import load_model
from zoo.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from tasks.evaluation.evaluation import EvaluationSettings
    from tasks.interface import TaskData

FILE = "generated.jsonl"
# What the names of figures end in, by what was given; figures of what is copied, which need no model.
ENDINGS = {"target": "", "template": "_from_template", "exemplar": "_from_exemplar", "expanded": "_expanded"}
COPY, TEMPLATE_COPY = "_source_copied", "_template_copied"


@dataclass
class Report:
    """Figures, and what was generated, as lines for people to read."""

    figures: list[Figure] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)

    def write(self, folder: Path | None) -> None:
        """FOLDER/generated.jsonl, by the main process."""
        if folder is not None and process_state().is_main_process:
            write_text(folder / FILE, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines))


def paraphrase_figures(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerFast",
    data: "TaskData",
    settings: "EvaluationSettings",
    template_levels: int = TEMPLATE_LEVELS,
) -> list[Figure]:
    """All figures of a model on the sets of `data`; what it generates is written into the run's folder.

    Under each condition of `settings.given` a text is generated for every pair, and parsed by `settings.parser`; the
    sources are scored too, as if they had been generated. Of a syntax expander, the parses are scored.
    """
    check_given(settings.given)
    decoding = Decoding(settings.beams, batch_tokens=settings.batch_tokens)
    report = Report()
    if model.reads == "expansion":
        for group, pairs in data.sets.items():
            _score_expander(report, Expander(model, tokenizer), group, pairs, decoding, template_levels)
    else:
        # What is missing is said before anything is generated.
        parser = settings.parser or _default_parser(data)
        parse = get_parser(parser)
        expander = _load_expander(settings.expander) if "expanded" in settings.given else None
        for group, pairs in data.sets.items():
            scorer = _Scorer(report, group, pairs, parser, parse)
            asked = {given: asked_for(pairs, given, template_levels) for given in settings.given}
            for given, trees in asked.items():
                expansions = expander.expand(pairs, trees, decoding) if expander and given == "expanded" else None
                parses = [each.nodes for each in expansions] if expansions else trees
                outputs = generate_texts(model, tokenizer, [pair.source for pair in pairs], parses, decoding)
                scorer.score(given, outputs, parses, trees, decoding, expansions)
            scorer.score_sources()
    report.write(settings.run_folder)
    return report.figures


class Expander(NamedTuple):
    """A model that expands templates, and its tokenizer."""

    model: Any
    tokenizer: Any

    def expand(self, pairs: Sequence[Pair], templates: Sequence[Nodes], decoding: Decoding) -> list[Expansion]:
        """Parses for the pairs, from the parses of their sources and the templates."""
        sources = [syntax(pair.source_parse) for pair in pairs]
        return generate_parses(self.model, self.tokenizer, sources, templates, decoding)


class _Scorer:
    """Scores outputs for the pairs of one set."""

    def __init__(self, report: Report, group: str, pairs: Sequence[Pair], parser: str, parse: Parser) -> None:
        self._report, self._group, self._pairs, self._parse = report, group, pairs, parse
        self._parser = f"parser {parser_label(parser)}"
        self._references = [syntax(pair.target_parse) for pair in pairs]

    def score(
        self,
        given: str,
        outputs: Sequence[str],
        parses: Sequence[Nodes],
        asked: Sequence[Nodes],
        decoding: Decoding,
        expansions: Sequence[Expansion] | None = None,
    ) -> None:
        """parses: what the model was given, expansions of what was asked for if there are `expansions`."""
        ending, note = ENDINGS[given], f"{GIVEN[given]}; {decoding}"
        trees = self._add_figures(ending, note, outputs, asked)
        if expansions:
            self._report.figures.append(_finished(self._group, ending, expansions, note))
        for pair, parse, output, tree in zip(self._pairs, parses, outputs, trees, strict=True):
            line = {"set": self._group, "given": given, "source": pair.source, "target": pair.target}
            line |= {"parse_given": brackets(parse), "output": output}
            self._report.lines.append(line | {"output_parse": None if tree is None else brackets(tree)})

    def score_sources(self) -> None:
        """As if they were outputs for their targets' parses; and how long those are."""
        sources = [pair.source for pair in self._pairs]
        self._add_figures(COPY, "the source is copied, no model", sources, self._references)
        self._report.figures += length_figures(self._group, self._references)

    def _add_figures(
        self, ending: str, note: str, outputs: Sequence[str], asked: Sequence[Nodes]
    ) -> list[Nodes | None]:
        """-> the parses of the outputs."""

        def found(share: list[int]) -> list[Nodes | None]:
            return [parsed(tree) for tree in self._parse([outputs[index] for index in share])]

        scored = score_all(found, self._references, asked)
        targets = [pair.target for pair in self._pairs]
        self._report.figures += text_figures(self._group, ending, outputs, targets, note)
        scores = [score for _, score in scored]
        self._report.figures += syntax_figures(self._group, ending, scores, f"{note}; {self._parser}")
        return [tree for tree, _ in scored]


def parsed(parse: str | None) -> Nodes | None:
    """What a parser gives for an output; None also where that is no tree, as parsers of odd sentences may give."""
    try:
        return None if parse is None else syntax(parse)
    except UserError:
        return None


def parser_label(parser: str) -> str:
    """Its name, without the folders of a command, which say something of one machine only."""
    kind, colon, setting = parser.partition(":")
    return f"{kind}{colon}{' '.join(Path(word).name for word in setting.split())}"


def _default_parser(data: "TaskData") -> str:
    if getattr(data, "from_grammars", False):
        return "grammar"
    raise UserError(
        "outputs must be parsed, as their trees are compared with the targets'; name the parser that made the trees of "
        'the data: --parser stanza, benepar, or "command:PROGRAM".'
    )


def _load_expander(run: str | None) -> Expander:
    if run is None:
        raise UserError("--given expanded needs the run that expands templates: --expander RUN (of guig-expander).")
    model, tokenizer = load_model(checkpoint_of(Path(run)))
    if model.reads != "expansion":
        raise UserError(f"--expander {run} is a run of {model.config.zoo_name}; give one of guig-expander.")
    return Expander(model.to(process_state().device).eval(), tokenizer)


def _score_expander(
    report: Report, expander: Expander, group: str, pairs: Sequence[Pair], decoding: Decoding, template_levels: int
) -> None:
    """Distances to the targets' parses, as deep as the vocabulary has levels, of expanded parses and of what they were
    made from."""
    templates = asked_for(pairs, "template", template_levels)
    expansions = expander.expand(pairs, templates, decoding)
    levels = SyntaxVocabulary.of(expander.tokenizer).levels
    references = [syntax(pair.target_parse).cut(levels) for pair in pairs]
    how = f"compared on {levels} levels"
    made = f"parse expanded from {template_levels} levels of the template; {decoding}; {how}"
    for ending, trees, note in (
        ("", [expansion.nodes for expansion in expansions], made),
        (COPY, [syntax(pair.source_parse).cut(levels) for pair in pairs], f"the source's parse, no model; {how}"),
        (TEMPLATE_COPY, templates, f"the template as it is, no model; {how}"),
    ):
        scored = score_all(lambda share, trees=trees: [trees[index] for index in share], references, templates)  # type: ignore[misc]
        report.figures += syntax_figures(group, ending, [score for _, score in scored], note)
    report.figures.append(_finished(group, "", expansions, made))
    for pair, template, expansion in zip(pairs, templates, expansions, strict=True):
        line = {"set": group, "source": pair.source, "target": pair.target, "template": brackets(template)}
        line |= {"output_parse": brackets(expansion.nodes), "target_parse": brackets(syntax(pair.target_parse))}
        report.lines.append(line)


def _finished(group: str, ending: str, expansions: Sequence[Expansion], note: str) -> Figure:
    share = mean([expansion.finished for expansion in expansions])
    return Figure(group, f"finished{ending}", share.value, share.n, f"{note}; share that ended before the length cap")
