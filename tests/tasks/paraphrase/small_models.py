"""Untrained models of every kind and the pairs that they are asked about."""

import torch

from tasks import load_task
from zoo import create_model

SIZES = {"hidden_size": 8, "inner_size": 12, "key_size": 4, "value_size": 4, "decoder_layers": 1}
GUIG = {**SIZES, "text_layers": 1, "syntax_layers": 1}
ENCODER_DECODER = {**SIZES, "encoder_layers": 1}
MODELS = {
    "guig": GUIG,
    "guig-no-source": GUIG,
    "guig-no-syntax": GUIG,
    "transformer-concat": ENCODER_DECODER,
    "guig-expander": ENCODER_DECODER,
    "lstm": {"hidden_size": 8},
    "tf": {"hidden_size": 8},
}


def grammar_data(pairs=7):
    """The task, its data with so many test pairs, and the tokenizer of its training set."""
    task = load_task("paraphrase")
    data = task.load_data(sizes={"train": 100, "test": pairs}, splits=["train", "test"])
    tokenizer = task.make_tokenizer(data, "strings")
    del data.sets["train"]
    return task, data, tokenizer


def small_model(name, tokenizer, sharpness=8.0, seed=2):
    """With distributions sharp enough for unlike inputs to give unlike outputs."""
    model = create_model(name, tokenizer=tokenizer, seed=seed, **MODELS[name]).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(sharpness)
    return model
