"""Generated sets: distribution, disjointness, reproducibility, the cache."""

import itertools
import os
import subprocess
import sys
from collections import Counter

import pytest
from scipy.stats import chi2_contingency

from tasks import load_task
from tasks.transformation import cache as cache_module
from tasks.transformation.corpus import SIZES, build_sets
from tasks.transformation.files import read_pairs
from tasks.transformation.grammar import Rule
from zoo.errors import UserError

SEED = 0
SMALL = {"train": 300, "validation": 50, "test": 100, "generalization": 100}


def shape(phrases):
    """How the noun phrase among `phrases` is built: plain, with PP, with SBAR, or none."""
    phrase = next((part for part in phrases if part.label() == "NP"), None)
    if phrase is None:
        return "none"
    return next((part.label() for part in phrase if part not in (",",) and part.label() in ("PP", "SBAR")), "plain")


def cells(task, sources, tag):
    """Counts of (subject type, VP type) among the lines with `tag`, without plain subject + intransitive verb."""
    # Sentences with the same classes of words have the same structure, so one of them is parsed.
    lists = task.grammar.reachable_lists(["S"])
    classes = {word: symbol[:2] for symbol, words in lists.items() for word in words}
    counts, known = Counter(), {}
    for source in sources:
        *words, last = source.split()
        if last == tag:
            key = tuple(classes[word] for word in words)
            if key not in known:
                tree = task.parse(source)
                known[key] = shape([tree[0]]), shape(tree[1])
            counts[known[key]] += 1
    del counts["plain", "none"]
    return counts


def test_structures_are_distributed_as_in_the_published_test_set(task, published):
    theirs = [source for _, source, _ in read_pairs(published / f"{task.name}.test")]
    ours = [example.source for example in task.load_data(seed=SEED, splits=["test"]).sets["test"]]
    for tag in task.entry.tags:
        a, b = cells(task, theirs, tag), cells(task, ours, tag)
        table = [[counts[cell] for cell in sorted(a.keys() | b.keys())] for counts in (a, b)]
        assert len(table[0]) >= 2
        assert chi2_contingency(table).pvalue > 0.001, (tag, table)


def test_sets_are_disjoint_and_lines_follow_the_rules(task):
    sets = task.load_data(seed=SEED).sets
    assert {split: len(examples) for split, examples in sets.items()} == SIZES
    bases = {split: {example.base for example in examples} for split, examples in sets.items()}
    for one, other in itertools.combinations(bases.values(), 2):
        assert not one & other
    for split, examples in sets.items():
        assert len({example.source for example in examples}) == len(examples)
        for source, target in examples[:1000]:
            assert target == task.hierarchical(source)
            assert (target == task.linear(source)) is (split != "generalization")
    assert {word for examples in sets.values() for line in examples for word in " ".join(line).split()} == set(
        task.words
    )


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("question_formation", 0.40),
        ("question_formation_have", 0.38),
        ("german_question_formation", 0.38),
        ("tense_reinflection", 0.41),
        ("tense_reinflection_do", 0.43),
        ("passivization", 0.33),
        ("german_passivization", 0.33),
    ],
)
def test_share_of_transformed_lines(name, share):
    task = load_task(name)
    for split in ("train", "test"):
        examples = task.load_data(seed=SEED, splits=[split]).sets[split]
        transformed = sum(example.source.split()[-1] in task.transform_tags for example in examples)
        assert transformed / len(examples) == pytest.approx(share, abs=0.02)


def test_short_sentences_are_used_up_by_the_training_set():
    task = load_task("question_formation")
    sets = task.load_data(seed=SEED).sets
    short = {split: sum(len(e.source.split()) == 6 for e in sets[split]) / len(sets[split]) for split in sets}
    assert 0.04 < short["train"] < 0.12
    assert short["test"] < 0.005


@pytest.mark.parametrize("name", ["question_formation", "question_formation_have", "german_question_formation"])
def test_generalization_questions_have_two_unlike_auxiliaries_of_one_number(name):
    task = load_task(name)
    pairs = {frozenset(p) for p in (("do", "don't"), ("does", "doesn't"), ("has", "hasn't"), ("have", "haven't"))}
    pairs |= {frozenset(("kann", "hat")), frozenset(("können", "haben"))}
    for source, _ in task.sample("generalization", 2000, SEED):
        auxiliaries = [word for word in source.split() if word in task.rules.auxiliaries]
        assert len(auxiliaries) == 2
        assert frozenset(auxiliaries) in pairs


def test_samples_are_prefixes_of_the_set_of_task_and_seed(counted):
    task = load_task("passivization")
    sets = task.load_data(seed=3).sets
    for split, examples in sets.items():
        assert task.sample(split, 7, 3) == examples[:7]
        assert task.sample(split, 40, 3) == examples[:40]
    assert task.sample("train", 40, 3) != task.sample("train", 40, 4)
    assert task.load_data(seed=3, sizes={"train": 20}).sets == sets | {"train": sets["train"][:20]}


