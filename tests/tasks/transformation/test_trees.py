"""Gold trees by hand, of sources and of targets."""

import pytest

from tasks import load_task
from zoo.errors import UserError

SOURCES = [
    (
        "question_formation",
        "my raven that doesn't sleep does change . quest",
        "(S (NP (NP (DT my) (NN raven)) (SBAR (WDT that) (VP (AUX doesn't) (VB sleep))))"
        " (VP (AUX does) (VB change)) .)",
    ),
    (
        "question_formation",
        "the yaks do amuse her newt who our quails do admire . decl",
        "(S (NP (DT the) (NNS yaks)) (VP (AUX do) (VB amuse) (NP (NP (DT her) (NN newt))"
        " (SBAR (WDT who) (NP (DT our) (NNS quails)) (VP (AUX do) (VB admire))))) .)",
    ),
    (
        "question_formation_have",
        "some newt by my yaks has swum . quest",
        "(S (NP (NP (DT some) (NN newt)) (PP (IN by) (NP (DT my) (NNS yaks)))) (VP (AUX has) (VBN swum)) .)",
    ),
    (
        "german_question_formation",
        "dein Rabe , der gegessen hat , kann den Esel trösten . quest",
        "(S (NP (NP (DT dein) (NN Rabe)) , (SBAR (WDT der) (VP (VBN gegessen) (AUX hat))) ,)"
        " (VP (AUX kann) (NP (DT den) (NN Esel)) (VB trösten)) .)",
    ),
    (
        "german_question_formation",  # may be read both ways; the subject relative is taken
        "die Esel , die ihre Hunde nerven können , haben gelesen . decl",
        "(S (NP (NP (DT die) (NNS Esel)) , (SBAR (WDT die) (VP (NP (DT ihre) (NNS Hunde)) (VB nerven) (AUX können))) ,)"
        " (VP (AUX haben) (VBN gelesen)) .)",
    ),
    (
        "tense_reinflection",
        "the newts that the yak admired read . PRESENT",
        "(S (NP (NP (DT the) (NNS newts)) (SBAR (WDT that) (NP (DT the) (NN yak)) (VP (VBD admired))))"
        " (VP (VBD read)) .)",
    ),
    (
        "tense_reinflection_do",
        "some newts by our yak did smile . PRESENT",
        "(S (NP (NP (DT some) (NNS newts)) (PP (IN by) (NP (DT our) (NN yak)))) (VP (AUX did) (VB smile)) .)",
    ),
    (
        "passivization",
        "her yak by her zebras amused her newt . passiv",
        "(S (NP (NP (DT her) (NN yak)) (PP (IN by) (NP (DT her) (NNS zebras))))"
        " (VP (VBD amused) (NP (DT her) (NN newt))) .)",
    ),
    (
        "german_passivization",
        "die Raben trösteten den Löwen unter meinem Papagei . passiv",
        "(S (NP (DT die) (NNS Raben)) (VP (VBD trösteten) (NP (NP (DT den) (NN Löwen))"
        " (PP (IN unter) (NP (DT meinem) (NN Papagei))))) .)",
    ),
]

TARGETS = [
    (
        "question_formation",
        "does my raven that doesn't sleep change ?",
        "(SQ (AUX does) (NP (NP (DT my) (NN raven)) (SBAR (WDT that) (VP (AUX doesn't) (VB sleep))))"
        " (VP (VB change)) ?)",
    ),
    (
        "question_formation",  # the linear rule's
        "doesn't my raven that sleep does change ?",
        "(SQ (AUX doesn't) (NP (NP (DT my) (NN raven)) (SBAR (WDT that) (VP (VB sleep))))"
        " (VP (AUX does) (VB change)) ?)",
    ),
    ("question_formation", "my raven does change .", "(S (NP (DT my) (NN raven)) (VP (AUX does) (VB change)) .)"),
    (
        "question_formation_have",
        "haven't the newts admired some yak ?",
        "(SQ (AUX haven't) (NP (DT the) (NNS newts)) (VP (VBN admired) (NP (DT some) (NN yak))) ?)",
    ),
    (
        "german_question_formation",
        "kann dein Rabe den Esel trösten ?",
        "(SQ (AUX kann) (NP (DT dein) (NN Rabe)) (VP (NP (DT den) (NN Esel)) (VB trösten)) ?)",
    ),
    (
        "tense_reinflection",
        "the newt near my yaks reads .",
        "(S (NP (NP (DT the) (NN newt)) (PP (IN near) (NP (DT my) (NNS yaks)))) (VP (VBZ reads)) .)",
    ),
    ("tense_reinflection", "my newts read .", "(S (NP (DT my) (NNS newts)) (VP (VBP read)) .)"),
    ("tense_reinflection", "my newt read .", "(S (NP (DT my) (NN newt)) (VP (VBD read)) .)"),
    (
        "tense_reinflection_do",  # the linear rule's
        "some newts by our yak does smile .",
        "(S (NP (NP (DT some) (NNS newts)) (PP (IN by) (NP (DT our) (NN yak)))) (VP (AUX does) (VB smile)) .)",
    ),
    (
        "passivization",
        "her newt was amused by her yak by her zebras .",
        "(S (NP (DT her) (NN newt)) (VP (AUX was) (VBN amused)"
        " (PP (IN by) (NP (NP (DT her) (NN yak)) (PP (IN by) (NP (DT her) (NNS zebras)))))) .)",
    ),
    (
        "german_passivization",
        "der Löwe wurde von den Raben getröstet .",
        "(S (NP (DT der) (NN Löwe)) (VP (AUX wurde) (PP (IN von) (NP (DT den) (NNS Raben))) (VBN getröstet)) .)",
    ),
    (
        "german_passivization",  # as published: the words stay, the tree is that of the right sentence
        "der Löwen wurde von den Raben getröstet .",
        "(S (NP (DT der) (NN Löwen)) (VP (AUX wurde) (PP (IN von) (NP (DT den) (NNS Raben))) (VBN getröstet)) .)",
    ),
]


@pytest.mark.parametrize(("name", "source", "tree"), SOURCES)
def test_trees_of_sources(name, source, tree):
    task = load_task(name)
    assert task.parse(source).pformat(margin=10_000) == tree
    assert task.parse(source.rpartition(" ")[0]) == task.parse(source)


@pytest.mark.parametrize(("name", "target", "tree"), TARGETS)
def test_trees_of_targets(name, target, tree):
    assert load_task(name).parse_target(target).pformat(margin=10_000) == tree


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("my raven does the change . decl", r"'the' \(word 4\)"),
        ("my raven do change .", r"'do' \(word 3\)"),
        ("my raven does change", "its end"),
        ("", "its end"),
        ("decl", "its end"),
    ],
)
def test_no_tree_for_what_is_no_sentence(line, place):
    with pytest.raises(UserError, match=f"no sentence of question_formation.grammar: {place} cannot stand there"):
        load_task("question_formation").parse(line)
