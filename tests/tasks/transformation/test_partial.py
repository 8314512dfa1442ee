"""The tests of partial accuracy by brute force: all outputs of a few words."""

import itertools

import pytest

from tasks import load_task

REFERENCES = {
    "question_formation": ("does my yak sleep ?", ["does", "do", "yak", "?"]),
    "passivization": ("her newt was amused .", ["newt", "her", "newts", "."]),
    "tense_reinflection": ("my yaks eat .", ["our", "newt", "eat", "eats", ".", "cat"]),
    "tense_reinflection_do": ("the yak does eat .", ["my", "newt", "does", "do", "sleep", "."]),
}


def naive_match(task, output, reference):
    """The tests as they are worded: first word; second word; length, word classes and form of the main verb."""
    if task.name.startswith("question"):
        return output[:1] == reference[:1]
    if task.name.startswith("passivization"):
        return output[1:2] == reference[1:2]
    classes, main = task.rules.classes, 2  # no relative clause in these references
    return (
        len(output) == len(reference)
        and all(word in classes for word in output)
        and [classes[word] for word in output] == [classes[word] for word in reference]
        and output[main] == reference[main]
    )


@pytest.mark.parametrize("name", REFERENCES)
def test_a_prefix_can_pass_if_and_only_if_some_output_that_begins_so_does(name):
    task = load_task(name)
    reference, words = REFERENCES[name]
    outputs = [list(output) for n in range(7 if len(words) < 5 else 6) for output in itertools.product(words, repeat=n)]
    matching = {tuple(output) for output in outputs if naive_match(task, output, reference.split())}
    test = task.partial_test(reference)
    assert {tuple(output) for output in outputs if test.passes(output)} == matching
    assert all(
        task.partial_match(" ".join(output), reference) == (tuple(output) in matching) for output in outputs[::7]
    )
    alive = {output[:n] for output in matching for n in range(len(output) + 1)}
    longest = max(map(len, outputs))
    decided = [output for output in outputs if len(output) < longest]
    assert {tuple(output) for output in decided if test.can_pass(output)} == {o for o in alive if len(o) < longest}
    assert 0 < len(matching) < len(outputs) / 2
