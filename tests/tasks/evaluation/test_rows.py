import csv
import json

import pytest

from tasks.evaluation.rows import COLUMNS, read_rows, write_csv_rows, write_json_rows
from tests.tasks.comparison.example_rows import make_row
from zoo.errors import UserError

ROWS = [
    make_row(value=0.1234567890123456789, standard_error=1e-7),
    make_row(value=0.5, lower=0.25, upper=0.75, sampled_inputs=3),
    make_row(value=None, metric="partial_log_ratio", note='no sample matches; "none", at all'),
    make_row(value=-1e-300, settings="dropout=0.2, stack_vector_size=3", data="files a.dev, a.test"),
]


@pytest.mark.parametrize(("name", "write"), [("results.json", write_json_rows), ("rows.csv", write_csv_rows)])
def test_rows_are_read_as_they_were_written(name, write, tmp_path):
    write(tmp_path / name, ROWS)
    assert read_rows(tmp_path / name) == ROWS
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_json_rows_have_the_documented_columns(tmp_path):
    write_json_rows(tmp_path / "results.json", ROWS)
    (row, *_) = json.loads((tmp_path / "results.json").read_text())
    assert tuple(row) == COLUMNS


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "cannot read rows"),
        ("a.json", "[" * 100_000, "cannot read rows"),
        ("a.json", "{}", "holds no list of rows"),
        ("a.json", "[3]", "row 1: not a row"),
        ("a.json", '[{"run": "x"}]', "row 1: without model, label"),
        ("a.csv", "run,model\nx,y\n", "row 1: without label"),
    ],
)
def test_a_file_that_holds_no_rows_is_refused_by_name(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message) as error:
        read_rows(tmp_path / name)
    assert name in str(error.value)


def test_rows_of_older_versions_have_no_interval(tmp_path):
    old = [name for name in COLUMNS if name not in ("lower", "upper", "sampled_inputs")]
    write_csv_rows(tmp_path / "new.csv", ROWS[:1])
    with (tmp_path / "new.csv").open(newline="") as new, (tmp_path / "old.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, old, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(csv.DictReader(new))
    assert read_rows(tmp_path / "old.csv") == ROWS[:1]


def test_a_figure_that_is_no_number_is_refused(tmp_path):
    write_csv_rows(tmp_path / "a.csv", ROWS)
    text = (tmp_path / "a.csv").read_text().replace("-1e-300", "much")
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(UserError, match=r"a\.csv, row 4: .*much"):
        read_rows(tmp_path / "a.csv")
