"""What tables show of the paraphrase task."""

COLUMNS = {
    ("bleu", "test"): "BLEU",
    ("ted", "test"): "TED",
    ("n_ted_3", "test"): "N-TED-3",
    ("n_ted_8", "test"): "N-TED-8",
    ("n_ted_full", "test"): "N-TED-f",
}
LEGEND = (
    "Paraphrase, the target's parse given: mean ± sample standard deviation over n runs. BLEU: against the target. "
    "TED: tree edit distance between the parse of the output and that of the target; N-TED: divided by the nodes of "
    "the target's parse, both cut to so many levels (f: whole). Less distance is better."
)
