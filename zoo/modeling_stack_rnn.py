"""The simple RNN and LSTM of seed 000, plain or connected to a stack (section 4.1, appendices C.1 and C.2)."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.modeling_outputs import CausalLMOutputWithPast

from .active_steps import ActiveSteps
from .configuration_stack_rnn import StackRnnConfig
from .dropout import Dropout
from .initialization import initialize
from .left_padded_generation import LeftPaddedGeneration, check_input
from .recurrent_controller import Controller
from .recurrent_stacks import INTERFACES, StackRun
from .state_cache import StateLayer, is_right_padded, open_cache
from .token_table import BOS, TokenTable, TwoTables


class StackRnnPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation of the stack RNN and LSTM."""

    config_class = StackRnnConfig
    base_model_prefix = "controller"
    _is_stateful = True  # the state cannot be rolled back, so assisted decoding is refused

    def _init_weights(self, module: nn.Module) -> None:
        initialize(module)


class StackRnnForCausalLM(TwoTables, StackRnnPreTrainedModel, LeftPaddedGeneration, GenerationMixin):
    """A causal language model. At bos the output comes from the initial state: the recurrence takes no step there.

    At step t the controller reads the word w_t and the stack reading r_(t-1); its last hidden state then acts on the
    stack, which gives r_t. With `reading_to_output` the output is computed from both that hidden state and r_t.
    """

    reads = "strings"
    _tied_weights_keys = {"output_embeddings.weight": "embeddings.weight"}  # noqa: RUF012 (the library's form)

    def __init__(self, config: StackRnnConfig) -> None:
        super().__init__(config)
        stack = INTERFACES[config.stack](config) if config.stack != "none" else None
        reading_size: int = 0 if stack is None else stack.reading_size
        self.stack: Any = stack
        width = config.hidden_size + (reading_size if config.reading_to_output else 0)
        self.embeddings = TokenTable(config.vocab_size, width, has_bos=False)
        self.dropout = Dropout(config.dropout)
        self.controller = Controller(
            config.controller, width + reading_size, config.hidden_size, config.num_hidden_layers, config.dropout
        )
        self.output_embeddings = TokenTable(config.vocab_size, width, has_bos=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        cache: Cache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        past_key_values: Cache | None = None,
        return_dict: bool | None = None,
    ) -> CausalLMOutputWithPast | tuple[Tensor, ...]:
        """Logits [B, T, vocab_size] for input_ids [B, T].

        attention_mask [B, past + T]: 0 at padding, on either side. cache: what an earlier call returned, to go on from
        there; no gradient passes through the state that it holds. labels [B, T]: usually equal to input_ids, -100 where
        no loss is wanted; the loss is the mean over tokens of -log p(labels[t+1] | input_ids[..t]). past_key_values: an
        older name of cache. return_dict=False: a tuple.
        ValueError for input without a position.
        """
        # input_ids : B x T -> logits : B x T x vocab_size
        use_cache = self.config.use_cache and not self.training if use_cache is None else use_cache
        state = open_cache(cache if past_key_values is None else past_key_values, use_cache, [StateLayer])
        check_input(input_ids, attention_mask, state)
        inputs = self.dropout(self.embeddings.embed(input_ids))
        active = self._active(input_ids, attention_mask, keep_state=state is not None)
        hidden = self._run(inputs, active, cast(StateLayer, state.layers[0]) if state is not None else None)
        logits = self.output_embeddings.logits(self.dropout(hidden))
        loss = None if labels is None else self.loss_function(logits, labels, vocab_size=self.config.vocab_size)
        output = CausalLMOutputWithPast(loss=loss, logits=logits, cache=state)
        return output.to_tuple() if return_dict is False else output

    def _active(self, input_ids: Tensor, attention_mask: Tensor | None, keep_state: bool) -> Tensor:
        """Where the recurrence takes a step [B, T]: at words, not at bos or padding.

        Padding to the right of a row changes nothing that is looked at: it counts as active unless the state is kept.
        """
        active = input_ids != BOS
        if attention_mask is None:
            return active
        mask = attention_mask[:, -input_ids.shape[1] :].bool()
        return active if not keep_state and is_right_padded(mask) else active & mask

    def _run(self, inputs: Tensor, active: Tensor, layer: StateLayer | None) -> Tensor:
        # inputs : B x T x E, active : B x T -> B x T x E'
        batch, length = active.shape
        steps = ActiveSteps(active)
        past = None if layer is None else layer.state
        parts = 2 if self.config.controller == "lstm" else 1
        state = self.controller.initial_state(batch) if past is None else past[:parts]
        stack = None
        if self.stack is not None:
            stack = StackRun(self.stack, batch, steps.number, layer is not None, None if past is None else past[parts:])
        taken = None if layer is None else steps.taken()
        hidden, readings, run = self.controller(steps.gather(inputs), state, stack, taken, layer is not None)
        if layer is not None:
            after = run.states_after(steps.totals)
            layer.store((*after, *(stack.state() if stack is not None else ())), length)
        if self.config.reading_to_output and readings is not None:
            hidden = torch.cat([hidden, readings], 2)
        return steps.after(hidden)
