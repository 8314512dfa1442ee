"""The short tables that evaluate.py prints."""

from collections.abc import Mapping, Sequence

from tasks import load_task
from tasks.comparison.summary import describe, group_of
from tasks.evaluation.rows import Row
from tasks.interface import Grid

FiguresOfRuns = Mapping[tuple[str, str], Sequence[Row]]  # by (metric, set), a row of each run

HEADINGS = ("set", "metric", "value", "s.e.", "bounds", "sampled", "n", "note")
COUNTS = ("greedy_ties",)  # metrics that count items


def results_tables(rows: Sequence[Row]) -> str:
    """The figures of each model under one condition; of several runs mean ± sample standard deviation."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    return "\n\n".join(map(_tables, groups.values()))


def figures_of_runs(rows: Sequence[Row]) -> FiguresOfRuns:
    figures: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        figures.setdefault((row.metric, row.set), []).append(row)
    return figures


def list_cells(figures: FiguresOfRuns) -> tuple[list[list[str]], list[str]]:
    """Headings of the columns that are used, a line for each figure; and the numbered notes that the lines refer to."""
    notes = list(dict.fromkeys(row.note for rows in figures.values() for row in rows if row.note))
    numbers = {note: f"[{number}]" for number, note in enumerate(notes, start=1)}
    cells = [list(HEADINGS)]
    for rows in figures.values():
        marks = dict.fromkeys(numbers[row.note] for row in rows if row.note)
        cells.append([*_cells(rows), " ".join(marks)])
    used = [index for index in range(len(HEADINGS)) if any(line[index] for line in cells[1:])]
    return [[line[index] for index in used] for line in cells], [f"{number} {note}" for note, number in numbers.items()]


def grid_cells(grid: Grid, figures: FiguresOfRuns) -> tuple[list[list[str]], str]:
    """Headings, a line for each method, the numbers of items; and what the notes of all methods share.

    Nothing but headings if there are no figures of the grid.
    """
    methods = dict.fromkeys(
        metric.removeprefix(kind) for metric, name in figures for kind in grid.kinds_of(metric, name)
    )
    found = {
        method: [figures.get((kind + method, name), ()) for kind, name in grid.columns]  # a place for each column
        for method in methods
    }
    notes = {method: next(rows[0].note for rows in columns if rows).split("; ") for method, columns in found.items()}
    shared = [part for part in next(iter(notes.values()), ()) if all(part in parts for parts in notes.values())]
    cells = [["method", *grid.columns.values(), "note"]]
    for method, columns in found.items():
        own = "; ".join(part for part in notes[method] if part not in shared)
        cells.append([method.replace("_", " "), *(_value(rows) if rows else "" for rows in columns), own])
    if found:
        numbers = [next((_items(rows) for rows in column if rows), "") for column in zip(*found.values(), strict=True)]
        cells.append(["n", *numbers, ""])
    return cells, "; ".join(shared)


def _tables(rows: Sequence[Row]) -> str:
    """Figures as a list, each note once below, and then the task's grids, under lines that say of what they are."""
    first, task, figures = rows[0], load_task(rows[0].task), figures_of_runs(rows)
    runs = len({row.run for row in rows})
    subject = f"{first.label} ({first.model}) on {first.task}"
    title = f"{first.run}: {subject}, seed {first.seed}"
    if runs > 1:
        title = f"{subject}, mean ± standard deviation of {runs} runs"
    conditions = f"budget {first.budget}; {first.data}" + (f"; {first.settings}" if first.settings else "")
    in_grids = {key for key in figures if any(grid.kinds_of(*key) for grid in task.grids)}
    listed = {
        key: found for key, found in figures.items() if key not in in_grids and (not task.grids or key in task.columns)
    }
    lines = [title, conditions, *_list(listed)]
    for grid in task.grids:
        cells, note = grid_cells(grid, figures)
        if cells[1:]:
            lines += ["", grid.title, *_aligned(cells), note]
    rest = len(figures) - len(listed) - len(in_grids)
    return "\n".join([*lines, *([f"More figures in the file that is written: {rest}."] if rest else [])])


def _list(figures: FiguresOfRuns) -> list[str]:
    cells, notes = list_cells(figures)
    return [*_aligned(cells), *notes]


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]


def _cells(rows: Sequence[Row]) -> list[str]:
    statistic, first = describe(rows), rows[0]
    error = "" if first.standard_error is None or len(rows) > 1 else _number(first.standard_error)
    ends = [statistic.lower, statistic.upper]
    bounds = "" if ends == [None, None] else " to ".join("?" if end is None else _number(end) for end in ends)
    sampled = "" if statistic.sampled_inputs is None else str(statistic.sampled_inputs)
    return [first.set, first.metric, _value(rows), error, bounds, sampled, _items(rows)]


def _value(rows: Sequence[Row]) -> str:
    """A figure, or mean ± sample standard deviation over runs; how many runs have one, if not all do."""
    statistic = describe(rows)
    if statistic.mean is None:
        return "none"
    if statistic.runs == 1 and rows[0].metric in COUNTS:
        return f"{statistic.mean:.0f}"
    text = _number(statistic.mean)
    if statistic.standard_deviation is not None:
        text += f" ± {_number(statistic.standard_deviation)}"
    return text if statistic.n == statistic.runs else f"{text} (n={statistic.n})"


def _items(rows: Sequence[Row]) -> str:
    return " / ".join(dict.fromkeys(str(row.n) for row in rows))


def _number(value: float) -> str:
    """Four decimals, but never 0.0000 for what is not 0."""
    return f"{value:.1e}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"
