"""Tiny sizes and inputs of the models that read trees."""

import torch

import zoo

GUIDED = zoo.list_models("guig")
MODELS = GUIDED + zoo.list_models("guig-expander")
TINY = {"hidden_size": 8, "inner_size": 12, "key_size": 4, "value_size": 4, "dropout": 0.0}
# Levels of "S NP PRP VP VBD NP DT NN" and of two smaller trees, wrapped and padded.
LEVELS = [[1, 4, 5, 6, 5, 6, 6, 7, 7, 2], [1, 4, 5, 6, 2, 0, 0, 0, 0, 0], [1, 4, 2, 0, 0, 0, 0, 0, 0, 0]]


def tiny(name, words=16, **settings):
    return zoo.create_model(name, word_types=words, seed=3, node_vocab_size=12, **TINY | settings).eval()


def inputs_for(name, batch=3, seed=1, source=6, target=5, words=16):
    """Arguments of a model's forward, by what it reads."""
    random = torch.Generator().manual_seed(seed)
    levels = torch.tensor(LEVELS)[:batch]
    nodes = torch.where(levels > 3, torch.randint(4, 12, levels.shape, generator=random), levels)
    text = torch.randint(4, words + 4, (batch, source), generator=random)
    ends = torch.ones(batch, 1, dtype=torch.long)
    if zoo.get_entry(name).reads == "guided":
        return {
            "input_ids": torch.cat([ends, text, 2 * ends], 1), "node_ids": nodes, "level_ids": levels,
            "decoder_input_ids": torch.cat([ends, torch.randint(4, words + 4, (batch, target), generator=random)], 1),
        }  # fmt: skip
    pairs = (nodes * 12 + levels)[:, :6]
    return {
        "node_ids": nodes, "level_ids": levels, "template_node_ids": nodes[:, :4], "template_level_ids": levels[:, :4],
        "decoder_input_ids": pairs,
    }  # fmt: skip


def labels_for(inputs):
    """What the model has read last, as what it should write: any labels will do."""
    return torch.where(inputs["decoder_input_ids"] > 3, inputs["decoder_input_ids"], -100)


def without_target(inputs):
    return {key: value for key, value in inputs.items() if key != "decoder_input_ids"}
