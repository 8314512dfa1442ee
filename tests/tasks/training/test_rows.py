import numpy as np
import pytest
import torch

from tasks.training.rows import Rows
from zoo.errors import UserError

FIRST = {"input_ids": [1, 7, 2], "node_ids": [1, 5, 6, 2], "labels": [8, 2]}
SECOND = {"input_ids": [1, 2], "node_ids": [1, 2], "labels": [-100, 9, 2]}


def test_sequences_are_padded_name_by_name_and_labels_by_what_is_skipped():
    inputs, labels = Rows([FIRST, SECOND], ["a", "b"]).batch(np.array([1, 0]))
    assert set(inputs) == {"input_ids", "node_ids", "attention_mask"}
    assert inputs["input_ids"].tolist() == [[1, 2, 0], [1, 7, 2]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert inputs["node_ids"].tolist() == [[1, 2, 0, 0], [1, 5, 6, 2]]
    assert labels.tolist() == [[-100, 9, 2], [8, 2, -100]]
    assert labels.dtype == torch.long


def test_rows_without_text_have_no_attention_mask():
    inputs, _ = Rows([{"node_ids": [1, 2], "labels": [2]}], ["a"]).batch(np.array([0]))
    assert set(inputs) == {"node_ids"}


def test_the_longest_sequence_of_an_example_is_what_a_batch_counts():
    rows = Rows([FIRST, SECOND], ["a", "b"])
    assert rows.lengths.tolist() == [4, 3]
    assert [batch.tolist() for batch in rows.scoring_batches(4)] == [[1], [0]]


def test_an_epoch_has_every_row_once_in_batches_of_at_most_so_many_examples():
    rows = Rows([FIRST, SECOND] * 5, ["a", "b"] * 5)
    steps = rows.plan(1000, 3, seed=1, epoch=0)
    assert max(len(batch) for step in steps for batch in step) == 3
    assert sorted(np.concatenate([batch for step in steps for batch in step])) == list(range(10))


def test_the_digest_tells_names_and_ids_apart():
    renamed = {"input_ids": [1, 7, 2], "level_ids": [1, 5, 6, 2], "labels": [8, 2]}
    changed = FIRST | {"labels": [9, 2]}
    digests = {Rows([row], ["a"]).digest() for row in (FIRST, renamed, changed)}
    assert len(digests) == 3


def test_an_empty_set_is_an_error():
    with pytest.raises(UserError, match="set is empty"):
        Rows([], [])
