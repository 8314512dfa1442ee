"""Gold trees: the derivation of a sentence by the task's own grammar.

A node's label is its symbol up to the first dot; a symbol in lower case leaves no node, its children are its parent's.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from tasks.transformation.grammar import Grammar
from zoo.errors import UserError

if TYPE_CHECKING:
    from nltk.tree import Tree

Node: TypeAlias = "tuple[str, tuple[Node, ...]] | str"


def parse(grammar: Grammar, words: list[str], starts: Iterable[str]) -> "Tree":
    """The tree of `words` under the first of the `starts` that derives them; of several derivations that whose rules
    stand first in the grammar.

    Raises UserError for words that are no sentence of the grammar, naming the first word that cannot follow.
    """
    chart = _Chart(grammar, words)
    for start in starts:
        if node := chart.derivations(start, 0).get(len(words)):
            (tree,) = _build(node)
            return tree
    place = f"{words[chart.reached]!r} (word {chart.reached + 1})" if chart.reached < len(words) else "its end"
    raise UserError(f"{' '.join(words)!r} is no sentence of {grammar.name}: {place} cannot stand there.")


class _Chart:
    """Derivations of parts of a sentence, by symbol and first word."""

    def __init__(self, grammar: Grammar, words: list[str]) -> None:
        self.rules, self.words, self.reached = grammar.rules, words, 0
        self.known: dict[tuple[str, int], dict[int, Node]] = {}

    def derivations(self, symbol: str, begin: int) -> dict[int, Node]:
        """The first derivation for each end at which a phrase `symbol` that starts at `begin` can end."""
        key = (symbol, begin)
        if key not in self.known:
            self.known[key] = {}  # a left-recursive rule finds nothing instead of running for ever
            self.known[key] = self._derive(symbol, begin)
        return self.known[key]

    def _derive(self, symbol: str, begin: int) -> dict[int, Node]:
        self.reached = max(self.reached, begin)
        word = self.words[begin] if begin < len(self.words) else ""
        rule = self.rules.get(symbol)
        if rule is None:
            return {begin + 1: word} if word == symbol else {}
        if rule.is_list:
            return {begin + 1: (symbol, (word,))} if word in rule.words else {}
        found: dict[int, Node] = {}
        for alternative in rule.alternatives:
            partial: list[tuple[int, tuple[Node, ...]]] = [(begin, ())]
            for part in alternative:
                partial = [
                    (end, (*children, child))
                    for middle, children in partial
                    for end, child in self.derivations(part, middle).items()
                ]
            for end, children in partial:
                found.setdefault(end, (symbol, children))
        return found


def _build(node: Node) -> Iterator["Tree"]:
    from nltk.tree import Tree

    if isinstance(node, str):
        yield node
        return
    symbol, children = node
    parts = [part for child in children for part in _build(child)]
    if symbol[0].islower():
        yield from parts
    else:
        yield Tree(symbol.partition(".")[0], parts)
