"""Word-level tokenizers for closed vocabularies: <pad> 0, <bos> 1, <eos> 2, <unk> 3, then the words."""

import difflib
import json
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
PAD, BOS, EOS, UNK = range(4)
FIRST_WORD = 4
UNKNOWN, UNUSED = "<unk>", "<unused>"


def word_tokenizer(words: Iterable[str], *, is_open: bool = False) -> "PreTrainedTokenizerFast":
    """A tokenizer of blank-separated `words`, ids from 4 in sorted order, after Unicode normal form C.

    `tokenizer(line)` is <bos> words <eos>, `tokenizer(source, target)` is <bos> source target <eos>, an unknown word is
    <unk>; `encode` is the strict form. `save_pretrained` and `AutoTokenizer.from_pretrained` keep all of this.
    With `is_open`, <unk> is a word type like others, with an id from 4 and a probability. Id 3, which no model can read
    or predict, then stays unused.
    Raises UserError where a word is empty, holds a blank or is a special token.
    """
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    types = sorted({unicodedata.normalize("NFC", word) for word in words} - ({UNKNOWN} if is_open else set()))
    for word in types:
        if word.split() != [word] or word in SPECIAL_TOKENS:
            raise UserError(
                f"{word!r} cannot be a word of the vocabulary: words are not empty, hold no blanks and are none of"
                f" {', '.join(SPECIAL_TOKENS)}."
            )
    pad, bos, eos, unk = SPECIAL_TOKENS
    tokens = [pad, bos, eos, UNUSED, *sorted([*types, unk])] if is_open else [*SPECIAL_TOKENS, *types]
    ids = {token: index for index, token in enumerate(tokens)}
    backend = Tokenizer(WordLevel(ids, unk_token=unk))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", pair=f"{bos} $A $B {eos}", special_tokens=[(bos, BOS), (eos, EOS)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=pad,
        bos_token=bos,
        eos_token=eos,
        unk_token=unk,
        padding_side="left",  # generate() continues the right edge
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,  # else decoding joins "swim ." to "swim."
    )


def save_tokenizer(tokenizer: "PreTrainedTokenizerBase", folder: Path) -> None:
    """Saves a tokenizer under a class name that all versions of transformers know (5.24 writes a new one)."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"tokenizer_class": "PreTrainedTokenizerFast"}, indent=2), encoding="utf-8")


def encode(tokenizer: "PreTrainedTokenizerBase", line: str) -> list[int]:
    """Ids of the words of `line`, without <bos> and <eos>.

    A word outside the vocabulary, special tokens included, is <unk> where the vocabulary is open, else a UserError.
    """
    ids = _word_ids(tokenizer, len(tokenizer))
    if is_open(tokenizer):
        return [ids.get(word, ids[UNKNOWN]) for word in unicodedata.normalize("NFC", line).split()]
    try:
        return [ids[word] for word in unicodedata.normalize("NFC", line).split()]
    except KeyError as missing:
        raise unknown_word(missing.args[0], ids) from None


def is_open(tokenizer: "PreTrainedTokenizerBase") -> bool:
    """Whether words outside the vocabulary are read, as <unk>."""
    return tokenizer.unk_token_id != UNK


def unknown_word(word: str, words: Iterable[str]) -> UserError:
    """The error for a `word` that is none of the `words` of a closed vocabulary, near words named."""
    near = difflib.get_close_matches(word, list(words), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "no word of it is near."
    return UserError(f"the word {word!r} is not in the vocabulary; {hint}")


@lru_cache(maxsize=16)
def _word_ids(tokenizer: "PreTrainedTokenizerBase", size: int) -> dict[str, int]:
    # The size is part of the key so that tokens added later are seen.
    return {token: index for token, index in tokenizer.get_vocab().items() if index not in (PAD, BOS, EOS, UNK)}
