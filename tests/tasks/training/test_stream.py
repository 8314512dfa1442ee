import gc

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from tiny_run import TOKENIZER, pairs, tiny_trainer
from torch.nn.functional import cross_entropy

from tasks.tokenization import BOS, EOS, encode
from tasks.training.batches import IGNORE, Strings
from tasks.training.carried_state import CarriedState, can_be_carried
from tasks.training.objective import summed_cross_entropy, validation_cross_entropy
from tasks.training.schedule import Budget
from tasks.training.stream import Stream
from tests.zoo.tiny_models import MODELS, small
from zoo import create_model
from zoo.errors import UserError

SENTENCES = [target for _, target in pairs(40, seed=5)]


def model_of(name="lstm", dropout=0.0):
    return create_model(name, tokenizer=TOKENIZER, hidden_size=8, seed=1, dropout=dropout, **small(name))


def whole_text():
    return [BOS, *(token for line in SENTENCES for token in [*encode(TOKENIZER, line), EOS])]


def test_segments_hold_every_token_once_in_order():
    stream, ids = Stream(TOKENIZER, SENTENCES, 7), whole_text()
    inputs, labels = stream.batch(np.arange(len(stream)))
    real = inputs["attention_mask"].bool()
    assert labels[real].tolist() == ids[1:]
    assert inputs["input_ids"][real].tolist() == ids[:-1]
    assert (labels[~real] == IGNORE).all()
    assert stream.text(0).split() == TOKENIZER.convert_ids_to_tokens(ids[1:8])


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_rows_go_on_where_they_ended(processes):
    stream = Stream(TOKENIZER, SENTENCES, 7)
    plan = stream.plan(28, seed=1, epoch=0, num_processes=processes)
    rows = np.array(plan)  # steps x processes x 4
    assert rows.shape[1:] == (processes, 4)
    assert (np.diff(rows, axis=0) == 1).all()
    seen = rows.ravel().tolist()
    assert len(seen) == len(set(seen)) > len(stream) - 4 * processes
    scored = [stream.scoring_batches(28, process, processes) for process in range(processes)]
    segments = sorted(int(i) for batches in scored for batch in batches for i in batch)
    assert segments[: len(stream)] == list(range(len(stream)))  # those above are padding
    assert all((np.diff(np.array(batches), axis=0) == 1).all() for batches in scored)


def test_what_does_not_fit_is_an_error():
    with pytest.raises(UserError, match="--batch-tokens is 6, but a segment has 7 tokens"):
        Stream(TOKENIZER, SENTENCES, 7).plan(6, seed=1, epoch=0)
    with pytest.raises(UserError, match="makes 1 segments of 9 tokens, which 2 processes cannot share"):
        Stream(TOKENIZER, ["a"], 9).plan(9, seed=1, epoch=0, num_processes=2)
    with pytest.raises(UserError, match="set is empty"):
        Stream(TOKENIZER, [], 9)


def test_carried_in_segments_equals_the_whole_text_at_once():
    model, ids = model_of().eval(), torch.tensor([whole_text()])
    with torch.no_grad():
        expected = cross_entropy(model(input_ids=ids[:, :-1], use_cache=False).logits[0], ids[0, 1:])
    for segment in (5, 7, 1000):
        stream = Stream(TOKENIZER, SENTENCES, segment)
        value = validation_cross_entropy(Accelerator(cpu=True), model, stream, segment)  # one row
        assert value == pytest.approx(float(expected), abs=1e-5)
    assert validation_cross_entropy(Accelerator(cpu=True), model, Stream(TOKENIZER, SENTENCES, 7), 35) != pytest.approx(
        float(expected), abs=1e-5
    )  # rows begin within the text


def test_p12_the_state_is_carried_without_its_gradients_and_memory_stays_flat():
    model, stream, carried = model_of().train(), Stream(TOKENIZER, SENTENCES * 4, 7), CarriedState()
    counts = []
    for (indices,) in stream.plan(14, seed=1, epoch=0)[:50]:
        summed_cross_entropy(model, *stream.batch(indices), carried).backward()
        assert not any(tensor.requires_grad for layer in carried.cache.layers for tensor in layer.state)
        gc.collect()
        counts.append(sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects()))
    assert len(counts) == 50
    assert counts[5] == counts[-1]
    carried.reset()
    assert carried.cache is None


def test_p12_a_sentence_after_others_is_scored_as_when_it_comes_first():
    model, strings = model_of().eval(), Strings(TOKENIZER, ((line,) for line in SENTENCES))

    def loss(index):
        with torch.no_grad():
            return summed_cross_entropy(model, *strings.batch(np.array([index]))).item()

    first = loss(0)
    for index in range(1, 11):
        loss(index)
    assert loss(0) == first


def test_p13_the_order_of_batches_does_not_change_the_loss_of_a_sentence():
    model, strings = model_of().eval(), Strings(TOKENIZER, ((line,) for line in SENTENCES))

    def losses(batches):
        found = {}
        for batch in batches:
            inputs, labels = strings.batch(np.array(batch))
            with torch.no_grad():
                logits = model(**inputs, use_cache=False).logits
            each = cross_entropy(logits.transpose(1, 2), labels, reduction="none").sum(1)
            found |= dict(zip(map(int, batch), each.tolist(), strict=True))
        return [found[index] for index in range(len(SENTENCES))]

    batches = strings.scoring_batches(64)
    mixed = np.random.default_rng(0).permutation(len(SENTENCES)).reshape(8, 5)
    assert losses(batches[::-1]) == losses(batches)
    assert losses(mixed) == pytest.approx(losses(batches), abs=1e-5)


def test_models_whose_state_has_one_size_are_carried():
    fixed = {name for name in MODELS if can_be_carried(model_of(name))}
    assert fixed >= {"rnn", "lstm", "on-lstm"}
    assert not {name for name in fixed if "sup" in name or "nd" in name or name.startswith("tf")}


def test_a_run_resumed_in_the_middle_of_the_text_equals_the_unbroken_one(tmp_path):
    def run(folder, examples, resume=False):
        torch.manual_seed(0)
        settings = {"model": model_of(dropout=0.1), "budget": Budget(max_examples=examples)}
        trainer = tiny_trainer(folder, training=Stream(TOKENIZER, SENTENCES, 7), resume=resume, **settings)
        return trainer.train()["digest"]

    whole = run(tmp_path / "whole", 36)
    run(tmp_path / "parted", 18)
    assert run(tmp_path / "parted", 36, resume=True) == whole
    state = max((tmp_path / "parted").glob("state-*"))
    (state / "carried_0.pt").write_bytes(b"")
    with pytest.raises(UserError, match=r"state-\d+ cannot be read"):
        run(tmp_path / "parted", 45, resume=True)
