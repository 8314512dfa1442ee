"""Question formation, English and German: one auxiliary moves to the front."""

from collections.abc import Sequence

from tasks.transformation.grammar import Grammar
from tasks.transformation.partial import PartialTest
from tasks.transformation.rules import Rules


class QuestionRules(Rules):
    """Linear (move-first): the first auxiliary moves. Hierarchical (move-main): the auxiliary of the main clause does,
    the second one if a relative clause, told by one of `clause_starts`, follows the subject (its third word)."""

    def __init__(self, grammar: Grammar, clause_starts: Sequence[str], auxiliaries: Sequence[str]) -> None:
        self.clause_starts = frozenset(clause_starts)
        self.auxiliaries = frozenset(word for symbol in auxiliaries for word in grammar.words(symbol))

    def hierarchical(self, words: list[str]) -> list[str]:
        return self._front(words, 1 if words[2] in self.clause_starts else 0)

    def linear(self, words: list[str]) -> list[str]:
        return self._front(words, 0)

    def partial_test(self, reference: list[str]) -> PartialTest:
        """The same first word."""
        return PartialTest((frozenset([reference[0]]),), ends=False)

    def generalizes(self, words: list[str]) -> bool:
        first, second = (words[index] for index in self._auxiliary_positions(words))
        return first != second

    def _front(self, words: list[str], which: int) -> list[str]:
        index = self._auxiliary_positions(words)[which]
        return [words[index], *words[:index], *words[index + 1 : -1], "?"]

    def _auxiliary_positions(self, words: list[str]) -> list[int]:
        return [index for index, word in enumerate(words) if word in self.auxiliaries]
