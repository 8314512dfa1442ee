"""Worker of test_scoring.py: scores an untrained model; alone, or in several processes."""

import json
import sys
from pathlib import Path

from tasks.evaluation.evaluation import EvaluationSettings
from tasks.evaluation.processes import process_state
from tests.tasks.paraphrase.small_models import grammar_data, small_model

folder, expander = Path(sys.argv[1]), sys.argv[2]
state = process_state()
task, data, tokenizer = grammar_data(7)
given = ("target", "template", "expanded")
settings = EvaluationSettings(given=given, beams=2, expander=expander, run_folder=folder, batch_tokens=2000)
figures = task.figures(small_model("guig", tokenizer), tokenizer, data, list, settings)
if state.is_main_process:
    report = {"processes": state.num_processes, "figures": [list(figure) for figure in figures]}
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
state.destroy_process_group()
