"""The model card: what the model is, how it was trained, what it scored, how to load and score it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from tasks import load_task
from tasks.comparison.paper import read_paper
from tasks.comparison.summary import Figures
from tasks.evaluation.rows import Row
from tasks.evaluation.run_folder import FinishedRun
from tasks.training.arguments import task_options
from zoo import get_entry

# What each kind of model is called by, and how its inputs are made.
LOADING = {
    "strings": (
        "AutoModelForCausalLM",
        'prompt = tokenizer("<bos> ...", add_special_tokens=False, return_tensors="pt")\n'
        "output = model.generate(**prompt, max_new_tokens=20)\n"
        "print(tokenizer.decode(output[0, prompt.input_ids.shape[1] :], skip_special_tokens=True))",
    ),
    "guided": ("AutoModelForSeq2SeqLM", "# python scripts/paraphrase.py gives it a sentence and a parse"),
    "expansion": ("AutoModelForSeq2SeqLM", "# python scripts/paraphrase.py --expander gives it a parse and a template"),
}


def make_card(run: FinishedRun, rows: Sequence[Row], repository: str, licence: str, paper: Path, picture: str) -> str:
    """The text of README.md, with the figures as model-index metadata too."""
    arguments = run.arguments
    entry = get_entry(arguments["model"])
    task = load_task(arguments["task"], **task_options(arguments.get("task_options")))
    shown = [row for row in rows if row.value is not None]
    data = ModelCardData(
        license=licence,
        library_name="transformers",
        pipeline_tag="text-generation" if entry.reads == "strings" else None,
        tags=["syntax", "syntax-zoo", entry.family, task.name],
        model_name=repository.split("/")[-1],
        eval_results=[evaluation(row, task.label) for row in shown] or None,
    )
    printed = figures_table(shown, paper_figures(paper, task.name, entry.name)) if shown else NOT_SCORED
    auto, example = LOADING[entry.reads]
    body = BODY.format(
        metadata=data.to_yaml(),
        label=entry.label,
        name=entry.name,
        task=task.label,
        parameters=f"{arguments['parameter_count']:,}",
        citation=entry.citation,
        data=arguments["data"],
        budget=run.finished["budget"],
        examples=f"{run.progress['examples']:,}",
        seed=arguments["seed"],
        settings=run.settings or "the defaults of its registry entry and protocol",
        code=arguments["code_version"],
        figures=printed,
        legend=task.legend,
        repository=repository,
        auto=auto,
        example=example,
        licence=licence,
        picture=f"\n![Training]({picture})\n" if (run.folder / "log.jsonl").is_file() else "",
    )
    return str(ModelCard(body))


def evaluation(row: Row, label: str) -> EvalResult:
    """A row as an entry of the model-index."""
    return EvalResult(
        task_type="text-generation",
        dataset_type=row.task,
        dataset_name=f"{label}, {row.set} set",
        dataset_split=row.set,
        metric_type=row.metric,
        metric_name=f"{row.metric} ({row.set}), n={row.n:,}",
        metric_value=row.value,
    )


def paper_figures(paper: Path, task: str, model: str) -> Figures:
    """What the paper has of this model on this task; nothing where the file is not at hand."""
    return read_paper(paper).get((task, model), {}) if paper.is_file() else {}


def figures_table(rows: Sequence[Row], paper: Figures) -> str:
    lines = ["| metric | set | value | n | paper |", "| --- | --- | ---: | ---: | ---: |"]
    for row in rows:
        value = number(row.value)
        if row.standard_error is not None:
            value += f" ± {number(row.standard_error)} (standard error)"
        other: Any = paper.get((row.metric, row.set))
        beside = f"{other.mean:.3f} ± {other.standard_deviation:.3f} (n={other.n})" if other else ""
        lines.append(f"| {row.metric} | {row.set} | {value} | {row.n:,} | {beside} |")
    return "\n".join(lines)


def number(value: float | None) -> str:
    if isinstance(value, int) or value is None:
        return str(value)
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.3g}"


NOT_SCORED = "Not scored yet."
BODY = """---
{metadata}
---

# {label} on {task}

`{name}` of the syntax zoo, {parameters} parameters, trained on {task}.
Source: {citation}.

| | |
| --- | --- |
| data | {data} |
| budget | {budget} |
| this checkpoint | lowest validation cross-entropy, after {examples} training examples |
| seed | {seed} |
| settings | {settings} |
| code | {code} |
{picture}
## Figures

{figures}

{legend}

## Load

```python
from transformers import AutoTokenizer, {auto}

model = {auto}.from_pretrained("{repository}", trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained("{repository}", trust_remote_code=True)
{example}
```

The code of the model lies beside its weights. With syntax-zoo installed, `trust_remote_code` is not needed.

## Score again

```bash
python scripts/evaluate.py {repository}    # add --data DIR if it was trained on files
python scripts/compare.py {repository} --paper
```

Licence: {licence}. Cite the source above.
"""
