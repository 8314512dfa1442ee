import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.slow
def test_a_kill_at_any_operation_on_a_file_leaves_a_run_that_resumes_to_the_same_end(tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parents[2]), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, HERE / "kill_worker.py", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400)
    assert result.returncode == 0, result.stderr[-3000:]
    *killed, unbroken = [json.loads(line) for line in result.stdout.splitlines()]
    assert unbroken["operation"] is None
    assert len(killed) > 30
    assert {"replace", "rmtree", "save", "save_pretrained"} <= {run["operation"] for run in killed}
    for run in killed:
        where = f"killed at operation {run['killed_at']} ({run['operation']})"
        assert run["digest"] == unbroken["digest"], where
        assert run["log"] == unbroken["log"], where  # so no checkpoint stands there twice
        assert run["left"] == unbroken["left"], where  # no temporary files, one state
