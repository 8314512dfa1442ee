"""The registry: from a name in registry.yaml to a model."""

import contextlib
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from .errors import UserError, unknown_name
from .syntax_tokens import syntax_sizes

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

SPECIAL_TOKENS = 4
# What a model reads, said by its class: strings; a source text and a parse, to write text; a parse and a template, to
# write a parse.
READS = ("strings", "guided", "expansion")
_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "registry.yaml", _HERE.parent / "registry.yaml")  # inside a wheel; in a checkout


@dataclass(frozen=True)
class Entry:
    """One model of registry.yaml, where the fields are explained."""

    name: str
    class_path: str
    label: str
    family: str
    config: dict[str, Any]
    budget: dict[str, Any]
    tasks: tuple[str, ...]
    preset: str
    citation: str

    def size_step(self, settings: dict[str, Any]) -> int:
        """What the solved-for size must be a multiple of, under these settings."""
        multiple = self.budget["multiple"]
        return max(settings[multiple], 1) if isinstance(multiple, str) else multiple

    @property
    def reads(self) -> str:
        """What the model reads: one of `READS`."""
        return self.load_class().reads  # type: ignore[attr-defined]

    def load_class(self) -> "type[PreTrainedModel]":
        """The model class, known from here on to the Auto classes and saved together with its code."""
        module, name = self.class_path.split(":")
        return _register(getattr(importlib.import_module(f"zoo.{module}"), name))


@cache
def _entries() -> dict[str, Entry]:
    path = next(place for place in _PLACES if place.is_file())
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: Entry(
            name=name,
            class_path=entry["class"],
            label=entry["label"],
            family=entry["family"],
            config=entry["config"],
            budget=entry["budget"],
            tasks=tuple(entry["tasks"]),
            preset=entry["preset"],
            citation=content["citations"][entry["citation"]],
        )
        for name, entry in content["models"].items()
    }


def config_of(model_class: "type[PreTrainedModel]") -> Any:
    """The configuration dataclass of a model class."""
    return model_class.config_class


@cache
def _register(model_class: "type[PreTrainedModel]") -> "type[PreTrainedModel]":
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    config_class = config_of(model_class)
    AutoConfig.register(config_class.model_type, config_class)
    auto: Any = AutoModelForCausalLM if model_class.reads == "strings" else AutoModelForSeq2SeqLM  # type: ignore[attr-defined]
    auto.register(config_class, model_class)
    config_class.register_for_auto_class()
    model_class.register_for_auto_class(auto.__name__)
    return model_class


def list_models(family: str | None = None) -> list[str]:
    """Names of all models, or of one family. UserError for an unknown family."""
    families = sorted({entry.family for entry in _entries().values()})
    if family is not None and family not in families:
        raise unknown_name("family", family, families)
    return [name for name, entry in _entries().items() if family in (None, entry.family)]


def get_entry(name: str) -> Entry:
    """The registry entry of a model. UserError with near names for an unknown one."""
    if not isinstance(name, str) or name not in _entries():
        raise unknown_name("model", name, _entries())
    return _entries()[name]


def create_model(
    name: str,
    word_types: int | None = None,
    tokenizer: "PreTrainedTokenizerFast | None" = None,
    parameters: int | None = None,
    seed: int | None = None,
    count_embeddings: bool = True,
    **config_overrides: Any,
) -> "PreTrainedModel":
    """A new model of the registry.

    word_types: number of word types V; config.vocab_size is V + 4. Or give the tokenizer instead.
    parameters: the budget that the size is solved for; None means the entry's own, if it has one. No solving if the
    solved-for field (hidden_size) is among the overrides. count_embeddings: whether the budget includes the token
    embeddings. seed: of the initial parameters; None draws from torch's global state.
    config_overrides: fields of the configuration. UserError for an unknown name, field or value.
    """
    import torch

    entry = get_entry(name)
    model_class = entry.load_class()
    if (word_types is None) == (tokenizer is None):
        raise UserError("create_model needs either word_types=V or tokenizer=...: give exactly one of them")
    for what, value, least, most in (("word_types", word_types, 1, 10**7), ("parameters", parameters, 1, 10**12)):
        if value is not None:
            _check_whole(what, value, least, most)
    if seed is not None:
        _check_whole("seed", seed, 0, 2**63 - 1)
    if tokenizer is not None and not hasattr(tokenizer, "get_vocab"):
        raise UserError(f"tokenizer is a {type(tokenizer).__name__}; give a tokenizer, or word_types=V")
    vocab_size = len(tokenizer) if tokenizer is not None else (word_types or 0) + SPECIAL_TOKENS
    _check_fields(entry, model_class, config_overrides)
    sizes = syntax_sizes(tokenizer.get_vocab()) if tokenizer is not None else {}
    read = {field: size for field, size in sizes.items() if field in config_of(model_class).__annotations__}
    settings = {**entry.config, "zoo_name": name, "vocab_size": vocab_size, **read, **config_overrides}
    solved = entry.budget["solve"]
    target = entry.budget["parameters"] if parameters is None else parameters
    if solved not in config_overrides and target is not None:
        step = entry.size_step(settings)
        settings[solved] = solve_size(model_class, settings, solved, step, target, count_embeddings)
    elif parameters is not None:
        raise UserError(f"both parameters={parameters} and {solved}={settings[solved]} are given: give one of them")
    config = _configure(model_class, settings)
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        return model_class(config)


