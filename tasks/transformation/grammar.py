"""Weighted context-free grammars: a small text format, seeded sampling, lexical lists.

One rule a line, alternatives parted by `|`; a symbol with a rule is a nonterminal, any other a word:

    include english            the rules of english.grammar beside this file
    feature n m = sg pl        the parts n and m of dotted symbols stand for sg or pl
    NP.n -> DT N.n | NP.n PP   one rule for NP.sg, one for NP.pl
    DT : the some              a list of words, all alike; lists in the same order may be forms of the same words

Weights are of one kind within a rule. `b [1/3] | c [2/3]` are probabilities, and a rule whose probabilities do not add
up to 1 is refused; `b *2 | c *1` are relative weights of any sum; without either all alternatives are alike.
A feature that stands only on the right side is drawn evenly: `VP.n -> V.n NP.m` has half of its weight for each m.
"""

import itertools
import math
import random
import re
import warnings
from bisect import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from zoo.errors import UserError

# Derivations of more words than this are given up and drawn anew; the tasks' sentences are far shorter.
MAX_LENGTH = 200
MAX_GIVEN_UP = 10_000
ALTERNATIVE = re.compile(r"(?P<symbols>.*?)(?:\s+\[(?P<probability>[^]]*)\]|\s+\*(?P<weight>\S+))?\s*")


@dataclass
class Rule:
    """The alternatives of one symbol and their probabilities."""

    alternatives: list[tuple[str, ...]]
    probabilities: list[float]
    is_list: bool = False

    def __post_init__(self) -> None:
        self.cumulative = list(itertools.accumulate(self.probabilities))
        self.cumulative[-1] = 1.0  # random() < 1, so that rounding cannot run past the last alternative
        self.reversed = [alternative[::-1] for alternative in self.alternatives]
        self.words = frozenset(words[0] for words in self.alternatives) if self.is_list else frozenset()


@dataclass
class Grammar:
    """Rules by symbol. `S` is the start symbol of sentences."""

    rules: dict[str, Rule] = field(default_factory=dict)
    name: str = "grammar"
    max_length: int = MAX_LENGTH
    given_up: int = 0

    def sample(self, rng: random.Random, start: str = "S") -> list[str]:
        """Words of one sentence, drawn from `start`.

        A derivation of more than `max_length` words is drawn anew, with one warning that says so; UserError if
        nothing shorter comes.
        """
        for _ in range(MAX_GIVEN_UP):
            words = self._derive(rng, start)
            if words is not None:
                return words
            if not self.given_up:
                warnings.warn(
                    f"{self.name}: derivations of more than {self.max_length} words are drawn anew; the rules of"
                    " recursive symbols give them too much weight.",
                    stacklevel=2,
                )
            self.given_up += 1
        raise UserError(
            f"{self.name}: {MAX_GIVEN_UP} derivations in a row had more than {self.max_length} words; give the"
            " recursive alternatives less weight."
        )

    def words(self, symbol: str) -> list[str]:
        """The word list of `symbol`, in the order of the file."""
        return [word for (word,) in self.rules[symbol].alternatives]

    def reachable_lists(self, start: Iterable[str]) -> dict[str, list[str]]:
        """Word lists that derivations from the `start` symbols reach, by symbol; words named in rules under `""`."""
        seen, stack, lists = set(start), list(start), {"": list[str]()}
        while stack:
            symbol = stack.pop()
            if symbol not in self.rules:
                lists[""].append(symbol)
            elif self.rules[symbol].is_list:
                lists[symbol] = self.words(symbol)
            else:
                new = set(itertools.chain(*self.rules[symbol].alternatives)) - seen
                seen |= new
                stack.extend(new)
        return lists

    def _derive(self, rng: random.Random, start: str) -> list[str] | None:
        rules, draw, limit = self.rules, rng.random, self.max_length
        stack, words = [start], list[str]()
        while stack:
            symbol = stack.pop()
            rule = rules.get(symbol)
            if rule is None:
                words.append(symbol)
                continue
            if len(rule.reversed) == 1:
                stack.extend(rule.reversed[0])
            else:
                stack.extend(rule.reversed[bisect(rule.cumulative, draw())])
            # Every symbol left gives at least one word.
            if len(words) + len(stack) > limit:
                return None
        return words


def load_grammar(path: Path) -> Grammar:
    """The grammar in the file at `path`; UserError names the file and the rule at fault."""
    return parse_grammar(grammar_text(path), path.name)


def grammar_text(path: Path) -> str:
    """The file's text with its includes put in place."""
    text = path.read_text(encoding="utf-8")
    return re.sub(
        r"^include (\S+)$", lambda name: grammar_text(path.parent / f"{name[1]}.grammar"), text, flags=re.MULTILINE
    )