def test_larger_sets_than_usual_can_be_asked_for():
    data = load_task("passivization").load_data(seed=SEED, sizes={"validation": 1200}, splits=["validation"])
    assert data.sizes == {"validation": 1200}
    assert data.sets["validation"][:5] == load_task("passivization").sample("validation", 5, SEED)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda task: task.sample("train", 100_001, 0), "count 100001 is more than 100,000"),
        (lambda task: task.sample("test", 0, 0), "count is 0; allowed: a whole number, 1 or more"),
        (lambda task: task.sample("train", 2.5, 0), r"count is 2\.5; allowed: a whole number"),
        (lambda task: task.sample("train", True, 0), "count is True"),
        (lambda task: task.sample("train", 1, -3), "seed is -3; allowed: a whole number, 0 or more"),
        (lambda task: task.load_data(seed="1"), "seed is '1'"),
        (lambda task: task.load_data(sizes={"train": "5"}), "size of the train set is '5'; allowed: a whole number"),
        (lambda task: task.load_data(sizes={"train": 10**25}), "size of the train set is 10000"),
        (
            lambda task: task.sample("generalisation", 1, 0),
            "unknown split 'generalisation'. Did you mean generalization",
        ),
        (lambda task: task.load_data(splits=["dev"]), "unknown split 'dev'"),
        (lambda task: task.load_data(sizes={"trian": 5}), "Did you mean train"),
        (
            lambda task: task.load_data(sizes={"train": 0}),
            "size of the train set is 0; allowed: a whole number, 1 or more",
        ),
    ],
)
def test_bad_requests_are_one_clear_error(call, message):
    with pytest.raises(UserError, match=message):
        call(load_task("question_formation"))


def test_a_set_larger_than_the_language_is_refused(monkeypatch):
    monkeypatch.setattr("tasks.transformation.corpus.MAX_REJECTED", 2000)
    task = load_task("question_formation")
    short = Rule([("NP.sg", "VP.intr.sg", ".")], [1.0])  # 6 * 13 * 2 * 9 sentences, each with two tags
    monkeypatch.setattr(task.grammar, "rules", task.grammar.rules | {"S": short})
    message = r"no new train line in 2,000 draws after 2,\d{3} lines; ask for a smaller set"
    with pytest.raises(UserError, match=message):
        build_sets(task, 0, {"train": 2809}, frozenset())


def test_excluded_sentences_stay_out():
    task = load_task("passivization")
    first = build_sets(task, 0, {"train": 300}, frozenset())["train"]
    excluded = frozenset(example.base for example in first[:100])
    second = build_sets(task, 0, {"train": 300}, excluded)["train"]
    assert not excluded & {example.base for example in second}
    assert second[:150] == [example for example in first if example.base not in excluded][:150]


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """An empty cache, small sets, and the number of times that they were built."""
    monkeypatch.setenv("SYNTAX_ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tasks.transformation.task.SIZES", SMALL)
    calls = []

    def counting(*arguments):
        calls.append(arguments)
        return build_sets(*arguments)

    monkeypatch.setattr("tasks.transformation.corpus.build_sets", counting)
    return calls


def test_cache_is_used_and_broken_files_are_built_anew(counted):
    task = load_task("question_formation")
    sets = task.load_data().sets
    (path,) = cache_module.cache_folder().iterdir()
    whole = path.read_bytes()
    assert task.load_data().sets == sets
    assert len(counted) == 1
    broken = [b"", whole[: len(whole) // 2], whole[:-1], whole.replace(b"newt", b"yakk", 1), b"\xff" + whole]
    for count, content in enumerate(broken, start=2):
        path.write_bytes(content)
        assert task.load_data().sets == sets
        assert len(counted) == count
        assert path.read_bytes() == whole
    assert list(path.parent.iterdir()) == [path]  # nothing half-written is left


def test_cache_tells_seeds_sizes_tasks_and_options_apart(counted):
    for request in ({}, {"seed": 1}, {"sizes": {"train": 400}}):
        load_task("german_passivization").load_data(**request)
    load_task("german_passivization", nominative_fix=False).load_data()
    load_task("passivization").load_data()
    assert len(counted) == len(list(cache_module.cache_folder().iterdir())) == 5


def test_unwritable_cache_is_a_warning(counted, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SYNTAX_ZOO_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="not cached.*SYNTAX_ZOO_CACHE"):
        assert load_task("passivization").load_data().sizes == SMALL


def test_several_processes_share_the_cache(tmp_path):
    code = "import tasks; print(tasks.load_task('passivization').load_data().sizes)"
    environment = os.environ | {"SYNTAX_ZOO_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        assert process.communicate(timeout=100)[0].strip() == str(SIZES)
        assert process.returncode == 0
    assert len(list(tmp_path.iterdir())) == 1