def _check_fields(entry: Entry, model_class: "type[PreTrainedModel]", overrides: dict[str, Any]) -> None:
    # The library's own fields, and those that follow from the tokenizer and the registry, are not the caller's.
    own = [
        name
        for name in config_of(model_class).__annotations__
        if name not in ("vocab_size", "zoo_name") and not name.endswith("_token_id")
    ]
    for key in [*entry.config, *overrides]:
        if key not in own:
            raise unknown_name(f"configuration field of {entry.name}", key, own)


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UserError(f"{name} is {value!r}; allowed: a whole number from {least} to {most}")


def _configure(model_class: "type[PreTrainedModel]", settings: dict[str, Any]) -> Any:
    from huggingface_hub.errors import StrictDataclassError

    try:
        return config_of(model_class)(**settings)
    except (StrictDataclassError, ValueError, TypeError) as error:
        reason = str(error.__cause__ or error).strip().splitlines()[-1].strip()
        raise UserError(f"configuration of {settings['zoo_name']}: {reason}") from error


def solve_size(
    model_class: "type[PreTrainedModel]",
    settings: dict[str, Any],
    field: str,
    multiple: int,
    target: int,
    count_embeddings: bool = True,
) -> int:
    """The size whose parameter count is nearest the root of count = target, by the rule of seed 000's authors.

    The count is a quadratic in the size, or linear where inner sizes are fixed, so it is known from three sizes
    (counted without allocating anything). The positive root, in units of `multiple`, is rounded. UserError if the
    budget is too small for any size.
    """
    one, two, three = (
        count_parameters(model_class, {**settings, field: k * multiple}, count_embeddings) for k in (1, 2, 3)
    )
    square = (three - 2 * two + one) / 2
    linear = two - one - 3 * square
    constant = one - linear - square
    discriminant = linear**2 - 4 * square * (constant - target)
    quadratic = (-linear + max(discriminant, 0) ** 0.5) / (2 * square) if square else None
    root = (target - constant) / linear if quadratic is None else quadratic
    if target < one:
        raise UserError(
            f"a budget of {target:,} parameters is too small for {settings['zoo_name']}: its smallest size, "
            f"{field}={multiple}, has {one:,}"
        )
    return max(round(root), 1) * multiple


def count_parameters(
    model_class: "type[PreTrainedModel]", settings: dict[str, Any], count_embeddings: bool = True
) -> int:
    """Number of parameters of a model with these settings, tied ones counted once; token embeddings if wanted."""
    import torch

    with torch.device("meta"):
        model = model_class(_configure(model_class, settings))
    left_out: set[int] = set()
    if not count_embeddings:
        tables = (model.get_input_embeddings(), model.get_output_embeddings())
        left_out = {id(parameter) for table in tables for parameter in table.parameters()}
    return sum(parameter.numel() for parameter in model.parameters() if id(parameter) not in left_out)


def load_model(folder: str | Path) -> "tuple[PreTrainedModel, PreTrainedTokenizerFast]":
    """The model and the tokenizer of a checkpoint folder, in evaluation mode.

    UserError if the folder is no checkpoint of this zoo, is damaged, or if its weights do not fit its configuration.
    """
    folder = Path(folder)
    try:
        found = (folder / "config.json").is_file()
    except OSError:  # no name that a folder can have
        found = False
    if not found:
        raise UserError(f"{folder} is no checkpoint: it has no config.json. Give a folder that train.py wrote")
    try:
        return _load(folder)
    except UserError:
        raise
    except Exception as error:  # the library raises errors of many kinds for damaged files
        reason = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
        raise UserError(
            f"{folder} cannot be loaded: {reason[-1].strip()}. Is it damaged? Copy or train it anew"
        ) from error


def _load(folder: Path) -> "tuple[PreTrainedModel, PreTrainedTokenizerFast]":
    from transformers import PreTrainedTokenizerFast

    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if not isinstance(raw, dict) or not raw.get("zoo_name"):
        raise UserError(f"{folder} is no checkpoint of this zoo: its config.json has no zoo_name")
    model_class = get_entry(raw["zoo_name"]).load_class()
    with _library_is_quiet():
        loaded: Any = model_class.from_pretrained(
            folder, output_loading_info=True, ignore_mismatched_sizes=True, local_files_only=True
        )
    model, report = loaded
    wrong = "; ".join(f"{key}: {', '.join(sorted(map(str, names))[:3])}" for key, names in report.items() if names)
    if wrong:
        raise UserError(f"the weights in {folder} do not fit its configuration ({wrong}). Copy or train it anew")
    return model.eval(), PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


@contextlib.contextmanager
def _library_is_quiet() -> Iterator[None]:
    """Its report on misfitting weights and its bar for each file are left out: the error says what is wrong."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
