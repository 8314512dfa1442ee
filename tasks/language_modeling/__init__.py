"""Language modelling word by word, on any text or on sentences of the transformation grammars, and trees without
supervision from the levels of a trained ON-LSTM (seed 001).
"""

from typing import TYPE_CHECKING, Any

from tasks.language_modeling.trees import extract_tree
from zoo.errors import unknown_name

if TYPE_CHECKING:
    from tasks.language_modeling.task import LanguageModelingTask

TASKS = ("language_modeling",)
OPTIONS = {
    "text": "lines (default): every line of the text is a sentence; running: line breaks are blanks, a sentence ends "
    "at a word that ends in . ! or ?, or at a blank line",
    "batches": "sentences (default): each sentence from the initial state; continuous: the text in segments, the state "
    "carried over from one to the next, without its gradients. Only models whose state has a fixed size can do that "
    "(rnn, lstm, on-lstm); for the others it is an error, as attention would have to keep the whole text and a stack "
    "all that was pushed",
    "segment_tokens": "tokens of a segment, with continuous batches (default: 70)",
    "min_count": "words that come less often in the training set are read as <unk> (default: 2, or 1 if the text has "
    "<unk> already)",
    "grammars": "without --data: the transformation tasks whose sentences make the text (default: [question_formation, "
    "tense_reinflection, passivization])",
}


def load_task(name: str, **options: Any) -> "LanguageModelingTask":
    """The task; UserError for an option that it has not, or a value that the option cannot have."""
    from tasks.language_modeling.task import LanguageModelingTask

    for option in options:
        if option not in OPTIONS:
            raise unknown_name(f"option of {name}", option, OPTIONS)
    return LanguageModelingTask(**options)


__all__ = ["OPTIONS", "TASKS", "extract_tree", "load_task"]
