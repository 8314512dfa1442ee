"""Sub-word tokenizers: SentencePiece models as Hugging Face tokenizers that give back what they read."""

import tempfile
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.paraphrase.vocabulary import SEPARATOR
from tasks.tokenization import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from zoo.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PIECES = 16_000
LEAST = 300  # the 256 bytes, the special tokens and a few letters
MODEL = "tokenizer.model"


def piece_tokenizer(lines: Iterable[str], pieces: int = PIECES) -> "PreTrainedTokenizerFast":
    """A tokenizer of at most so many `pieces`, trained on lines of blank-separated words; the same for the same lines.

    Text is read in Unicode normal form C and otherwise as it is. What no piece spells is read byte by byte, so nothing
    is unknown, and decoding gives back the line. Ids 0 to 3 are <pad> <bos> <eos> <unk>, which count as pieces, as the
    256 bytes do; a small text gives fewer pieces than asked for. `tokenizer(line)` is <bos> pieces <eos>.
    Raises UserError for fewer than 300 pieces, and lines without text.
    """
    if isinstance(pieces, bool) or not isinstance(pieces, int) or pieces < LEAST:
        raise UserError(f"pieces is {pieces!r}; allowed: a whole number, {LEAST} or more.")
    with tempfile.TemporaryDirectory() as folder:
        _train(lines, pieces, Path(folder) / MODEL)
        return _convert(folder)


def _train(lines: Iterable[str], pieces: int, path: Path) -> None:
    import sentencepiece

    pad, bos, eos, unk = SPECIAL_TOKENS
    text = (unicodedata.normalize("NFC", line) for line in lines)
    try:
        with open(path, "wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(line for line in text if line.strip()),
                model_writer=file,
                vocab_size=pieces,
                hard_vocab_limit=False,
                normalization_rule_name="identity",  # the default turns ½ into 1⁄2 and … into ...
                character_coverage=1.0,
                byte_fallback=True,
                num_threads=1,  # the pieces depend on the number
                minloglevel=2,
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                pad_piece=pad,
                bos_piece=bos,
                eos_piece=eos,
                unk_piece=unk,
            )
    except RuntimeError as error:
        raise UserError(f"SentencePiece cannot be trained on this text ({error}); give more text.") from None


def _convert(folder: str) -> "PreTrainedTokenizerFast":
    from tokenizers import decoders, normalizers, processors
    from transformers import PreTrainedTokenizerFast

    pad, bos, eos, unk = SPECIAL_TOKENS
    tokenizer = PreTrainedTokenizerFast.from_pretrained(
        folder,
        pad_token=pad,
        bos_token=bos,
        eos_token=eos,
        unk_token=unk,
        padding_side="left",  # generate() continues the right edge
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Sequence([normalizers.NFC(), backend.normalizer])
    backend.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", pair=f"{bos} $A $B {eos}", special_tokens=[(bos, BOS), (eos, EOS)]
    )
    # Pieces carry the blank before them, added tokens (`add_syntax`) do not.
    blanks = [decoders.Replace(start, f" {start}") for start in (SEPARATOR, "<node:", "<level:")]
    backend.decoder = decoders.Sequence([*blanks, backend.decoder])
    return tokenizer
