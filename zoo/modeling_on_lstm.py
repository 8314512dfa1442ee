"""The ON-LSTM (seed 001) as a causal language model."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.modeling_outputs import CausalLMOutputWithPast

from .active_steps import ActiveSteps
from .configuration_on_lstm import OnLstmConfig
from .dropout import dropout
from .initialization import initialize
from .left_padded_generation import LeftPaddedGeneration, check_input
from .on_lstm_layers import LockedDropout, OnLstm, OnLstmLayer
from .state_cache import StateLayer, new_token_mask, open_cache
from .token_table import TokenTable, TwoTables


@dataclass
class OnLstmOutput(CausalLMOutputWithPast):
    """forget_levels, input_levels: d_f and d_i [B, T] of each layer from 0 to 1, 0 at padding; if asked for."""

    forget_levels: tuple[Tensor, ...] | None = None
    input_levels: tuple[Tensor, ...] | None = None


class OnLstmPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation of the ON-LSTM."""

    config_class = OnLstmConfig
    base_model_prefix = "recurrence"
    _is_stateful = True  # the state cannot be rolled back, so assisted decoding is refused

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, OnLstmLayer) and self.config.initialization == "authors":
            module.initialize_as_linear()
        else:
            initialize(module)


class OnLstmForCausalLM(TwoTables, OnLstmPreTrainedModel, LeftPaddedGeneration, GenerationMixin):
    """A causal language model. The recurrence takes a step at each token, bos too, from a state of zeros."""

    reads = "strings"
    _tied_weights_keys = {"output_embeddings.weight": "embeddings.weight"}  # noqa: RUF012 (the library's form)

    def __init__(self, config: OnLstmConfig) -> None:
        super().__init__(config)
        sizes = config.layer_sizes()
        self.embeddings = TokenTable(config.vocab_size, sizes[0], has_bos=True)
        self.input_dropout = LockedDropout(config.input_dropout)
        reverse = config.master_input_gate == "reverse_cumax"
        self.recurrence = OnLstm(sizes, config.chunk_size, reverse, config.hidden_dropout, config.weight_dropout)
        self.output_dropout = LockedDropout(config.dropout)
        self.output_embeddings = TokenTable(config.vocab_size, sizes[-1], has_bos=True)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        cache: Cache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        past_key_values: Cache | None = None,
        output_levels: bool = False,
        return_dict: bool | None = None,
    ) -> OnLstmOutput | tuple[Any, ...]:
        """Logits [B, T, vocab_size] for input_ids [B, T].

        attention_mask [B, past + T]: 0 at padding, on either side. cache: what an earlier call returned, to go on from
        there; its state is a constant, through which no gradient flows. labels [B, T]: usually equal to input_ids, -100
        where no loss is wanted; the loss is the mean over tokens of -log p(labels[t+1] | input_ids[..t]).
        past_key_values: an older name of cache. output_levels: whether the levels are wanted. return_dict=False: a
        tuple. ValueError for input without a position.
        """
        # input_ids : B x T -> logits : B x T x vocab_size
        use_cache = self.config.use_cache and not self.training if use_cache is None else use_cache
        state = open_cache(cache if past_key_values is None else past_key_values, use_cache, [StateLayer])
        check_input(input_ids, attention_mask, state)
        active = new_token_mask(attention_mask, input_ids.shape[1])
        steps = ActiveSteps(torch.ones_like(input_ids, dtype=torch.bool) if active is None else active)
        inputs = self.input_dropout(steps.gather(self._embed(input_ids)))
        hidden, levels = self._run(inputs, steps, cast(StateLayer, state.layers[0]) if state is not None else None)
        logits = self.output_embeddings.logits(steps.after(self.output_dropout(hidden)))
        loss = None if labels is None else self.loss_function(logits, labels, vocab_size=self.config.vocab_size)
        output = OnLstmOutput(loss=loss, logits=logits, cache=state)
        if output_levels:
            each = [steps.at(of_layer) for of_layer in levels]  # B x T x 2
            output.input_levels = tuple(pair[..., 0] for pair in each)
            output.forget_levels = tuple(pair[..., 1] for pair in each)
        return output.to_tuple() if return_dict is False else output

    def _embed(self, ids: Tensor) -> Tensor:
        # B x T -> B x T x E
        vectors = self.embeddings.embed(ids)
        if not self.training or not self.config.embedding_dropout:
            return vectors
        kept = dropout(vectors.new_ones(self.config.vocab_size), self.config.embedding_dropout, True)
        return vectors * kept[ids][..., None]

    def _run(self, inputs: Tensor, steps: ActiveSteps, layer: StateLayer | None) -> tuple[Tensor, list[Tensor]]:
        # inputs : n x B x E -> n+1 x B x E and, for each layer, n x B x 2
        hidden, levels, runs = self.recurrence(inputs, None if layer is None else layer.state)
        if layer is not None:
            layer.store(tuple(steps.last(part) for run in runs for part in run.states()), steps.length)
        return hidden, levels
