"""Examples of several sequences each, such as a source, its tree and a target."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from tasks.tokenization import PAD
from tasks.training.batches import IGNORE, epoch_batches, length_batches
from zoo.errors import UserError

LABELS = "labels"


class Rows:
    """Rows of named sequences of ids, the same names in each, kept as one array per name.

    `labels` are aligned with the logits, and -100 is skipped; every other name is a keyword argument of the model.
    A batch also has an attention_mask of its input_ids. Sequences of a name are padded to one length, those of
    different names need not have the same.
    Raises UserError for an empty set.
    """

    carries_state = False

    def __init__(self, rows: Sequence[Mapping[str, Sequence[int]]], texts: Sequence[str]) -> None:
        if not rows:
            raise UserError("a training or validation set is empty. Give a file with at least one line.")
        self._texts = texts
        self._lengths, self._ids = {}, {}
        for name in rows[0]:
            self._lengths[name] = np.fromiter((len(row[name]) for row in rows), dtype=np.int64, count=len(rows))
            self._ids[name] = np.concatenate([np.array(row[name], dtype=np.int32) for row in rows])
        self._starts = {name: np.cumsum(lengths) - lengths for name, lengths in self._lengths.items()}
        self.lengths = np.maximum.reduce(list(self._lengths.values()))

    def __len__(self) -> int:
        return len(self.lengths)

    def text(self, index: int) -> str:
        """The example as it was read."""
        return self._texts[index]

    def batch(self, indices: np.ndarray) -> tuple[dict[str, Tensor], Tensor]:
        """The keyword arguments of the model, each B x T padded on the right, and labels B x T."""
        batch = {name: self._padded(name, indices) for name in self._ids}
        if "input_ids" in batch:
            lengths = torch.from_numpy(self._lengths["input_ids"][indices])
            batch["attention_mask"] = (torch.arange(batch["input_ids"].shape[1]) < lengths[:, None]).long()
        labels = batch.pop(LABELS)
        return batch, labels

    def plan(
        self, batch_tokens: int, batch_examples: int | None = None, *, seed: int, epoch: int, num_processes: int = 1
    ) -> list[list[np.ndarray]]:
        """`epoch_batches` of the rows."""
        return epoch_batches(
            self.lengths, batch_tokens, batch_examples, seed=seed, epoch=epoch, num_processes=num_processes
        )

    def scoring_batches(self, batch_tokens: int, process: int = 0, num_processes: int = 1) -> list[np.ndarray]:
        """Batches of similar length."""
        return length_batches(self.lengths, batch_tokens)[process::num_processes]

    def digest(self) -> str:
        """SHA-256 of the names, lengths and ids: the same data in the same order, or not."""
        digest = hashlib.sha256()
        for name, ids in self._ids.items():
            digest.update(name.encode() + self._lengths[name].tobytes() + ids.tobytes())
        return digest.hexdigest()

    def _padded(self, name: str, indices: np.ndarray) -> Tensor:
        # positions, real : B x T
        lengths = self._lengths[name][indices][:, None]
        columns = np.arange(max(int(lengths.max()), 1))[None, :]
        real = columns < lengths
        positions = np.where(real, self._starts[name][indices][:, None] + columns, 0)
        filler = IGNORE if name == LABELS else PAD
        return torch.from_numpy(np.where(real, self._ids[name][positions], filler).astype(np.int64))
