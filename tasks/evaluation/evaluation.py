"""Evaluation of one run: data, scores, rows."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from tasks import load_task
from tasks.evaluation.figures import Figure
from tasks.evaluation.processes import process_state
from tasks.evaluation.rows import Row
from tasks.evaluation.run_folder import FinishedRun
from tasks.interface import Task, TaskData
from tasks.training.arguments import task_options
from tasks.training.versions import code_version, library_versions
from zoo import load_model
from zoo.errors import UserError


@dataclass(frozen=True)
class EvaluationSettings:
    """What evaluate.py lets one choose."""

    data_dir: str | None = None  # None: the data of the training
    splits: tuple[str, ...] | None = None  # None: those that the task has
    limit: int | None = None  # only the first lines of each set
    samples: int = 10  # outputs sampled per input, where partial accuracy is sampled
    seed: int = 0  # of those samples
    sample_all: bool = False  # every input, as in the paper, instead of certified intervals
    batch_tokens: int = 8192
    trees: str | None = None  # file or folder of gold trees; None: those of the task's grammars, if its text is theirs
    keep_punctuation: bool = False  # whether punctuation counts as words of a tree
    given: tuple[str, ...] = ("target",)  # whose parses guide paraphrases (tasks.paraphrase.guidance)
    parser: str | None = None  # of generated paraphrases; None: that of the grammars, for their sentences
    beams: int = 1
    expander: str | None = None  # run that expands templates, where `given` has `expanded`
    run_folder: Path | None = None  # where generated texts are written


def evaluate_run(run: FinishedRun, settings: EvaluationSettings) -> list[Row]:
    """Rows of all figures of the run's best checkpoint, the same on every process."""
    model, tokenizer = load_model(run.checkpoint)
    if model.config.zoo_name != run.arguments["model"]:
        raise UserError(
            f"{run.checkpoint} holds the model {model.config.zoo_name}, but {run.folder}/arguments.json is about "
            f"{run.arguments['model']}. Put the right folder there, or train again."
        )
    arguments = run.arguments
    task: Task = load_task(arguments["task"], **task_options(arguments.get("task_options")))
    data = load_sets(run, task, settings)
    model.to(process_state().device).eval()

    def training_set() -> list[Any]:
        sizes = {"train": arguments["train_size"]} if arguments["train_size"] else {}
        where = {"data_dir": training_files(run, settings), "seed": arguments["data_seed"]}
        return task.load_data(**where, sizes=sizes, splits=["train"]).sets["train"]

    settings = dataclasses.replace(settings, run_folder=run.folder)
    figures = task.figures(model, tokenizer, data, training_set, settings)
    return make_rows(run, task, model, data.description, figures)


def load_sets(run: FinishedRun, task: Task, settings: EvaluationSettings) -> TaskData:
    """The sets to score, and in words what the model was trained and scored on."""
    arguments = run.arguments
    splits = task.scored_splits if settings.splits is None else settings.splits
    for split in splits:
        if split not in task.scored_splits:
            raise UserError(
                f"{task.name} has no {split} set; allowed for {run.folder}: --sets {' '.join(task.scored_splits)}."
            )
    where = settings.data_dir or training_files(run, settings)
    data = task.load_data(data_dir=where, seed=arguments["data_seed"], splits=splits)
    description = arguments["data"]
    if not description.startswith(data.description):
        description = f"trained on {description}; scored on {data.description}"
    if settings.limit is not None:
        description += f"; first {settings.limit} lines of each set"
    sets = {split: data.sets[split][: settings.limit] for split in splits}
    return dataclasses.replace(data, sets=sets, description=description)


def training_files(run: FinishedRun, settings: EvaluationSettings) -> str | None:
    """Where the files lie that the run was trained on; None if its data were generated.

    UserError if they are not here: a published run tells their names only, so it needs --data.
    """
    recorded: str | None = run.arguments["data_dir"]
    if recorded is None or (Path(recorded).exists() and not run.is_published):
        return recorded
    if settings.data_dir is not None:
        return settings.data_dir
    raise UserError(
        f"{run.folder} was trained on {run.arguments['data']} of {recorded}, which this machine lacks or keeps "
        "elsewhere; say where they are: --data DIR."
    )


def make_rows(run: FinishedRun, task: Task, model: PreTrainedModel, data: str, figures: list[Figure]) -> list[Row]:
    arguments = run.arguments
    trained, scored = arguments["code_version"], code_version()
    return [
        Row(
            run=str(run.folder),
            model=arguments["model"],
            label=arguments["label"],
            family=task.family,
            task=task.name,
            set=figure.set,
            metric=figure.metric,
            value=figure.value,
            standard_error=figure.standard_error,
            n=figure.n,
            seed=arguments["seed"],
            step=run.progress["step"],
            examples=run.progress["examples"],
            budget=run.finished["budget"],
            data=data,
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            settings=run.settings,
            code_version=trained if trained == scored else f"{trained}, scored by {scored}",
            versions=library_versions(),
            note=figure.note,
            lower=figure.lower,
            upper=figure.upper,
            sampled_inputs=figure.sampled_inputs,
        )
        for figure in figures
    ]
