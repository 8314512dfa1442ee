"""Pairs of sentences with their trees, and which rows of a file cannot be one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tasks.brackets import unescape
from tasks.paraphrase.linearization import TooDeep, read_parse
from tasks.paraphrase.vocabulary import RESERVED
from zoo.errors import UserError

EMPTY = "empty side"
RESERVED_TOKEN = "a token such as <eos> in the text"
NO_PARSE = "no tree of the target"
NO_TREE = "brackets that are no single tree"
TOO_DEEP = "too deep"
OTHER_LEAVES = "leaves that do not match the text"
SHOWN = 10  # line numbers that a message names, by reason


class Pair(NamedTuple):
    """A sentence, a paraphrase of it, and the trees of both.

    source, target, exemplar: blank-separated tokens; the exemplar is another sentence of the form that is wanted.
    source_parse, target_parse, template_parse: trees in brackets on one line. The template is the top of the last one,
    which may be the exemplar's; without it, it is the top of the target's.
    """

    source: str
    target: str
    source_parse: str | None = None
    target_parse: str | None = None
    template_parse: str | None = None
    exemplar: str | None = None

    @property
    def template(self) -> str | None:
        """The parse whose first levels are the template."""
        return self.template_parse or self.target_parse

    def sides(self) -> "Iterator[tuple[str | None, str | None]]":
        """The texts with their parses."""
        yield self.source, self.source_parse
        yield self.target, self.target_parse
        yield self.exemplar, self.template_parse


@dataclass
class LeftOut:
    """Rows that were left out: reason -> names of the rows."""

    rows: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, row: str) -> None:
        self.rows.setdefault(reason, []).append(row)

    def __contains__(self, reason: str) -> bool:
        return reason in self.rows

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    def counts(self) -> dict[str, int]:
        """Rows by reason, the most frequent first."""
        return {reason: len(rows) for reason, rows in sorted(self.rows.items(), key=lambda item: -len(item[1]))}

    def __str__(self) -> str:
        return "; ".join(
            f"{count:,} for {reason} ({', '.join(self.rows[reason][:SHOWN])}{', ...' if count > SHOWN else ''})"
            for reason, count in self.counts().items()
        )


def fault(pair: Pair) -> str | None:
    """Why a row can be no pair: an empty side, a token in the text that is no word, a parse that is not one tree, a
    tree that is too deep or has other words than its sentence. None if it can; a missing parse is no fault."""
    if not pair.source.strip() or not pair.target.strip():
        return EMPTY
    if RESERVED.search(pair.source) or RESERVED.search(pair.target):
        return RESERVED_TOKEN
    for text, parse in pair.sides():
        if parse is None:
            continue
        try:
            _, words = read_parse(parse)
        except TooDeep:
            return TOO_DEEP
        except UserError:
            return NO_TREE
        if text is not None and words != [unescape(word) for word in text.split()]:
            return OTHER_LEAVES
    return None


def good_rows(rows: Iterable[tuple[str, Pair]], left_out: LeftOut, *, need_tree: bool) -> Iterator[Pair]:
    """The pairs that have no fault; the others are added to `left_out`.

    rows: names of rows, such as line 3, and pairs; need_tree: whether one whose target has no parse has a fault.
    """
    for row, pair in rows:
        reason = fault(pair) or (NO_PARSE if need_tree and pair.target_parse is None else None)
        if reason is None:
            yield pair
        else:
            left_out.add(reason, row)
