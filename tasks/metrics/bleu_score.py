"""BLEU of a corpus, by sacrebleu and with its signature, which says how it was computed."""

import itertools
import unicodedata
from collections.abc import Sequence
from typing import TypedDict

import sacrebleu
from sacrebleu.metrics.bleu import BLEUScore

from zoo.errors import UserError


class Bleu(TypedDict):
    """score: from 0 to 100; signature: sacrebleu's; notice: why the score says little, empty where it does."""

    score: float
    signature: str
    notice: str


def bleu(predictions: Sequence[str], references: Sequence[Sequence[str] | str]) -> Bleu:
    """BLEU of all predictions together, with sacrebleu's own settings (13a tokens, case kept, no effective order).

    references: those of each prediction, one or more, whose numbers may differ; a string is a single reference.
    Composed and decomposed letters are the same. Raises UserError for no predictions and for another number of items.
    """
    rows = [[reference] if isinstance(reference, str) else list(reference) for reference in references]
    _check(predictions, rows)
    # sacrebleu wants the first references of all predictions, then the second ones, and so on.
    columns = itertools.zip_longest(*([_composed(reference) for reference in row] for row in rows))
    metric = sacrebleu.BLEU(force=True)  # else it warns of full stops that are tokens
    result = metric.corpus_score([_composed(prediction) for prediction in predictions], list(map(list, columns)))
    return Bleu(score=result.score, signature=str(metric.get_signature()), notice=_notice(result))


def _check(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if isinstance(predictions, str) or not predictions:
        raise UserError(f"predictions is {predictions!r}; BLEU needs a list of one line or more.")
    if len(references) != len(predictions):
        raise UserError(
            f"{len(predictions)} predictions and {len(references)} lists of references were given; wanted is one list "
            "for each prediction: [[its reference, ...], ...]."
        )
    if not all(references):
        number = next(number for number, row in enumerate(references, start=1) if not row)
        raise UserError(f"prediction {number} has no reference; give each one at least.")


def _composed(line: str) -> str:
    return unicodedata.normalize("NFC", line)


def _notice(result: BLEUScore) -> str:
    """BLEU of predictions that are too short to hold any 4-gram is 0 also where they equal their references."""
    if result.score or all(result.totals):
        return ""
    return (
        f"no prediction has {len(result.totals)} tokens, and BLEU without effective order is 0 then, "
        "also where predictions equal their references"
    )
