"""The state of a recurrent model, carried from batch to batch of continuous text without its gradients."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tasks.tokenization import BOS, FIRST_WORD
from zoo.state_cache import StateCache, StateLayer

PROBE_LENGTHS = (1, 300)  # words; what holds a vector for each step, or room for steps, differs between them


class CarriedState:
    """What a model remembers of the text before a batch: `output.cache` of the batch before, detached."""

    def __init__(self) -> None:
        self.cache: Any = None

    def logits(self, model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        """Logits [B, T, V] of a batch whose rows go on where those of the last one ended.

        Without one before it, a batch starts from the initial state: bos then stands for the word before each row.
        """
        if self.cache is None:
            first = inputs["input_ids"].clone()
            first[:, 0] = BOS
            inputs = inputs | {"input_ids": first}
        output = model(**inputs, cache=self.cache, use_cache=True)
        self.cache = output.cache
        for layer in self.cache.layers:
            layer.state = tuple(tensor.detach() for tensor in layer.state)
        return output.logits

    def reset(self) -> None:
        self.cache = None

    def save(self, path: Path) -> None:
        layers = [] if self.cache is None else [(layer.state, layer.seq_length) for layer in self.cache.layers]
        torch.save(layers, path)

    def load(self, path: Path, device: torch.device) -> None:
        """Goes back to what was saved. Raises what `torch.load` raises for a file that is missing or damaged."""
        saved = torch.load(path, map_location=device)
        self.cache = StateCache(layers=[StateLayer() for _ in saved]) if saved else None
        for (state, length), layer in zip(saved, self.cache.layers if saved else (), strict=True):
            layer.store(state, length)


@torch.no_grad()
def can_be_carried(model: nn.Module) -> bool:
    """Whether the model's state has one size whatever it has read.

    Keys and values of attention and the elements of a stack grow with the text, and no gradients pass through a
    nondeterministic stack that goes on from a cache.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    sizes = []
    for length in PROBE_LENGTHS:
        ids = torch.full((1, 1 + length), FIRST_WORD, device=device)
        ids[:, 0] = BOS
        layers = model(input_ids=ids, use_cache=True).cache.layers
        sizes.append([[tensor.shape for tensor in getattr(layer, "state", None) or ()] for layer in layers])
    model.train(was_training)
    return sizes[0] == sizes[1] and all(sizes[0])
