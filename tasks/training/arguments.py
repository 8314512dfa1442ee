"""The arguments of scripts/train.py: one dataclass, from which the command line is built."""

import argparse
import dataclasses
import math
import sys
import textwrap
from dataclasses import dataclass, field
from typing import Any

import yaml

from tasks import describe_options
from zoo.errors import UserError

REQUIRED = dataclasses.MISSING
WHAT, MODEL, DATA, TRAINING = "what to train", "model", "data", "training"
BUDGET, REPORT = "budget (default: until convergence)", "saving and reporting"


def option(group: str, help: str, default: Any, *, flag: str | None = None, **settings: Any) -> Any:
    """A field together with its entry on the command line; `settings` go to argparse."""
    return field(default=default, metadata={"group": group, "flag": flag, "help": help, "settings": settings})


@dataclass
class TrainingArguments:
    """Every argument of train.py. None stands for the value of the entry or its preset, or for no limit."""

    model: str = option(WHAT, "name of a registry entry, such as tf-nd", REQUIRED)
    task: str = option(WHAT, "name of a task, such as question_formation", REQUIRED)
    output: str = option(WHAT, "run folder: new or empty, unless --resume", REQUIRED)

    task_options: list[str] | None = option(  # noqa: RUF009 (a field, like the others)
        WHAT,
        "choose how the task is done, such as --task-option batches=continuous; may be repeated; the options are "
        "listed below; VALUE is YAML",
        None,
        flag="--task-option",
        metavar="KEY=VALUE",
        action="append",
    )

    parameters: int | None = option(
        MODEL, "number of parameters for which the width is chosen (default: the entry's)", None, type=int
    )
    overrides: list[str] | None = option(  # noqa: RUF009 (a field, like the others)
        MODEL,
        "change a field of the model's configuration, such as --set dropout=0.2; may be repeated; "
        "VALUE is YAML (so 1.0e-3, not 1e-3)",
        None,
        flag="--set",
        metavar="KEY=VALUE",
        action="append",
    )

    data_dir: str | None = option(
        DATA,
        "folder of published files (TSV, or JSONL with source and target); sets without a file are generated "
        "(default: all are). For language_modeling: a text file, or a folder of files called train, valid or dev, and "
        "test (.txt, .gz)",
        None,
        flag="--data",
        metavar="PATH",
    )
    data_seed: int = option(DATA, "seed of generated data (default: %(default)s)", 0, type=int)
    train_size: int | None = option(DATA, "number of training examples (default: all)", None, type=int)
    validation_size: int | None = option(DATA, "number of validation examples (default: all)", None, type=int)

    seed: int = option(TRAINING, "seed of initialisation, dropout and order (default: %(default)s)", 1, type=int)
    seeds: str | None = option(
        TRAINING,
        "several runs, one for each of these seeds, in the folders seed-N of --output, each the run that --seed N "
        "makes; with --resume those that are not there yet begin",
        None,
        metavar="N,N,...",
    )
    jobs: int | None = option(
        TRAINING, "most runs of --seeds at a time (default: as many as there are cores)", None, type=int
    )
    learning_rate: float | None = option(
        TRAINING,
        "learning rate of Adam, at its beginning or after warm-up (default: 7e-4; guig and its kin: 0.0011)",
        None,
        type=float,
    )
    batch_tokens: int | None = option(
        TRAINING,
        "most tokens in a batch of one process, with bos, eos and padding (default: 1024; guig and its kin: 16384)",
        None,
        type=int,
    )
    batch_examples: int | None = option(
        TRAINING,
        "most examples in a batch of one process (default: no limit; guig and its kin: 256)",
        None,
        type=int,
    )
    checkpoint_examples: int | None = option(
        TRAINING,
        "training examples between two checkpoints (default: 80000; guig and its kin: an epoch)",
        None,
        type=int,
    )
    warmup_steps: int | None = option(
        TRAINING,
        "the learning rate rises in so many steps and then falls as 1/sqrt(step) (default: it does neither; guig and "
        "its kin: 12800, the expander 6400)",
        None,
        type=int,
    )
    label_smoothing: float | None = option(
        TRAINING, "label smoothing (default: 0; guig and its kin: 0.1)", None, type=float
    )
    threads: int | None = option(
        TRAINING, "threads of one process; another number can change last digits", None, type=int
    )

    max_examples: int | None = option(BUDGET, "end after this many training examples", None, type=int)
    max_minutes: float | None = option(BUDGET, "end after this many minutes of training", None, type=float)
    max_epochs: int | None = option(BUDGET, "end after this many epochs", None, type=int)

    resume: bool = option(
        REPORT,
        "go on with the run in --output from its last saved state; give the same arguments (budgets may "
        "differ, and count from the run's beginning)",
        False,
        action="store_true",
    )
    save_minutes: float = option(
        REPORT,
        "minutes between saved states, beside those at checkpoints; 0: every step (default: %(default)g)",
        5.0,
        type=float,
    )
    score_during: bool = option(
        REPORT,
        "at each checkpoint also score 500 lines of the generalization set by both rules, into log.jsonl; "
        "compare.py draws the curves; training is not changed by it",
        False,
        action="store_true",
    )
    tensorboard: bool = option(REPORT, "also write TensorBoard events into the run folder", False, action="store_true")

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            least = 0 if item.name in ("seed", "data_seed", "save_minutes", "label_smoothing") else None
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not (0 < value < math.inf or value == least):
                allowed = "0 or more" if least == 0 else "more than 0"
                allowed += ", not inf" if value == math.inf else ""
                raise UserError(f"{flag_of(item)} is {value}; allowed: {allowed}.")

        if self.jobs is not None and self.seeds is None:
            raise UserError("--jobs is for --seeds; give both, or neither.")

    def command_line(self) -> list[str]:
        """The options that give these arguments."""
        line = []
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value is True:
                line.append(flag_of(item))
            elif value is not None and value is not False:
                values = value if isinstance(value, list) else [value]
                line += [f"{flag_of(item)}={each}" for each in values]
        return line

    def configuration(self) -> dict[str, Any]:
        """The --set options as keyword arguments of create_model."""
        return parse_pairs(self.overrides, "--set", "dropout=0.2")


