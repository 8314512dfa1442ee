"""Generation for causal models whose prompts must be padded on the left."""

from typing import Any

from torch import Tensor
from transformers import GenerationMixin

from .state_cache import StateCache, past_length


def check_input(input_ids: Tensor, attention_mask: Tensor | None = None, cache: StateCache | None = None) -> None:
    """ValueError unless input_ids is [B, T] with at least one position and the others fit it.

    attention_mask: [B, past + T], or [B, T] for the new positions alone. cache: of B rows.
    """
    if input_ids.dim() != 2 or not input_ids.shape[1]:
        raise ValueError(
            f"input_ids has shape {list(input_ids.shape)}; wanted is [B, T] with at least <bos> in each row"
        )
    batch, length = input_ids.shape
    lengths = {length, past_length(cache) + length}
    if attention_mask is not None and tuple(attention_mask.shape) not in {(batch, columns) for columns in lengths}:
        wanted = " or ".join(f"[{batch}, {columns}]" for columns in sorted(lengths))
        raise ValueError(f"attention_mask has shape {list(attention_mask.shape)}; wanted is {wanted}")
    rows = None if cache is None else cache.rows
    if rows is not None and rows != batch:
        raise ValueError(
            f"input_ids has {batch} rows, but the cache was made for {rows}: cache.batch_select_indices(...)"
        )


class LeftPaddedGeneration(GenerationMixin):
    """`generate()` that refuses prompts padded on the right: their next word would be predicted from padding."""

    config: Any

    def generate(self, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        """As in the library. ValueError if a prompt ends in padding."""
        mask = kwargs.get("attention_mask")
        ids = kwargs.get("input_ids", inputs)
        if ids is not None:
            check_input(ids)
        ends = mask[:, -1] == 0 if mask is not None else None if ids is None else ids[:, -1] == self.config.pad_token_id
        if ends is not None and bool(ends.any()):
            raise ValueError("a prompt ends in padding; pad on the left: tokenizer(..., padding_side='left')")
        return super().generate(inputs, *args, **kwargs)
