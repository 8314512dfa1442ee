"""What a task provides, whatever its family: all that training, evaluation and comparison ask of it.

A family of tasks is a package with

    TASKS                     names of its tasks, in order
    OPTIONS                   for the help text: option -> what it does and its default
    load_task(name, **options) -> Task

and a line in `tasks.FAMILIES`. Nothing else in the project knows the families apart.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from tasks.evaluation.evaluation import EvaluationSettings
    from tasks.evaluation.figures import Figure
    from tasks.training.batches import Examples


@dataclass(frozen=True)
class TaskData:
    """Sets of examples by split, and where they come from, in words."""

    sets: dict[str, list[Any]]
    description: str

    @property
    def sizes(self) -> dict[str, int]:
        """Number of examples by split."""
        return {split: len(examples) for split, examples in self.sets.items()}


@dataclass(frozen=True)
class Grid:
    """Figures that evaluate.py prints as a table of methods instead of one line each.

    columns: (beginning of the metric's name, set) -> heading; what follows in the name is the method, a line.
    """

    title: str
    columns: Mapping[tuple[str, str], str]

    def kinds_of(self, metric: str, name: str) -> list[str]:
        """The beginnings of this metric of the set called `name` that have a column."""
        return [kind for kind, of_set in self.columns if of_set == name and metric.startswith(kind)]


class Task(Protocol):
    """A task as training, evaluation and comparison see it.

    name, label: key on the command line, and as printed.
    family: name of the family, which registry entries list as what they can be trained on.
    scored_splits: the sets that evaluation scores by default, of those that `load_data` knows.
    budget_counts_embeddings: whether a model's budget of parameters includes its token embeddings.
    columns: what tables show, (metric, set) -> heading; legend: what those figures are.
    grids: how evaluate.py prints what it scores. Without any, all figures are listed; else those of `columns` are, if
        they are in no grid. All are written.
    """

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def scored_splits(self) -> tuple[str, ...]: ...
    @property
    def budget_counts_embeddings(self) -> bool: ...
    @property
    def columns(self) -> Mapping[tuple[str, str], str]: ...
    @property
    def legend(self) -> str: ...
    @property
    def grids(self) -> tuple[Grid, ...]: ...

    def load_data(
        self,
        data_dir: str | Path | None = None,
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        splits: Iterable[str] | None = None,
    ) -> TaskData:
        """The sets called `splits` (train, validation, ...; default: all), generated or from `data_dir`.

        seed: of generated data; sizes: examples by split, the first ones of each set.
        """
        ...

    def make_tokenizer(self, data: TaskData, reads: str = "strings") -> "PreTrainedTokenizerFast":
        """The tokenizer of a new model; its vocabulary is closed, or that of the training set of `data`.

        reads: what the model reads (`zoo.registry.READS`); those that read trees need node and level tokens.
        """
        ...

    def encode_set(
        self, tokenizer: "PreTrainedTokenizerFast", examples: Sequence[Any], reads: str = "strings"
    ) -> "Examples":
        """A training or validation set as what the trainer reads: batches and their order, for models of one kind."""
        ...

    def check_model(self, model: "PreTrainedModel") -> None:
        """Raises UserError if the model cannot be trained with the task's options."""
        ...

    def figures(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerFast",
        data: TaskData,
        training_set: Callable[[], Sequence[Any]],
        settings: "EvaluationSettings",
    ) -> list["Figure"]:
        """All that is measured of a trained model, which is in evaluation mode on its device.

        data: the sets to score, from `load_data`, perhaps only their first lines; training_set: loads what the model
        was trained on. Called on every process of a group at once, and the same on each.
        """
        ...
