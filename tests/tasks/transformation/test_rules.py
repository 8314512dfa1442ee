"""The rules and partial matches on sentences by hand: figure 1 of seed 000, every construction, bad input."""

import unicodedata

import pytest

from tasks import list_tasks, load_task
from zoo.errors import UserError

SEVEN = [
    "question_formation",
    "question_formation_have",
    "german_question_formation",
    "tense_reinflection",
    "tense_reinflection_do",
    "passivization",
    "german_passivization",
]

# task, source, hierarchical output, linear output (None: the same)
FIGURE_1 = [
    ("question_formation", "my raven does change . decl", "my raven does change .", None),
    ("question_formation", "my raven does change . quest", "does my raven change ?", None),
    (
        "question_formation",
        "my raven that doesn't sleep does change . quest",
        "does my raven that doesn't sleep change ?",
        "doesn't my raven that sleep does change ?",
    ),
    ("german_question_formation", "dein Rabe kann feiern . decl", "dein Rabe kann feiern .", None),
    ("german_question_formation", "dein Rabe kann feiern . quest", "kann dein Rabe feiern ?", None),
    (
        "german_question_formation",
        "dein Rabe , der gegessen hat , kann feiern . quest",
        "kann dein Rabe , der gegessen hat , feiern ?",
        "hat dein Rabe , der gegessen , kann feiern ?",
    ),
    ("tense_reinflection_do", "some newts did smile . PAST", "some newts did smile .", None),
    ("tense_reinflection_do", "some newts did smile . PRESENT", "some newts do smile .", None),
    (
        "tense_reinflection_do",
        "some newts by our yak did smile . PRESENT",
        "some newts by our yak do smile .",
        "some newts by our yak does smile .",
    ),
    ("passivization", "her yak amused her newt . decl", "her yak amused her newt .", None),
    ("passivization", "her yak amused her newt . passiv", "her newt was amused by her yak .", None),
    (
        "passivization",
        "her yak by her zebras amused her newt . passiv",
        "her newt was amused by her yak by her zebras .",
        "her zebras were amused by her yak .",
    ),
]

BY_HAND = [
    (
        "question_formation",
        "your yaks who some newt does admire don't eat . quest",
        "don't your yaks who some newt does admire eat ?",
        "does your yaks who some newt admire don't eat ?",
    ),
    (
        "question_formation",
        "her newt does admire the yaks that do sleep . quest",
        "does her newt admire the yaks that do sleep ?",
        None,
    ),
    (
        "question_formation_have",
        "the newt by my yaks hasn't swum . quest",
        "hasn't the newt by my yaks swum ?",
        None,
    ),
    (
        "question_formation_have",
        "the newts that have swum haven't read . quest",
        "haven't the newts that have swum read ?",
        "have the newts that swum haven't read ?",
    ),
    (
        "german_question_formation",
        "die Esel neben dem Hund haben einen Geier , den mein Pfau bedauern kann , verwirrt . quest",
        "haben die Esel neben dem Hund einen Geier , den mein Pfau bedauern kann , verwirrt ?",
        None,
    ),
    (
        "tense_reinflection",
        "the yaks that my newt amused near your quails read . PRESENT",  # not of the grammar, yet the rules apply
        "the yaks that my newt amuses near your quails read .",
        None,
    ),
    (
        "tense_reinflection",
        "the newt near my yaks read . PRESENT",
        "the newt near my yaks reads .",
        "the newt near my yaks read .",
    ),
    (
        "tense_reinflection",
        "the yak who my newts confused ate . PRESENT",
        "the yak who my newts confuse eats .",
        "the yak who my newts confuse eat .",
    ),
    (
        "tense_reinflection",
        "the yaks who high_fived my newt admired a newt that swam . PRESENT".replace(" a ", " some "),
        "the yaks who high_five my newt admire some newt that swims .",
        "the yaks who high_five my newt admires some newt that swims .",
    ),
    (
        "tense_reinflection_do",
        "the yak that didn't move didn't applaud our newts who my quail did comfort . PRESENT",
        "the yak that doesn't move doesn't applaud our newts who my quail does comfort .",
        None,
    ),
    (
        "passivization",
        "the newts confused some yaks upon her quail . passiv",
        "some yaks upon her quail were confused by the newts .",
        None,
    ),
    (
        "passivization",
        "her yak by her zebras amused her newts near our quail . passiv",
        "her newts near our quail were amused by her yak by her zebras .",
        "her zebras were amused by her yak .",
    ),
    (
        "german_passivization",
        "die Raben trösteten den Löwen unter meinem Papagei . passiv",
        "der Löwe unter meinem Papagei wurde von den Raben getröstet .",
        None,
    ),
    (
        "german_passivization",
        "ein Löwe bei den Löwen unterhielt die Raben . passiv",
        "die Raben wurden von einem Löwen bei den Löwen unterhalten .",
        "die Löwen wurden von einem Löwen unterhalten .",
    ),
    (
        "german_passivization",
        "meine Pfaue hinter unserem Raben nervten ihren Esel . passiv",
        "ihr Esel wurde von meinen Pfauen hinter unserem Raben genervt .",
        "unser Rabe wurde von meinen Pfauen genervt .",
    ),
]


@pytest.mark.parametrize(("name", "source", "hierarchical", "linear"), FIGURE_1 + BY_HAND)
def test_rules(name, source, hierarchical, linear):
    task = load_task(name)
    assert task.hierarchical(source) == hierarchical
    assert task.linear(source) == (linear or hierarchical)


