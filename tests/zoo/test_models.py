"""What every model of the registry must do. Tiny sizes, random parameters."""

import pytest
import torch

from tests.zoo.tiny_models import WORDS, every_model, greedy, pad, ragged, sentences, some_models, tiny


@every_model
def test_probabilities_are_over_words_and_eos(name: str) -> None:
    logits = tiny(name)(sentences(2, 5)).logits
    assert logits.shape == (2, 6, WORDS + 4)
    assert (logits[..., [0, 1, 3]] == -torch.inf).all()
    assert logits[..., [2, *range(4, WORDS + 4)]].isfinite().all()


@every_model
def test_every_parameter_gets_a_gradient(name: str) -> None:
    model = tiny(name).train()
    ids = sentences(3, 6)
    model(ids, labels=ids).loss.backward()
    assert [key for key, parameter in model.named_parameters() if parameter.grad is None] == []
    assert [key for key, parameter in model.named_parameters() if not parameter.grad.any()] == []


@every_model
def test_loss_is_that_of_the_next_word(name: str) -> None:
    model, ids = tiny(name), sentences(2, 6)
    log_p = model(ids).logits.log_softmax(-1)[:, :-1].gather(2, ids[:, 1:, None])
    torch.testing.assert_close(model(ids, labels=ids).loss, -log_p.mean())


@every_model
def test_later_words_change_nothing_before(name: str) -> None:
    model, ids = tiny(name), sentences(2, 6)
    other = ids.clone()
    other[:, 4:] = 5
    torch.testing.assert_close(model(ids).logits[:, :4], model(other).logits[:, :4])


@every_model
def test_g02_cached_equals_uncached_step_by_step(name: str) -> None:
    model, ids = tiny(name), sentences(3, 12)
    with torch.no_grad():
        whole = model(ids, use_cache=False).logits
        output = model(ids[:, :4], use_cache=True)
        parts = [output.logits]
        for t in range(4, 13):
            output = model(ids[:, t : t + 1], cache=output.cache)
            parts.append(output.logits)
    torch.testing.assert_close(torch.cat(parts, 1)[..., 4:], whole[..., 4:], rtol=0, atol=1e-5)


@every_model
def test_several_words_at_once_from_a_cache(name: str) -> None:
    model, ids = tiny(name), sentences(2, 9)
    with torch.no_grad():
        first = model(ids[:, :3], use_cache=True)
        second = model(ids[:, 3:], cache=first.cache).logits
        whole = model(ids, use_cache=False).logits
    torch.testing.assert_close(second[..., 4:], whole[:, 3:, 4:], rtol=0, atol=1e-5)


@every_model
def test_g01_beams_with_and_without_cache_agree_with_the_teacher_forced_score(name: str) -> None:
    model, prompt = tiny(name), pad(sentences(2, 4))
    settings = {"num_beams": 4, "max_new_tokens": 6, "length_penalty": 0.0, "early_stopping": False}
    kept = model.generate(**prompt, **settings, output_scores=True, return_dict_in_generate=True, use_cache=True)
    other = model.generate(**prompt, **settings, output_scores=True, return_dict_in_generate=True, use_cache=False)
    assert kept.sequences.equal(other.sequences)
    torch.testing.assert_close(kept.sequences_scores, other.sequences_scores, rtol=0, atol=1e-4)
    start = prompt["input_ids"].shape[1]
    log_p = model(kept.sequences, use_cache=False).logits.log_softmax(-1).detach()
    for row, score in zip(range(2), kept.sequences_scores, strict=True):
        total = 0.0
        for t in range(start, kept.sequences.shape[1]):
            total += float(log_p[row, t - 1, kept.sequences[row, t]])
            if kept.sequences[row, t] == 2:
                break
        assert total == pytest.approx(float(score), abs=1e-4)


@every_model
def test_sampling_repeats_with_its_seed(name: str) -> None:
    model, prompt = tiny(name), pad(sentences(2, 4))
    texts = []
    for use_cache in (True, True, False):
        torch.manual_seed(5)
        texts.append(model.generate(**prompt, do_sample=True, top_k=0, max_new_tokens=8, use_cache=use_cache))
    assert texts[0].equal(texts[1])
    assert texts[0].equal(texts[2])


