"""What is measured of a model on a transformation task (seed 000, section 5)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.evaluation.figures import (
    Figure,
    first_word_figures,
    full_ratio_figures,
    sampled_figures,
    string_figures,
)
from tasks.evaluation.sampling import count_matches
from tasks.evaluation.scoring import EncodedPair, score_pairs
from tasks.evaluation.sets import RULES, encode_pairs, scored_sets

if TYPE_CHECKING:
    from tasks.evaluation.evaluation import EvaluationSettings

LENGTH_MARGIN = 5  # words that a sampled output may be longer than the longest output of either rule


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
    return score_sets(model, tokenizer, task, pairs, encoded, settings)


def score_sets(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: Any,
    pairs: dict[str, list[tuple[str, str]]],
    encoded: dict[str, list[EncodedPair]],
    settings: "EvaluationSettings",
) -> list[Figure]:
    """All figures of all sets, set by set."""
    scores = {name: score_pairs(model, rows, settings.batch_tokens, name) for name, rows in encoded.items()}
    figures = [figure for name, rows in scores.items() for figure in string_figures(name, rows)]
    if "hierarchical" not in scores:
        return figures
    figures += full_ratio_figures(scores["hierarchical"], scores["linear"])
    if task.partial == "first_word":
        return figures + first_word_figures(scores["hierarchical"], scores["linear"])
    bound = LENGTH_MARGIN + max((len(p.target) for rule in RULES for p in encoded[rule]), default=0)
    counts = count_matches(
        model,
        tokenizer,
        [pair.source for pair in encoded["hierarchical"]],
        list(zip(*([target for _, target in pairs[rule]] for rule in RULES), strict=True)),
        task.partial_match,
        samples=settings.samples,
        max_new_tokens=bound,
        seed=settings.seed,
        batch_tokens=settings.batch_tokens,
    )
    how = f"{settings.samples} samples per input, seed {settings.seed}, at most {bound} tokens"
    return figures + sampled_figures(counts, settings.samples, how)
