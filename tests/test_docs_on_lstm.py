"""The tables of docs/on_lstm.md are what the code and the measured rows give."""

import dataclasses
from pathlib import Path

import zoo
from tasks.comparison.summary import describe, group_of
from tasks.comparison.tables import Table, format_statistic, name_of, title_of, to_markdown
from tasks.evaluation.report import figures_of_runs, grid_cells
from tasks.evaluation.rows import Row, read_rows
from tasks.language_modeling.task import GRIDS
from zoo.configuration_on_lstm import OnLstmConfig

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "on_lstm.md"
ENTRIES = ("on-lstm", "on-lstm-ptb")
PERPLEXITIES = {("perplexity_per_token", name): f"perplexity, {name}" for name in ("validation", "test")}
NO_SETTINGS = ("vocab_size", "zoo_name")  # follow from the data and the name of the entry


def section(name: str) -> str:
    """What stands between the comments `<!-- name -->` and `<!-- /name -->`."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()


def settings_table() -> str:
    configs = [zoo.create_model(name, word_types=68).config for name in ENTRIES]
    lines = ["| field | " + " | ".join(f"`{name}`" for name in ENTRIES) + " |", "|---|---|---|"]
    for field in dataclasses.fields(OnLstmConfig):
        if field.name in OnLstmConfig.__annotations__ and field.name not in NO_SETTINGS:
            values = " | ".join(str(getattr(config, field.name)) for config in configs)
            lines.append(f"| `{field.name}` | {values} |")
    return "\n".join(lines)


def groups() -> list[list[Row]]:
    """Rows of language models, of each model under one condition."""
    found: dict[tuple[object, ...], list[Row]] = {}
    for path in sorted((ROOT / "results").glob("on_lstm*.csv")):
        for row in read_rows(path):
            if row.family == "language_modeling":
                found.setdefault(group_of(row), []).append(row)
    return list(found.values())


def tree_tables() -> str:
    tables = []
    for rows in groups():
        condition, variant = group_of(rows[0])
        figures = figures_of_runs(rows)
        runs = len({row.run for row in rows})
        expected = [f"{label} {format_statistic(describe(figures[key]), runs)}" for key, label in PERPLEXITIES.items()]
        for grid in GRIDS:
            (*headings, _), *lines = (cells := grid_cells(grid, figures))[0]
            title = f"{name_of(variant)}, {title_of(condition)}; data: {condition.data}; runs: {runs}"
            notes = [f"{'; '.join(expected)}. Trees: {cells[1]}."]
            tables.append(Table(title, headings, rows=[line[:-1] for line in lines], notes=notes))
    return to_markdown(tables, "").strip()


def test_p09_settings_are_the_documented_ones_field_by_field() -> None:
    assert section("settings") == settings_table()
    assert "| `chunk_size` | 5 | 10 |" in section("settings")


def test_p09_figures_to_expect_are_measured_ones_with_their_spread() -> None:
    assert section("trees") == tree_tables()
    assert "perplexity, validation 9.151 ± 0.13" in section("trees")
