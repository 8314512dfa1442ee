"""Train one model of the registry on one task.

    python scripts/train.py --model tf-nd --task question_formation --output runs/tf-nd
    torchrun --nproc_per_node 2 scripts/train.py ...      (two processes, also on a CPU)
    python scripts/train.py --seeds 1,2,3 ...             (three runs side by side)

By default the protocol of the task, until convergence. Ctrl-C saves; --resume goes on.
"""

import dataclasses
import hashlib
import importlib.util
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import GradientAccumulationPlugin, set_seed
from transformers import PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import logging

from tasks import load_task
from tasks.files import explain
from tasks.interface import Task, TaskData
from tasks.processes import leave_group
from tasks.training.arguments import TrainingArguments, parse_arguments, task_options
from tasks.training.checkpoints import RunFolder
from tasks.training.loop import Diverged, Run, Trainer
from tasks.training.schedule import Budget, Protocol, protocol_for
from tasks.training.scores import GeneralizationSample
from tasks.training.seeds import (
    Worker,
    available_cores,
    existing_runs,
    parse_seeds,
    run_workers,
    seed_folder,
    share_cores,
)
from tasks.training.signals import Interrupted
from tasks.training.versions import code_version, library_versions
from zoo import create_model
from zoo.errors import UserError
from zoo.registry import Entry, get_entry


def main() -> int:
    """Exit status: 0, 1 (training diverged, or a run of --seeds failed), 2 (bad input), 130 or 143 (interrupted)."""
    logging.disable_progress_bar()  # one for each file saved
    try:
        return run_and_report()
    finally:
        leave_group()  # here, where the model and errors that refer to it are gone


def run_and_report() -> int:
    try:
        arguments = parse_arguments(__doc__)
        if arguments.seeds is not None:
            return train_seeds(arguments, parse_seeds(arguments.seeds))
        train(arguments)
    except UserError as error:
        report(f"error: {error}")
        return 2
    except OSError as error:
        print(f"error: {explain(error)}", file=sys.stderr)  # of whichever process: it may be the only one
        return 2
    except Diverged as error:
        report(f"error: {error}")
        return 1
    except Interrupted as interruption:
        state = AcceleratorState()
        report(f"{interruption}; state saved. To go on: {resuming(state.num_processes, state.mixed_precision)}")
        return 128 + interruption.number
    except KeyboardInterrupt:
        report("interrupted outside training, nothing new saved; give the same command again.")
        return 130
    return 0


def resuming(processes: int, mixed_precision: str) -> str:
    """The command line that goes on with this run."""
    precision = [] if mixed_precision == "no" else [f"ACCELERATE_MIXED_PRECISION={mixed_precision}"]
    launcher = ["python"] if processes == 1 else ["torchrun", "--nproc_per_node", str(processes)]
    arguments = [argument for argument in sys.argv if argument != "--resume"]
    return shlex.join([*precision, *launcher, *arguments, "--resume"])


def report(message: str) -> None:
    """Says something once, however many processes there are."""
    if os.environ.get("RANK", "0") == "0":
        print(message, file=sys.stderr)


def train(arguments: TrainingArguments) -> None:
    # Configuration
    task, entry = choose(arguments)
    protocol = protocol_for(
        entry.preset,
        learning_rate=arguments.learning_rate,
        batch_tokens=arguments.batch_tokens,
        batch_examples=arguments.batch_examples,
        checkpoint_examples=arguments.checkpoint_examples,
        warmup_steps=arguments.warmup_steps,
        label_smoothing=arguments.label_smoothing,
    )
    epochs = protocol.epochs if arguments.max_epochs is None else arguments.max_epochs
    budget = Budget(arguments.max_examples, arguments.max_minutes, epochs)
    accelerator = start_accelerator(arguments)

    try:
        largest = 2**32 - accelerator.num_processes  # process p draws with seed + p
        if arguments.seed > largest:
            raise UserError(f"--seed is {arguments.seed}; allowed: 0 to {largest}.")

        # Data
        with accelerator.main_process_first():  # the others find the generated data in the cache
            data, scored = load_data(arguments, task)
        tokenizer = task.make_tokenizer(data, entry.reads)
        training = task.encode_set(tokenizer, data.sets["train"], entry.reads)
        validation = task.encode_set(tokenizer, data.sets["validation"], entry.reads)
        sample = GeneralizationSample(task, tokenizer, scored.sets["generalization"]) if scored else None

        # Model
        model = make_model(arguments, task, tokenizer)
        set_seed(arguments.seed, device_specific=True)  # dropout differs between processes, weights do not

        # Loop
        folder = RunFolder(Path(arguments.output))
        settings = describe(arguments, protocol, accelerator, model) | {
            "label": entry.label,
            "family": task.family,
            "data": data.description,
            "data_digest": hashlib.sha256(f"{training.digest()} {validation.digest()}".encode()).hexdigest(),
        }
        folder.check(settings, resume=arguments.resume)
        run = Run(model, tokenizer, training, validation, protocol, budget, folder, sample)
        trainer = Trainer(accelerator, run, seed=arguments.seed, save_minutes=arguments.save_minutes)
        accelerator.wait_for_everyone()  # all have checked the folder before it changes
        if arguments.resume:
            trainer.resume()
        elif accelerator.is_main_process:
            folder.write_arguments(settings)
        if arguments.tensorboard:
            accelerator.init_trackers("tensorboard")
        summary = trainer.train()
        accelerator.print(f"{arguments.output}: {summary['examples']:,} examples, {summary['reason']}")
    finally:
        for tracker in accelerator.trackers:
            tracker.finish()


