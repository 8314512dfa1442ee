"""Evaluation of one run: data, scores, rows."""

from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks import load_task
from tasks.evaluation.figures import (
    Figure,
    first_word_figures,
    full_ratio_figures,
    partial_figures,
    string_figures,
)
from tasks.evaluation.partial_accuracy import score_partial
from tasks.evaluation.processes import process_state
from tasks.evaluation.rows import Row
from tasks.evaluation.run_folder import FinishedRun
from tasks.evaluation.scoring import EncodedPair, PairScores, score_pairs, score_rules
from tasks.evaluation.sets import RULES, SPLITS, encode_pairs, scored_sets
from tasks.training.versions import code_version, library_versions
from zoo import load_model
from zoo.errors import UserError


@dataclass(frozen=True)
class EvaluationSettings:
    """What evaluate.py lets one choose."""

    data_dir: str | None = None  # None: the data of the training
    splits: tuple[str, ...] = SPLITS
    limit: int | None = None  # only the first lines of each set
    samples: int = 10  # outputs sampled per input, where partial accuracy is sampled
    seed: int = 0  # of those samples
    sample_all: bool = False  # every input, as in the paper, instead of certified intervals
    batch_tokens: int = 8192


def evaluate_run(run: FinishedRun, settings: EvaluationSettings) -> list[Row]:
    """Rows of all figures of the run's best checkpoint, the same on every process."""
    model, tokenizer = load_model(run.checkpoint)
    if model.config.zoo_name != run.arguments["model"]:
        raise UserError(
            f"{run.checkpoint} holds the model {model.config.zoo_name}, but {run.folder}/arguments.json is about "
            f"{run.arguments['model']}. Put the right folder there, or train again."
        )
    task = load_task(run.arguments["task"])
    splits, data = load_splits(run, task, settings)
    pairs = scored_sets(task, splits)
    encoded = {name: encode_pairs(tokenizer, rows) for name, rows in pairs.items()}
    model.to(process_state().device).eval()
    figures = score_sets(model, tokenizer, task, pairs, encoded, settings)
    return make_rows(run, task, model, data, figures)


def load_splits(run: FinishedRun, task: Any, settings: EvaluationSettings) -> tuple[dict[str, list[Any]], str]:
    """The sets to score by split, and in words what the model was trained and scored on."""
    arguments = run.arguments
    data = task.load_data(
        data_dir=settings.data_dir or arguments["data_dir"], seed=arguments["data_seed"], splits=settings.splits
    )
    description = arguments["data"]
    if not description.startswith(data.description):
        description = f"trained on {description}; scored on {data.description}"
    if settings.limit is not None:
        description += f"; first {settings.limit} lines of each set"
    return {split: data.sets[split][: settings.limit] for split in settings.splits}, description


def score_sets(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: Any,
    pairs: dict[str, list[tuple[str, str]]],
    encoded: dict[str, list[EncodedPair]],
    settings: EvaluationSettings,
) -> list[Figure]:
    """All figures of all sets, set by set."""
    scores: dict[str, list[PairScores]] = {
        name: score_pairs(model, rows, settings.batch_tokens, name)
        for name, rows in encoded.items()
        if name not in RULES
    }
    if set(RULES) <= encoded.keys():
        sources = [pair.source for pair in encoded["hierarchical"]]
        targets = [[pair.target for pair in row] for row in zip(*(encoded[rule] for rule in RULES), strict=True)]
        both = score_rules(model, sources, targets, settings.batch_tokens, "generalization")
        scores |= {rule: [row[place] for row in both] for place, rule in enumerate(RULES)}
    figures = [figure for name, rows in scores.items() for figure in string_figures(name, rows)]
    if "hierarchical" not in scores:
        return figures
    figures += full_ratio_figures(scores["hierarchical"], scores["linear"])
    if task.partial == "first_word":
        return figures + first_word_figures(scores["hierarchical"], scores["linear"])
    partial = score_partial(
        model,
        tokenizer,
        sources,
        list(zip(*([task.partial_test(target) for _, target in pairs[rule]] for rule in RULES), strict=True)),
        samples=settings.samples,
        seed=settings.seed,
        batch_tokens=settings.batch_tokens,
        sample_all=settings.sample_all,
    )
    sampled = f"{settings.samples} samples per input, seed {settings.seed}"
    how = sampled if settings.sample_all else f"exact to the width of the interval; {sampled} where that is too wide"
    return figures + partial_figures(partial, settings.samples, how)


def make_rows(run: FinishedRun, task: Any, model: PreTrainedModel, data: str, figures: list[Figure]) -> list[Row]:
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
