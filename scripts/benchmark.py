"""Speed of training and of the stacks, as ratios within one run.

    python scripts/benchmark.py [--only ROW ...] [--data DIR] [--threads N] [--json FILE]

Rows: models (training speed of every model beside `tf`), 1 to 7, 11 (sampling) and scoring, each with its own
denominator. What is compared takes turns, round by round, so that a change of the machine's speed hits all alike;
seconds and ratios are medians over rounds. Training is forward, backward, clipping and Adam on batches of at most 1,024
tokens, at 200,000 parameters. "Layer" is one pre-norm `torch.nn.TransformerEncoderLayer`, d=68, 4 heads, feedforward
136, forward and backward on a batch of that shape. Leave the machine alone meanwhile: with busy cores, threads wait for
each other.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode
from transformers import GenerationConfig

import zoo
from tasks import load_task
from tasks.evaluation.evaluation import EvaluationSettings
from tasks.evaluation.sampling import most_sampled_tokens, sample_outputs, uniform_noise
from tasks.evaluation.scoring import pad, score_rules
from tasks.files import write_text
from tasks.tokenization import BOS, EOS, PAD, encode, word_tokenizer
from tasks.training.batches import IGNORE, Strings, length_batches
from tasks.training.versions import library_versions
from zoo.stack_nondeterministic import nondeterministic_stack
from zoo.stack_superposition import superposition_stack

TOKENS = 1024
LEARNING_RATE = 7e-4
STACK = (3, 3, 5)  # states, symbols, vector size
SAMPLES = 10  # of each prompt
LINES = 100  # that a model learns before it is sampled, and how it does
PASSES, FAST_LEARNING_RATE = 100, 2e-3
Work = Callable[[], None]


@dataclass
class Row:
    """One measured ratio. seconds: of one pass over the row's batches (training) or of one call (operators)."""

    row: str
    what: str
    seconds: float
    denominator: str
    ratio: float  # training: speed of `what` by that of the denominator; operators: time by time
    aim: str
    examples_per_second: float | None = None
    gflop: float | None = (
        None  # of one such pass or call: matrix products, and the nondeterministic stack by its formula
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=ROWS, help=f"any of: {', '.join(ROWS)}")
    parser.add_argument("--data", type=Path, metavar="DIR", help="published files (default: generated sentences)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds, after one that warms up (default: 5)")
    parser.add_argument("--batches", type=int, default=8, help="batches of a training round (default: 8)")
    parser.add_argument("--threads", type=int, help="threads of torch (default: its own choice)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    rows: list[Row] = []
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items() if name != "versions"))
    for name in arguments.only or ROWS:
        found = ROWS[name](name, arguments)
        print_rows(found)
        rows += found
    if arguments.json:
        report = {"machine": facts, "rows": [asdict(row) for row in rows]}
        write_text(arguments.json, json.dumps(report, indent=2) + "\n")


