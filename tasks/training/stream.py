"""Continuous text: one long string in segments of one length, each going on from the state at the end of the last."""

import hashlib
from collections.abc import Iterable

import numpy as np
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from tasks.tokenization import BOS, EOS, encode
from tasks.training.batches import model_rows
from zoo.errors import UserError


class Stream:
    """Sentences, each followed by eos, as one string. An example is a segment of `segment_tokens` predicted tokens.

    A batch has rows side by side that stand in places of the text far apart; from batch to batch each goes on. Where a
    row begins, at the start of an epoch, it starts from bos and the initial state.
    Raises UserError for an empty set.
    """

    carries_state = True

    def __init__(self, tokenizer: PreTrainedTokenizerBase, sentences: Iterable[str], segment_tokens: int) -> None:
        rows = [[*encode(tokenizer, sentence), EOS] for sentence in sentences]
        if not rows:
            raise UserError("a training or validation set is empty. Give a file with at least one line.")
        self._ids = np.concatenate([[BOS], *rows]).astype(np.int32)
        self._tokens = tokenizer.convert_ids_to_tokens
        self._segment = segment_tokens
        count = -(-(len(self._ids) - 1) // segment_tokens)
        self.lengths = np.full(count, segment_tokens, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.lengths)

    def text(self, index: int) -> str:
        """The words of a segment."""
        start = 1 + index * self._segment
        return " ".join(self._tokens(self._ids[start : start + self._segment].tolist()))

    def batch(self, indices: np.ndarray) -> tuple[dict[str, Tensor], Tensor]:
        """input_ids, attention_mask and labels, each B x T; what lies behind the end of the text is padding."""
        # positions, real : B x T
        positions = indices[:, None] * self._segment + np.arange(self._segment)
        real = positions + 1 < len(self._ids)
        return model_rows(self._ids, positions, real)

    def plan(
        self, batch_tokens: int, batch_examples: int | None = None, *, seed: int, epoch: int, num_processes: int = 1
    ) -> list[list[np.ndarray]]:
        """The steps of an epoch, for each one batch per process, the same whatever the seed and the epoch.

        Each process has as many rows as fit into `batch_tokens`, or `batch_examples` if that is fewer.
        Segments that do not fill a last batch, fewer than there are rows, are left out.
        Raises UserError if a segment is too long, or there are too few.
        """
        rows = min(self._rows(batch_tokens), batch_examples or len(self), len(self) // num_processes)
        if not rows:
            raise UserError(
                f"the text makes {len(self)} segments of {self._segment} tokens, which {num_processes} processes "
                "cannot share. Give more text, a smaller segment_tokens or fewer processes."
            )
        steps = len(self) // (rows * num_processes)
        starts = np.arange(rows * num_processes).reshape(num_processes, rows) * steps
        return [list(starts + step) for step in range(steps)]

    def scoring_batches(self, batch_tokens: int, process: int = 0, num_processes: int = 1) -> list[np.ndarray]:
        """The batches of one process, in order; together they hold every token once, however many processes."""
        rows = min(self._rows(batch_tokens), len(self))
        steps = -(-len(self) // rows)
        starts = (np.arange(rows) * steps)[process::num_processes]
        return [starts + step for step in range(steps)] if len(starts) else []

    def digest(self) -> str:
        """SHA-256 of the encoded text and its segments."""
        return hashlib.sha256(self.lengths.tobytes() + self._ids.tobytes()).hexdigest()

    def _rows(self, batch_tokens: int) -> int:
        if batch_tokens < self._segment:
            raise UserError(
                f"--batch-tokens is {batch_tokens}, but a segment has {self._segment} tokens. "
                f"Allowed: {self._segment} or more, or a smaller --task-option segment_tokens."
            )
        return batch_tokens // self._segment
