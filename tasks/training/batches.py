"""Training data as integer arrays, and the order in which batches of it are seen.

A kind of training data is a class of the form of `Examples`. `Strings` is the kind of language models, each string
from the initial state; `tasks.training.stream` has that of continuous text.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from tasks.tokenization import BOS, EOS, PAD, encode
from zoo.errors import UserError

IGNORE = -100  # what cross_entropy skips


class Examples(Protocol):
    """What the loop needs of training or validation data.

    lengths: tokens of each example, as the budget of a batch counts them.
    carries_state: whether the rows of a batch go on from the state in which those of the batch before ended.
    """

    lengths: np.ndarray

    @property
    def carries_state(self) -> bool: ...

    def batch(self, indices: np.ndarray) -> tuple[dict[str, Tensor], Tensor]:
        """The keyword arguments of the model, and the labels aligned with its logits."""
        ...

    def text(self, index: int) -> str:
        """An example, for messages."""
        ...

    def digest(self) -> str:
        """The same for the same data in the same order."""
        ...

    def plan(
        self, batch_tokens: int, batch_examples: int | None = None, *, seed: int, epoch: int, num_processes: int = 1
    ) -> list[list[np.ndarray]]:
        """The training steps of an epoch: for each one batch of examples per process."""
        ...

    def scoring_batches(self, batch_tokens: int, process: int = 0, num_processes: int = 1) -> list[np.ndarray]:
        """The batches of one of the processes that together score every token once."""
        ...


def model_rows(ids: np.ndarray, positions: np.ndarray, real: np.ndarray) -> tuple[dict[str, Tensor], Tensor]:
    """What a model reads at some positions of a text, and the labels, which are the ids one further.

    ids [N]; positions and real [B, T]: positions that are not real are padding, with label -100
    -> input_ids and attention_mask, labels, each B x T
    """
    positions = np.where(real, positions, 0)
    inputs = np.where(real, ids[positions], PAD)
    labels = np.where(real, ids[positions + 1], IGNORE)
    model_inputs = {
        "input_ids": torch.from_numpy(inputs.astype(np.int64)),
        "attention_mask": torch.from_numpy(real.astype(np.int64)),
    }
    return model_inputs, torch.from_numpy(labels.astype(np.int64))


class Strings:
    """Strings w of a language model, encoded once: bos + words + eos in one array.

    An example is one or several texts, such as source and target, which make one string.
    Raises UserError for an empty set and for a word outside the vocabulary.
    """

    carries_state = False

    def __init__(self, tokenizer: PreTrainedTokenizerBase, examples: Iterable[Sequence[str]]) -> None:
        self._lines = [" ".join(parts) for parts in examples]
        if not self._lines:
            raise UserError("a training or validation set is empty. Give a file with at least one line.")
        rows = [[BOS, *encode(tokenizer, line), EOS] for line in self._lines]
        self.lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._ids = np.concatenate([np.array(row, dtype=np.int32) for row in rows])

    def __len__(self) -> int:
        return len(self.lengths)

    def text(self, index: int) -> str:
        """The string as it was read."""
        return self._lines[index]

    def batch(self, indices: np.ndarray) -> tuple[dict[str, Tensor], Tensor]:
        """Inputs bos w and labels w eos, padded on the right; a row of n words takes n + 1 positions.

        Returns input_ids and attention_mask of shape B x T, and labels B x T with -100 on padding.
        """
        # positions, real : B x T
        predicted = self.lengths[indices][:, None] - 1
        columns = np.arange(predicted.max())[None, :]
        real = columns < predicted
        return model_rows(self._ids, self._starts[indices][:, None] + columns, real)

    def plan(
        self, batch_tokens: int, batch_examples: int | None = None, *, seed: int, epoch: int, num_processes: int = 1
    ) -> list[list[np.ndarray]]:
        """`epoch_batches` of the strings."""
        return epoch_batches(
            self.lengths, batch_tokens, batch_examples, seed=seed, epoch=epoch, num_processes=num_processes
        )

    def scoring_batches(self, batch_tokens: int, process: int = 0, num_processes: int = 1) -> list[np.ndarray]:
        """Batches of similar length."""
        return length_batches(self.lengths, batch_tokens)[process::num_processes]

    def digest(self) -> str:
        """SHA-256 of the encoded strings: the same data in the same order, or not."""
        return hashlib.sha256(self.lengths.tobytes() + self._ids.tobytes()).hexdigest()


def length_batches(
    lengths: np.ndarray, batch_tokens: int, batch_examples: int | None = None, ties: np.ndarray | None = None
) -> list[np.ndarray]:
    """Groups examples of similar length into batches of at most `batch_tokens` tokens, padding counted.

    lengths : N, tokens of each example; batch_examples: the most in a batch (None: no limit); ties : N, order among
    examples of one length (None: as they come).
    Each example is in exactly one batch; shortest first. Raises UserError if an example alone is too long.
    """
    longest = int(np.argmax(lengths))
    if lengths[longest] > batch_tokens:
        raise UserError(
            f"--batch-tokens is {batch_tokens}, but example {longest + 1} has {lengths[longest]} tokens with "
            f"bos and eos. Allowed: {lengths[longest]} or more."
        )
    order = np.lexsort((np.arange(len(lengths)) if ties is None else ties, lengths))
    batches = []
    start = 0
    while start < len(order):
        most = min(batch_tokens // int(lengths[order[start]]), batch_examples or len(order))
        widths = lengths[order[start : start + most]]
        fits = widths * np.arange(1, len(widths) + 1) <= batch_tokens  # widths ascend, so a prefix fits
        batches.append(order[start : start + int(fits.sum())])
        start += len(batches[-1])
    return batches


def epoch_batches(
    lengths: np.ndarray,
    batch_tokens: int,
    batch_examples: int | None = None,
    *,
    seed: int,
    epoch: int,
    num_processes: int = 1,
) -> list[list[np.ndarray]]:
    """The steps of one epoch: for each step one batch per process. A pure function of its arguments.

    All processes compute the same plan, and process p takes the batch p of each step, so that no example is
    lost or doubled; the largest batches are halved until their number divides by `num_processes`.
    """
    random = np.random.default_rng([seed, epoch])
    batches = length_batches(lengths, batch_tokens, batch_examples, random.permutation(len(lengths)))
    batches = [batches[i] for i in random.permutation(len(batches))]
    while len(batches) % num_processes:
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        if len(batches[largest]) < 2:
            raise UserError(
                f"{len(lengths)} training examples cannot be shared by {num_processes} processes. "
                "Allowed: at least as many examples as processes."
            )
        batches[largest : largest + 1] = np.array_split(batches[largest], 2)
    return [batches[i : i + num_processes] for i in range(0, len(batches), num_processes)]


def to_device(batch: tuple[dict[str, Tensor], Tensor], device: Any) -> tuple[dict[str, Tensor], Tensor]:
    """The same batch on the device of the model."""
    inputs, labels = batch
    return {name: value.to(device) for name, value in inputs.items()}, labels.to(device)
