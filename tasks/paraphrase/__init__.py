"""Paraphrases under the guidance of a parse tree (seed 002): pairs of sentences with the trees of both."""

from typing import TYPE_CHECKING, Any

from tasks.paraphrase.linearization import delinearize, linearize
from tasks.paraphrase.pairs import Pair
from zoo.errors import unknown_name

if TYPE_CHECKING:
    from tasks.paraphrase.task import ParaphraseTask

TASKS = ("paraphrase",)
OPTIONS = {
    "levels": "levels of a tree that models read (default: 8)",
    "template_levels": "levels of a template (default: 3)",
    "pieces": "sub-word pieces of a new tokenizer (default: 16000, or whole words where no --data is given)",
    "parser": "what makes the trees that the data lack: stanza, benepar, grammar, or command:PROGRAM, which reads "
    "tokenised sentences and writes one bracketed tree a line (default: none)",
    "grammars": "without --data: the transformation tasks whose sentences and transforms make the pairs (default: "
    "[question_formation, passivization, tense_reinflection])",
}


def load_task(name: str, **options: Any) -> "ParaphraseTask":
    """The task; UserError for an option that it has not, or a value that the option cannot have."""
    from tasks.paraphrase.task import ParaphraseTask

    for option in options:
        if option not in OPTIONS:
            raise unknown_name(f"option of {name}", option, OPTIONS)
    return ParaphraseTask(**options)


__all__ = ["OPTIONS", "TASKS", "Pair", "delinearize", "linearize", "load_task"]
