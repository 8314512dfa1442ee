from tasks.comparison.summary import summarize
from tasks.comparison.tables import make_tables
from tests.tasks.comparison.example_rows import make_row


def names_and_notes(*settings):
    models = ("tf", "tf-sup", "tf-nd")
    rows = [
        make_row(model=model, label=model, settings=text, metric="bleu")
        for model, text in zip(models, settings, strict=False)
    ]
    (table,) = make_tables(summarize(rows), None)
    return [row[0] for row in table.rows], [note for note in table.notes if note.startswith("All")]


def test_what_all_models_of_a_table_have_in_common_is_said_once():
    names, notes = names_and_notes("a=1, b=2", "b=2", "b=2, c=3")
    assert names == ["tf [a=1]", "tf-sup", "tf-nd [c=3]"]
    assert notes == ["All models: b=2."]


def test_settings_of_a_single_model_or_of_some_stay_with_their_names():
    assert names_and_notes("a=1") == (["tf [a=1]"], [])
    assert names_and_notes("a=1", "") == (["tf [a=1]", "tf-sup"], [])


def test_models_that_are_given_gold_trees_are_marked():
    rows = [make_row(model=model, label=model, metric="bleu") for model in ("tf", "guig")]
    (table,) = make_tables(summarize(rows), None)
    assert [row[0] for row in table.rows] == ["tf", "guig‡"]
    assert "‡ uses ground-truth parse trees." in table.notes
