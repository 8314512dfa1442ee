"""What `generate()` keeps between steps, for models whose layers hold keys and values, a recurrent state or a stack."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicLayer

ROOM = 16  # positions for which room is made at a time


class StateLayer(CacheLayerMixin):
    """A tuple of tensors with the batch on axis 0 (their other sizes may grow) and the number of tokens seen."""

    is_compileable = is_croppable = supports_early_init = False

    def __init__(self) -> None:
        super().__init__()
        self.state: tuple[Tensor, ...] | None = None
        self.seq_length = 0

    def store(self, state: tuple[Tensor, ...], new_tokens: int) -> None:
        """Keep `state`, reached after `new_tokens` more tokens."""
        self.state = state
        self.seq_length += new_tokens
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        raise NotImplementedError("a state layer holds no keys and values: use store()")

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a state layer holds no keys and values: use store()")

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.seq_length + query_length, 0

    def get_seq_length(self) -> int:
        return self.seq_length

    def get_max_length(self) -> int:
        return -1

    def reset(self) -> None:
        self.__init__()  # type: ignore[misc]

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self._map(lambda tensor: tensor.index_select(0, beam_idx.to(tensor.device)))

    def batch_select_indices(self, indices: Tensor) -> None:
        self._map(lambda tensor: tensor[indices])

    def batch_repeat_interleave(self, repeats: int) -> None:
        self._map(lambda tensor: tensor.repeat_interleave(repeats, 0))

    def offload(self) -> None:
        if self.state is not None:
            self._device = self.state[0].device
            self._map(lambda tensor: tensor.to("cpu", non_blocking=True))

    def prefetch(self) -> None:
        if self.state is not None:
            self._map(lambda tensor: tensor.to(self._device, non_blocking=True))

    def _map(self, function: Callable[[Tensor], Tensor]) -> None:
        if self.state is not None:
            self.state = tuple(function(tensor) for tensor in self.state)


class KeyValueLayer(DynamicLayer):
    """Keys and values [B, H, T, D] with room for more positions, so that a step writes its own and copies no others."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: list[Tensor] = []  # keys and values with room for more, of which `keys` and `values` are a part

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Keys and values of all positions, after those of the new ones are added."""
        if torch.is_grad_enabled() and (key_states.requires_grad or value_states.requires_grad):
            self._rooms = []
            return super().update(key_states, value_states, *args, **kwargs)
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        past, new = self.get_seq_length(), key_states.shape[-2]
        if not self._fits(past, new):
            held: Any = (self.keys, self.values)
            more = (key_states, value_states)
            self._rooms = [_make_room(part, states, past) for part, states in zip(held, more, strict=True)]
        for room, states in zip(self._rooms, (key_states, value_states), strict=True):
            room[:, :, past : past + new] = states
        self.keys, self.values = (room[:, :, : past + new] for room in self._rooms)
        return self.keys, self.values

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """The rows `beam_idx`, in that order, with their room."""
        length = self.get_seq_length()
        if not self._fits(length, 0):
            super().reorder_cache(beam_idx)  # type: ignore[arg-type]
            return
        self._rooms = [room.index_select(0, beam_idx.to(room.device)) for room in self._rooms]
        self.keys, self.values = (room[:, :, :length] for room in self._rooms)

    def reset(self) -> None:
        self._rooms = []
        super().reset()

    def _fits(self, past: int, new: int) -> bool:
        """Whether keys and values are the beginning of rooms for `new` more; other methods may have replaced them."""
        if not self._rooms or self._rooms[0].shape[-2] < past + new:
            return False
        held: Any = (self.keys, self.values)
        parts = zip(self._rooms, held, strict=True)
        return all(room.data_ptr() == part.data_ptr() and len(room) == len(part) for room, part in parts)


def _make_room(held: Tensor, states: Tensor, past: int) -> Tensor:
    # held : B x H x past x D, states : B x H x new x D -> B x H x past+new+ROOM x D
    batch, heads, new, size = states.shape
    room = states.new_empty(batch, heads, past + new + ROOM, size)
    if past:
        room[:, :, :past] = held
    return room


class StateCache(Cache):
    """The cache of this package's models: a list of state layers and key/value layers."""

    @property
    def rows(self) -> int | None:
        """Number of sequences that it holds; None if it is empty."""
        for layer in self.layers:
            if isinstance(layer, StateLayer) and layer.state is not None:
                return len(layer.state[0])
            if isinstance(layer, DynamicLayer) and layer.keys is not None and layer.get_seq_length():
                return len(layer.keys)
        return None


def open_cache(cache: Cache | None, use_cache: bool, layers: list[type[CacheLayerMixin]]) -> StateCache | None:
    """The cache to go on with: the given one, a new one, or None without `use_cache`.

    `generate()` hands in an empty cache of its own kind, which is replaced. ValueError for a foreign one with content.
    """
    if isinstance(cache, StateCache):
        return cache
    if cache is not None and cache.get_seq_length() > 0:
        raise ValueError(f"cache is a filled {type(cache).__name__}; pass the cache that this model returned, or None")
    return StateCache(layers=[layer() for layer in layers]) if use_cache else None


def past_length(cache: StateCache | None) -> int:
    """Number of tokens that the cache has seen."""
    return 0 if cache is None else cache.get_seq_length()


def new_token_mask(attention_mask: Tensor | None, new_tokens: int) -> Tensor | None:
    """The last columns [B, new_tokens] of the mask as booleans; None where nothing is masked."""
    if attention_mask is None:
        return None
    mask = attention_mask[:, -new_tokens:].bool()
    return None if bool(mask.all()) else mask


def is_right_padded(mask: Tensor) -> bool:
    """Whether padding only follows the tokens of each row of mask [B, T]."""
    return bool((mask[:, 1:] <= mask[:, :-1]).all()) and bool(mask[:, 0].all())


__all__ = [
    "KeyValueLayer",
    "StateCache",
    "StateLayer",
    "is_right_padded",
    "new_token_mask",
    "open_cache",
    "past_length",
]
