"""Gold trees beside the sources of the transformation tasks."""

import numpy as np
import pytest

from tasks import load_task
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from tasks.transformation import TASKS
from tasks.transformation.corpus import Example
from tasks.transformation.guided import LEVELS, guide_tree, guided_rows, guided_tokenizer
from zoo.errors import UserError

EXAMPLE = Example("my raven does change . quest", "does my raven change ?")


def test_the_source_tree_has_the_tag_as_its_first_child():
    task = load_task("question_formation")
    assert guide_tree(task, EXAMPLE, "source") == (
        ["S", "quest", "NP", "DT", "NN", "VP", "AUX", "VB"],
        [1, 2, 2, 3, 3, 2, 3, 3],
    )


def test_the_target_tree_has_no_tag():
    task = load_task("question_formation")
    assert guide_tree(task, EXAMPLE, "target") == (
        ["SQ", "AUX", "NP", "DT", "NN", "VP", "VB"],
        [1, 2, 2, 3, 3, 2, 3],
    )


def test_the_guide_is_an_option_of_the_task():
    assert load_task("question_formation").guide == "source"
    assert load_task("question_formation", guide="target").guide == "target"
    with pytest.raises(UserError, match=r"'gold'.*source, target"):
        load_task("question_formation", guide="gold")


@pytest.mark.parametrize("name", TASKS)
def test_every_node_of_every_task_is_in_the_vocabulary(name):
    task = load_task(name)
    tokenizer = guided_tokenizer(task)
    examples = task.sample("train", 40, 0)
    vocabulary = SyntaxVocabulary.of(tokenizer)
    for guide in ("source", "target"):
        for example in examples:
            nodes, levels = guide_tree(task, example, guide)
            assert set(nodes) <= set(vocabulary.labels)
            assert max(levels) < LEVELS
        inputs, labels = guided_rows(task, tokenizer, examples, guide).batch(np.array([3]))
        assert tokenizer.decode(inputs["input_ids"][0]) == f"<bos> {examples[3].source} <eos>"
        assert tokenizer.decode(inputs["decoder_input_ids"][0]) == f"<bos> {examples[3].target}"
        assert tokenizer.decode(labels[0]) == f"{examples[3].target} <eos>"
        nodes, levels = guide_tree(task, examples[3], guide)
        assert vocabulary.decode(inputs["node_ids"][0].tolist(), inputs["level_ids"][0].tolist()) == (nodes, levels)
