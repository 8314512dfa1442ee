"""How parameters start: seed 000, appendix D.

Xavier uniform (biases 0) for fully connected layers, except those of recurrent updates and of standard attention;
layer norm 1 and 0; everything else uniform in [-0.1, 0.1].
"""

from torch import nn
from transformers import initialization as init

SCALE = 0.1
RELU_GAIN = 2**0.5


class Linear(nn.Linear):
    """A linear layer that knows how it starts: by Xavier's rule with `gain`, or (None) uniform in [-0.1, 0.1]."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, gain: float | None = 1.0) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.gain = gain


def initialize(module: nn.Module) -> None:
    """Set the parameters that `module` itself holds (not those of its children)."""
    if isinstance(module, nn.LayerNorm):
        init.ones_(module.weight)
        init.zeros_(module.bias)
    elif isinstance(module, Linear) and module.gain is not None:
        init.xavier_uniform_(module.weight, gain=module.gain)
        if module.bias is not None:
            init.zeros_(module.bias)
    else:
        for parameter in module.parameters(recurse=False):
            init.uniform_(parameter, -SCALE, SCALE)