def parse_pairs(texts: list[str] | None, flag: str, example: str) -> dict[str, Any]:
    """KEY=VALUE texts as a dictionary, the values read as YAML. Raises UserError for another form."""
    values = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise UserError(f"{flag} {text!r} has no KEY=VALUE form; write it like {flag} {example}.")
        try:
            values[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise UserError(f"{flag} {text!r}: {value!r} is not YAML; put quotes around a text.") from None
    return values


def task_options(texts: list[str] | None) -> dict[str, Any]:
    """The --task-option options as keyword arguments of load_task."""
    return parse_pairs(texts, "--task-option", "batches=continuous")


def flag_of(item: dataclasses.Field) -> str:
    """How a field is called on the command line."""
    return item.metadata["flag"] or "--" + item.name.replace("_", "-")


def flag(name: str) -> str:
    """How the field called `name` is called on the command line; another name is returned as a text."""
    fields = {item.name: item for item in dataclasses.fields(TrainingArguments)}
    return flag_of(fields[name]) if name in fields else name.replace("_", " ")


def build_parser(description: str) -> argparse.ArgumentParser:
    """One option for each field, under the heading of its group."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        description=description, formatter_class=formatter, allow_abbrev=False, epilog=list_options()
    )
    groups: dict[str, Any] = {}
    for item in dataclasses.fields(TrainingArguments):
        title = item.metadata["group"]
        group = groups.setdefault(title, None) or parser.add_argument_group(title)
        groups[title] = group
        settings = {"dest": item.name, "help": item.metadata["help"], **item.metadata["settings"]}
        settings |= {"required": True} if item.default is REQUIRED else {"default": item.default}
        group.add_argument(flag_of(item), **settings)
    return parser


def list_options() -> str:
    """What --task-option takes, family by family."""
    lines = []
    for family, options in describe_options().items():
        lines.append(f"options of {family} tasks:")
        for name, text in options.items():
            lines.append(textwrap.fill(text, 108, initial_indent=f"  {name}  ".ljust(20), subsequent_indent=" " * 20))
    return "\n".join(lines)


def parse_arguments(description: str, argv: list[str] | None = None) -> TrainingArguments:
    """The command line as a dataclass. Raises UserError for values out of range."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = TrainingArguments(**vars(build_parser(description).parse_args(argv)))
    if arguments.seeds is not None and any(word.partition("=")[0] == "--seed" for word in argv):
        raise UserError(f"--seed {arguments.seed} and --seeds {arguments.seeds} are both given; leave one out.")
    return arguments
