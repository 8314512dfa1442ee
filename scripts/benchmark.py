"""Training speed of each model beside `tf`, in one run.

    python scripts/benchmark.py [--only tf-nd ...] [--data DIR] [--json FILE]

A row is examples per second of forward, backward, clipping and Adam on the same batches (at most 1,024 tokens each,
size for 200,000 parameters), and the ratio to `tf`. The models take turns batch by batch, so that a change of the
machine's speed hits all alike; the figures are medians over rounds.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy


import zoo
from tasks import load_task
from tasks.tokenization import BOS, EOS, encode, word_tokenizer
from tasks.training.versions import library_versions

TOKENS = 1024
LEARNING_RATE = 7e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="models to measure (tf is always among them)")
    parser.add_argument("--data", type=Path, help="folder with a published .dev file (default: generated sentences)")
    parser.add_argument("--task", default="question_formation")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over the batches (default: 3)")
    parser.add_argument("--batches", type=int, default=8, help="batches of each round (default: 8)")
    parser.add_argument("--threads", type=int, help="threads of torch (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    for name in arguments.only or ():
        zoo.get_entry(name)
    names = ["tf", *(name for name in arguments.only or zoo.list_models() if name != "tf")]
    rows = measure_training(names, arguments)
    report = {"machine": machine(), "rows": rows}
    print_rows(report)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def measure_training(names: list[str], arguments: argparse.Namespace) -> list[dict]:
    """Examples per second of each model: the median over rounds, every round over the same batches."""
    task = load_task(arguments.task)
    if arguments.data:
        examples = task.load_data(arguments.data, splits=["validation"]).sets["validation"]
    else:
        examples = task.load_data(seed=0, sizes={"train": 1000}, splits=["train"]).sets["train"]
    batches = make_batches(task, examples, arguments.batches)
    models = {name: zoo.create_model(name, word_types=len(task.words), seed=0).train() for name in names}
    optimisers = {name: torch.optim.Adam(model.parameters(), LEARNING_RATE) for name, model in models.items()}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(arguments.rounds + 1):
        spent = dict.fromkeys(names, 0.0)
        for batch in batches if number else batches[:2]:  # the first round only warms up
            for name, model in models.items():
                start = time.perf_counter()
                train_step(model, optimisers[name], *batch)
                spent[name] += time.perf_counter() - start
        if number:
            for name in names:
                seconds[name].append(spent[name])
    count = sum(len(ids) for ids, _, _ in batches)
    ratios = {
        name: statistics.median(a / b for a, b in zip(seconds["tf"], seconds[name], strict=True)) for name in names
    }
    return [
        {
            "row": f"training {name}",
            "model": name,
            "parameters": sum(parameter.numel() for parameter in models[name].parameters()),
            "examples_per_second": count / statistics.median(seconds[name]),
            "ratio_to_tf": ratios[name],
        }
        for name in names
    ]


def make_batches(task, examples, count: int) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Batches (input ids, mask, targets) of similar length, spread evenly over all lengths."""
    tokenizer = word_tokenizer(task.words)
    strings = sorted(([BOS, *encode(tokenizer, " ".join(pair))] for pair in examples), key=len)
    groups: list[list[list[int]]] = [[]]
    for ids in strings:
        if groups[-1] and (len(groups[-1]) + 1) * len(ids) > TOKENS:
            groups.append([])
        groups[-1].append(ids)
    chosen = groups[:: max(1, len(groups) // count)][:count]
    return [to_tensors(group) for group in chosen]


def to_tensors(group: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    length = max(map(len, group))
    ids = torch.tensor([row + [0] * (length - len(row)) for row in group])
    targets = torch.tensor([row[1:] + [EOS] + [-100] * (length - len(row)) for row in group])
    return ids, (ids != 0).long(), targets


def train_step(model, optimiser, ids, mask, targets) -> None:
    logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
    loss = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum", ignore_index=-100) / len(ids)
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 10)
    optimiser.step()


def machine() -> dict:
    """Threads, versions, and the rate of a matrix product measured now."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    times = []
    for _ in range(8):
        start = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - start)
    return {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "matrix_product_gflops": 2 * 1024**3 / statistics.median(times) / 1e9,
        "versions": library_versions(),
    }


def print_rows(report: dict) -> None:
    facts = report["machine"]
    print(f"{facts['threads']} threads, matrix product {facts['matrix_product_gflops']:.0f} GFLOP/s, "
          f"torch {facts['versions']['torch']}")  # fmt: skip
    print(f"{'model':<14}{'parameters':>12}{'examples/s':>12}{'of tf':>8}")
    for row in report["rows"]:
        print(
            f"{row['model']:<14}{row['parameters']:>12,}{row['examples_per_second']:>12.0f}{row['ratio_to_tf']:>8.2f}"
        )


if __name__ == "__main__":
    try:
        main()
    except zoo.UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
