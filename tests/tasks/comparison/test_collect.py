import pytest

from tasks.comparison.collect import collect_rows
from tasks.evaluation.rows import write_csv_rows, write_json_rows
from tests.tasks.comparison.example_rows import run_rows
from zoo.errors import UserError


def make_run(folder, rows):
    folder.mkdir()
    (folder / "arguments.json").write_text("{}")
    if rows:
        write_json_rows(folder / "results.json", rows)
    return folder


def test_run_folders_results_and_csv_files_are_read_alike(tmp_path):
    make_run(tmp_path / "a", run_rows(1))
    make_run(tmp_path / "b", run_rows(2))
    write_csv_rows(tmp_path / "c.csv", run_rows(3))
    rows, notices = collect_rows([tmp_path / "a", tmp_path / "b" / "results.json", tmp_path / "c.csv"])
    assert rows == run_rows(1) + run_rows(2) + run_rows(3)
    assert notices == []


def test_a_row_that_stands_in_two_places_counts_once(tmp_path):
    make_run(tmp_path / "a", run_rows(1))
    write_csv_rows(tmp_path / "all.csv", run_rows(1) + run_rows(2))
    rows, notices = collect_rows([tmp_path / "a", tmp_path / "all.csv"])
    assert len(rows) == 2 * len(run_rows())
    assert notices == []


def test_runs_without_results_are_left_out_and_named(tmp_path):
    (tmp_path / "notes").mkdir()
    paths = [make_run(tmp_path / "a", run_rows(1)), make_run(tmp_path / "b", None), tmp_path / "notes"]
    rows, notices = collect_rows(paths)
    assert rows == run_rows(1)
    assert "b is left out: not scored yet (python scripts/evaluate.py" in notices[0]
    assert "notes is left out: no run folder" in notices[1]


def test_two_runs_of_one_seed_are_told(tmp_path):
    write_csv_rows(tmp_path / "a.csv", run_rows(1))
    write_csv_rows(tmp_path / "b.csv", run_rows(1, change=0.01, run="runs/again"))
    rows, (notice,) = collect_rows([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert len(rows) == 2 * len(run_rows())
    assert notice == "runs/tf-nd-1 and runs/again are runs of tf-nd with the same seed; each counts as a run"


def test_one_run_scored_twice_with_other_values_is_refused(tmp_path):
    write_csv_rows(tmp_path / "old.csv", run_rows(1))
    make_run(tmp_path / "a", run_rows(1, change=0.01))
    with pytest.raises(
        UserError, match=r"runs/tf-nd-1 has two values of full_accuracy on the test set, 0\.95 and 0\.96"
    ):
        collect_rows([tmp_path / "old.csv", tmp_path / "a"])


def test_no_rows_at_all_and_missing_paths_are_errors(tmp_path):
    with pytest.raises(UserError, match="no rows to compare"):
        collect_rows([make_run(tmp_path / "b", None)])
    with pytest.raises(UserError, match="nowhere does not exist"):
        collect_rows([tmp_path / "nowhere"])
