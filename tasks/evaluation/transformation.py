"""What is measured of a model on a transformation task (seed 000, section 5)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.evaluation.figures import (
    Figure,
    first_word_figures,
    full_ratio_figures,
    partial_figures,
    string_figures,
)
from tasks.evaluation.guided import GuidedReader, reader_for
from tasks.evaluation.partial_accuracy import score_partial
from tasks.evaluation.scoring import EncodedPair, PairScores, score_pairs, score_rules
from tasks.evaluation.sets import RULES, encode_pairs, scored_sets
from tasks.transformation import GUIDES

if TYPE_CHECKING:
    from tasks.evaluation.evaluation import EvaluationSettings


def score_task(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: Any,
    sets: Mapping[str, Sequence[Any]],
    settings: "EvaluationSettings",
) -> list[Figure]:
    """All figures of all sets. Raises UserError for a word that the model does not know."""
    pairs = scored_sets(task, sets)
    encoded = {name: encode_pairs(tokenizer, rows) for name, rows in pairs.items()}
    reader = reader_for(model, tokenizer, task, pairs, encoded)
    figures = score_sets(reader, tokenizer, task, pairs, encoded, settings)
    if reader is model:
        return figures
    notes = [figure.note.replace("source and target", "target") for figure in figures]  # sources are not predicted
    guided = [f"{GUIDES[task.guide]}; {note}".rstrip("; ") for note in notes]
    return [figure._replace(note=note) for figure, note in zip(figures, guided, strict=True)]


def score_sets(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: Any,
    pairs: dict[str, list[tuple[str, str]]],
    encoded: dict[str, list[EncodedPair]],
    settings: "EvaluationSettings",
) -> list[Figure]:
    """All figures of all sets, set by set."""
    scores: dict[str, list[PairScores]] = {
        name: score_pairs(model, rows, settings.batch_tokens, name)
        for name, rows in encoded.items()
        if name not in RULES
    }
    if set(RULES) <= encoded.keys():
        sources = [pair.source for pair in encoded["hierarchical"]]
        targets = [[pair.target for pair in row] for row in zip(*(encoded[rule] for rule in RULES), strict=True)]
        both = score_rules(model, sources, targets, settings.batch_tokens, "generalization")
        scores |= {rule: [row[place] for row in both] for place, rule in enumerate(RULES)}
    figures = [figure for name, rows in scores.items() for figure in string_figures(name, rows)]
    if "hierarchical" not in scores:
        return figures
    figures += full_ratio_figures(scores["hierarchical"], scores["linear"])
    if task.partial != "first_word" and isinstance(model, GuidedReader) and task.guide == "target":
        return figures  # one sampled output cannot be guided by the trees of both rules' targets
    if task.partial == "first_word":
        return figures + first_word_figures(scores["hierarchical"], scores["linear"])
    partial = score_partial(
        model,
        tokenizer,
        sources,
        list(zip(*([task.partial_test(target) for _, target in pairs[rule]] for rule in RULES), strict=True)),
        samples=settings.samples,
        seed=settings.seed,
        batch_tokens=settings.batch_tokens,
        sample_all=settings.sample_all,
    )
    sampled = f"{settings.samples} samples per input, seed {settings.seed}"
    how = sampled if settings.sample_all else f"an interval that holds it; {sampled} where that is too wide"
    return figures + partial_figures(partial, settings.samples, how)