def train_seeds(arguments: TrainingArguments, seeds: list[int]) -> int:
    """Trains a run for each seed, each in a process of its own, and returns the exit status."""
    if "WORLD_SIZE" in os.environ:
        raise UserError(
            "--seeds starts processes of its own, and torchrun or accelerate launch has started several already. "
            "Start it with python, or give one --seed."
        )
    cores = available_cores()
    # More threads than a single run would have could make other numbers.
    limits = {"cores": cores, "most": torch.get_num_threads()}
    jobs, threads = share_cores(len(seeds), arguments.jobs, arguments.threads, **limits)
    there = existing_runs(Path(arguments.output), seeds, resume=arguments.resume)
    # What is wrong with the input is found here, once, and generated data come into the cache.
    task, entry = choose(arguments)
    data, _ = load_data(arguments, task)
    make_model(arguments, task, task.make_tokenizer(data, entry.reads))
    Path(arguments.output).mkdir(parents=True, exist_ok=True)

    shared = dataclasses.replace(arguments, seeds=None, jobs=None, threads=threads)
    workers = []
    for seed in seeds:
        folder = seed_folder(Path(arguments.output), seed)
        own = dataclasses.replace(shared, seed=seed, output=str(folder), resume=seed in there)
        workers.append(Worker(seed, [sys.executable, __file__, *own.command_line()], threads))
    report(f"{len(seeds)} runs, {jobs} at a time; threads for each: {threads}")
    number = run_workers(workers, jobs)
    failed = [worker for worker in workers if worker.failed]
    for worker in failed:
        report(f"seed {worker.seed} failed: {worker.failure}")
    if number:
        precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
        report(f"{Interrupted(number)}. To go on with all runs: {resuming(1, precision)}")
        return 128 + number
    return max((2 if worker.status == 2 else 1 for worker in failed), default=0)


def choose(arguments: TrainingArguments) -> tuple[Task, Entry]:
    """The task and the entry of the registry, which must go together."""
    task = load_task(arguments.task, **task_options(arguments.task_options))
    entry = get_entry(arguments.model)
    if task.family not in entry.tasks:
        raise UserError(
            f"model {entry.name} cannot be trained on {task.name}, a {task.family} task. "
            f"Allowed for it: {', '.join(entry.tasks)} tasks."
        )
    if arguments.score_during and "generalization" not in task.scored_splits:
        raise UserError(f"--score-during scores the generalization set, which {task.name} has not; leave it out.")
    return task, entry


def load_data(arguments: TrainingArguments, task: Task) -> tuple[TaskData, TaskData | None]:
    """The sets to train with and, for --score-during, the generalization set (else None).

    That one is loaded apart: it has no part in the training, hence none in what is said of the training's data.
    """
    where = {"data_dir": arguments.data_dir, "seed": arguments.data_seed}
    sizes = {"train": arguments.train_size, "validation": arguments.validation_size}
    given = {split: size for split, size in sizes.items() if size is not None}
    data = task.load_data(**where, sizes=given, splits=list(sizes))
    return data, task.load_data(**where, splits=["generalization"]) if arguments.score_during else None


def make_model(arguments: TrainingArguments, task: Task, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    model = create_model(
        arguments.model,
        tokenizer=tokenizer,
        parameters=arguments.parameters,
        seed=arguments.seed,
        count_embeddings=task.budget_counts_embeddings,
        **arguments.configuration(),
    )
    task.check_model(model)
    return model


def start_accelerator(arguments: TrainingArguments) -> Accelerator:
    if arguments.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise UserError("--tensorboard needs the package tensorboard: pip install 'syntax-zoo[track]'.")
    processors = available_cores()
    if arguments.threads is not None and arguments.threads > processors:
        raise UserError(
            f"--threads is {arguments.threads}; allowed: 1 to {processors}, the CPUs that can be used here."
        )
    try:
        accelerator = Accelerator(
            cpu=not torch.accelerator.is_available(),
            log_with="tensorboard" if arguments.tensorboard else None,
            project_dir=arguments.output,
            # Else a setting of `accelerate launch` would scale the loss.
            gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
        )
    except ValueError as error:  # such as a --mixed_precision of `accelerate launch` that this machine lacks
        raise UserError(f"accelerate does not start: {error}") from None
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    return accelerator


def describe(
    arguments: TrainingArguments, protocol: Protocol, accelerator: Accelerator, model: PreTrainedModel
) -> dict[str, Any]:
    """What arguments.json says of a run, beside its data."""
    return {
        **dataclasses.asdict(arguments),
        **dataclasses.asdict(protocol),
        "processes": accelerator.num_processes,
        "mixed_precision": accelerator.mixed_precision,
        "threads": torch.get_num_threads(),
        "parameter_count": sum(parameter.numel() for parameter in model.parameters()),
        "code_version": code_version(),
        "versions": library_versions(),
    }


if __name__ == "__main__":
    sys.exit(main())
