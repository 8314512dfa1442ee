"""A bar figure of one condition, like figure 3 of the paper, that can be read in black and white."""

import os
import re
import textwrap
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.comparison.summary import Condition, Figures, Summary, Variant
from tasks.comparison.tables import MARKED, PaperFigures, mark_of, name_of, title_of

STYLES: dict[str, dict[str, Any]] = {
    "hierarchical": {"facecolor": "#1f5a96"},
    "linear": {"facecolor": "#f6d27a", "hatch": "////"},
}
PANELS = {"full_accuracy": "full accuracy", "partial_accuracy": "partial accuracy"}
WIDTH = 0.38  # of a bar; models are 1 apart


def draw_figures(summary: Summary, paper: PaperFigures | None) -> dict[str, Figure]:
    """A figure for each condition that has accuracies, by the name that its files get."""
    conditions = [condition for condition, variants in summary.items() if _has_panels(variants)]
    names = _names(conditions)
    return {name: draw(condition, summary[condition], paper) for name, condition in zip(names, conditions, strict=True)}


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes NAME.png and NAME.svg, each whole or not at all; the same figure gives the same bytes."""
    paths = []
    for kind, metadata in (("png", None), ("svg", {"Date": None})):
        path, temporary = folder / f"{name}.{kind}", folder / f".{name}.{kind}.tmp"
        with matplotlib.rc_context({"svg.hashsalt": name}):
            figure.savefig(temporary, format=kind, dpi=150, bbox_inches="tight", metadata=metadata)
        os.replace(temporary, path)
        paths.append(path)
    return paths


def draw(condition: Condition, variants: dict[Variant, Figures], paper: PaperFigures | None) -> Figure:
    """Full accuracy above, partial accuracy below; a pair of bars per model, error bars one standard deviation."""
    figure = Figure(figsize=(max(6.0, 2.0 + 0.62 * len(variants)), 5.6), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    handles: dict[str, Any] = {}
    for axes, (metric, label) in zip(panels, PANELS.items(), strict=True):
        for rule, side in (("hierarchical", -0.5), ("linear", 0.5)):
            handles[f"{rule} rule"] = _bars(axes, list(variants.values()), (metric, rule), side * WIDTH)
            if paper:
                printed = [paper.get((condition.task, variant.model), {}) for variant in variants]
                marks = _paper_marks(axes, printed, (metric, rule), side * WIDTH)
                if marks is not None:
                    handles["paper (mean)"] = marks
        axes.set(ylim=(0, 1.05), ylabel=label)
        axes.grid(axis="y", color="0.85", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    labels = [name_of(variant, "\n") + mark_of(figures) for variant, figures in variants.items()]
    slanted = len(labels) > 5
    panels[-1].set_xticks(
        range(len(labels)), labels, rotation=40 if slanted else 0, ha="right" if slanted else "center"
    )
    panels[-1].set_xlim(-0.7, len(labels) - 0.3)
    _legend(panels[0], handles)
    columns = int(17 * figure.get_figwidth())  # characters of small text that fit the width
    figure.suptitle("\n".join(textwrap.wrap(title_of(condition), columns * 2 // 3)))
    figure.supxlabel("\n".join(textwrap.wrap(_caption(condition, variants), columns)), fontsize="small")
    return figure


def _has_panels(variants: dict[Variant, Figures]) -> bool:
    return any(metric in PANELS and rule in STYLES for figures in variants.values() for metric, rule in figures)


def _legend(axes: Axes, handles: dict[str, Any]) -> None:
    """Between the title and the panel, so that it never covers a bar."""
    names = sorted(handles, key=lambda name: name.startswith("paper"))  # the rules first
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    axes.legend([handles[name] for name in names], names, ncols=len(names), frameon=False, **place)


def _bars(axes: Axes, models: list[Figures], key: tuple[str, str], offset: float) -> Any:
    shown = [(place + offset, figures[key]) for place, figures in enumerate(models) if key in figures]
    # One run has no deviation: NaN draws no error bar.
    nan = float("nan")
    return axes.bar(
        [place for place, _ in shown],
        [nan if statistic.mean is None else statistic.mean for _, statistic in shown],
        WIDTH,
        yerr=[nan if statistic.standard_deviation is None else statistic.standard_deviation for _, statistic in shown],
        error_kw={"elinewidth": 1.0, "capsize": 2.5, "ecolor": "black"},
        edgecolor="black",
        linewidth=0.7,
        **STYLES[key[1]],
    )


def _paper_marks(axes: Axes, models: list[Figures], key: tuple[str, str], offset: float) -> Any:
    shown = [(place + offset, figures[key].mean) for place, figures in enumerate(models) if key in figures]
    if not shown:
        return None
    places, means = zip(*shown, strict=True)
    style: dict[str, Any] = {"marker": "D", "markersize": 4.5, "markerfacecolor": "white", "clip_on": False}
    return axes.plot(places, means, linestyle="none", markeredgecolor="black", zorder=5, **style)[0]


def _caption(condition: Condition, variants: dict[Variant, Figures]) -> str:
    runs = {statistic.runs for figures in variants.values() for statistic in figures.values()}
    number = f"{min(runs)}" if len(runs) == 1 else f"{min(runs)} to {max(runs)}"
    kind = "Single runs." if runs == {1} else f"Means of {number} runs, error bars one standard deviation."
    text = f"{kind} Data: {condition.data}."
    if any(mark_of(figures) for figures in variants.values()):
        text += f" {MARKED}"
    return text


def _names(conditions: list[Condition]) -> list[str]:
    """A file name for each condition: task and budget, with a number where that is not enough."""
    names: list[str] = []
    for condition in conditions:
        budget = re.sub(r"[^a-z0-9]+", "-", condition.budget.lower().replace(",", "")).strip("-")
        name = f"{condition.task}_{budget}"
        repeats = sum(other == name or other.startswith(f"{name}_") for other in names)
        names.append(f"{name}_{repeats + 1}" if repeats else name)
    return names
