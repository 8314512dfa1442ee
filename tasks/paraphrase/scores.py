"""Figures of generated texts: BLEU against the target, and edit distances of their parses to the target's parse.

Words and ROOT are left out of parses before they are compared (seed 002). An output without a parse counts as the empty
tree, whose distance is the number of nodes of the other, so that every figure is over all pairs of the set.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tasks import metrics
from tasks.evaluation.figures import NO_ITEMS, Figure
from tasks.evaluation.processes import map_shares
from tasks.metrics import Nodes

LEVELS = tuple(range(2, 9))  # of N-TED, beside the full trees
TOP = 2  # levels that are compared with what was asked for


class SyntaxScore(NamedTuple):
    """Of one output; distances are to the reference."""

    parsed: bool
    nodes: int
    distance: int
    normalized: tuple[float, ...]  # at LEVELS, then in full
    follows: bool  # its first TOP levels are those asked for


def score_syntax(found: Nodes | None, reference: Nodes, asked: Nodes) -> SyntaxScore:
    """found: the output's parse, None if it has none; reference: the target's; asked: the parse or template given."""
    tree = found or Nodes([], [])
    normalized = [metrics.normalized_tree_edit_distance(tree, reference, levels) for levels in (*LEVELS, None)]
    distance = metrics.tree_edit_distance(tree, reference)
    follows = found is not None and _same(found.cut(TOP), asked.cut(TOP))
    return SyntaxScore(found is not None, len(tree.labels), distance, tuple(normalized), follows)


def score_all(
    found: Callable[[list[int]], Sequence[Nodes | None]], references: Sequence[Nodes], asked: Sequence[Nodes]
) -> list[tuple[Nodes | None, SyntaxScore]]:
    """Parses and their scores; `found` gives the parses of some outputs, and each process asks for its share."""

    def compute(share: list[int]) -> list[tuple[Nodes | None, SyntaxScore]]:
        trees = found(share)
        return [
            (tree, score_syntax(tree, references[index], asked[index]))
            for index, tree in zip(share, trees, strict=True)
        ]

    return map_shares(compute, len(references))


def text_figures(
    group: str, ending: str, outputs: Sequence[str], targets: Sequence[Sequence[str] | str], note: str
) -> list[Figure]:
    """BLEU, with its signature, and the mean length of outputs."""
    if not outputs:
        return [Figure(group, f"{metric}{ending}", None, 0, NO_ITEMS) for metric in ("bleu", "output_tokens")]
    result = metrics.bleu(outputs, targets)
    facts = [part for part in (note, result["signature"], result["notice"]) if part]
    length = metrics.mean([len(output.split()) for output in outputs])
    return [
        Figure(group, f"bleu{ending}", result["score"], len(outputs), "; ".join(facts)),
        Figure(group, f"output_tokens{ending}", length.value, length.n, f"{note}; mean number of tokens"),
    ]


def syntax_figures(group: str, ending: str, scores: Sequence[SyntaxScore], note: str) -> list[Figure]:
    """TED, N-TED by level, and how often the first levels are those asked for."""
    n = len(scores)
    note = f"{note}; distances to the target's parse" if n else NO_ITEMS
    columns: dict[str, list[float]] = {
        "ted": [score.distance for score in scores],
        **{
            f"n_ted_{levels}": [score.normalized[place] for score in scores]
            for place, levels in enumerate([*map(str, LEVELS), "full"])
        },
        "top_2_match": [score.follows for score in scores],
        "unparsed": [not score.parsed for score in scores],
        "output_nodes": [score.nodes for score in scores],
    }
    notes = {
        "top_2_match": "share whose first 2 levels are those asked for",
        "unparsed": "share without a parse, which counts as the empty tree",
        "output_nodes": "mean number of nodes",
    }
    return [
        Figure(
            group,
            f"{metric}{ending}",
            metrics.mean(values).value,
            n,
            "; ".join(filter(None, [note, notes.get(metric)])),
        )
        for metric, values in columns.items()
    ]


def length_figures(group: str, parses: Sequence[Nodes]) -> list[Figure]:
    """Mean lengths of the targets' parses as sequences: a node with its level a step, or brackets as SCPN has them."""
    nodes = metrics.mean([len(parse.labels) for parse in parses])
    bracketed = metrics.mean([bracket_length(parse) for parse in parses])
    note = "targets' parses" if parses else NO_ITEMS
    return [
        Figure(group, "node_level_length", nodes.value, nodes.n, f"{note}; a step for each node and its level"),
        Figure(group, "bracket_length", bracketed.value, bracketed.n, f"{note}; a step for each bracket and label"),
    ]


def bracket_length(parse: Nodes) -> int:
    """Steps of the bracketed form: (S(NP)(VP)) has 9."""
    text = metrics.brackets(parse)
    return len(text.replace("(", " ( ").replace(")", " ) ").split())


def _same(a: Nodes, b: Nodes) -> bool:
    return list(a.labels) == list(b.labels) and list(a.levels) == list(b.levels)
