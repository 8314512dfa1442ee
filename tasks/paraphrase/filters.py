"""Which pairs are no use for training, by rules that can be said in a sentence each."""

import unicodedata
from collections.abc import Sequence

from tasks.paraphrase.linearization import linearize
from tasks.paraphrase.pairs import Pair
from zoo.errors import unknown_name

NON_ASCII = "non-ASCII text"
LONG_TEXT = "text too long"
LONG_SYNTAX = "syntax too long"
RARE_LABEL = "rare parse label"
COPY = "copy"
NEAR_COPY = "copy but for case and punctuation"
OTHER_LANGUAGE = "other language"

# Frequent words; those that are also English words, such as German `die`, are left out.
FUNCTION_WORDS = {
    "en": "the of and to is that it you was for he they with this his her not are have what she we be my but",
    "de": "der das und ist nicht ich sie ein eine einen mit den dem auf für es wir wie auch aber von zu im haben",
    "fr": "le la les des est et un une pas je vous que qui dans sur avec il elle nous ne ce sont pour au",
    "es": "el los las una que es por con para su está pero como más muy lo se del yo de la en y",
    "it": "il gli che di è non per con una sono della ho anche del ma mi lo la un si e",
    "nl": "het een van niet dat en zijn ik met voor op de wat maar je ook dit er naar hij",
}


def useless(pair: Pair, language: str = "en") -> str | None:
    """Why a pair teaches nothing, None if it may.

    A copy; a copy but for case and punctuation; a side in another language, which is one with two function words or
    more of that language, and more of them than of its own (`FUNCTION_WORDS`).
    Raises UserError for a language without such words.
    """
    if language not in FUNCTION_WORDS:
        raise unknown_name("language", language, FUNCTION_WORDS)
    if pair.source == pair.target:
        return COPY
    sides = [_plain(pair.source), _plain(pair.target)]
    if sides[0] == sides[1]:
        return NEAR_COPY
    return OTHER_LANGUAGE if any(_is_foreign(words, language) for words in sides) else None


def over_limits(pair: Pair, max_length: int, levels: int, ascii_only: bool = True) -> str | None:
    """Why a pair is dropped as in seed 002, None if it is kept.

    A text may have `max_length` words, and a tree, cut to `levels` levels, as many nodes; bos and eos do not count.
    """
    if ascii_only and not (pair.source.isascii() and pair.target.isascii()):
        return NON_ASCII
    if any(len(text.split()) > max_length for text in (pair.source, pair.target)):
        return LONG_TEXT
    parses = [parse for parse in (pair.source_parse, pair.target_parse) if parse]
    if any(len(linearize(parse, levels).nodes) > max_length for parse in parses):
        return LONG_SYNTAX
    return None


def _plain(text: str) -> list[str]:
    words = text.lower().split()
    return [word for word in words if not all(unicodedata.category(character)[0] == "P" for character in word)]


def _is_foreign(words: Sequence[str], language: str) -> bool:
    counts = {name: sum(word in known for word in words) for name, known in _WORDS.items()}
    own = counts.pop(language)
    return max(counts.values()) > max(own, 1)


_WORDS = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}
