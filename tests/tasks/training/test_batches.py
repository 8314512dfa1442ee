import numpy as np
import pytest
import torch
from tiny_run import TOKENIZER, pairs, tiny_model

from tasks.tokenization import BOS, EOS, PAD
from tasks.training.batches import IGNORE, Strings, epoch_batches, length_batches
from tasks.training.objective import summed_cross_entropy
from zoo.errors import UserError

LENGTHS = np.random.default_rng(0).integers(3, 40, size=2_000)


def flat(plan):
    return [int(i) for step in plan for batch in step for i in batch]


@pytest.mark.parametrize("num_processes", [1, 2, 3])
def test_every_example_is_once_in_an_epoch_and_batches_keep_the_token_limit(num_processes):
    plan = epoch_batches(LENGTHS, 512, seed=1, epoch=0, num_processes=num_processes)
    assert sorted(flat(plan)) == list(range(2_000))
    assert all(len(step) == num_processes for step in plan)
    batches = [batch for step in plan for batch in step]
    assert max(len(batch) * LENGTHS[batch].max() for batch in batches) <= 512
    padded = sum(len(batch) * LENGTHS[batch].max() for batch in batches)
    assert padded < 1.05 * LENGTHS.sum()  # similar lengths, little padding
    assert len(batches) < 1.1 * LENGTHS.sum() / 512  # and full batches


def test_order_is_a_function_of_seed_and_epoch():
    first = flat(epoch_batches(LENGTHS, 512, seed=1, epoch=3))
    assert flat(epoch_batches(LENGTHS, 512, seed=1, epoch=3)) == first
    assert flat(epoch_batches(LENGTHS, 512, seed=1, epoch=4)) != first
    assert flat(epoch_batches(LENGTHS, 512, seed=2, epoch=3)) != first


def test_batches_are_mixed_anew_and_not_only_reordered():
    compositions = [
        {frozenset(map(int, batch)) for (batch,) in epoch_batches(LENGTHS, 512, seed=1, epoch=epoch)}
        for epoch in (0, 1)
    ]
    assert len(compositions[0] & compositions[1]) < 5


def test_a12_uneven_batches_are_shared_without_loss():
    lengths = np.array([8] * 3 + [6] * 4 + [5] * 4)  # batches of 4, 4 and 3 for one process
    assert sorted(map(len, length_batches(lengths, 24))) == [3, 4, 4]
    plan = epoch_batches(lengths, 24, seed=1, epoch=0, num_processes=2)
    assert [len(step) for step in plan] == [2, 2]
    assert sorted(flat(plan)) == list(range(11))
    assert all(len(batch) for step in plan for batch in step)


def test_fewer_examples_than_processes_is_an_error():
    with pytest.raises(UserError, match="3 training examples cannot be shared by 4 processes"):
        epoch_batches(np.array([3, 3, 3]), 24, seed=1, epoch=0, num_processes=4)


def test_a_string_longer_than_a_batch_is_an_error():
    with pytest.raises(UserError, match=r"--batch-tokens is 24, but example 2 has 25 tokens .* 25 or more"):
        length_batches(np.array([3, 25]), 24)


def test_g08_every_row_keeps_its_eos_label_once():
    strings = Strings(TOKENIZER, [("a b", "c"), ("a b c", "a d")])
    inputs, labels = strings.batch(np.array([0, 1]))
    a, b, c, d = TOKENIZER.convert_tokens_to_ids(["a", "b", "c", "d"])
    assert inputs["input_ids"].tolist() == [[BOS, a, b, c, PAD, PAD], [BOS, a, b, c, a, d]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]
    assert labels.tolist() == [[a, b, c, EOS, IGNORE, IGNORE], [a, b, c, a, d, EOS]]
    assert strings.lengths.tolist() == [5, 7]  # bos and eos counted


def test_d20_an_empty_string_is_bos_and_eos():
    inputs, labels = Strings(TOKENIZER, [("", ""), ("a", "b")]).batch(np.array([0, 1]))
    assert inputs["attention_mask"].sum(1).tolist() == [1, 3]
    assert labels[0].tolist() == [EOS, IGNORE, IGNORE]


def test_d21_a_row_of_a_batch_scores_as_it_does_alone():
    strings = Strings(TOKENIZER, [("a b", "a"), ("a b c", "d d"), ("c", "c"), ("a b c d", "b c d")])
    model = tiny_model().eval()
    order = np.array([1, 3, 0, 2])
    with torch.no_grad():
        inputs, labels = strings.batch(order)
        logits = model(**inputs, use_cache=False).logits
        rows = torch.nn.functional.cross_entropy(logits.mT, labels, ignore_index=IGNORE, reduction="none")
        alone = [summed_cross_entropy(model, *strings.batch(order[i : i + 1])) for i in range(4)]
    torch.testing.assert_close(rows.sum(1), torch.stack(alone), atol=1e-5, rtol=0)


@pytest.mark.parametrize("word", ["walrus", "<pad>", "<eos>"])
def test_a_word_outside_the_vocabulary_is_named(word):
    with pytest.raises(UserError, match=word):
        Strings(TOKENIZER, [*pairs(3), (f"a {word} b", "a")])


def test_an_empty_set_is_an_error():
    with pytest.raises(UserError, match="empty"):
        Strings(TOKENIZER, [])
