"""Means and standard deviations over runs that differ in nothing but their seed."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from tasks import list_tasks
from tasks.evaluation.rows import Row
from zoo import list_models

Value = TypeVar("Value")


class Condition(NamedTuple):
    """What all runs of one table share: figures under other conditions are never averaged or set side by side."""

    task: str
    budget: str
    data: str


class Variant(NamedTuple):
    """One line of a table."""

    model: str
    label: str
    settings: str
    parameters: int


class Statistic(NamedTuple):
    """Mean and sample standard deviation (n - 1) over the n of `runs` that have a value."""

    mean: float | None
    standard_deviation: float | None  # None for fewer than two values
    n: int
    runs: int
    reasons: tuple[str, ...] = ()  # why the others have none
    lower: float | None = None  # means of the certified bounds, where all runs have them
    upper: float | None = None
    sampled_inputs: int | None = None  # of all runs together


Figures = dict[tuple[str, str], Statistic]  # by (metric, set)
Summary = dict[Condition, dict[Variant, Figures]]


def summarize(rows: Iterable[Row]) -> Summary:
    """Groups rows; tasks and models stand in the order of the registry."""
    groups: dict[Condition, dict[Variant, dict[tuple[str, str], list[Row]]]] = {}
    for row in rows:
        condition, variant = group_of(row)
        figures = groups.setdefault(condition, {}).setdefault(variant, {})
        figures.setdefault((row.metric, row.set), []).append(row)
    tasks = list_tasks()
    return {
        condition: {
            variant: {key: describe(figure) for key, figure in figures.items()}
            for variant, figures in in_order(groups[condition])
        }
        for condition in sorted(groups, key=lambda condition: (_place(condition.task, tasks), condition))
    }


def group_of(row: Row) -> tuple[Condition, Variant]:
    """What rows have in common whose mean can be taken."""
    variant = Variant(row.model, row.label, row.settings, row.parameters)
    return Condition(row.task, row.budget, row.data), variant


def in_order(variants: Mapping[Variant, Value]) -> list[tuple[Variant, Value]]:
    """The items, models in the order of the registry."""
    models = list_models()
    return sorted(variants.items(), key=lambda item: (_place(item[0].model, models), item[0]))


def describe(rows: Sequence[Row]) -> Statistic:
    """The statistic of one figure over runs."""
    values = [row.value for row in rows if row.value is not None]
    reasons = tuple(sorted({row.note for row in rows if row.value is None}))
    mean = statistics.fmean(values) if values else None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    lower, upper = (_mean_if_all([getattr(row, end) for row in rows]) for end in ("lower", "upper"))
    sampled = [row.sampled_inputs for row in rows if row.sampled_inputs is not None]
    return Statistic(mean, deviation, len(values), len(rows), reasons, lower, upper, sum(sampled) if sampled else None)


def _mean_if_all(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return statistics.fmean(present) if len(present) == len(values) else None


def _place(name: str, order: list[str]) -> int:
    return order.index(name) if name in order else len(order)
