"""Passivization, English and German: a noun phrase moves to the front and the subject becomes the agent."""

from tasks.transformation.grammar import Grammar
from tasks.transformation.partial import PartialTest
from tasks.transformation.rules import Rules


class PassiveRules(Rules):
    """Hierarchical (move-object): the whole object moves. Linear (move-second): the second noun phrase does, which is
    the one within the subject's prepositional phrase if there is one; the agent is then the first noun phrase alone,
    and preposition and object are lost."""

    def __init__(self, grammar: Grammar) -> None:
        self.prepositions = frozenset(grammar.words("IN"))
        self.participles = dict(zip(grammar.words("VBD"), grammar.words("VBN"), strict=True))
        self.plural = frozenset(grammar.words("NNS"))

    def hierarchical(self, words: list[str]) -> list[str]:
        subject, verb, moved = self._parts(words)
        return self._passive(moved, verb, subject, "acc")

    def linear(self, words: list[str]) -> list[str]:
        subject, verb, moved = self._parts(words)
        if len(subject) == 2:
            return self._passive(moved, verb, subject, "acc")
        return self._passive(subject[3:], verb, subject[:2], "dat")

    def partial_test(self, reference: list[str]) -> PartialTest:
        """The same second word."""
        return PartialTest((None, frozenset([reference[1]])), ends=False)

    def _parts(self, words: list[str]) -> tuple[list[str], str, list[str]]:
        verb = 5 if words[2] in self.prepositions else 2
        return words[:verb], words[verb], words[verb + 1 : -1]

    def _passive(self, moved: list[str], verb: str, agent: list[str], case: str) -> list[str]:
        was = "were" if moved[1] in self.plural else "was"
        return [*moved, was, self.participles[verb], "by", *agent, "."]


class GermanPassiveRules(PassiveRules):
    """As in English, and the moved noun phrase goes to the nominative, the agent to the dative.

    The determiner tells the number; where it does not (`den Löwen` as object) the singular is meant.
    nominative_fix: the published targets leave Löwe and Rabe in the accusative or dative (`der Löwen wurde ...`, seed
    000, appendix A); with the fix they stand in the nominative.
    """

    def __init__(self, grammar: Grammar, nominative_fix: bool = True) -> None:
        self.prepositions = frozenset(grammar.words("IN"))
        self.participles = {}
        for past in ("VBD.sg", "VBD.pl"):
            self.participles |= dict(zip(grammar.words(past), grammar.words("VBN"), strict=True))
        self.nominative_fix = nominative_fix
        # case -> determiner -> number, and (number, from, to) -> word -> word
        self.number: dict[str, dict[str, str]] = {}
        self.declension: dict[tuple[str, str, str], dict[str, str]] = {}
        for old, new in (("acc", "nom"), ("dat", "nom"), ("nom", "dat")):
            self.number[old] = {word: n for n in ("pl", "sg") for word in grammar.words(f"DT.{n}.{old}")}
            for n, noun in (("sg", "NN"), ("pl", "NNS")):
                pairs = ((f"DT.{n}.{old}", f"DT.{n}.{new}"), (f"{noun}.{old}", f"{noun}.{new}"))
                self.declension[n, old, new] = {
                    word: form for a, b in pairs for word, form in zip(grammar.words(a), grammar.words(b), strict=True)
                }

    def correct(self, target: list[str]) -> list[str]:
        return self.grammatical(target) if self.nominative_fix else target

    def grammatical(self, target: list[str]) -> list[str]:
        """The target with its subject in the nominative, where it is singular."""
        if len(target) > 1 and self.number["nom"].get(target[0]) == "sg":
            return [target[0], self.declension["sg", "acc", "nom"].get(target[1], target[1]), *target[2:]]
        return target

    def _passive(self, moved: list[str], verb: str, agent: list[str], case: str) -> list[str]:
        number, subject = self._decline(moved, case, "nom")
        if number == "sg" and not self.nominative_fix:
            subject[1] = moved[1]
        was = "wurden" if number == "pl" else "wurde"
        return [*subject, was, "von", *self._decline(agent, "nom", "dat")[1], self.participles[verb], "."]

    def _decline(self, phrase: list[str], old: str, new: str) -> tuple[str, list[str]]:
        """Number of the noun phrase, and the phrase with its first two words in case `new`."""
        number = self.number[old][phrase[0]]
        forms = self.declension[number, old, new]
        return number, [forms[phrase[0]], forms[phrase[1]], *phrase[2:]]
