"""The rules, scores and trees on the published files."""

import pytest

from tasks import load_task
from tasks.transformation.files import read_pairs


def lines(folder, suffix):
    return [(source, target) for _, source, target in read_pairs(folder / f"{folder.name}.{suffix}")]


@pytest.mark.parametrize("suffix", ["dev", "test", "gen"])
def test_rules_explain_every_published_line(task, published, suffix):
    for source, target in lines(published, suffix):
        hierarchical, linear = task.hierarchical(source), task.linear(source)
        assert hierarchical == " ".join(task.rules.correct(target.split()))
        assert (linear == hierarchical) is (suffix != "gen"), source


@pytest.mark.parametrize(("suffix", "changed"), [("dev", 29), ("test", 49), ("gen", 152)])
def test_nominative_fix_changes_only_the_faulty_lines(shared, suffix, changed):
    folder = shared / "data" / "transformations" / "german_passivization"
    fixed, as_published = (load_task("german_passivization", nominative_fix=fix) for fix in (True, False))
    differences = 0
    for source, target in lines(folder, suffix):
        assert as_published.hierarchical(source) == target
        assert (as_published.linear(source) == target) is (suffix != "gen")
        differences += fixed.hierarchical(source) != target
    assert differences == changed


def test_word_types_are_those_of_the_files(task, published):
    texts = " ".join(
        f"{source} {target}" for suffix in ("dev", "test", "gen") for source, target in lines(published, suffix)
    )
    assert set(texts.split()) == set(task.words)


@pytest.mark.parametrize(("name", "percent"), [("passivization", 4.5), ("german_passivization", 6.0)])
def test_second_words_of_the_rules_coincide_at_the_published_rate(shared, name, percent):
    task = load_task(name)
    rows = lines(shared / "data" / "transformations" / name, "gen")
    same = sum(task.partial_match(task.linear(source), task.hierarchical(source)) for source, _ in rows)
    assert round(100 * same / len(rows), 1) == pytest.approx(percent, abs=0.06)


@pytest.mark.parametrize("name", ["question_formation", "tense_reinflection", "tense_reinflection_do"])
def test_rules_never_match_partially_where_they_differ(shared, name):
    task = load_task(name)
    for source, target in lines(shared / "data" / "transformations" / name, "gen")[::10]:
        assert task.partial_match(target, target)
        assert not task.partial_match(task.linear(source), target)


def test_gold_trees_have_the_words_as_leaves(task, published):
    for suffix in ("dev", "test", "gen"):
        for source, target in lines(published, suffix)[::10]:
            tree = task.parse(source)
            assert tree.leaves() == source.split()[:-1]
            assert tree == task.parse(source)
            for output in {target, task.hierarchical(source), task.linear(source)}:
                assert task.parse_target(output).leaves() == output.split()
            # "my newts read ." may be past or present.
            if source.split()[-1] not in task.transform_tags and " read " not in target:
                assert task.parse_target(target) == tree
