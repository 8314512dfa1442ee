"""Metrics as pure functions; `tasks.metrics.evaluate_modules` wraps them for the `evaluate` library."""

from tasks.metrics.accuracy import (
    exact_match,
    expected_full_accuracy,
    first_word_accuracy,
    forced_choice_accuracy,
    full_log_ratio,
    full_mean_log_ratio,
    log_mean_probability,
    partial_log_ratio,
    sampled_accuracy,
)
from tasks.metrics.aggregate import Average, cross_entropy_per_token, macro_average, mean, micro_average
from tasks.metrics.bleu_score import bleu
from tasks.metrics.likelihood import (
    NOT_SCORED,
    GreedyScores,
    SequenceScores,
    align,
    greedy_correct,
    sequence_log_probability,
    token_log_probabilities,
)
from tasks.metrics.tree_distance import normalized_tree_edit_distance, tree_edit_distance
from tasks.metrics.trees import Nodes, brackets, tree_nodes

__all__ = [
    "NOT_SCORED",
    "Average",
    "GreedyScores",
    "Nodes",
    "SequenceScores",
    "align",
    "bleu",
    "brackets",
    "cross_entropy_per_token",
    "exact_match",
    "expected_full_accuracy",
    "first_word_accuracy",
    "forced_choice_accuracy",
    "full_log_ratio",
    "full_mean_log_ratio",
    "greedy_correct",
    "log_mean_probability",
    "macro_average",
    "mean",
    "micro_average",
    "normalized_tree_edit_distance",
    "partial_log_ratio",
    "sampled_accuracy",
    "sequence_log_probability",
    "token_log_probabilities",
    "tree_edit_distance",
    "tree_nodes",
]
