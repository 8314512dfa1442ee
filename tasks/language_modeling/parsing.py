"""Trees from levels against gold trees: F1, recall by label, and the same of trees that need no model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.evaluation.figures import NO_ITEMS, Figure
from tasks.language_modeling.baselines import BASELINES, RANDOM_DRAWS, random_branching
from tasks.language_modeling.levels import Levels, encode_words, known_form, middle_layer, sentence_levels
from tasks.language_modeling.treebank import Constituents, constituents
from tasks.language_modeling.trees import METHODS, Span, level_spans
from tasks.metrics import Average, mean
from tasks.metrics.bracketing import corpus_f1, count_brackets, proper_spans, recall_by_label, sentence_f1
from tasks.tokenization import encode

if TYPE_CHECKING:
    from nltk.tree import Tree

    from tasks.evaluation.evaluation import EvaluationSettings

SHORT = 10  # words of the sentences of WSJ10
LABELS = 6  # recall is reported of the most frequent ones

Predictions = list[set[Span]]  # of each sentence


class Gold(NamedTuple):
    """Sentences of two words or more with the constituents that count."""

    sentences: list[Constituents]
    note: str

    def spans(self) -> list[list[tuple[str, int, int]]]:
        """The labelled constituents of each sentence that are not trivial."""
        return [[span for span in s.spans if 1 < span[2] - span[1] < len(s.words)] for s in self.sentences]


def model_levels(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[Constituents],
    batch_tokens: int,
    keep_punctuation: bool,
) -> tuple[list[Levels], list[list[int]]]:
    """Levels of the words that count, and the token ids that were read.

    Punctuation is read where the vocabulary has it, as the training text then had it too, or where it is kept.
    """
    vocabulary = set(tokenizer.get_vocab())
    read, counted = [], []
    for sentence in sentences:
        marks = sentence.punctuation
        words = list(zip(sentence.words, marks, strict=True))
        fed = [
            (w, mark) for w, mark in words if not mark or keep_punctuation or known_form(w, vocabulary) in vocabulary
        ]
        read.append(encode_words(tokenizer, [word for word, _ in fed]))
        counted.append([place for place, (_, mark) in enumerate(fed) if keep_punctuation or not mark])
    levels = sentence_levels(model, read, batch_tokens)
    chosen = [[[layer[i] for i in places] for layer in rows] for rows, places in zip(levels, counted, strict=True)]
    return chosen, read


def score_trees(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    trees: Sequence["Tree"],
    source: str,
    training_set: Sequence[str],
    settings: "EvaluationSettings",
) -> list[Figure]:
    """All figures of a model's trees. The note says by which rules, and how much of the gold text it was trained on."""
    keep = settings.keep_punctuation
    sentences = [constituents(tree) for tree in trees]
    words = [s if keep else s.without_punctuation() for s in sentences]
    chosen = [i for i, sentence in enumerate(words) if len(sentence.words) > 1]
    levels, read = model_levels(model, tokenizer, [sentences[i] for i in chosen], settings.batch_tokens, keep)
    known = {tuple(encode(tokenizer, sentence)) for sentence in training_set}
    seen = sum(tuple(ids) in known for ids in read)
    note = (
        f"{source}; {len(chosen)} sentences of 2 words or more, {seen} of them in the training text; punctuation "
        f"{'kept' if keep else 'left out'}; constituents of one word or the whole sentence not counted"
    )
    return tree_figures(Gold([words[i] for i in chosen], note), levels)


def tree_figures(gold: Gold, levels: Sequence[Levels]) -> list[Figure]:
    """All figures of all parsers on all sentences (set `trees`) and on those of at most 10 words (`trees_10`).

    levels: of each sentence of `gold`, for the same words.
    """
    layers = len(levels[0]) if levels else 0
    middle = middle_layer(layers)
    parsers = {}
    for number in sorted(range(1, layers + 1), key=lambda number: number != middle):  # the default comes first
        for method in METHODS:
            name = method if number == middle else f"layer_{number}_{method}"
            parsers[name] = [[level_spans(rows[number - 1], method)] for rows in levels]
    lengths = [len(sentence.words) for sentence in gold.sentences]
    for name, baseline in BASELINES.items():
        parsers[name] = [[baseline(words)] for words in lengths]
    parsers["random"] = [[random_branching(words, draw) for draw in range(RANDOM_DRAWS)] for words in lengths]
    figures = []
    for name, limit in (("trees", max(lengths, default=0)), (f"trees_{SHORT}", SHORT)):
        chosen = [i for i, words in enumerate(lengths) if words <= limit]
        part = Gold([gold.sentences[i] for i in chosen], gold.note)
        for parser, draws in parsers.items():
            note = _note(parser, middle, layers, part)
            labels = name == "trees" and not parser.startswith("layer_")
            figures += _score(name, parser, part, [draws[i] for i in chosen], note, labels=labels)
    return figures


def _score(
    name: str, parser: str, gold: Gold, draws: list[list[list[Span]]], note: str, *, labels: bool
) -> list[Figure]:
    """F1 and recall of one parser, means over its draws; draws: for each sentence one tree or several."""
    if not gold.sentences:
        return [Figure(name, f"{kind}_{parser}", None, 0, NO_ITEMS) for kind in ("sentence_f1", "corpus_f1")]
    labelled = gold.spans()
    sentence, corpus, recall = [], [], []
    for trees in zip(*draws, strict=True):
        predicted = [proper_spans(spans, len(s.words)) for spans, s in zip(trees, gold.sentences, strict=True)]
        counts = [
            count_brackets(spans, {(begin, end) for _, begin, end in right})
            for spans, right in zip(predicted, labelled, strict=True)
        ]
        sentence.append(sentence_f1(counts))
        corpus.append(corpus_f1(counts))
        recall.append(recall_by_label(predicted, labelled))
    figures = [
        Figure(name, f"{kind}_{parser}", _over(values).value, len(gold.sentences), note)
        for kind, values in (("sentence_f1", sentence), ("corpus_f1", corpus))
    ]
    for label in list(recall[0])[:LABELS] if labels else ():
        share = _over([values[label] for values in recall])
        figures.append(Figure(name, f"recall_{label}_{parser}", share.value, share.n, note))
    return figures


def _over(draws: Sequence[Average]) -> Average:
    return Average(mean([draw.value for draw in draws if draw.value is not None]).value, draws[0].n)


def _note(parser: str, middle: int, layers: int, gold: Gold) -> str:
    if parser in BASELINES:
        how = "no model"
    elif parser == "random":
        how = f"no model, mean over {RANDOM_DRAWS} draws"
    else:
        how = f"layer {middle if parser in METHODS else parser.split('_')[1]} of {layers}"
    return f"{how}; {gold.note}"
