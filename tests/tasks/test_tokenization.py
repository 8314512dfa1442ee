"""Word-level tokenizers: ids, round trips, unknown words, Unicode forms."""

import unicodedata

import pytest
from transformers import AutoTokenizer

from tasks.tokenization import BOS, EOS, PAD, UNK, encode, word_tokenizer
from zoo.errors import UserError

WORDS = ["swim", "für", "does", "doesn't", ".", "Löwe"]
IDS = {".": 4, "Löwe": 5, "does": 6, "doesn't": 7, "für": 8, "swim": 9}


@pytest.fixture(scope="module", params=["new", "reloaded"])
def tokenizer(request, tmp_path_factory):
    made = word_tokenizer(WORDS)
    if request.param == "new":
        return made
    folder = tmp_path_factory.mktemp("tokenizer")
    made.save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


def test_ids_of_words_and_special_tokens(tokenizer):
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert tokenizer.get_vocab() == {"<pad>": 0, "<bos>": 1, "<eos>": 2, "<unk>": 3} | IDS
    special = (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    assert special == (PAD, BOS, EOS, UNK)
    assert len(tokenizer) == 10


def test_line_and_pair_of_lines(tokenizer):
    assert tokenizer("Löwe does swim .").input_ids == [BOS, 5, 6, 9, 4, EOS]
    assert tokenizer("does swim", "swim .").input_ids == [BOS, 6, 9, 9, 4, EOS]
    assert encode(tokenizer, "Löwe does swim .") == [5, 6, 9, 4]
    assert encode(tokenizer, "") == []


def test_decoding_gives_the_line_back(tokenizer):
    line = "Löwe doesn't swim ."
    assert tokenizer.decode(tokenizer(line).input_ids, skip_special_tokens=True) == line


def test_batches_are_padded_on_the_left(tokenizer):
    batch = tokenizer(["swim .", "swim"], padding=True)
    assert set(batch) == {"input_ids", "attention_mask"}
    assert batch.input_ids == [[BOS, 9, 4, EOS], [PAD, BOS, 9, EOS]]


def test_d10_unknown_words_are_unk_in_open_use(tokenizer):
    assert tokenizer("Tiger does run .").input_ids == [BOS, UNK, 6, UNK, 4, EOS]


def test_encode_refuses_unknown_words_and_names_near_ones(tokenizer):
    with pytest.raises(UserError, match=r"\"dosen't\" is not in the vocabulary; did you mean doesn't"):
        encode(tokenizer, "Löwe dosen't swim .")
    with pytest.raises(UserError, match="'<eos>'"):
        encode(tokenizer, "swim <eos>")


def test_d07_composed_and_decomposed_letters_get_the_same_ids(tokenizer):
    composed = "Löwe für"
    decomposed = unicodedata.normalize("NFD", composed)
    assert decomposed != composed
    assert tokenizer(decomposed).input_ids == tokenizer(composed).input_ids == [BOS, 5, 8, EOS]
    assert encode(tokenizer, decomposed) == [5, 8]
    assert word_tokenizer([composed.split()[0], decomposed.split()[0]]).get_vocab()["Löwe"] == 4


def test_encode_sees_tokens_added_later():
    tokenizer = word_tokenizer(WORDS)
    encode(tokenizer, "swim")
    tokenizer.add_tokens(["dive"])
    assert encode(tokenizer, "swim dive") == [9, 10]


@pytest.mark.parametrize("word", ["", "two words", "<pad>"])
def test_words_that_cannot_be_tokens_are_refused(word):
    with pytest.raises(UserError, match="cannot be a word of the vocabulary"):
        word_tokenizer(["swim", word])
