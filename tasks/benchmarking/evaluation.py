"""Rows of scoring and sampling."""

import argparse
import statistics
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import GenerationConfig

from tasks import load_task
from tasks.benchmarking.common import Row, Work, take_turns
from tasks.benchmarking.training import TOKENS, training, zoo_model
from tasks.evaluation.evaluation import EvaluationSettings
from tasks.evaluation.sampling import most_sampled_tokens, sample_outputs, uniform_noise
from tasks.evaluation.scoring import pad, score_rules
from tasks.tokenization import BOS, EOS, PAD, encode, word_tokenizer
from tasks.training.batches import Strings, length_batches

SAMPLES = 10  # of each prompt
LINES = 500  # that a model learns before it is sampled, and how it does
PASSES, FAST_LEARNING_RATE = 60, 2e-3


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
        seconds = take_turns(works, -(-arguments.rounds // 2))  # generate() is slow
        ratio = statistics.median(a / b for a, b in zip(seconds["generate"], seconds[name], strict=True))
        for work, figure, aim in (("generate", 1.0, ""), (name, ratio, ">= 10" if name == "tf" else "")):
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

        def score(model: Any = model) -> None:
            score_rules(model, sources, targets, tokens, "")

        works = {"plain": plain_work(model, batches), name: score}
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