def test_nominative_fix_is_switchable():
    source = "die Raben trösteten den Löwen . passiv"
    assert load_task("german_passivization").hierarchical(source).startswith("der Löwe wurde")
    as_published = load_task("german_passivization", nominative_fix=False)
    assert as_published.hierarchical(source).startswith("der Löwen wurde")
    linear = as_published.linear("die Esel neben dem Raben trösteten den Hund . passiv")
    assert linear == "der Raben wurde von den Eseln getröstet ."
    assert as_published.parse_target("der Löwen wurde von den Raben getröstet .").leaves()[1] == "Löwen"


def test_decomposed_umlauts_give_the_composed_output():
    source = unicodedata.normalize("NFD", "dein Löwe kann lächeln . quest")
    assert load_task("german_question_formation").hierarchical(source) == "kann dein Löwe lächeln ?"


@pytest.mark.parametrize(
    ("name", "output", "reference", "match"),
    [
        ("question_formation", "does your newt", "does my yak sleep ?", True),
        ("question_formation", "doesn't my yak sleep ?", "does my yak sleep ?", False),
        ("question_formation", "", "does my yak sleep ?", False),
        ("passivization", "our newt swims", "her newt was amused by her yak .", True),
        ("passivization", "her newts were amused by her yak .", "her newt was amused by her yak .", False),
        ("passivization", "her", "her newt was amused by her yak .", False),
        ("tense_reinflection", "my yak eats .", "the newts eats .", True),
        ("tense_reinflection", "the newts eat .", "the newts eats .", False),  # number of the main verb
        ("tense_reinflection", "the newts sleeps .", "the newts eats .", False),  # another main verb
        ("tense_reinflection", "the newts eats . .", "the newts eats .", False),
        ("tense_reinflection", "the cats eats .", "the newts eats .", False),  # no word of the task
        ("tense_reinflection", "the newts eats ?", "the newts eats .", False),
        ("tense_reinflection", "the yaks who sleeps eat .", "the yaks who moves eat .", True),
        ("tense_reinflection", "the yaks who sleeps eats .", "the yaks who moves eat .", False),
        ("tense_reinflection_do", "the yaks do eat .", "my newt do sleep .", True),
        ("tense_reinflection_do", "the yaks does eat .", "my newt do sleep .", False),
        ("tense_reinflection_do", "the yaks who did eat do eat .", "my yak that does sleep do move .", True),
    ],
)
def test_partial_match(name, output, reference, match):
    assert load_task(name).partial_match(output, reference) is match


def test_word_classes_are_those_of_the_published_scorer(shared):
    lines = (shared / "data" / "transformations" / "pos_tense.txt").read_text(encoding="utf-8").splitlines()
    letters = dict(line.split() for line in lines if len(line.split()) == 2)
    for name in ("tense_reinflection", "tense_reinflection_do"):
        classes = load_task(name).rules.classes
        pairs = {(classes[word], letters[word]) for word in classes}
        assert len({ours for ours, _ in pairs}) == len({theirs for _, theirs in pairs}) == len(pairs) > 5


def test_the_seven_tasks_and_what_scoring_asks_of_them():
    assert [name for name in list_tasks() if name in SEVEN] == SEVEN
    by_name = {name: load_task(name) for name in SEVEN}
    assert {name for name, task in by_name.items() if task.partial == "first_word"} == set(SEVEN[:3])
    assert {task.partial for task in by_name.values()} == {"first_word", "sampled"}
    assert [task.transform_tags for task in by_name.values()] == [
        ("quest",), ("quest",), ("quest",), ("PRESENT",), ("PRESENT",), ("passiv",), ("passiv",)
    ]  # fmt: skip
    assert all(task.family == "transformation" and task.label for task in by_name.values())


def test_numbers_of_word_types():
    assert [len(load_task(name).words) for name in SEVEN] == [68, 68, 104, 98, 69, 54, 94]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: load_task("question_formatoin"),
            r"unknown task 'question_formatoin'\. Did you mean question_formation",
        ),
        (lambda: load_task("passivization", nominative_fix=False), "unknown option of passivization 'nominative_fix'"),
        (lambda: load_task("german_passivization", nominativ_fix=False), "Did you mean nominative_fix"),
        (lambda: load_task("passivization").hierarchical("her yak amused her newt ."), "lacks a tag.* decl or passiv"),
        (lambda: load_task("passivization").linear(""), "lacks a tag"),
        (lambda: load_task("german_passivization", nominative_fix="no"), "is 'no'; allowed: True, False"),
        (lambda: load_task("german_passivization", nominative_fix=[]), r"is \[\]; allowed: True, False"),
        (lambda: load_task("german_passivization", nominative_fix=1), "is 1; allowed: True, False"),
        (lambda: load_task("passivization").hierarchical("her yak amused . passiv"), r"'\.' \(word 4\) cannot stand"),
        (
            lambda: load_task("passivization").hierarchical("her yakk amused her newt . decl"),
            "'yakk'.*did you mean yak",
        ),
        (lambda: load_task("question_formation").hierarchical("foo does sleep . quest"), "'foo' is not in the vocab"),
        (lambda: load_task("question_formation").linear("foo does sleep . quest"), "'foo' is not in the vocabulary"),
        (lambda: load_task("passivization").hierarchical("passiv"), "its end cannot stand there"),
        (lambda: load_task("question_formation").linear("my yak that sleep . quest"), "'sleep'"),
        (lambda: load_task("tense_reinflection").partial_match("a", "b"), "'b' is no reference"),
    ],
)
def test_bad_input_is_one_clear_error(call, message):
    with pytest.raises(UserError, match=message):
        call()
