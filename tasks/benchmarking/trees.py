"""Rows of the tree edit distance, beside zss."""

import argparse
import json
import statistics
from pathlib import Path

import zss
from nltk.tree import Tree

from tasks import load_task
from tasks.benchmarking.common import Row, Work, take_turns
from tasks.metrics import tree_edit_distance

WORDS = 60
PAIRS = 200
FILE = "test.jsonl"  # with source_parse and target_parse
GRAMMAR = "passivization"
Pairs = list[tuple[str, str]]


def distance_row(row: str, arguments: argparse.Namespace) -> list[Row]:
    """One pair of right-branching trees with unlike labels, on which zss would take minutes, and many pairs."""
    pair = [(right_branching("X"), right_branching("Y"))]
    seconds = take_turns({"pair": distances_work(pair)}, arguments.rounds)["pair"]
    rows = [Row(row, f"TED, right-branching pair, {WORDS} words", statistics.median(seconds), aim="<= 0.1 s")]
    pairs, origin = example_pairs(arguments)
    works = {"zss": zss_work(pairs), "TED": distances_work(pairs)}
    found = take_turns(works, -(-arguments.rounds // 2))  # zss is slow
    ratio = statistics.median(a / b for a, b in zip(found["TED"], found["zss"], strict=True))
    what = f"TED, {len(pairs)} {origin}"
    median = statistics.median(found["TED"])
    return [*rows, Row(row, what, median, "zss", ratio, "<= 1 s", len(pairs) / median)]


def right_branching(label: str) -> str:
    parts = [f"({label}{word} (T w{word}) " for word in range(WORDS - 1)]
    return "".join(parts) + "(T end)" + ")" * (WORDS - 1)


def example_pairs(arguments: argparse.Namespace) -> tuple[Pairs, str]:
    """Trees with their words, of a file of real pairs if --data has one, else of a grammar; and which it is."""
    file = arguments.data and Path(arguments.data) / FILE
    if file and file.is_file():
        lines = file.read_text(encoding="utf-8").splitlines()[:PAIRS]
        examples = [json.loads(line) for line in lines]
        return [(example["source_parse"], example["target_parse"]) for example in examples], f"pairs of {FILE}"
    task = load_task(GRAMMAR)
    examples = task.sample("train", PAIRS, 0)
    pairs = [(brackets(task.parse(source)), brackets(task.parse_target(target))) for source, target in examples]
    return pairs, f"pairs of {GRAMMAR}"


def brackets(tree: Tree) -> str:
    return str(tree.pformat(margin=10**9))


def distances_work(pairs: Pairs) -> Work:
    def work() -> None:
        for a, b in pairs:
            tree_edit_distance(a, b)

    return work


def zss_work(pairs: Pairs) -> Work:
    def children(node: Tree | str) -> list:
        return list(node) if isinstance(node, Tree) else []

    def label(node: Tree | str) -> str:
        return node.label() if isinstance(node, Tree) else node

    def cost(a: str, b: str) -> int:
        return int(a != b)

    def work() -> None:
        for a, b in pairs:
            zss.simple_distance(Tree.fromstring(a), Tree.fromstring(b), children, label, cost)

    return work
