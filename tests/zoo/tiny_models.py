"""Tiny models of the whole registry, and inputs for them."""

import pytest
import torch
from torch import Tensor

import zoo
from zoo.registry import config_of

WORDS = 12


MODELS = [name for name in zoo.list_models() if zoo.get_entry(name).reads == "strings"]


every_model = pytest.mark.parametrize("name", MODELS)


some_models = pytest.mark.parametrize("name", ["tf", "tf-sup", "tf-nd", "rnn-sup-r", "lstm-nd-r", "lstm", "on-lstm"])


ON_LSTM = {"on-lstm": {"chunk_size": 2}, "on-lstm-ptb": {"chunk_size": 2, "embedding_size": 6}}
ENCODER_DECODER = {"inner_size": 12, "key_size": 4, "value_size": 4}


def small(name: str) -> dict[str, int]:
    """Settings that let a model be small: what its entry fixes and hidden_size does not reach."""
    return ON_LSTM.get(name, {}) if name in MODELS else ENCODER_DECODER


def no_dropout(name: str) -> dict[str, float]:
    """Settings that leave out every kind of dropout that the model has."""
    return {key: 0.0 for key in config_of(zoo.get_entry(name).load_class()).__annotations__ if "dropout" in key}


def tiny(name: str, seed: int = 0, **settings):
    model = zoo.create_model(name, word_types=WORDS, hidden_size=8, seed=seed, **small(name), **settings).eval()
    with torch.no_grad():  # sharper distributions, so that different states give different words
        for parameter in model.parameters():
            parameter.mul_(2)
    return model


def sentences(batch: int, length: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(4, WORDS + 4, (batch, length), generator=generator)
    return torch.nn.functional.pad(words, (1, 0), value=1)


def pad(ids: Tensor, left: int = 0, right: int = 0) -> dict[str, Tensor]:
    padded = torch.nn.functional.pad(ids, (left, right))
    return {"input_ids": padded, "attention_mask": (padded != 0).long()}


def ragged(side: str) -> tuple[list[Tensor], dict[str, Tensor]]:
    rows = [sentences(1, 2, seed=2), sentences(1, 7, seed=3)]
    parts = [pad(row, **{side: 8 - row.shape[1]}) for row in rows]
    return rows, {key: torch.cat([part[key] for part in parts]) for key in parts[0]}


def greedy(model, **kwargs):
    return model.generate(do_sample=False, max_new_tokens=8, eos_token_id=None, **kwargs)
