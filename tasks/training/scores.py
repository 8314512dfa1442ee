"""Scores of a sample of the generalization set during training: the rule that a model follows at each checkpoint."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.evaluation.guided import reader_for
from tasks.evaluation.scoring import EncodedPair, PairScores, score_batch
from tasks.evaluation.sets import RULES, encode_pairs, scored_sets
from tasks.metrics import expected_full_accuracy, full_mean_log_ratio
from tasks.training.batches import length_batches
from zoo.errors import UserError

SIZE = 500  # of the sample
SEED = 0  # of the sample, the same for every run, so that curves can be compared
BATCH_TOKENS = 2048  # of a batch of one process; no batch is smaller than its longest string


class GeneralizationSample:
    """Up to `SIZE` examples of the generalization set, with the outputs of both rules, encoded once.

    Draws from a generator of its own and scores without dropout: training goes on as it would have without it.
    """

    def __init__(self, task: Any, tokenizer: PreTrainedTokenizerBase, examples: Sequence[Any]) -> None:
        """task, examples: as from `load_task` and its `load_data`. Raises UserError for an empty set."""
        if not examples:
            raise UserError("the generalization set is empty; leave out --score-during, or give a file with lines.")
        chosen = np.random.default_rng(SEED).permutation(len(examples))[:SIZE]
        pairs = scored_sets(task, {"generalization": [examples[index] for index in sorted(chosen)]})
        self._task, self._tokenizer, self._texts = task, tokenizer, {rule: pairs[rule] for rule in RULES}
        self._pairs = {rule: encode_pairs(tokenizer, pairs[rule]) for rule in RULES}
        self._first_word = task.partial == "first_word"

    def score(self, accelerator: Accelerator, model: PreTrainedModel) -> dict[str, Any]:
        """Full accuracy by either rule, full mean log ratio (nats) and, where it is exact, partial accuracy.

        `model` is the unwrapped model; the processes share the sample, and each has the result. A log ratio is None
        where an output has probability 0. Raises UserError where the model gives NaN.
        """
        model.eval()
        reader = reader_for(model, self._tokenizer, self._task, self._texts, self._pairs)
        scored = {rule: _share(accelerator, reader, pairs) for rule, pairs in self._pairs.items()}
        model.train()
        full = {rule: [pair.log_probability for pair in pairs] for rule, pairs in scored.items()}
        scores: dict[str, Any] = {
            "n": len(full[RULES[0]]),
            "full_accuracy": {rule: expected_full_accuracy(values).value for rule, values in full.items()},
            "full_mean_log_ratio": full_mean_log_ratio(*(full[rule] for rule in RULES)),
        }
        if self._first_word:
            first = {rule: [pair.first_word for pair in pairs] for rule, pairs in scored.items()}
            scores["partial_accuracy"] = {rule: expected_full_accuracy(values).value for rule, values in first.items()}
        return scores


def _share(accelerator: Accelerator, model: PreTrainedModel, pairs: Sequence[EncodedPair]) -> list[PairScores]:
    """Scores of all pairs, each by one process, on every process; in the same order for each rule."""
    lengths = np.array([len(source) + len(target) + 1 for source, target in pairs])
    batches = length_batches(lengths, max(BATCH_TOKENS, int(lengths.max())))
    scored: list[tuple[int, PairScores]] = []
    for indices in batches[accelerator.process_index :: accelerator.num_processes]:
        scored += zip(indices.tolist(), score_batch(model, [pairs[index] for index in indices]), strict=True)
    return [scores for _, scores in sorted(gather_object(scored), key=lambda item: item[0])]
