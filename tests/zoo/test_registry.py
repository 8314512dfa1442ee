import ast
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

import zoo
from tests.zoo.tiny_models import small
from zoo.errors import UserError, unknown_name
from zoo.registry import config_of, count_parameters

ROOT = Path(zoo.__file__).parents[1]
FIFTEEN = [
    "tf", "tf-sup", "tf-sup-sup", "tf-nd", "tf-nd-nd", "rnn", "rnn-sup", "rnn-sup-r", "rnn-nd", "rnn-nd-r", "lstm",
    "lstm-sup", "lstm-sup-r", "lstm-nd", "lstm-nd-r",
]  # fmt: skip


def test_the_fifteen_architectures_of_seed_000_are_there() -> None:
    assert [name for name in zoo.list_models() if name in FIFTEEN] == FIFTEEN
    assert zoo.list_models("transformer")[:5] == FIFTEEN[:5]


def test_sizes_and_parameter_counts_equal_the_reference_table(shared: Path) -> None:
    table = json.loads((shared / "fixtures" / "model_parameter_counts.json").read_text())["table"]
    by_label = {zoo.get_entry(name).label: name for name in FIFTEEN}
    assert len(table) == 45
    for row in table:
        model = zoo.create_model(by_label[row["model"]], word_types=row["vocabulary_token_types"])
        count = sum(parameter.numel() for parameter in model.parameters())
        assert (model.config.hidden_size, count) == (row["d"], row["parameters"]), row["model"]
        assert model.config.vocab_size == row["vocabulary_token_types"] + 4


def test_sizes_for_69_word_types() -> None:
    found = {
        name: zoo.create_model(name, word_types=69).config.hidden_size for name in ("tf", "tf-nd", "rnn", "lstm-nd-r")
    }
    assert found == {"tf": 68, "tf-nd": 68, "rnn": 176, "lstm-nd-r": found["lstm-nd-r"]}


@pytest.mark.parametrize("name", zoo.list_models())
def test_another_budget_is_met_as_nearly_as_the_sizes_allow(name: str) -> None:
    model = zoo.create_model(name, word_types=69, parameters=50_000, **small(name))
    entry, size = zoo.get_entry(name), model.config.hidden_size
    settings = {**entry.config, **small(name), "zoo_name": name, "vocab_size": 73}
    step = entry.size_step(settings)
    below, here, above = (
        count_parameters(type(model), {**settings, "hidden_size": size + shift}) for shift in (-step, 0, step)
    )
    assert here == sum(parameter.numel() for parameter in model.parameters())
    assert below < 50_000 < above


@pytest.mark.parametrize("name", zoo.list_models())
def test_entries_hold_what_the_registry_promises(name: str) -> None:
    entry = zoo.get_entry(name)
    known = {field.name for field in fields(config_of(entry.load_class()))}
    assert set(entry.config) <= known
    assert entry.tasks
    assert entry.citation
    assert entry.preset
    assert zoo.create_model(name, word_types=5, hidden_size=8, **small(name)).config.zoo_name == name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zoo.create_model("tf-dn", word_types=5), r"unknown model 'tf-dn'. Did you mean tf-nd"),
        (lambda: zoo.create_model("tf", word_types=5, droput=0.2), r"'droput'. Did you mean dropout"),
        (lambda: zoo.create_model("tf", word_types=5, dropout=3), r"dropout is 3; allowed: 0 <= dropout < 1"),
        (lambda: zoo.create_model("tf", word_types=5, dropout="much"), "much"),
        (lambda: zoo.create_model("tf", word_types=5, hidden_size=30), "30 is not a multiple of num_attention_heads 4"),
        (lambda: zoo.create_model("tf", word_types=5, layers=["atention"]), "'atention'; allowed: attention, super"),
        (lambda: zoo.create_model("rnn", word_types=5, reading_to_output=True), "choose a stack"),
        (lambda: zoo.create_model("tf", word_types=0), "word_types is 0; allowed: a whole number from 1"),
        (lambda: zoo.create_model("tf", word_types=68.9), "word_types is 68.9"),
        (lambda: zoo.create_model("tf", word_types=True), "word_types is True"),
        (lambda: zoo.create_model("tf", word_types=5, parameters=float("nan")), "parameters is nan"),
        (lambda: zoo.create_model("tf", word_types=5, seed="a"), "seed is 'a'"),
        (lambda: zoo.create_model("tf", word_types=5, seed=2**70), "seed is 1180591620717411303424"),
        (lambda: zoo.create_model("tf", tokenizer="abc"), "tokenizer is a str"),
        (lambda: zoo.create_model("tf", word_types=5, vocab_size=10), "unknown configuration field of tf 'vocab_size'"),
        (lambda: zoo.create_model("tf", word_types=5, zoo_name="x"), "unknown configuration field of tf 'zoo_name'"),
        (lambda: zoo.create_model("tf", word_types=5, eos_token_id=9), "unknown configuration field"),
        (lambda: zoo.create_model("tf", word_types=5, architectures=3), "unknown configuration field"),
        (lambda: zoo.create_model("tf", word_types=5, layer_norm_eps=-5.0), "layer_norm_eps is -5.0"),
        (lambda: zoo.create_model(["tf"], word_types=5), "unknown model"),
        (lambda: zoo.create_model("tf", word_types=69, parameters=10), "10 parameters is too small"),
        (lambda: zoo.create_model("tf", word_types=5, parameters=9000, hidden_size=8), "give one of them"),
        (lambda: zoo.create_model("tf"), "exactly one of them"),
        (lambda: zoo.list_models("lstms"), "'lstms'. Did you mean lstm"),
    ],
)
def test_bad_input_is_named_with_the_fix(call, message: str) -> None:
    with pytest.raises(UserError, match=message):
        call()


def test_unknown_name_without_a_near_one_lists_all() -> None:
    assert str(unknown_name("task", "zzz", ["one", "two"])) == "unknown task 'zzz'. Allowed: one, two."


def test_modelling_files_import_only_siblings_torch_and_transformers() -> None:
    """What lets a checkpoint carry its code: `from .sibling import name`, one dot, no package below."""
    allowed = {"torch", "transformers", "huggingface_hub"} | sys.stdlib_module_names
    pending = [path.stem for path in (ROOT / "zoo").glob("modeling_*.py")]
    seen = set()
    while pending:
        module = pending.pop()
        if module in seen:
            continue
        seen.add(module)
        tree = ast.parse((ROOT / "zoo" / f"{module}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert all(name.name.split(".")[0] in allowed for name in node.names), (module, ast.unparse(node))
            elif isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1, (module, ast.unparse(node))
                assert node.module, (module, ast.unparse(node))
                assert "." not in node.module, (module, ast.unparse(node))
                pending.append(node.module)
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] in allowed, (module, ast.unparse(node))
    assert "stack_recursion" in seen


def test_importing_the_zoo_loads_no_library_and_asks_no_network() -> None:
    program = "import sys, zoo; zoo.list_models(); print([m for m in ('torch', 'transformers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_registry_file_lies_inside_the_wheel() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"] == {
        "registry.yaml": "zoo/registry.yaml"
    }
    assert set(yaml.safe_load((ROOT / "registry.yaml").read_text())["models"]) == set(zoo.list_models())
