"""The probability of all outputs that pass a test, added up over prefixes: an interval that holds it for certain.

The outputs of an input are a tree. Those parts of it in which no output passes count as explored and failed, those in
which every output passes as explored and passed. Of the rest the most probable prefixes are followed, length by length
so that prefixes of many inputs share a forward pass; what is left behind is the width of the interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tasks.evaluation.pass_table import PassTable
from tasks.evaluation.prefixes import Prefixes, read_prompts
from tasks.tokenization import EOS

HOPELESS = 4


class Interval(NamedTuple):
    """Bounds of a probability."""

    lower: float
    upper: float


@dataclass
class _Frontier:
    """Prefixes of one length, not yet read: how to read them, whose they are, how probable, and their open tests."""

    parents: Prefixes | None  # None: the prompts are next
    last: bool  # no other frontier follows these parents
    length: int  # words of each prefix after the prompt
    rows: Tensor  # N, the parent of each
    tokens: Tensor  # N
    inputs: Tensor  # N
    mass: Tensor  # N
    undecided: Tensor  # N x R, bool

    def take(self, part: slice) -> "_Frontier":
        """Some of the prefixes."""
        each = (self.rows, self.tokens, self.inputs, self.mass, self.undecided)
        return _Frontier(self.parents, False, self.length, *(tensor[part] for tensor in each))

    def read(self, model: PreTrainedModel, sources: Sequence[Sequence[int]]) -> Prefixes:
        if self.parents is None:
            return read_prompts(model, [sources[index] for index in self.inputs.tolist()])
        return self.parents.follow(self.rows, self.tokens, uses_up=self.last)


@torch.inference_mode()
def explore(
    model: PreTrainedModel,
    sources: Sequence[Sequence[int]],
    table: PassTable,
    *,
    tolerance: float,
    width: int,
    most_rows: int,
) -> list[tuple[Interval, ...]]:
    """For each source, and each of its R tests in `table`, bounds of the probability that an output passes.

    sources: token ids. tolerance: prefixes of together at most this probability are left behind.
    width: an input that needs more prefixes of one length than this is given up, and its interval is wide.
    most_rows: of a forward pass, unless the prefixes of one input need more.
    """
    count, tests = table.lengths.shape
    device = model.device
    passed, left = (torch.zeros(count, tests, dtype=torch.float64, device=device) for _ in range(2))
    inputs = torch.arange(count, device=device)
    mass, undecided = torch.ones_like(passed[:, 0]), torch.ones_like(passed, dtype=torch.bool)
    waiting = _split(_Frontier(None, True, 0, inputs, inputs, inputs, mass, undecided), most_rows)
    while waiting:
        frontier = waiting.pop()
        prefixes = frontier.read(model, sources)
        for found in _follow(frontier, prefixes, table, passed, left, tolerance, width):
            waiting += _split(found, most_rows)
    upper = (passed + left).clamp(max=1.0)
    return [
        tuple(Interval(*pair) for pair in zip(low, high, strict=True))
        for low, high in zip(passed.tolist(), upper.tolist(), strict=True)
    ]


def _follow(
    frontier: _Frontier,
    prefixes: Prefixes,
    table: PassTable,
    passed: Tensor,
    left: Tensor,
    tolerance: float,
    width: int,
) -> list[_Frontier]:
    """Adds what one more token decides to `passed` and what is left behind to `left`; returns the rest, if any."""
    # passed, left : n x R; mass : N x V; undecided : N x R x V
    inputs, t = frontier.inputs, frontier.length
    lengths, ends = table.lengths[inputs], table.ends[inputs]
    mass = frontier.mass[:, None] * prefixes.probabilities
    ended = frontier.undecided & ends & (lengths == t)
    passed.index_add_(0, inputs, ended * mass[:, EOS, None])
    undecided = frontier.undecided[:, :, None] & table.allowed(inputs, t)
    certain = (~ends & (lengths == t + 1))[:, :, None]  # whatever follows, such an output passes
    passed.index_add_(0, inputs, torch.where(undecided & certain, mass[:, None], 0.0).sum(-1))
    undecided &= ~certain

    parents, tokens = (undecided.any(1) & (mass > 0)).nonzero(as_tuple=True)
    owners, masses, undecided = inputs[parents], mass[parents, tokens], undecided[parents, :, tokens]
    tokens_left = (table.lengths + table.ends).amax(1) - t
    allowance = (tolerance - left.amax(1)).clamp(min=0) / (tokens_left - 1).clamp(min=1)
    before = torch.bincount(inputs, minlength=len(left))
    most = torch.where(tokens_left > 2, most_that_may_end_well(before, width), width)
    kept = worth_following(owners, masses, allowance, most)
    left.index_add_(0, owners[~kept], masses[~kept, None] * undecided[~kept])
    if not bool(kept.any()):
        return []
    each = (parents, tokens, owners, masses, undecided)
    return [_Frontier(prefixes, True, t + 1, *(tensor[kept] for tensor in each))]


def most_that_may_end_well(before: Tensor, width: int) -> Tensor:
    """From how many prefixes on an input is given up that had `before` of them one token earlier.

    Were the next token to multiply them as the last one did, there would be more than HOPELESS times the width.
    """
    return (HOPELESS * width * before).sqrt().clamp(max=width)


def worth_following(owners: Tensor, masses: Tensor, allowance: Tensor, most: Tensor) -> Tensor:
    """Which candidates to follow: of each owner all but the least probable ones that together have at most its
    `allowance`; none at all if that leaves more than `most`.

    owners, masses : N, allowance, most : n -> N, bool
    """
    order = masses.argsort(descending=True, stable=True)
    order = order[owners[order].argsort(stable=True)]  # by owner, then from the most probable down
    ends = torch.bincount(owners, minlength=len(allowance)).cumsum(0)
    # From the least probable up: the probability of a candidate and all after it.
    sums = torch.nn.functional.pad(masses[order].flip(0).cumsum(0).flip(0), (0, 1))
    rest = sums[:-1] - sums[ends[owners[order]]]
    kept = torch.empty_like(order, dtype=torch.bool)
    kept[order] = rest > allowance[owners[order]]
    return kept & (torch.bincount(owners[kept], minlength=len(allowance)) <= most)[owners]


def _split(frontier: _Frontier, most_rows: int) -> list[_Frontier]:
    """Parts of a frontier, by input, that each fit a forward pass."""
    owners, counts = frontier.inputs.unique_consecutive(return_counts=True)
    if len(frontier.inputs) <= most_rows or len(owners) == 1:
        return [frontier]
    first = int(counts[: len(owners) // 2].sum())
    return [part for rows in (slice(first), slice(first, None)) for part in _split(frontier.take(rows), most_rows)]
