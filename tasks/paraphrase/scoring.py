"""Scores of models that paraphrase under a parse, and of syntax expanders (seed 002)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.evaluation.figures import Figure
from tasks.evaluation.processes import process_state
from tasks.evaluation.run_folder import checkpoint_of
from tasks.files import write_text
from tasks.metrics import Nodes, brackets
from tasks.paraphrase import Pair
from tasks.paraphrase.generation import Decoding, Expansion, generate_parses, generate_texts
from tasks.paraphrase.guidance import GIVEN, TEMPLATE_LEVELS, asked_for, check_given, syntax
from tasks.paraphrase.parsers import get_parser
from tasks.paraphrase.scores import length_figures, score_all, syntax_figures, text_figures
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from zoo import load_model
from zoo.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from tasks.evaluation.evaluation import EvaluationSettings
    from tasks.interface import TaskData

FILE = "generated.jsonl"
# What the names of figures end in, by what was given; figures of copied sources, which need no model.
ENDINGS = {"target": "", "template": "_from_template", "exemplar": "_from_exemplar", "expanded": "_expanded"}
COPY = "_source_copied"


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
    for group, pairs in data.sets.items():
        if model.reads == "expansion":
            _score_expander(report, model, tokenizer, group, pairs, decoding, template_levels)
            continue
        scorer = _Scorer(report, group, pairs, settings.parser or _default_parser(data))
        for given in settings.given:
            asked = asked_for(pairs, given, template_levels)
            parses, finished = asked, None
            if given == "expanded":
                expansions = _expand(settings, pairs, asked, decoding)
                parses, finished = [each.nodes for each in expansions], [each.finished for each in expansions]
            outputs = generate_texts(model, tokenizer, [pair.source for pair in pairs], parses, decoding)
            searched = "greedy" if decoding.beams == 1 else f"{decoding.beams} beams"
            scorer.score(ENDINGS[given], f"{GIVEN[given]}; {searched}", outputs, parses, asked, finished)
        asked = [syntax(pair.target_parse) for pair in pairs]
        scorer.score(COPY, "the source is copied, no model", [pair.source for pair in pairs], None, asked)
        report.figures += length_figures(group, asked)
    report.write(settings.run_folder)
    return report.figures


class _Scorer:
    """Scores outputs for the pairs of one set."""

    def __init__(self, report: Report, group: str, pairs: Sequence[Pair], parser: str) -> None:
        self._report, self._group, self._pairs, self._parser = report, group, pairs, parser
        self._references = [syntax(pair.target_parse) for pair in pairs]

    def score(
        self,
        ending: str,
        note: str,
        outputs: Sequence[str],
        parses: Sequence[Nodes] | None,
        asked: Sequence[Nodes],
        finished: Sequence[bool] | None = None,
    ) -> None:
        """parses: what the model was given (None: no model); asked: what the first levels should be; finished: whether
        the expanded parses came to an end."""
        parse = get_parser(self._parser)

        def found(share: list[int]) -> list[Nodes | None]:
            trees = parse([outputs[index] for index in share])
            return [None if tree is None else syntax(tree) for tree in trees]

        scored = score_all(found, self._references, asked)
        targets = [pair.target for pair in self._pairs]
        self._report.figures += text_figures(self._group, ending, outputs, targets, note)
        note = f"{note}; parser {parser_label(self._parser)}"
        self._report.figures += syntax_figures(self._group, ending, [score for _, score in scored], note)
        if finished:
            share = sum(finished) / len(finished)
            unfinished = f"{note}; share of expanded parses that ended before the length cap"
            self._report.figures.append(Figure(self._group, f"finished{ending}", share, len(finished), unfinished))
        if parses is None:
            return
        for pair, given, output, (tree, _) in zip(self._pairs, parses, outputs, scored, strict=True):
            line = {"set": self._group, "given": ending.removeprefix("_") or "target", "source": pair.source}
            line |= {"target": pair.target, "parse_given": brackets(given), "output": output}
            self._report.lines.append(line | {"output_parse": None if tree is None else brackets(tree)})


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


def _expand(
    settings: "EvaluationSettings", pairs: Sequence[Pair], templates: Sequence[Nodes], decoding: Decoding
) -> list[Expansion]:
    """Parses for the pairs, expanded from their templates by the named run of an expander."""
    if settings.expander is None:
        raise UserError("--given expanded needs the run that expands templates: --expander RUN (of guig-expander).")
    expander, tokenizer = load_model(checkpoint_of(Path(settings.expander)))
    if expander.reads != "expansion":
        raise UserError(
            f"--expander {settings.expander} is a run of {expander.config.zoo_name}; give one of guig-expander."
        )
    expander.to(process_state().device)
    sources = [syntax(pair.source_parse) for pair in pairs]
    return generate_parses(expander, tokenizer, sources, templates, decoding)


def _score_expander(
    report: Report,
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerFast",
    group: str,
    pairs: Sequence[Pair],
    decoding: Decoding,
    template_levels: int,
) -> None:
    """Distances of expanded parses to the targets' parses, both as deep as the vocabulary has levels."""
    templates = asked_for(pairs, "template", template_levels)
    sources = [syntax(pair.source_parse) for pair in pairs]
    levels = SyntaxVocabulary.of(tokenizer).levels
    references = [syntax(pair.target_parse).cut(levels) for pair in pairs]
    expansions = generate_parses(model, tokenizer, sources, templates, decoding)
    scored = score_all(lambda share: [expansions[index].nodes for index in share], references, templates)
    note = f"parse expanded from {template_levels} levels of the template, compared on {levels} levels"
    report.figures += syntax_figures(group, "", [score for _, score in scored], note)
    finished = [expansion.finished for expansion in expansions]
    share = sum(finished) / len(finished) if finished else None
    report.figures.append(Figure(group, "finished", share, len(finished), f"{note}; share that ended before the cap"))
    for pair, template_given, expansion in zip(pairs, templates, expansions, strict=True):
        line = {"set": group, "source": pair.source, "target": pair.target, "template": brackets(template_given)}
        line |= {"output_parse": brackets(expansion.nodes), "target_parse": brackets(syntax(pair.target_parse))}
        report.lines.append(line)
