"""Rows as evaluate.py writes them, for tests."""

from tasks.evaluation.rows import Row

FIGURES = {
    ("full_accuracy", "test"): 0.95,
    ("full_accuracy", "hierarchical"): 0.3,
    ("full_accuracy", "linear"): 0.1,
    ("full_log_ratio", "generalization"): 1.1,
    ("full_mean_log_ratio", "generalization"): 8.0,
    ("partial_accuracy", "hierarchical"): 0.7,
    ("partial_accuracy", "linear"): 0.2,
    ("partial_log_ratio", "generalization"): 1.25,
}


def make_row(**changes):
    row = {
        "run": "runs/tf-nd-1",
        "model": "tf-nd",
        "label": "Tf+Nd",
        "family": "transformation",
        "task": "question_formation",
        "set": "test",
        "metric": "full_accuracy",
        "value": 0.5,
        "standard_error": None,
        "n": 100,
        "seed": 1,
        "step": 20,
        "examples": 1000,
        "budget": "1,000 examples",
        "data": "generated, seed 0",
        "parameters": 200_000,
        "settings": "",
        "code_version": "abc",
        "versions": {"torch": "2.13.0", "python": "3.11.2"},
        "note": "eos counted",
    }
    return Row(**(row | changes))


def run_rows(seed=1, change=0.0, **changes):
    """The eight figures of one run, moved by `change`."""
    name = changes.get("model", "tf-nd")
    return [
        make_row(
            **{"run": f"runs/{name}-{seed}", "seed": seed, **changes}, metric=metric, set=group, value=value + change
        )
        for (metric, group), value in FIGURES.items()
    ]
