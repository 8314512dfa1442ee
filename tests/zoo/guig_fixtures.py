"""Parameters of the authors' own GuiG under this project's names."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

PARTS = {
    "slf_attn.fc": "attention.output",
    "slf_attn.layer_norm": "attention.norm",
    "enc_attn.fc": "encoder_attention.output",
    "enc_attn.layer_norm": "encoder_attention.norm",
    "pos_ffn.w_1": "feedforward.inner",
    "pos_ffn.w_2": "feedforward.outer",
    "pos_ffn.layer_norm": "feedforward.norm",
}
LETTERS = {"q": "query", "k": "key", "v": "value"}


def read_fixture(shared: Path, name: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    folder = shared / "fixtures"
    return json.loads((folder / f"{name}.json").read_text()), load_file(folder / f"{name}.safetensors")


def our_name(stored: str, grouped: bool = True) -> str:
    """`slf_attn.w_qs.weight` of a layer -> `attention.query.0.weight`, without the number if heads have no groups."""
    part, kind = stored.rsplit(".", 1)
    if part in PARTS:
        return f"{PARTS[part]}.{kind}"
    attention, weight = part.split(".")  # w_qs, w_ks1, w_vs2
    where = "attention" if attention == "slf_attn" else "encoder_attention"
    group = f".{int(weight[4:] or 1) - 1}" if grouped else ""
    return f"{where}.{LETTERS[weight[2]]}{group}.{kind}"
