"""What tables show of the paraphrase task."""

COLUMNS = {
    ("bleu", "test"): "BLEU",
    ("ted", "test"): "TED",
    ("n_ted_3", "test"): "N-TED-3",
    ("n_ted_8", "test"): "N-TED-8",
    ("n_ted_full", "test"): "N-TED-f",
    ("top_2_match", "test"): "top 2",
    ("bleu_expanded", "test"): "BLEU exp.",
    ("n_ted_full_expanded", "test"): "N-TED-f exp.",
    ("bleu_from_template", "test"): "BLEU tmpl.",
    ("n_ted_full_from_template", "test"): "N-TED-f tmpl.",
    ("bleu_source_copied", "test"): "BLEU copy",
    ("n_ted_full_source_copied", "test"): "N-TED-f copy",
}
LEGEND = (
    "Paraphrase: mean ± sample standard deviation over n runs. BLEU: against the target. TED: tree edit distance "
    "between the parse of the output (of an expander: its output) and that of the target; N-TED: divided by the nodes "
    "of the target's parse, both cut to so many levels (f: whole). Less distance is better. top 2: share of outputs "
    "whose first two levels are those asked for. The target's parse is given; exp.: a parse expanded from the "
    "template; tmpl.: the template itself; copy: no model, the source is copied."
)
