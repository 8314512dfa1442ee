"""Whole models against logits computed with the authors' own code, from the same parameters."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from zoo.configuration_stack_rnn import StackRnnConfig
from zoo.configuration_stack_transformer import StackTransformerConfig
from zoo.modeling_stack_rnn import StackRnnForCausalLM
from zoo.modeling_stack_transformer import StackTransformerForCausalLM

KINDS = {"standard attention": "attention", "superposition": "superposition", "nondeterministic": "nondeterministic"}
PAPER_ORDER = [0, 2, 1]  # the stored rows are push, pop, no-op


def token_rows(table: Tensor, words: int) -> Tensor:
    """Stored rows are words, eos, (bos); ours are (bos), eos, words."""
    return torch.cat([table[words:].flip(0), table[:words]])


def stack_parameters(stored: dict[str, Any], read: Any, prefix: str, kind: str) -> dict[str, Tensor]:
    order = PAPER_ORDER if kind == "superposition" else slice(None)
    found = {
        f"{prefix}.actions.weight": read(stored["W_a"])[order],
        f"{prefix}.pushed_vector.weight": read(stored["W_v"]),
    }
    if "b_a" in stored:
        found |= {
            f"{prefix}.actions.bias": read(stored["b_a"])[order],
            f"{prefix}.pushed_vector.bias": read(stored["b_v"]),
        }
    if "W_y" in stored:
        found[f"{prefix}.output.weight"] = read(stored["W_y"])
    if kind == "nondeterministic":
        found[f"{prefix}.bottom_vector"] = read(stored["bottom_vector_logits"])
    return found


def transformer(sizes: dict, structure: dict, read: Any, activation: str) -> StackTransformerForCausalLM:
    parameters = {
        "final_norm.weight": read(structure["final_norm_weight"]),
        "final_norm.bias": read(structure["final_norm_bias"]),
    }
    stack_sizes: dict[str, int] = {}
    for number, layer in enumerate(structure["layers"]):
        here, kind = f"layers.{number}", KINDS[layer["type"]]
        for ours, stored in {"attention_norm": "attention_norm", "feedforward_norm": "ff_norm", "feedforward.0": "ff1",
                             "feedforward.3": "ff2", "attention.query_key_value": "qkv",
                             "attention.output": "attention_out"}.items():  # fmt: skip
            for part in ("weight", "bias"):
                if f"{stored}_{part}" in layer:
                    parameters[f"{here}.{ours}.{part}"] = read(layer[f"{stored}_{part}"])
        if kind != "attention":
            parameters |= stack_parameters(layer, read, f"{here}.attention", kind)
            stack_sizes |= stack_settings(layer, kind)
    config = StackTransformerConfig(
        vocab_size=sizes["vocabulary_token_types"] + 4,
        hidden_size=sizes["d"],
        num_attention_heads=sizes["num_heads"],
        layers=[KINDS[layer["type"]] for layer in structure["layers"]],
        pushed_vector_activation=activation,
        **stack_sizes,
    )
    return filled(StackTransformerForCausalLM(config), parameters, read(structure["E"]), sizes)


def stack_settings(stored: dict, kind: str) -> dict[str, int]:
    if kind == "superposition":
        return {"superposition_vector_size": stored["m"]}
    return {"pda_states": stored["Q"], "pda_symbols": stored["S"], "pda_vector_size": stored["m"]}


def recurrent(sizes: dict, structure: dict, read: Any) -> StackRnnForCausalLM:
    stack = structure.get("stack")
    kind = stack["type"] if stack else "none"
    parameters = {"controller.initial_hidden": read(structure["w_0"])}
    for number, layer in enumerate(structure["layers"]):
        parameters[f"controller.input_weights.{number}"] = read(layer["W_input"])
        parameters[f"controller.hidden_weights.{number}"] = read(layer["W_hidden"])
        parameters[f"controller.biases.{number}"] = read(layer["b"])
    if stack:
        parameters |= stack_parameters(stack, read, "stack", kind)
    config = StackRnnConfig(
        vocab_size=sizes["vocabulary_token_types"] + 4,
        hidden_size=sizes["d"],
        num_hidden_layers=sizes["layers"],
        controller="lstm" if structure["controller"] == "LSTM" else "rnn",
        stack=kind,
        reading_to_output=bool(stack and stack["reading_in_output"]),
        **(stack_settings(stack, kind) if stack else {}),
    )
    return filled(StackRnnForCausalLM(config), parameters, read(structure["E"]), sizes)


def filled(model: Any, parameters: dict[str, Tensor], table: Tensor, sizes: dict) -> Any:
    rows = token_rows(table, sizes["vocabulary_token_types"])
    parameters |= {"embeddings.weight": rows, "output_embeddings.weight": rows}
    model.double().load_state_dict(parameters)
    return model.eval()


CASES = [
    *((name, "io.logits_sigmoid", "sigmoid") for name in ("tf_sup", "tf_nd", "tf_nd_nd")),
    ("tf_sup", "io.logits", "identity"),
    *((name, "io.logits", "exp") for name in ("tf_nd", "tf_nd_nd")),
    *((name, "io.logits", "sigmoid") for name in (
        "transformer", "rnn", "rnn_sup", "rnn_sup_r", "rnn_nd", "rnn_nd_r", "lstm", "lstm_sup", "lstm_sup_r", "lstm_nd",
        "lstm_nd_r",
    )),
]  # fmt: skip


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(("name", "output", "activation"), CASES)
def test_logits_equal_the_reference_numbers(
    shared: Path, name: str, output: str, activation: str, cached: bool
) -> None:
    path = shared / "fixtures" / f"model_{name}.safetensors"
    known, facts = load_file(path), json.loads(path.with_suffix(".json").read_text())
    words = facts["sizes"]["vocabulary_token_types"]
    if "controller" in facts["structure"]:
        model = recurrent(facts["sizes"], facts["structure"], known.__getitem__)
    else:
        model = transformer(facts["sizes"], facts["structure"], known.__getitem__, activation)
    assert sum(parameter.numel() for parameter in model.parameters()) == facts["num_parameters"]
    ids = torch.nn.functional.pad(known["io.token_ids"] + 4, (1, 0), value=1)
    with torch.no_grad():
        logits = model(ids, use_cache=cached).logits
    found = torch.cat([logits[..., 4:], logits[..., 2:3]], -1)  # words, then eos
    torch.testing.assert_close(found, known[output], rtol=0, atol=1e-9)
    assert (logits[..., [0, 1, 3]] == -torch.inf).all()
    assert found.shape[-1] == words + 1
