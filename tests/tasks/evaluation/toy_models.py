"""A language model that can be computed by hand: each token depends on the one before it alone."""

import torch
from torch import nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from zoo.state_cache import StateLayer, open_cache


class BigramConfig(PretrainedConfig):
    model_type = "bigram-for-tests"
    vocab_size: int = 10
    num_hidden_layers: int = 1  # generate() makes a cache of so many layers, which stays empty


class BigramModel(PreTrainedModel, GenerationMixin):
    """`table[a, b]` is the logit of b after a."""

    config_class = BigramConfig

    def __init__(self, config):
        super().__init__(config)
        self.table = nn.Parameter(torch.zeros(config.vocab_size, config.vocab_size))
        self.post_init()

    def _init_weights(self, module):
        pass

    def forward(self, input_ids, attention_mask=None, cache=None, use_cache=None, **unused):
        state = open_cache(cache, bool(use_cache), [StateLayer])
        if state is not None:
            state.layers[0].store((input_ids[:, -1:],), input_ids.shape[1])
        return CausalLMOutputWithPast(logits=self.table[input_ids], cache=state)


def bigram(table):
    model = BigramModel(BigramConfig(vocab_size=len(table)))
    model.table.data.copy_(torch.as_tensor(table))
    return model.eval()


def random_bigram(vocabulary, seed=0, scale=2.0):
    """Random logits; pad, bos and unk are impossible, as in the models of the zoo."""
    table = scale * torch.randn(vocabulary, vocabulary, generator=torch.Generator().manual_seed(seed))
    table[:, [0, 1, 3]] = float("-inf")
    return bigram(table)
