"""Learning curves: full accuracy by both rules over training examples, of runs trained with --score-during."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from tasks import list_tasks, load_task
from tasks.comparison.summary import Variant, in_order
from tasks.comparison.tables import name_of
from tasks.evaluation.run_folder import settings_of
from tasks.evaluation.sets import RULES
from tasks.files import read_object
from zoo.errors import UserError

# Line and colour both tell the rules apart; the colours are those of the bars, darker where a line needs it.
STYLES: dict[str, dict[str, Any]] = {
    "hierarchical": {"color": "#1f5a96", "linestyle": "-"},
    "linear": {"color": "#b87a00", "linestyle": (0, (4, 1.5))},
}
COLUMNS = 4  # of panels
HEADING = 0.45  # height of the heading of a section, in panels


class Curve(NamedTuple):
    """One run; the arrays have one element for each checkpoint that was scored."""

    seed: int
    lines: int  # of the sample of the generalization set
    examples: np.ndarray  # training examples seen
    accuracy: dict[str, np.ndarray]  # full accuracy by rule
    best: int | None  # index of the checkpoint that evaluate.py scores, if it was scored here


Sections = dict[tuple[str, str], dict[Variant, list[Curve]]]  # by (task, data), then by line of the tables


def collect_curves(folders: Iterable[Path]) -> Sections:
    """The curves of those run folders that have one, finished or not, each folder once, in the registry's order.

    Raises UserError for a damaged arguments.json or log.jsonl.
    """
    sections: Sections = {}
    for folder in {folder.resolve(): folder for folder in folders}.values():
        records = _scored_records(folder / "log.jsonl")
        if not records:
            continue
        arguments = read_object(folder / "arguments.json", "Leave this run out, or train it again.")
        settings, count = settings_of(arguments), arguments["parameter_count"]
        variant = Variant(arguments["model"], arguments["label"], settings, count)
        section = sections.setdefault((arguments["task"], arguments["data"]), {})
        section.setdefault(variant, []).append(_curve(arguments["seed"], *records))
    tasks = list_tasks()
    ordered = sorted(sections.items(), key=lambda item: (tasks.index(item[0][0]), item[0]))
    return {key: dict(in_order(section)) for key, section in ordered}


def _scored_records(log: Path) -> tuple[list[dict[str, Any]], int] | None:
    """The log lines that have scores, and the number of the best checkpoint (0: none)."""
    if not log.exists():
        return None
    try:
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        best = max((record["checkpoint"] for record in records if record["best"]), default=0)
        scored = [record for record in records if "scores" in record]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{log} is damaged: {error}. Leave this run out, or train it again.") from None
    return (scored, best) if scored else None


def _curve(seed: int, records: list[dict[str, Any]], best: int) -> Curve:
    numbers = [record["checkpoint"] for record in records]
    scores = [record["scores"] for record in records]
    accuracy = {rule: np.array([score["full_accuracy"][rule] for score in scores]) for rule in RULES}
    examples = np.array([record["examples"] for record in records])
    return Curve(seed, scores[0]["n"], examples, accuracy, numbers.index(best) if best in numbers else None)


def mean_curve(curves: Sequence[Curve], rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Training examples and mean accuracy where all runs have a value, which lies on the line between checkpoints.

    Runs reach a checkpoint at slightly unlike numbers of examples, and end at unlike ones.
    """
    first, last = max(curve.examples[0] for curve in curves), min(curve.examples[-1] for curve in curves)
    examples = np.unique(np.concatenate([curve.examples for curve in curves]))
    examples = examples[(first <= examples) & (examples <= last)]
    values = [np.interp(examples, curve.examples, curve.accuracy[rule]) for curve in curves]
    return examples, np.mean(values, axis=0)


def draw_curves(sections: Sections) -> Figure:
    """One panel for each model and setting; tasks and data stand below each other, models side by side."""
    columns = min(COLUMNS, max(map(len, sections.values())))
    heights = [HEADING + -(-len(section) // columns) for section in sections.values()]
    figure = Figure(figsize=(max(5.2, 0.5 + 2.5 * columns), 2.1 * sum(heights) + 0.8), layout="constrained")
    parts = figure.subfigures(len(sections), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, ((task, data), section) in zip(parts, sections.items(), strict=True):
        label = load_task(task).label
        _draw_section(part, f"{label[0].upper()}{label[1:]}; data: {data}", section, columns)
    curves = [curve for section in sections.values() for runs in section.values() for curve in runs]
    handles = [Line2D([], [], linewidth=2.2, label=f"{rule} rule", **STYLES[rule]) for rule in RULES]
    handles.append(Line2D([], [], color="0.2", marker="o", markersize=3.5, linestyle="none", label="best checkpoint"))
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    several = any(len(runs) > 1 for section in sections.values() for runs in section.values())
    caption = textwrap.fill(_caption(curves, several), int(15 * figure.get_figwidth()))
    figure.supxlabel(caption, fontsize="small")
    return figure


def _draw_section(part: SubFigure, title: str, section: dict[Variant, list[Curve]], columns: int) -> None:
    rows = -(-len(section) // columns)
    grid = part.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for axes, (variant, curves) in zip(panels, section.items(), strict=False):
        _draw_panel(axes, curves)
        number = f" (n={len(curves)})"
        axes.set_title(textwrap.fill(name_of(variant) + number, 34), fontsize="medium")
    for place, axes in enumerate(panels):
        if place >= len(section):
            axes.set_axis_off()
        elif place + columns >= len(section):  # the lowest of its column
            axes.tick_params(labelbottom=True)
    last = max(curve.examples[-1] for curves in section.values() for curve in curves)
    grid[0, 0].set(xlim=(0, 1.03 * last / 1000), ylim=(-0.02, 1.02), yticks=(0, 0.5, 1))
    part.suptitle(textwrap.fill(title, 32 + 24 * columns), fontsize="medium")
    part.supylabel("full accuracy")
    part.supxlabel("training examples (thousands)", fontsize="medium")


def _draw_panel(axes: Axes, curves: list[Curve]) -> None:
    """A line for each run, thin and with its mean where there are several; a dot at the checkpoint that counts."""
    thin: dict[str, Any] = {"linewidth": 0.9, "alpha": 0.55} if len(curves) > 1 else {"linewidth": 1.8}
    for rule in RULES:
        for curve in curves:
            thousands, values = curve.examples / 1000, curve.accuracy[rule]
            single: dict[str, Any] = {"marker": "."} if len(values) == 1 else {}
            axes.plot(thousands, values, **STYLES[rule], **thin, **single)
            if curve.best is not None:
                place: dict[str, Any] = {
                    "color": STYLES[rule]["color"],
                    "linestyle": "none",
                    "clip_on": False,
                    "zorder": 4,
                }
                axes.plot(thousands[curve.best], values[curve.best], marker="o", markersize=3.5, **place)
        if len(curves) > 1:
            examples, mean = mean_curve(curves, rule)
            axes.plot(examples / 1000, mean, linewidth=2.2, **STYLES[rule])
    axes.grid(axis="y", color="0.85", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _caption(curves: list[Curve], several: bool) -> str:
    lines = " or ".join(map(str, sorted({curve.lines for curve in curves})))
    text = f"Full accuracy on a fixed sample of the generalization set ({lines} lines). Best checkpoint: the lowest "
    text += "validation cross-entropy so far, which evaluate.py scores."
    return text + " Thin lines: single runs; thick: the mean of n." if several else text
