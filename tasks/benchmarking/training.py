"""Rows of training speed."""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import zoo
from tasks import load_task
from tasks.benchmarking.common import Row, Work, flops, form, take_turns
from tasks.tokenization import word_tokenizer
from tasks.training.batches import IGNORE, Strings, length_batches

TOKENS = 1024
LEARNING_RATE = 7e-4


def training_rows(row: str, arguments: argparse.Namespace, plan: dict[str, tuple[Work, str]], count: int) -> list[Row]:
    """Rows of works {name: (work, aim)}, the first being the denominator. count: examples of one pass."""
    seconds = take_turns({name: work for name, (work, _) in plan.items()}, arguments.rounds)
    base = next(iter(plan))
    rows = []
    for name, (work, aim) in plan.items():
        ratio = statistics.median(a / b for a, b in zip(seconds[base], seconds[name], strict=True))
        median = statistics.median(seconds[name])
        rows.append(Row(row, f"training {name}", median, base, ratio, aim, count / median, flops(work)))
    return rows


def models_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    batches = make_batches(arguments)
    aim = {"tf-nd": ">= 0.3"}
    others = [name for name in zoo.list_models() if name != "tf" and zoo.get_entry(name).budget["parameters"]]
    names = ["tf", *others]
    plan = {name: (training(zoo_model(name), batches, True), aim.get(name, "")) for name in names}
    return training_rows(row, arguments, plan, examples(batches))


def stack_row(model: str, base: str, compiled: str, pytorch: str) -> Callable[..., list[Row]]:
    def measure(row: str, arguments: argparse.Namespace) -> list[Row]:
        batches = make_batches(arguments)
        plan = {
            base: (training(zoo_model(base), batches, True), ""),
            f"{model}, compiled": (training(zoo_model(model), batches, True), compiled),
            f"{model}, PyTorch": (training(zoo_model(model), batches, False), pytorch),
        }
        return training_rows(row, arguments, plan, examples(batches))

    return measure


def encoder_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    batches = make_batches(arguments)
    model = zoo_model("tf")
    encoder = PlainEncoder(model.config)
    plan = {
        "nn.TransformerEncoder": (training(encoder, batches, True), ""),
        "tf": (training(model, batches, True), ">= 1.2"),
    }
    return training_rows(row, arguments, plan, examples(batches))


class PlainEncoder(nn.Module):
    """The library's transformer encoder at the sizes of a configuration, as a language model with tied embeddings."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, heads = config.hidden_size, config.num_attention_heads
        layer = nn.TransformerEncoderLayer(
            width, heads, config.feedforward_factor * width, config.dropout, batch_first=True, norm_first=True
        )
        self.embeddings = nn.Embedding(config.vocab_size, width)
        self.dropout = nn.Dropout(config.dropout)
        count = len(config.layers)
        self.encoder = nn.TransformerEncoder(layer, count, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, input_ids: Tensor, **_: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.shape[1])
        hidden = self.encoder(self.dropout(self.embeddings(input_ids)), mask=mask, is_causal=True)
        return argparse.Namespace(logits=hidden @ self.embeddings.weight.T)


def zoo_model(name: str) -> Any:
    return zoo.create_model(name, word_types=68, seed=0).train()


def training(model: nn.Module, batches: list, compiled: bool, learning_rate: float = LEARNING_RATE) -> Work:
    """Trains the model on all batches once."""
    parameters = list(model.parameters())
    optimiser = torch.optim.Adam(parameters, learning_rate, fused=True)

    def work() -> None:
        with form(compiled):
            for inputs, labels in batches:
                logits = model(**inputs, use_cache=False).logits.flatten(0, 1)
                loss = cross_entropy(logits, labels.flatten(), ignore_index=IGNORE, reduction="sum") / len(labels)
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 10)
                optimiser.step()

    return work


def make_batches(arguments: argparse.Namespace) -> list:
    """Batches of question formation, spread evenly over all lengths: published dev lines or generated ones."""
    task = load_task("question_formation")
    split = "validation" if arguments.data else "train"
    data = task.load_data(arguments.data, splits=[split], sizes=None if arguments.data else {"train": 1000})
    strings = Strings(word_tokenizer(task.words), data.sets[split])
    groups = length_batches(strings.lengths, TOKENS)
    return [strings.batch(group) for group in groups[:: max(1, len(groups) // arguments.batches)][: arguments.batches]]


def examples(batches: list) -> int:
    return sum(len(labels) for _, labels in batches)
