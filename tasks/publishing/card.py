"""The model card: what the model is, how it was trained, what it scored, how to load and score it."""

from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from tasks import load_task
from tasks.comparison.paper import read_paper
from tasks.comparison.summary import Figures, Statistic
from tasks.evaluation.report import figures_of_runs, list_cells
from tasks.evaluation.rows import Row
from tasks.evaluation.run_folder import FinishedRun, protocol_of
from tasks.publishing.upload import Place
from tasks.training.arguments import task_options
from zoo import get_entry

# What each kind of model is called by, and how its inputs are made.
LOADING = {
    "strings": (
        "AutoModelForCausalLM",
        'prompt = tokenizer("<bos>", add_special_tokens=False, return_tensors="pt")  # or "<bos>" and the first words\n'
        "output = model.generate(**prompt, max_new_tokens=50)\n"
        "print(tokenizer.decode(output[0], skip_special_tokens=True))",
    ),
    "guided": (
        "AutoModelForSeq2SeqLM",
        "# It reads a text and a parse; scripts/paraphrase.py makes its inputs:\n"
        '# python scripts/paraphrase.py {place} --sentence "it rains ." --parse "(S (NP (PRP)) (VP (VBZ)) (.))"',
    ),
    "expansion": (
        "AutoModelForSeq2SeqLM",
        "# It reads a parse and a template; scripts/paraphrase.py makes its inputs:\n"
        "# python scripts/paraphrase.py RUN --expander {place} --sentence ... --template ... --parser ...",
    ),
}


def make_card(
    run: FinishedRun, rows: Sequence[Row], place: Place, licence: str, paper: Path, picture: str | None
) -> str:
    """The text of README.md, with the figures as model-index metadata too; picture: the file beside it, if any."""
    arguments = run.arguments
    entry = get_entry(arguments["model"])
    task = load_task(arguments["task"], **task_options(arguments.get("task_options")))
    data = ModelCardData(
        license=licence,
        library_name="transformers",
        pipeline_tag="text-generation" if entry.reads == "strings" else None,
        tags=["syntax", "syntax-zoo", entry.family, task.name],
        model_name=place.repository.split("/")[-1],
        eval_results=[evaluation(row, task.label) for row in rows if row.value is not None] or None,
    )
    figures = figures_table(rows, paper_figures(paper, task.name, entry.name)) if rows else NOT_SCORED
    arguments_of_load = [f'"{place.repository}"', "trust_remote_code=True"]
    if place.branch is not None:
        arguments_of_load.insert(1, f'revision="{place.branch}"')
    auto, example = LOADING[entry.reads]
    body = BODY.format(
        metadata=data.to_yaml(),
        label=entry.label,
        name=entry.name,
        task=task.label,
        parameters=f"{arguments['parameter_count']:,}",
        citation=entry.citation,
        data=rows[0].data if rows else arguments["data"],  # of rows: also what they were scored on
        data_option=" --data DIR    # the files named above" if arguments["data_dir"] else "",
        budget=run.finished["budget"],
        examples=f"{run.progress['examples']:,}",
        protocol=protocol_of(arguments).describe(),
        seed=arguments["seed"],
        settings=run.settings or "the defaults of its registry entry and protocol",
        code=arguments["code_version"],
        versions=", ".join(f"{name} {version}" for name, version in arguments["versions"].items()),
        figures=figures,
        legend=task.legend,
        place=place.name,
        load=", ".join(arguments_of_load),
        auto=auto,
        example=example.format(place=place.name),
        licence=licence,
        picture=f"\n![Training]({picture})\n" if picture else "",
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
    """Every figure, with the paper's mean and standard deviation beside it where it has one, and the notes below."""
    figures = figures_of_runs(rows)
    (heading, *lines), notes = list_cells(figures)
    cells = [[*heading, "paper (to convergence)"], ["---"] * (len(heading) + 1)]
    cells += [[*line, printed(paper.get(key))] for key, line in zip(figures, lines, strict=True)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    return "\n\n".join([table, "  \n".join(notes)]).strip()


def printed(figure: Statistic | None) -> str:
    """A figure of the paper, a mean over runs."""
    if figure is None or figure.mean is None:
        return ""
    deviation = f" ± {figure.standard_deviation:.3f}" if figure.standard_deviation is not None else ""
    return f"{figure.mean:.3f}{deviation} ({figure.n} runs)"


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
| protocol | {protocol} |
| settings | {settings} |
| code | {code}; {versions} |
{picture}
## Figures

{figures}

{legend}

## Load

```python
from transformers import AutoTokenizer, {auto}

model = {auto}.from_pretrained({load})
tokenizer = AutoTokenizer.from_pretrained({load})
{example}
```

The code of the model lies beside its weights. With syntax-zoo installed, `trust_remote_code` is not needed.

## Score again

```bash
python scripts/evaluate.py {place}{data_option}
python scripts/compare.py {place} --paper
```

Licence: {licence}. Cite the source above.
"""
