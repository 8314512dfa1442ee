"""Tasks by name: data, rules, scores and gold trees.

What a family of tasks provides stands in `tasks.interface`; adding one is adding its line to `FAMILIES`. Nothing is
imported before it is asked for.
"""

from importlib import import_module
from typing import Any

from zoo.errors import unknown_name

FAMILIES = {
    "transformation": "tasks.transformation",
    "language_modeling": "tasks.language_modeling",
    "paraphrase": "tasks.paraphrase",
}


def list_tasks() -> list[str]:
    """Names of all tasks, family by family."""
    return [name for module in FAMILIES.values() for name in import_module(module).TASKS]


def load_task(name: str, **options: object) -> Any:
    """The task called `name`, a `tasks.interface.Task`, e.g. a `TransformationTask`.

    `options` are the task's own, such as `nominative_fix=False` for german_passivization.
    Raises UserError for an unknown name or option.
    """
    for module in map(import_module, FAMILIES.values()):
        if name in module.TASKS:
            return module.load_task(name, **options)
    raise unknown_name("task", name, list_tasks())


def describe_options() -> dict[str, dict[str, str]]:
    """What the options of the tasks do: family -> option -> text."""
    return {family: dict(import_module(module).OPTIONS) for family, module in FAMILIES.items()}