@every_model
def test_g05_left_padded_rows_equal_single_rows(name: str) -> None:
    model = tiny(name)
    rows, batch = ragged("left")
    together = greedy(model, **batch)[:, 8:]
    for number, row in enumerate(rows):
        assert together[number].equal(greedy(model, **pad(row))[0, row.shape[1] :])


@every_model
def test_g05_right_padding_is_refused_by_generate(name: str) -> None:
    _, batch = ragged("right")
    with pytest.raises(ValueError, match=r"pad on the left"):
        greedy(tiny(name), **batch)


@every_model
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("cached", [False, True])
def test_padding_on_either_side_changes_no_logits(name: str, side: str, cached: bool) -> None:
    model = tiny(name)
    rows, batch = ragged(side)
    logits = model(**batch, use_cache=cached).logits
    for number, row in enumerate(rows):
        length = row.shape[1]
        mine = logits[number, -length:] if side == "left" else logits[number, :length]
        torch.testing.assert_close(mine[:, 4:], model(row).logits[0, :, 4:], rtol=0, atol=1e-5)


@every_model
def test_g07_state_after_right_padding_is_the_state_after_the_last_word(name: str) -> None:
    model, row = tiny(name), sentences(1, 3)
    padded = pad(row, right=6)
    longer = torch.cat([padded["attention_mask"], torch.ones(1, 1, dtype=torch.long)], 1)
    word = torch.tensor([[7]])
    with torch.no_grad():
        alone = model(word, cache=model(row, use_cache=True).cache).logits
        output = model(**padded, use_cache=True)
        after = model(word, cache=output.cache, attention_mask=longer).logits
    torch.testing.assert_close(after[..., 4:], alone[..., 4:], rtol=0, atol=1e-5)


@every_model
def test_n11_n08_what_stands_at_padding_does_not_matter(name: str) -> None:
    model = tiny(name)
    _, batch = ragged("left")
    changed = {**batch, "input_ids": torch.where(batch["attention_mask"] == 0, 9, batch["input_ids"])}
    with torch.no_grad():
        before, after = model(**batch).logits, model(**changed).logits
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(after[real], before[real], rtol=0, atol=0)
    assert not before.isnan().any(), "a position that sees only padding is finite"


@every_model
def test_n08_gradients_with_padded_rows_are_finite(name: str) -> None:
    model = tiny(name).train()
    _, batch = ragged("left")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    model(**batch, labels=labels).loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@every_model
def test_d21_rows_do_not_depend_on_their_batch(name: str) -> None:
    model = tiny(name)
    rows = [sentences(1, length, seed=length) for length in (2, 5, 3, 4)]
    padded = [pad(row, right=6 - row.shape[1]) for row in rows]
    batch = {key: torch.cat([part[key] for part in padded]) for key in padded[0]}
    together = model(**batch).logits
    for number, row in enumerate(rows):
        torch.testing.assert_close(together[number, : row.shape[1], 4:], model(row).logits[0, :, 4:], rtol=0, atol=1e-5)


@every_model
def test_g10_twenty_new_words_after_a_prompt_of_fifteen(name: str) -> None:
    model, prompt = tiny(name), pad(sentences(1, 14))
    text = model.generate(**prompt, max_new_tokens=20, eos_token_id=None, do_sample=False)
    assert text.shape[1] == 15 + 20


@every_model
def test_g01_a_reordered_cache_goes_on_with_the_reordered_histories(name: str) -> None:
    model, ids = tiny(name).double(), sentences(4, 5)
    order = torch.tensor([2, 0, 3, 3])
    word = torch.tensor([[4], [5], [6], [7]])
    with torch.no_grad():
        cache = model(ids, use_cache=True).cache
        cache.reorder_cache(order)
        logits = model(word, cache=cache).logits
        expected = model(torch.cat([ids[order], word], 1)).logits[:, -1:]
        without = model(torch.cat([ids, word], 1)).logits[:, -1:]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-12)
    assert (expected - without)[..., 4:].abs().max() > 1e-6, "the histories must matter"


