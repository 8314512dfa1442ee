"""Tense reinflection: past verbs become present verbs, which agree with a noun."""

from collections.abc import Sequence

from tasks.transformation.grammar import Grammar
from tasks.transformation.partial import PartialTest
from tasks.transformation.rules import Rules


class TenseRules(Rules):
    """Linear (agree-recent): each verb agrees with the nearest noun to its left. Hierarchical (agree-main): the main
    verb agrees with the head of the subject, the second word. In a relative clause both come to the same.

    forms: word lists of the past, the present singular and the present plural, in one order; with `do` the auxiliary
    is the finite verb.
    """

    def __init__(self, grammar: Grammar, forms: Sequence[tuple[str, str, str]]) -> None:
        self.present: dict[str, tuple[str, str]] = {}
        for symbols in forms:
            past, singular, plural = map(grammar.words, symbols)
            self.present |= dict(zip(past, zip(singular, plural, strict=True), strict=True))
        self.finite = self.present.keys() | {form for pair in self.present.values() for form in pair}
        self.singular, self.plural = frozenset(grammar.words("NN")), frozenset(grammar.words("NNS"))
        self.clause_starts = frozenset(grammar.words("WDT"))
        # Word classes as the field scores them: nouns and verbs whatever their form.
        lists = grammar.reachable_lists(["S", "target"])
        self.classes = {word: symbol[:2] or word for symbol, words in lists.items() for word in words}
        members: dict[str | None, set[str]] = {}
        for word, name in self.classes.items():
            members.setdefault(name, set()).add(word)
        self._class_members = {name: frozenset(words) for name, words in members.items()}

    def hierarchical(self, words: list[str]) -> list[str]:
        output = self.linear(words)
        main = self._main_verb(words)
        output[main] = self.present[words[main]][words[1] in self.plural]
        return output

    def linear(self, words: list[str]) -> list[str]:
        output, plural = [], False
        for word in words:
            if word in self.singular or word in self.plural:
                plural = word in self.plural
            output.append(self.present[word][plural] if word in self.present else word)
        return output

    def partial_test(self, reference: list[str]) -> PartialTest:
        """Same length, same word classes, same form of the main verb; a word outside the vocabulary never matches."""
        words = [self._class_members.get(self.classes.get(word), frozenset()) for word in reference]
        main = self._main_verb(reference)
        words[main] = frozenset([reference[main]])
        return PartialTest(tuple(words), ends=True)

    def _main_verb(self, words: list[str]) -> int:
        finite = [index for index, word in enumerate(words) if word in self.finite]
        return finite[1 if words[2] in self.clause_starts else 0]