def take_turns(works: dict[str, Work], rounds: int) -> dict[str, list[float]]:
    """Seconds of each work in each round, after one round that only warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


@contextlib.contextmanager
def form(compiled: bool) -> Iterator[None]:
    """Inside, the stacks run by their compiled or by their PyTorch form."""
    before = os.environ.get("SYNTAX_ZOO_NATIVE")
    os.environ["SYNTAX_ZOO_NATIVE"] = "1" if compiled else "0"
    try:
        yield
    finally:
        del os.environ["SYNTAX_ZOO_NATIVE"]
        if before is not None:
            os.environ["SYNTAX_ZOO_NATIVE"] = before


# Training


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
    names = ["tf", *(name for name in zoo.list_models() if name != "tf")]
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

    def __init__(self, config) -> None:
        super().__init__()
        width, heads = config.hidden_size, config.num_attention_heads
        layer = nn.TransformerEncoderLayer(
            width, heads, config.feedforward_factor * width, config.dropout, batch_first=True, norm_first=True
        )
        self.embeddings = nn.Embedding(config.vocab_size, width)
        self.dropout = nn.Dropout(config.dropout)
        count = len(config.layers)
        self.encoder = nn.TransformerEncoder(layer, count, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, input_ids: Tensor, **_):
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.shape[1])
        hidden = self.encoder(self.dropout(self.embeddings(input_ids)), mask=mask, is_causal=True)
        return argparse.Namespace(logits=hidden @ self.embeddings.weight.T)


def zoo_model(name: str):
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


# Operators


def operator_row(kind: str, batch: int, steps: int, aim: str) -> Callable[..., list[Row]]:
    def measure(row: str, arguments: argparse.Namespace) -> list[Row]:
        torch.manual_seed(0)
        run, counted = OPERATORS[kind](batch, steps)
        works = {"layer": layer_work(batch, steps)}
        for name, compiled in (("compiled", True), ("PyTorch", False)):
            works[name] = in_form(run, compiled)
        seconds = take_turns(works, 4 * arguments.rounds)
        return [
            Row(
                row,
                f"{kind} operator B={batch} n={steps}, {name}",
                statistics.median(seconds[name]),
                "layer",
                statistics.median(a / b for a, b in zip(seconds[name], seconds["layer"], strict=True)),
                aim if name == "compiled" else "",
                gflop=counted,
            )
            for name in ("compiled", "PyTorch")
        ]

    return measure


def in_form(run: Work, compiled: bool) -> Work:
    def work() -> None:
        with form(compiled):
            run()

    return work


def nondeterministic_work(batch: int, steps: int) -> tuple[Work, float]:
    states, symbols, size = STACK
    count = states * symbols
    logits = torch.randn(batch, steps, count, 2 * count + states, requires_grad=True)
    vectors = torch.rand(batch, steps, size, requires_grad=True)
    bottom = torch.rand(size, requires_grad=True)
    grad = torch.randn(batch, steps + 1, count * size)
    pairs, triples = steps * (steps - 1) / 2, steps * (steps - 1) * (steps - 2) / 6
    products = symbols * states**3 * triples + (2 * count**2 * states + symbols * states**2 * size) * pairs
    work = backwards(lambda: nondeterministic_stack(logits, vectors, bottom), [logits, vectors, bottom], grad)
    return work, 3 * 2 * batch * products / 1e9


def superposition_work(batch: int, steps: int) -> tuple[Work, float]:
    actions = torch.randn(batch, steps, 3).softmax(-1).requires_grad_()
    vectors = torch.rand(batch, steps, 50, requires_grad=True)
    grad = torch.randn(batch, steps + 1, 50)
    heights = sum(min(t, steps - t + 1) for t in range(1, steps + 1))
    work = backwards(lambda: superposition_stack(actions, vectors), [actions, vectors], grad)
    return work, 3 * 2 * batch * heights * 3 * 50 / 1e9


OPERATORS = {"nondeterministic": nondeterministic_work, "superposition": superposition_work}


def layer_work(batch: int, steps: int) -> Work:
    layer = nn.TransformerEncoderLayer(68, 4, 136, 0.1, batch_first=True, norm_first=True)
    inputs, grad = torch.randn(batch, steps, 68, requires_grad=True), torch.randn(batch, steps, 68)

    def run() -> Tensor:
        return layer(inputs, src_mask=nn.Transformer.generate_square_subsequent_mask(steps), is_causal=True)

    return backwards(run, [inputs, *layer.parameters()], grad)


def backwards(run: Callable[[], Tensor], inputs: list[Tensor], grad: Tensor) -> Work:
    """Forward and backward, with new gradients each time."""

    def work() -> None:
        for tensor in inputs:
            tensor.grad = None
        run().backward(grad)

    return work


# Evaluation


def sampling_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    """10 samples for each prompt, beside generate() on batches of 50 in which each sample has its own prompt.

    The models have learnt the lines that they are asked about: samples of one prompt then have much in common.
    """
    examples, tokenizer = example_lines(arguments)
    by_length: dict[int, list[list[int]]] = {}
    for example in examples:
        source = encode(tokenizer, example.source)
        by_length.setdefault(len(source), []).append(source)
    groups = [group[:50] for group in by_length.values() if len(group) >= 5]  # generate() needs no padding either
    steps = max(len(encode(tokenizer, example.target)) for example in examples) + 1
    count = SAMPLES * sum(len(group) for group in groups)
    rows = []
    for name in ("tf", "tf-nd", "lstm-nd-r"):
        model = learnt(name, arguments)
        works = {"generate": generate_work(model, groups, steps), name: sampling_work(model, groups, steps)}
        seconds = take_turns(works, arguments.rounds)
        ratio = statistics.median(a / b for a, b in zip(seconds["generate"], seconds[name], strict=True))
        for work, figure, aim in (("generate", 1.0, ""), (name, ratio, ">= 10")):
            median = statistics.median(seconds[work])
            what = f"sampling {name}" if work == name else f"generate() {name}"
            rows.append(Row(row, what, median, f"generate() {name}", figure, aim, count / median))
    return rows


def sampling_work(model: Any, groups: list[list[list[int]]], steps: int) -> Work:
    sources = [source for group in groups for source in group]
    lengths = np.array([SAMPLES * (len(source) + steps) for source in sources])
    batches = length_batches(lengths, most_sampled_tokens(model, EvaluationSettings().batch_tokens))

    def work() -> None:
        for batch in batches:
            noise = torch.stack([uniform_noise(0, index, SAMPLES, steps) for index in batch])
            sample_outputs(model, [sources[index] for index in batch], noise)

    return work


def generate_work(model: Any, groups: list[list[list[int]]], steps: int) -> Work:
    settings = GenerationConfig(
        do_sample=True, top_k=0, max_new_tokens=steps, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD
    )

    def work() -> None:
        for group in groups:
            for start in range(0, len(group), 5):
                prompts = torch.tensor([[BOS, *source] for source in group[start : start + 5]])
                model.generate(input_ids=prompts.repeat_interleave(SAMPLES, 0), generation_config=settings)

    return work


def scoring_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    """Full accuracy under both rules, beside plain forward passes over the same strings in batches as large."""
    task = load_task("question_formation")
    examples, tokenizer = example_lines(arguments)
    sources = [encode(tokenizer, example.source) for example in examples]
    targets = [
        [encode(tokenizer, rule(example.source)) for rule in (task.hierarchical, task.linear)] for example in examples
    ]
    strings = [[BOS, *source, *target] for source, row in zip(sources, targets, strict=True) for target in row]
    tokens = EvaluationSettings().batch_tokens
    batches = [
        pad([strings[index] for index in group], PAD)
        for group in length_batches(np.array([len(string) for string in strings]), tokens)
    ]
    rows = []
    for name in ("tf", "tf-sup", "tf-nd", "lstm", "lstm-nd-r"):
        model = zoo_model(name).eval()
        works = {
            "plain": plain_work(model, batches),
            name: lambda model=model: score_rules(model, sources, targets, tokens, ""),
        }
        seconds = take_turns(works, arguments.rounds)
        median = statistics.median(seconds[name])
        ratio = statistics.median(a / b for a, b in zip(seconds["plain"], seconds[name], strict=True))
        rows.append(Row(row, f"scoring {name}", median, "forward passes", ratio, "", len(strings) / median))
    return rows


def plain_work(model: nn.Module, batches: list[Tensor]) -> Work:
    @torch.inference_mode()
    def work() -> None:
        for inputs in batches:
            model(input_ids=inputs, attention_mask=(inputs != PAD).long(), use_cache=False)

    return work


def example_lines(arguments: argparse.Namespace) -> tuple[list, Any]:
    """Lines of question formation and a tokenizer."""
    task = load_task("question_formation")
    split = "validation" if arguments.data else "train"
    data = task.load_data(arguments.data, splits=[split], sizes={split: LINES})
    return data.sets[split], word_tokenizer(task.words)


def learnt(name: str, arguments: argparse.Namespace) -> Any:
    """A model that has been trained on `example_lines` until it is nearly sure of them."""
    examples, tokenizer = example_lines(arguments)
    strings = Strings(tokenizer, examples)
    batches = [strings.batch(group) for group in length_batches(strings.lengths, TOKENS)]
    model = zoo_model(name)
    work = training(model, batches, True, FAST_LEARNING_RATE)
    for _ in range(PASSES):
        work()
    return model.eval()


ROWS: dict[str, Callable[..., list[Row]]] = {
    "models": models_row,
    "1": stack_row("tf-nd", "tf", ">= 0.9", ">= 0.4"),
    "2": stack_row("lstm-nd-r", "lstm", ">= 0.35", ""),
    "3": stack_row("tf-sup", "tf", ">= 0.95", ">= 0.8"),
    "4": operator_row("nondeterministic", 40, 25, "<= 0.3"),
    "5": operator_row("nondeterministic", 20, 50, "<= 1"),
    "6": operator_row("superposition", 40, 25, "<= 0.1"),
    "7": encoder_row,
    "11": sampling_row,
    "scoring": scoring_row,
}


# Report


def flops(work: Work) -> float:
    """10^9 floating-point operations of the matrix products in one pass; compiled stacks are not seen."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops() / 1e9


def machine() -> dict:
    """Threads, versions, and the rate of a matrix product measured now."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    seconds = take_turns({"product": lambda: a @ b}, 10)["product"]
    return {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "matrix product GFLOP/s": round(2 * 1024**3 / statistics.median(seconds) / 1e9),
        "torch": torch.__version__,
        "versions": library_versions(),
    }


def print_rows(rows: list[Row]) -> None:
    print(f"\n{'row':<7}{'what':<46}{'ms':>9}{'examples/s':>12}{'GFLOP':>8}  ratio")
    for row in rows:
        speed = f"{row.examples_per_second:.0f}" if row.examples_per_second else ""
        aim = f" (aim {row.aim})" if row.aim else ""
        gflop = f"{row.gflop:.2f}" if row.gflop else ""
        end = f"{row.ratio:.2f} of {row.denominator}{aim}"
        print(f"{row.row:<7}{row.what:<46}{1000 * row.seconds:>9.1f}{speed:>12}{gflop:>8}  {end}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except zoo.UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
