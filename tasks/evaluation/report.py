"""The short table that evaluate.py prints."""

from collections.abc import Sequence

from tasks.evaluation.rows import Row

HEADINGS = ("set", "metric", "value", "s.e.", "certified", "sampled", "n", "note")

COUNTS = ("greedy_ties",)  # metrics that count items


def results_table(rows: Sequence[Row]) -> str:
    """One line per row of one run, under a line that names the run; each note once, below."""
    first = rows[0]
    title = f"{first.run}: {first.label} ({first.model}) on {first.task}, seed {first.seed}"
    conditions = f"budget {first.budget}; {first.data}" + (f"; {first.settings}" if first.settings else "")
    notes = list(dict.fromkeys(row.note for row in rows if row.note))
    numbers = {note: f"[{number}]" for number, note in enumerate(notes, start=1)}
    cells = [HEADINGS, *((*_cells(row), numbers.get(row.note, "")) for row in rows)]
    used = [index for index in range(len(HEADINGS)) if any(line[index] for line in cells[1:])]
    cells = [tuple(line[index] for index in used) for line in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
    return "\n".join([title, conditions, *lines, *(f"{number} {note}" for note, number in numbers.items())])


def _cells(row: Row) -> tuple[str, ...]:
    value = "none" if row.value is None else f"{row.value:.0f}" if row.metric in COUNTS else _number(row.value)
    error = "" if row.standard_error is None else _number(row.standard_error)
    bounds = [row.lower, row.upper]
    certified = "" if bounds == [None, None] else " to ".join("?" if b is None else _number(b) for b in bounds)
    sampled = "" if row.sampled_inputs is None else str(row.sampled_inputs)
    return row.set, row.metric, value, error, certified, sampled, str(row.n)


def _number(value: float) -> str:
    """Four decimals, but never 0.0000 for what is not 0."""
    return f"{value:.1e}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"
