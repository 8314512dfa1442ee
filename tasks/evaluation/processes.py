"""Work on the items of a set in batches, shared over processes, every item exactly once."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from tqdm import tqdm

from tasks.training.batches import length_batches

Result = TypeVar("Result")


def process_state() -> PartialState:
    """The processes that this one belongs to, and its device."""
    # Without cpu=True, processes that torchrun starts on a CPU would each believe that they are alone.
    return PartialState(cpu=not torch.accelerator.is_available())


def map_batches(
    compute: Callable[[list[int]], Sequence[Result]],
    lengths: Sequence[int],
    batch_tokens: int,
    description: str,
) -> list[Result]:
    """Results of all items in their order, on every process.

    compute: given the indexes of a batch, returns one result (that can be pickled) for each of them
    lengths: tokens of each item; batches hold items of similar length, at most `batch_tokens` with padding
    """
    state = process_state()
    by_length = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable").tolist()
    # Dealt like cards, so that each process gets short and long items.
    dealt = [item for hand in range(state.num_processes) for item in by_length[hand :: state.num_processes]]
    results: list[tuple[int, Result]] = []
    with state.split_between_processes(dealt) as mine:
        batches = length_batches(np.asarray([lengths[item] for item in mine]), batch_tokens) if mine else []
        with tqdm(
            total=len(mine), desc=description, unit="items", leave=False, disable=not state.is_main_process
        ) as bar:
            for positions in batches:
                batch = [mine[position] for position in positions]
                results += zip(batch, compute(batch), strict=True)
                bar.update(len(batch))
    gathered = dict(gather_object(results))
    return [gathered[item] for item in range(len(lengths))]


def map_groups(
    compute: Callable[[list[int]], Sequence[Result]],
    sources: Sequence[Sequence[int]],
    lengths: Sequence[int],
    batch_tokens: int,
    description: str,
) -> list[Result]:
    """`map_batches` in groups whose sources have one length, so that prompts need no padding."""

    def over_batch(batch: list[int]) -> list[Result]:
        groups = itertools.groupby(batch, key=lambda index: len(sources[index]))
        return [result for _, group in groups for result in compute(list(group))]

    return map_batches(over_batch, lengths, batch_tokens, description)


def map_shares(compute: Callable[[list[int]], Sequence[Result]], count: int) -> list[Result]:
    """Results of items 0 to count - 1 in their order, on every process; each process computes its share in one call."""
    state = process_state()
    with state.split_between_processes(list(range(count))) as mine:
        results = list(zip(mine, compute(mine), strict=True)) if mine else []
    gathered = dict(gather_object(results))
    return [gathered[item] for item in range(count)]
