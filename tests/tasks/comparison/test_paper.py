import csv
from collections import Counter
from pathlib import Path

import pytest

from tasks import list_tasks
from tasks.comparison.paper import read_paper, read_prior
from tasks.comparison.summary import summarize
from tasks.comparison.tables import prior_tables
from tests.tasks.comparison.example_rows import make_row
from zoo import get_entry, list_models
from zoo.errors import UserError

FILE = Path(__file__).resolve().parents[3] / "results" / "paper.csv"
TASKS = [
    "question_formation",
    "german_question_formation",
    "tense_reinflection_do",
    "passivization",
    "question_formation_have",
    "tense_reinflection",
    "german_passivization",
]
PRIOR_ROWS = {"1": 7, "2": 3, "3": 0, "4": 5, "5": 4, "6": 7, "7": 2}
PRIOR_FIGURES = {"1": 12, "2": 6, "3": 0, "4": 10, "5": 8, "6": 12, "7": 4}


@pytest.fixture(scope="module")
def all_records():
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def records(all_records):
    """Those of seed 000."""
    return [record for record in all_records if record["task"] != "paraphrase"]


def test_all_figures_of_the_seven_tables_are_there(records):
    own = Counter((record["table"], record["model"]) for record in records if record["model"])
    assert len(own) == 7 * 15
    assert set(own.values()) == {7}
    for table, count in PRIOR_FIGURES.items():
        prior = [record for record in records if record["table"] == table and not record["model"]]
        assert len(prior) == count
        assert len({record["row"] for record in prior}) == PRIOR_ROWS[table]
    assert len(records) == 7 * 15 * 7 + 52
    assert {(int(record["table"]), record["task"]) for record in records} == set(enumerate(TASKS, start=1))
    assert set(TASKS) <= set(list_tasks())


def test_labels_and_names_are_those_of_the_registry(records):
    names = {(record["model"], record["label"]) for record in records if record["model"]}
    assert {name for name, _ in names} <= set(list_models())
    assert names == {(name, get_entry(name).label) for name, _ in names}


SAMPLE = [
    ("question_formation", "tf-nd", "full_accuracy", "hierarchical", 0.318, 0.19),
    ("question_formation", "tf-nd", "full_mean_log_ratio", "generalization", 8.563, 8.11),
    ("german_question_formation", "lstm-nd-r", "partial_log_ratio", "generalization", 8.862, 0.95),
    ("tense_reinflection_do", "rnn-sup-r", "partial_accuracy", "linear", 0.891, 0.02),
    ("passivization", "lstm-sup-r", "full_mean_log_ratio", "generalization", 17.25, 21.0),
    ("question_formation_have", "rnn", "partial_log_ratio", "generalization", 0.0, 0.0),
    ("tense_reinflection", "tf", "full_accuracy", "test", 0.999, 0.0),
    ("german_passivization", "lstm-nd-r", "partial_log_ratio", "generalization", 1.807, 0.62),
]


@pytest.mark.parametrize(("task", "model", "metric", "group", "value", "deviation"), SAMPLE)
def test_figures_stand_where_the_paper_has_them(task, model, metric, group, value, deviation):
    statistic = read_paper(FILE)[task, model][metric, group]
    assert (statistic.mean, statistic.standard_deviation, statistic.n) == (value, deviation, 5)


def test_prior_work_keeps_its_marks(records):
    notes = {}
    for record in records:
        if not record["model"]:
            notes.setdefault((record["table"], record["label"], record["value"]), record["notes"])
    assert "uses ground-truth parse trees" in notes["1", "Tree-GRU", "0.99"]
    assert "overtrained" in notes["1", "Tf", "0.92"]
    assert "overtrained" not in notes["1", "Tf", "0.34"]
    assert "large pre-trained model" in notes["5", "mBART", "0.59"]
    assert "not directly comparable" in notes["7", "mBART", "0.98"]
    assert all(record["source"] == "paper" for record in records if record["model"])
    assert all("reference" in record["source"] for record in records if not record["model"])


def test_every_figure_stands_in_its_row_of_the_paper(records, shared):
    text = (shared / "seeds" / "000_bearing_syntactic_fruit.txt").read_text(encoding="utf-8")
    tables = [part.partition("\n\n")[0] for part in text.split("\nArchitecture\t")[1:]]
    assert len(tables) == 7
    for record in records:
        line = tables[int(record["table"]) - 1].split("\n")[int(record["row"])]
        cells = [cell.strip("$*").replace("$", "") for cell in line.split("\t")]
        assert cells[0].startswith(record["label"])
        assert record["value"] in cells
        if record["model"]:
            assert cells[0] == record["label"]
            deviation = cells[cells.index(record["value"]) + 1]
            deviations = [cells[i + 1] for i, cell in enumerate(cells) if cell == record["value"]]
            assert any(float(d.lstrip("±")) == float(record["standard_deviation"]) for d in deviations), deviation


def test_what_seed_002_says_has_no_invented_figures(all_records, shared):
    text = (shared / "seeds" / "002_guig.txt").read_text(encoding="utf-8").replace(",", "")
    rows = [record for record in all_records if record["task"] == "paraphrase"]
    assert len(rows) == 26
    for row in rows:
        if row["model"]:
            assert not row["value"]
            assert row["notes"].startswith("in words: ")
        else:
            assert f"{row['value']}" in text.replace("$", " ").split()
    assert not [key for key in read_paper(FILE) if key[0] == "paraphrase"]


def test_a_missing_file_is_one_clear_error(tmp_path):
    with pytest.raises(UserError, match="cannot read the paper's figures"):
        read_paper(tmp_path / "paper.csv")


def test_prior_work_is_a_table_of_its_own_with_what_is_said_of_it():
    prior = read_prior(FILE)
    on_lstm = next(work for work in prior["question_formation"] if work.label == "ON-LSTM")
    assert on_lstm.figures == {("full_accuracy", "test"): 0.93, ("partial_accuracy", "hierarchical"): 0.05}
    assert on_lstm.notes == "accuracy of greedy outputs; an encoder-decoder"
    summary = summarize([make_row(task="question_formation")])
    (table,) = prior_tables(summary, prior)
    line = next(row for row in table.rows if row[0] == "ON-LSTM")
    assert table.headings[:3] == ["model", "FA test", "PA hier."]
    assert line == ["ON-LSTM", "0.93", "0.05", "McCoy et al. 2020 (reference 19)", on_lstm.notes]
    assert prior_tables(summarize([make_row(task="paraphrase")]), prior) == []
