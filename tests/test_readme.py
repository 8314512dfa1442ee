"""The tables of README and docs are what the code gives: nothing in them is typed by hand."""

import json
from pathlib import Path

import zoo
from scripts import scale
from scripts.compare import PAPER
from tasks.comparison.collect import collect_rows
from tasks.comparison.paper import read_paper, read_prior
from tasks.comparison.summary import summarize
from tasks.comparison.tables import legend_of, make_tables, prior_tables, to_markdown

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
MEASURED = sorted(path for path in (ROOT / "results").glob("*.csv") if path.name != "paper.csv")


def section(name: str, text: str = README) -> str:
    """What stands between the comments `<!-- name -->` and `<!-- /name -->`."""
    return text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()


def model_table(word_types: int) -> str:
    lines = ["| name | in the paper | layers | width | parameters |", "|---|---|---|---:|---:|"]
    for name in zoo.list_models():
        entry = zoo.get_entry(name)
        if entry.reads != "strings":
            continue
        model = zoo.create_model(name, word_types=word_types)
        count = sum(parameter.numel() for parameter in model.parameters())
        lines.append(f"| `{name}` | {entry.label} | {layers(entry)} | {model.config.hidden_size} | {count:,} |")
    return "\n".join(lines)


def layers(entry: zoo.registry.Entry) -> str:
    if entry.family == "on-lstm":
        return f"3 × ON-LSTM, levels of {entry.config['chunk_size']} units"
    if kinds := entry.config.get("layers"):
        stacks = [f"{kind} stack in layer {number}" for number, kind in enumerate(kinds, 1) if kind != "attention"]
        return ", ".join([f"{len(kinds)} × transformer", *stacks])
    stack = entry.config.get("stack")
    parts = [f"{stack} stack"] if stack else []
    parts += ["its reading also to the output"] if entry.config.get("reading_to_output") else []
    return ", ".join([f"3 × {entry.config['controller'].upper()}", *parts])


def guided_table() -> str:
    lines = ["| name | in the paper | reads | parameters |", "|---|---|---|---:|"]
    for name in zoo.list_models("guig") + zoo.list_models("guig-expander"):
        entry, model = zoo.get_entry(name), zoo.create_model(name, word_types=15_996)
        count = sum(parameter.numel() for parameter in model.parameters())
        lines.append(f"| `{name}` | {entry.label} | {sources(entry)} | {count:,} |")
    return "\n".join(lines)


def sources(entry: zoo.registry.Entry) -> str:
    config = entry.config
    names = ("source text", "parse") if entry.reads == "guided" else ("source parse", "template")
    fields = ("use_source", "use_syntax") if entry.reads == "guided" else ("use_source", "use_template")
    read = " and ".join(name for name, field in zip(names, fields, strict=True) if config.get(field, True))
    return f"{read}, as one sequence" if "concat" in entry.class_path else read


def benchmark_rows(memory: bool) -> list[dict]:
    report = json.loads((ROOT / "results" / "benchmark.json").read_text(encoding="utf-8"))
    return [row for row in report["rows"] if (row["mebibytes"] is not None) == memory]


def speed_table() -> str:
    lines = ["| row | what | examples/s | ratio | aim |", "|---|---|---:|---:|---|"]
    for row in benchmark_rows(memory=False):
        speed = f"{row['examples_per_second']:.0f}" if row["examples_per_second"] else ""
        ratio = (
            f"{1000 * row['seconds']:.1f} ms" if row["ratio"] is None else f"{row['ratio']:.2f} of {row['denominator']}"
        )
        cells = (row["row"], row["what"], speed, ratio, row["aim"])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def memory_table() -> str:
    lines = ["| one step of training | seconds | MiB |", "|---|---:|---:|"]
    lines += [
        f"| {row['what']} | {row['seconds']:.2f} | {row['mebibytes']:.0f} |" for row in benchmark_rows(memory=True)
    ]
    return "\n".join(lines)


def test_memory_table() -> None:
    assert section("memory") == memory_table()


def test_speed_table() -> None:
    assert section("speed") == speed_table()


def test_scale_table() -> None:
    assert section("scale", SCALE) == scale.report(scale.read_rates(scale.RATES), scale.NODES)


def test_guided_table() -> None:
    assert section("guided") == guided_table()


def test_model_table() -> None:
    assert section("models") == model_table(word_types=68)


def results_table() -> str:
    summary, paper = summarize(collect_rows(MEASURED)[0]), read_paper(PAPER)
    tables = make_tables(summary, paper) + prior_tables(summary, read_prior(PAPER))
    return to_markdown(tables, legend_of(summary, paper)).strip()


def test_results_table() -> None:
    assert MEASURED
    assert section("results") == results_table()
