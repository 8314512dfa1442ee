"""The metrics as `evaluate.Metric` classes, for people who work with that library; nothing is fetched.

Import the classes from here: `FirstWordAccuracy().compute(predictions=..., references=...)`. Programs in
scripts/ use the functions of `tasks.metrics` instead: there, `import evaluate` finds scripts/evaluate.py.
"""

from typing import Any

import datasets
import evaluate

from tasks.metrics import accuracy, aggregate, bleu_score, tree_distance


class InMemoryMetric(evaluate.Metric):
    """Keeps its input in memory: the library's cache files clash when several runs share a home."""

    inputs: dict[str, str | list[str]]  # name of an argument of compute() -> type of its items; [type]: lists of it
    explanation: str

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(keep_in_memory=True, **kwargs)

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({name: _feature(kind) for name, kind in self.inputs.items()})
        return evaluate.MetricInfo(
            description=self.__doc__, citation="", inputs_description=self.explanation, features=features
        )


def _feature(kind: str | list[str]) -> Any:
    return datasets.Value(kind) if isinstance(kind, str) else [datasets.Value(kind[0])]


class ExpectedFullAccuracy(InMemoryMetric):
    """Mean of p(y | x) (seed 000, equation 4)."""

    inputs = {"predictions": "float64"}  # noqa: RUF012
    explanation = "predictions: log p(y | x) of each example, eos included, in nats"

    def _compute(self, predictions: list[float]) -> dict[str, float | int | None]:
        result = accuracy.expected_full_accuracy(predictions)
        return {"full_accuracy": result.value, "n": result.n}


class FullLogRatio(InMemoryMetric):
    """Preference for the hierarchical (positive) or the linear rule (negative) (seed 000, appendix E)."""

    inputs = {"predictions": "float64", "references": "float64"}  # noqa: RUF012
    explanation = "predictions: log p(y_hierarchical | x) of each example; references: log p(y_linear | x)"

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float | int | None]:
        return {
            "full_log_ratio": accuracy.full_log_ratio(predictions, references),
            "full_mean_log_ratio": accuracy.full_mean_log_ratio(predictions, references),
            "n": len(predictions),
        }


class CrossEntropyPerToken(InMemoryMetric):
    """Cross-entropy in nats per token, micro-averaged (seed 000, appendix D)."""

    inputs = {"predictions": "float64", "references": "int64"}  # noqa: RUF012
    explanation = "predictions: log-probability of each string; references: its number of tokens, eos included"

    def _compute(self, predictions: list[float], references: list[int]) -> dict[str, float | int | None]:
        result = aggregate.cross_entropy_per_token(predictions, references)
        return {"cross_entropy_per_token": result.value, "tokens": result.n}


class ExactMatch(InMemoryMetric):
    """Share of outputs that equal the reference word by word."""

    inputs = {"predictions": "string", "references": "string"}  # noqa: RUF012
    explanation = "predictions, references: lines of blank-separated words"

    def _compute(self, predictions: list[str], references: list[str]) -> dict[str, float | int | None]:
        result = accuracy.exact_match(predictions, references)
        return {"exact_match": result.value, "n": result.n}


class FirstWordAccuracy(InMemoryMetric):
    """Share of outputs whose first word is the reference's: the partial accuracy of question formation."""

    inputs = {"predictions": "string", "references": "string"}  # noqa: RUF012
    explanation = "predictions, references: lines of blank-separated words"

    def _compute(self, predictions: list[str], references: list[str]) -> dict[str, float | int | None]:
        result = accuracy.first_word_accuracy(predictions, references)
        return {"first_word_accuracy": result.value, "n": result.n}


class Bleu(InMemoryMetric):
    """BLEU of a corpus by sacrebleu, with its signature (seed 002)."""

    inputs = {"predictions": "string", "references": ["string"]}  # noqa: RUF012
    explanation = "predictions: lines; references: for each prediction a list of one line or more"

    def _compute(self, predictions: list[str], references: list[list[str]]) -> dict[str, Any]:
        return dict(bleu_score.bleu(predictions, references))


class TreeEditDistance(InMemoryMetric):
    """Mean edit distance of ordered trees, unit costs (seed 002, TED)."""

    inputs = {"predictions": "string", "references": "string"}  # noqa: RUF012
    explanation = "predictions, references: bracketed trees; compared is exactly what is given, words too"

    def _compute(self, predictions: list[str], references: list[str]) -> dict[str, float | int | None]:
        pairs = zip(predictions, references, strict=True)
        result = aggregate.mean([tree_distance.tree_edit_distance(a, b) for a, b in pairs])
        return {"tree_edit_distance": result.value, "n": result.n}


class NormalizedTreeEditDistance(InMemoryMetric):
    """Mean of the edit distance by the number of nodes of the reference, at `levels` levels (seed 002, N-TED)."""

    inputs = {"predictions": "string", "references": "string"}  # noqa: RUF012
    explanation = "predictions, references: bracketed trees; levels: of both trees that are compared (default: all)"

    def _compute(
        self, predictions: list[str], references: list[str], levels: int | None = None
    ) -> dict[str, float | int | None]:
        pairs = zip(predictions, references, strict=True)
        result = aggregate.mean([tree_distance.normalized_tree_edit_distance(a, b, levels) for a, b in pairs])
        return {"normalized_tree_edit_distance": result.value, "n": result.n}