@every_model
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_dtypes_run_and_generate(name: str, dtype: torch.dtype) -> None:
    model, prompt = tiny(name).to(dtype), pad(sentences(2, 4), left=1)
    logits = model(**prompt).logits
    assert logits.dtype == dtype
    assert logits[:, 1:, 4:].isfinite().all()
    assert greedy(model, **prompt).equal(greedy(model, **prompt, use_cache=False)) or dtype != torch.float64


@some_models
def test_arguments_are_never_swallowed(name: str) -> None:
    model, ids = tiny(name), sentences(1, 3)
    output = model(ids, use_cache=True)
    word = torch.tensor([[5]])
    expected = model(torch.cat([ids, word], 1)).logits[:, -1:]
    torch.testing.assert_close(model(word, past_key_values=output.cache).logits, expected, rtol=0, atol=1e-5)
    assert model(ids, return_dict=False)[0].equal(model(ids).logits)
    with pytest.raises(TypeError, match="atention_mask"):
        model(ids, atention_mask=torch.ones_like(ids))
    with pytest.raises(ValueError, match="at least <bos>"):
        model(ids[:, :0])
    with pytest.raises(ValueError, match="at least <bos>"):
        model.generate(ids[:, :0])


@some_models
def test_an_untied_foreign_cache_is_refused_or_replaced(name: str) -> None:
    from transformers.cache_utils import DynamicCache

    model, ids = tiny(name), sentences(1, 3)
    empty = DynamicCache()
    torch.testing.assert_close(model(ids, cache=empty, use_cache=True).logits, model(ids).logits)
    full = DynamicCache()
    full.update(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), 0)
    with pytest.raises(ValueError, match="filled DynamicCache"):
        model(ids, cache=full)


@some_models
def test_cache_rows_can_be_repeated_and_selected(name: str) -> None:
    model, ids = tiny(name), sentences(2, 5)
    word = torch.tensor([[4], [5], [6], [7]])
    with torch.no_grad():
        cache = model(ids, use_cache=True).cache
        cache.batch_repeat_interleave(2)
        logits = model(word, cache=cache).logits
        expected = model(torch.cat([ids.repeat_interleave(2, 0), word], 1)).logits[:, -1:]
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
        cache.batch_select_indices(torch.tensor([3, 0]))
        logits = model(word[:2], cache=cache).logits
        history = torch.cat([ids[[1, 0]], word[[3, 0]], word[:2]], 1)
        torch.testing.assert_close(logits, model(history).logits[:, -1:], rtol=0, atol=1e-5)
        cache.reset()
        torch.testing.assert_close(model(ids, cache=cache).logits, model(ids).logits, rtol=0, atol=1e-5)


@every_model
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_n09_autocast_is_finite(name: str, dtype: torch.dtype) -> None:
    model, ids = tiny(name).train(), sentences(2, 6)
    with torch.autocast("cpu", dtype):
        loss = model(ids, labels=ids).loss
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@every_model
def test_dropout_is_active_only_in_training(name: str) -> None:
    model, ids = tiny(name), sentences(2, 6)
    assert model(ids).logits.equal(model(ids).logits)
    model.train()
    assert not model(ids).logits.equal(model(ids).logits)


@some_models
def test_masks_and_caches_of_another_size_are_named(name: str) -> None:
    model, ids = tiny(name), sentences(2, 3)
    for shape in ((2, 5), (1, 4), (2, 1, 4), (4,)):
        with pytest.raises(ValueError, match=r"attention_mask has shape .*wanted is \[2, 4\]"):
            model(ids, attention_mask=torch.ones(shape, dtype=torch.long))
    cache = model(ids[:1], use_cache=True).cache
    with pytest.raises(ValueError, match="2 rows, but the cache was made for 1"):
        model(ids[:, :1], cache=cache)