def parse_grammar(text: str, name: str = "grammar") -> Grammar:
    """The grammar written in `text` (the format is told at the head of this file).

    Raises UserError for a line that is no rule, weights of two kinds or no positive numbers, probabilities that do not
    add up to 1, two rules for a symbol, an undefined dotted symbol, and a symbol that derives no finite sentence.
    """
    features: dict[str, list[str]] = {}
    grammar = Grammar(name=name)
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if feature := re.fullmatch(r"feature (.+?)=(.+)", line):
            features |= dict.fromkeys(feature[1].split(), feature[2].split())
            continue
        for symbol, rule in _read_rules(line, features, name):
            if symbol in grammar.rules:
                raise UserError(f"{name}: two rules for {symbol}; write its alternatives in one rule, parted by |.")
            grammar.rules[symbol] = rule
    _check(grammar)
    return grammar


def _read_rules(line: str, features: dict[str, list[str]], name: str) -> Iterator[tuple[str, Rule]]:
    match = re.fullmatch(r"(\S+)\s+(->|:)\s+(.+)", line)
    if not match:
        raise UserError(f"{name}: {line!r} is no rule; write `A -> B c | d` or `A : word word`.")
    left, arrow, right = match.groups()
    if arrow == ":":
        words = right.split()
        yield left, Rule([(word,) for word in words], [1 / len(words)] * len(words), is_list=True)
        return
    parts, weights = _alternatives(left, right, name)
    for outer in _bindings([left], features):
        alternatives, probabilities = list[tuple[str, ...]](), list[float]()
        for part, weight in zip(parts, weights, strict=True):
            symbols = [_bind(symbol, outer) for symbol in part]
            free = list(_bindings(symbols, features))
            alternatives += [tuple(_bind(symbol, inner) for symbol in symbols) for inner in free]
            probabilities += [weight / len(free)] * len(free)
        yield _bind(left, outer), Rule(alternatives, probabilities)


def _alternatives(left: str, right: str, name: str) -> tuple[list[list[str]], list[float]]:
    """The alternatives of one rule, each a list of symbols, and their weights with sum 1."""
    found = [match for match in map(ALTERNATIVE.fullmatch, right.split("|")) if match]
    parts = [match["symbols"].split() for match in found]
    if not all(parts):
        raise UserError(f"{name}: the rule of {left} has an empty alternative; every symbol derives a word.")
    kinds = {kind for match in found for kind in ("probability", "weight") if match[kind] is not None}
    written = [match["probability"] or match["weight"] for match in found]
    if not kinds:
        return parts, [1 / len(parts)] * len(parts)
    if len(kinds) > 1 or None in written:
        raise UserError(
            f"{name}: the rule of {left} mixes kinds of weights; use [p] or *w on all alternatives or none."
        )
    try:
        weights = [Fraction(number) for number in written]
    except (ValueError, ZeroDivisionError):
        weights = [Fraction(0)]
    if min(weights) <= 0:
        raise UserError(f"{name}: a weight in the rule of {left} is no positive number such as 2, 0.5 or 1/3.")
    total = sum(weights)
    if kinds == {"probability"} and not math.isclose(total, 1, abs_tol=1e-6):
        raise UserError(
            f"{name}: the probabilities of {left} add up to {float(total):g}, not to 1; correct them or write relative"
            " weights as *w."
        )
    return parts, [float(weight / total) for weight in weights]


def _bindings(symbols: Iterable[str], features: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    parts = itertools.chain(*(symbol.split(".")[1:] for symbol in symbols))
    used = [part for part in dict.fromkeys(parts) if part in features]
    for values in itertools.product(*(features[variable] for variable in used)):
        yield dict(zip(used, values, strict=True))


def _bind(symbol: str, binding: dict[str, str]) -> str:
    # The head of a symbol is its name, also where it is spelled like a feature.
    head, *parts = symbol.split(".")
    return ".".join([head, *(binding.get(part, part) for part in parts)])


def _check(grammar: Grammar) -> None:
    finite = set[str]()
    while True:
        new = {
            symbol
            for symbol, rule in grammar.rules.items()
            if symbol not in finite
            and any(all(s in finite or s not in grammar.rules for s in words) for words in rule.alternatives)
        }
        if not new:
            break
        finite |= new
    for symbol, rule in grammar.rules.items():
        if symbol not in finite:
            raise UserError(f"{grammar.name}: {symbol} derives no finite sentence; give it an alternative that ends.")
        for part in itertools.chain(*([] if rule.is_list else rule.alternatives)):
            if "." in part.strip(".") and part not in grammar.rules:
                raise UserError(f"{grammar.name}: {symbol} uses {part}, which has no rule.")
