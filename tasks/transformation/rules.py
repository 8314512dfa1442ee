"""What the rules of the tasks have in common."""

from abc import ABC, abstractmethod

from tasks.transformation.partial import PartialTest


class Rules(ABC):
    """The hierarchical and the linear rule of one task, on the words of a sentence without its tag."""

    @abstractmethod
    def hierarchical(self, words: list[str]) -> list[str]: ...

    @abstractmethod
    def linear(self, words: list[str]) -> list[str]: ...

    @abstractmethod
    def partial_test(self, reference: list[str]) -> PartialTest:
        """What an output must be to have the telling part of `reference`. LookupError if it is no reference."""

    def generalizes(self, words: list[str]) -> bool:
        """Whether a sentence of the grammar's generalization part may stand in the generalization set."""
        return self.hierarchical(words) != self.linear(words)

    def correct(self, target: list[str]) -> list[str]:
        """A published target as the rules have it: with known errors put right if they are to be."""
        return target

    def grammatical(self, target: list[str]) -> list[str]:
        """A target in the words of the grammar, for its tree."""
        return target
