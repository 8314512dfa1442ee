"""What tables show of the transformation tasks."""

# In the order of the paper's tables. Its column "Log Ratio" of full accuracy holds the mean over examples.
COLUMNS = {
    ("full_accuracy", "test"): "FA test",
    ("full_accuracy", "hierarchical"): "FA hier.",
    ("full_accuracy", "linear"): "FA linear",
    ("full_mean_log_ratio", "generalization"): "FA log ratio",
    ("partial_accuracy", "hierarchical"): "PA hier.",
    ("partial_accuracy", "linear"): "PA linear",
    ("partial_log_ratio", "generalization"): "PA log ratio",
}
LEGEND = (
    "Mean ± sample standard deviation over n runs. FA, PA: expected full and partial accuracy, on the test set and on "
    "the generalization set with the outputs of the hierarchical and of the linear rule. FA log ratio: mean over "
    "examples of log p(hierarchical) - log p(linear), so that it tells the rules apart where both FA print as 0.000. "
    "PA log ratio: log(PA hierarchical / PA linear). Positive: the hierarchical rule is preferred."
)
