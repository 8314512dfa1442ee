"""SentencePiece tokenizers give back what they read."""

import unicodedata

import pytest
from transformers import AutoTokenizer

from tasks.paraphrase.pieces import piece_tokenizer
from zoo.errors import UserError

LINES = ["the cat sat on the mat .", "für Straße und Äpfel …", "( NP the dog ) is ½ here", "all is well ."] * 10


@pytest.fixture(scope="module")
def tokenizer():
    return piece_tokenizer(LINES, 320)


def test_ids_of_special_tokens_and_of_a_line(tokenizer):
    assert tokenizer.convert_tokens_to_ids(["<pad>", "<bos>", "<eos>", "<unk>"]) == [0, 1, 2, 3]
    assert tokenizer.pad_token_id == 0
    ids = tokenizer("the cat").input_ids
    assert (ids[0], ids[-1]) == (1, 2)
    assert min(ids[1:-1]) >= 4
    assert len(tokenizer) <= 320


@pytest.mark.parametrize(
    "line", ["ﬁnden ½ … ok", "Straße für Äpfel", "the cat sat on the mat .", "unseen жук 😀 \\ ``", "▁ _"]
)
def test_d08_decoding_gives_back_the_line_and_nothing_is_unknown(tokenizer, line, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        ids = one(line).input_ids
        assert 3 not in ids
        if "▁" not in line:  # the character that SentencePiece has for blanks
            assert one.decode(ids, skip_special_tokens=True) == line


def test_d07_composed_and_decomposed_text_are_the_same(tokenizer):
    assert tokenizer(unicodedata.normalize("NFD", "für Äpfel")).input_ids == tokenizer("für Äpfel").input_ids
    decomposed = piece_tokenizer([unicodedata.normalize("NFD", line) for line in LINES], 320)
    assert decomposed.get_vocab() == tokenizer.get_vocab()


def test_the_same_lines_give_the_same_pieces(tokenizer):
    assert piece_tokenizer(LINES, 320).get_vocab() == tokenizer.get_vocab()


def test_a_small_text_gives_fewer_pieces():
    assert len(piece_tokenizer(LINES, 16_000)) < 500


@pytest.mark.parametrize("pieces", [299, 0, True, 1.5])
def test_too_few_pieces(pieces):
    with pytest.raises(UserError, match="300 or more"):
        piece_tokenizer(LINES, pieces)


def test_no_text():
    with pytest.raises(UserError, match="give more text"):
        piece_tokenizer(["", " "], 300)
