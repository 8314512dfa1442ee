"""The metrics as `evaluate.Metric` classes, for people who work with that library; nothing is fetched.

Import the classes from here: `FirstWordAccuracy().compute(predictions=..., references=...)`. Programs in
scripts/ use the functions of `tasks.metrics` instead: there, `import evaluate` finds scripts/evaluate.py.
"""

from typing import Any

import datasets
import evaluate

from tasks.metrics import accuracy, aggregate


class InMemoryMetric(evaluate.Metric):
    """Keeps its input in memory: the library's cache files clash when several runs share a home."""

    inputs: dict[str, str]  # name of an argument of compute() -> type of its items
    explanation: str

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(keep_in_memory=True, **kwargs)

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({name: datasets.Value(kind) for name, kind in self.inputs.items()})
        return evaluate.MetricInfo(
            description=self.__doc__, citation="", inputs_description=self.explanation, features=features
        )


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
