"""How a run went: its validation cross-entropy and, if it was scored during training, both rules' accuracy."""

import json
from pathlib import Path

from matplotlib.figure import Figure

from tasks.comparison.curves import STYLES


def draw_training(log: Path, file: Path) -> None:
    """Draws the lines of a log.jsonl into a PNG file; nothing is drawn without lines."""
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []
    measured = [record for record in records if record["validation_cross_entropy"] is not None]
    if not measured:
        return
    scored = [record for record in records if "scores" in record]
    figure = Figure(figsize=(9 if scored else 5, 3.2), layout="constrained")
    panels = figure.subplots(1, 2 if scored else 1, squeeze=False)[0]
    thousands = [record["examples"] / 1000 for record in measured]
    panels[0].plot(thousands, [record["validation_cross_entropy"] for record in measured], color="0.2", marker=".")
    best = [record for record in measured if record["best"]][-1:]
    for record in best:
        place = (record["examples"] / 1000, record["validation_cross_entropy"])
        panels[0].plot(*place, "o", color="#1f5a96", label="this checkpoint")
        panels[0].legend(frameon=False)
    panels[0].set(ylabel="validation cross-entropy (nats a token)")
    if scored:
        for rule, style in STYLES.items():
            values = [record["scores"]["full_accuracy"][rule] for record in scored]
            panels[1].plot([record["examples"] / 1000 for record in scored], values, label=f"{rule} rule", **style)
        panels[1].set(ylabel="full accuracy, generalization sample", ylim=(-0.02, 1.02))
        panels[1].legend(frameon=False)
    for axes in panels:
        axes.set(xlabel="training examples (thousands)")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=150)
