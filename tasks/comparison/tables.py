"""Summaries as tables: terminal, Markdown, LaTeX, and CSV in long form."""

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tasks import load_task
from tasks.comparison.paper import PriorWork
from tasks.comparison.summary import Condition, Figures, Statistic, Summary, Variant
from tasks.interface import Task
from zoo import get_entry

PaperFigures = dict[tuple[str, str], Figures]

PAPER_LEGEND = "Paper: means of 5 runs to convergence, with 10 trials of learning rate and batch size before them."
MISSING = "–"
MASTERED = 0.9  # test accuracy of the models that figure 3 of the paper shows


GUIDED = "‡ uses ground-truth parse trees."
MARKED = f"† full accuracy on the test set below {MASTERED}: this model has not learned the task."


@dataclass
class Table:
    """Text cells of one condition; `notes` say what is not in the cells."""

    title: str
    headings: list[str]
    legend: str = ""
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def make_tables(summary: Summary, paper: PaperFigures | None) -> list[Table]:
    """One table per task, budget and data; with `paper`, its line stands under each model that it has."""
    return [_table(condition, variants, paper) for condition, variants in summary.items()]


def prior_tables(summary: Summary, prior: Mapping[str, Sequence[PriorWork]]) -> list[Table]:
    """What the paper cites of other papers on the tasks of the summary, one table per task."""
    tables = []
    for name in dict.fromkeys(condition.task for condition in summary):
        works, task = prior.get(name, ()), load_task(name)
        keys = [key for key in task.columns if any(key in work.figures for work in works)]
        title = f"{task.label[0].upper()}{task.label[1:]}, prior work as the paper cites it"
        table = Table(title, ["model", *(task.columns[key] for key in keys), "source", "of which it is said"])
        for work in works:
            cells = [f"{work.figures[key]:.2f}" if key in work.figures else MISSING for key in keys]
            table.rows.append([work.label, *cells, work.source, work.notes])
        tables += [table] if works else []
    return tables


def legend_of(summary: Summary, paper: PaperFigures | None) -> str:
    """What the figures of these tables are, each family once."""
    legends = dict.fromkeys(load_task(condition.task).legend for condition in summary)
    return " ".join([*legends, *([PAPER_LEGEND] if paper else [])])


def name_of(variant: Variant, separator: str = " ") -> str:
    """The paper's label, and what differs from the default settings."""
    if not variant.settings:
        return variant.label
    return separator.join([variant.label, *f"[{variant.settings}]".split(" ")])


def title_of(condition: Condition) -> str:
    """Task and budget."""
    label = load_task(condition.task).label
    return f"{label[0].upper()}{label[1:]}, budget: {condition.budget}"


def _table(condition: Condition, variants: dict[Variant, Figures], paper: PaperFigures | None) -> Table:
    task = load_task(condition.task)
    columns = task.columns
    legend = " ".join([task.legend, *([PAPER_LEGEND] if paper else [])])
    table = Table(f"{title_of(condition)}; data: {condition.data}", ["model", "n", *columns.values()], legend)
    shared, named = without_shared_settings(variants)
    table.notes += [f"All models: {', '.join(shared)}."] if shared else []
    for variant, figures in named.items():
        runs = max(statistic.runs for statistic in figures.values())
        cells = [format_statistic(figures.get(key), runs) for key in columns]
        guided = "‡" if is_guided(task, variant) else ""
        table.rows.append([name_of(variant) + mark_of(figures) + guided, str(runs), *cells])
        printed = (paper or {}).get((condition.task, variant.model))
        if printed:
            table.rows.append(["  paper", "5", *(format_statistic(printed.get(key), 5) for key in columns)])
        table.notes += _reasons(variant, figures, columns) + _intervals(variant, figures, columns)
    if any(mark_of(figures) for figures in variants.values()):
        table.notes.append(MARKED)
    if any(is_guided(task, variant) for variant in variants):
        table.notes.append(GUIDED)
    return table


def is_guided(task: Task, variant: Variant) -> bool:
    """Whether the model is given gold trees, which the others of the task do not see."""
    return task.family == "transformation" and get_entry(variant.model).reads == "guided"


def without_shared_settings(variants: dict[Variant, Figures]) -> tuple[list[str], dict[Variant, Figures]]:
    """The settings that all of several models have, which a note can say once, and the models without them."""
    settings = [variant.settings.split(", ") for variant in variants]
    shared = [part for part in settings[0] if part and all(part in parts for parts in settings)]
    if len(variants) < 2 or not shared:
        return [], variants
    rest = {
        variant._replace(settings=", ".join(part for part in parts if part not in shared)): figures
        for (variant, figures), parts in zip(variants.items(), settings, strict=True)
    }
    return (shared, rest) if len(rest) == len(variants) else ([], variants)


