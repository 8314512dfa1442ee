import csv
import importlib.util
from pathlib import Path

import pytest

from tasks.evaluation.rows import read_rows, write_csv_rows, write_json_rows
from tests.tasks.comparison.example_rows import run_rows
from tests.tasks.comparison.test_curves import write_run

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "compare.py"


@pytest.fixture
def compare(monkeypatch, tmp_path):
    """Runs scripts/compare.py in an empty folder; returns its exit status."""
    specification = importlib.util.spec_from_file_location("compare_script", SCRIPT)
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["compare.py", *map(str, arguments)])
        return script.main()

    return run


def write_runs(folder):
    for seed in (1, 2):
        (folder / f"run-{seed}").mkdir()
        write_json_rows(folder / f"run-{seed}" / "results.json", run_rows(seed, seed / 100))


def test_a16_mean_and_deviation_over_seeds_beside_the_paper(compare, tmp_path, capsys):
    write_runs(tmp_path)
    assert compare("run-1", "run-2", "--paper", "--rows", "rows.csv") == 0
    printed = capsys.readouterr().out
    assert "Tf+Nd    2  0.965 ± 0.01  0.315 ± 0.01" in printed
    assert "paper  5  0.999 ± 0.00  0.318 ± 0.19" in printed
    names = ["comparison.csv", "comparison.md", "comparison.tex"]
    names += [f"question_formation_1000-examples.{kind}" for kind in ("png", "svg")]
    assert sorted(path.name for path in Path("comparison").iterdir()) == sorted(names)
    assert all(f"comparison/{name}" in printed for name in names)
    assert read_rows(Path("rows.csv")) == run_rows(1, 0.01) + run_rows(2, 0.02)


def test_committed_rows_give_the_same_comparison_as_the_runs(compare, tmp_path):
    write_runs(tmp_path)
    compare("run-1", "run-2", "--rows", "rows.csv", "--output", "a")
    compare("rows.csv", "--output", "b")
    for path in Path("a").iterdir():
        assert path.read_bytes() == (Path("b") / path.name).read_bytes()


def test_a_run_that_is_not_scored_is_told_and_the_rest_compared(compare, tmp_path, capsys):
    write_runs(tmp_path)
    (tmp_path / "run-3").mkdir()
    (tmp_path / "run-3" / "arguments.json").write_text("{}")
    assert compare("run-1", "run-3", "--output", "out") == 0
    output = capsys.readouterr()
    assert "note: run-3 is left out: not scored yet" in output.err
    assert "0.960" in output.out


def test_without_the_paper_nothing_of_it_is_shown(compare, tmp_path, capsys):
    write_runs(tmp_path)
    assert compare("run-1") == 0
    assert "paper" not in capsys.readouterr().out.lower()
    with open("comparison/comparison.csv", encoding="utf-8") as file:
        assert {record["paper"] for record in csv.DictReader(file)} == {""}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere does not exist"),
        (["empty"], "no rows to compare"),
        (["broken.json"], "broken.json"),
        (["rows.csv", "--rows", "nowhere/rows.csv"], "is no folder"),
        (["rows.csv", "--output", "rows.csv"], "which is a file"),
    ],
)
def test_bad_input_is_one_error_and_nothing_is_written(arguments, message, compare, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.json").write_text("[{}]")
    write_csv_rows(tmp_path / "rows.csv", run_rows(1))
    before = sorted(tmp_path.rglob("*"))
    assert compare(*arguments) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_of_runs_is_one_row_with_deviation(compare, tmp_path, capsys):
    (tmp_path / "tf-nd").mkdir()
    write_runs(tmp_path / "tf-nd")
    assert compare("tf-nd") == 0
    assert "Tf+Nd  2  0.965 ± 0.01  0.315 ± 0.01" in capsys.readouterr().out


def test_curves_are_drawn_of_runs_scored_or_not(compare, tmp_path, capsys):
    write_run(tmp_path / "trained" / "seed-1", [0.1, 0.2])
    write_run(tmp_path / "trained" / "seed-2", [0.3, 0.4], seed=2)
    assert compare("trained") == 0
    output = capsys.readouterr()
    assert sorted(path.name for path in Path("comparison").iterdir()) == ["curves.png", "curves.svg"]
    assert "note: trained/seed-1 is left out: not scored yet" in output.err
    write_json_rows(tmp_path / "trained" / "seed-1" / "results.json", run_rows())
    assert compare("trained", "--output", "out") == 0
    assert {"curves.png", "comparison.md"} <= {path.name for path in Path("out").iterdir()}
