"""Models that are given a gold tree beside the source: ground truth that the other models do not see.

guide source    the tree of the source, with its tag as the root's first child, so that both rules stay possible
guide target    the tree of the target, which gives the answer's form away
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasks.paraphrase.linearization import Linear, linearize
from tasks.paraphrase.rows import text_rows
from tasks.paraphrase.vocabulary import add_syntax
from tasks.tokenization import word_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from tasks.training.rows import Rows
    from tasks.transformation.corpus import Example
    from tasks.transformation.task import TransformationTask

LEVELS = 8  # the tasks' trees have 7


def guided_tokenizer(task: "TransformationTask") -> "PreTrainedTokenizerFast":
    """The task's words, and the nodes and levels of its trees; tags are nodes too."""
    labels = {symbol.partition(".")[0] for symbol in task.grammar.rules if not symbol[0].islower()}
    return add_syntax(word_tokenizer(task.words), [*sorted(labels), *task.entry.tags], LEVELS)


def guided_rows(
    task: "TransformationTask",
    tokenizer: "PreTrainedTokenizerFast",
    examples: "Sequence[Example]",
    guide: str = "source",
) -> "Rows":
    """Examples as rows of a guided model (`tasks.paraphrase.rows`). Raises UserError for a sentence outside the task's
    grammar."""
    return text_rows(
        tokenizer,
        "guided",
        [example.source for example in examples],
        [guide_tree(task, example, guide) for example in examples],
        [example.target for example in examples],
    )


def guide_tree(task: "TransformationTask", example: "Example", guide: str) -> Linear:
    """The tree that a model is given with an example."""
    if guide == "target":
        return linearize(task.parse_target(example.target))
    root, *nodes = zip(*linearize(task.parse(example.source)), strict=True)
    tagged = [root, (example.source.split()[-1], 2), *nodes]
    return Linear([node for node, _ in tagged], [level for _, level in tagged])