def mark_of(figures: Figures) -> str:
    """A sign for models that have not learned the task: what they prefer says little."""
    test = figures.get(("full_accuracy", "test"))
    return "†" if test and test.mean is not None and test.mean < MASTERED else ""


def _reasons(variant: Variant, figures: Figures, columns: Mapping[tuple[str, str], str]) -> list[str]:
    return [
        f"{name_of(variant)}, {columns[key]}: no value in {statistic.runs - statistic.n} of {statistic.runs} runs: "
        + "; ".join(statistic.reasons)
        for key, statistic in figures.items()
        if key in columns and statistic.n < statistic.runs
    ]


def _intervals(variant: Variant, figures: Figures, columns: Mapping[tuple[str, str], str]) -> list[str]:
    """Where figures are known to lie, if that can be seen in the digits that are printed, and what was sampled."""
    parts = []
    for key, statistic in figures.items():
        if key not in columns:
            continue
        facts = []
        if statistic.lower is not None and statistic.upper is not None and statistic.upper - statistic.lower > 5e-4:
            facts.append(f"exact value between {statistic.lower:.4f} and {statistic.upper:.4f}")
        if statistic.sampled_inputs:
            facts.append(f"{statistic.sampled_inputs:,} inputs sampled")
        if facts:
            parts.append(f"{columns[key]}: {', '.join(facts)}")
    return [f"{name_of(variant)}, {'; '.join(parts)}."] if parts else []


def format_statistic(statistic: Statistic | None, runs: int) -> str:
    """`0.318 ± 0.19`, or `0.318` of a single run; a mean over fewer than all `runs` says how many it has."""
    if statistic is None or statistic.mean is None:
        return MISSING
    text = f"{statistic.mean:.3f}"
    if statistic.standard_deviation is not None:
        text += f" ± {statistic.standard_deviation:.2f}"
    return text if statistic.n == runs else f"{text} (n={statistic.n})"


def to_text(tables: list[Table], legend: str) -> str:
    blocks = []
    for table in tables:
        lines = [table.headings, *table.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
        blocks.append("\n".join([table.title, *body, *table.notes]))
    return "\n\n".join([*blocks, textwrap.fill(legend, 110)]) + "\n"


def to_markdown(tables: list[Table], legend: str) -> str:
    blocks = []
    for table in tables:
        alignment = ["---", *["---:"] * (len(table.headings) - 1)]
        lines = [
            "| " + " | ".join(cell.strip().replace("|", "\\|") for cell in row) + " |"
            for row in (table.headings, alignment, *table.rows)
        ]
        blocks.append("\n".join([f"**{table.title}**", "", *lines, *(f"\n{note}" for note in table.notes)]))
    return "\n\n".join([*blocks, legend]) + "\n"


def to_latex(tables: list[Table]) -> str:
    """Tables for \\input; they need the package booktabs."""
    blocks = ["% Needs \\usepackage{booktabs}."]
    for table in tables:
        lines = [" & ".join(_latex(cell) for cell in row) + " \\\\" for row in (table.headings, *table.rows)]
        caption = " ".join([*(f"{part.rstrip('.')}." for part in [table.title, *table.notes]), table.legend]).rstrip()
        blocks.append(
            "\n".join(
                [
                    "\\begin{table*}",
                    "\\centering\\small",
                    f"\\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}",
                    "\\toprule",
                    lines[0],
                    "\\midrule",
                    *lines[1:],
                    "\\bottomrule",
                    "\\end{tabular}",
                    f"\\caption{{{_latex(caption)}}}",
                    "\\end{table*}",
                ]
            )
        )
    return "\n\n".join(blocks) + "\n"


_LATEX = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "±": "$\\pm$",
    "–": "--",
    "†": "$\\dagger$",
    "‡": "$\\ddagger$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def _latex(text: str) -> str:
    indent = "\\quad " if text.startswith("  ") else ""
    text = text.strip()
    if text.startswith("-") and text[1:2].isdigit():
        return "$-$" + _latex(text[1:])
    return indent + "".join(_LATEX.get(character, character) for character in text)


CSV_COLUMNS = (
    *Condition._fields,
    *Variant._fields,
    *("metric", "set", "mean", "standard_deviation", "n", "runs", "lower", "upper", "sampled_inputs"),
    *("paper", "paper_standard_deviation"),
)


def to_csv(summary: Summary, paper: PaperFigures | None) -> str:
    """One line per figure, all metrics, unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for condition, variants in summary.items():
        for variant, figures in variants.items():
            printed = (paper or {}).get((condition.task, variant.model), {})
            for key, statistic in figures.items():
                beside = printed[key][:2] if key in printed else (None, None)
                interval = (statistic.lower, statistic.upper, statistic.sampled_inputs)
                writer.writerow([*condition, *variant, *key, *statistic[:4], *interval, *beside])
    return text.getvalue()
