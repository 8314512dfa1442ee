"""Node and level vocabularies within the tokenizer."""

import pytest
from transformers import AutoTokenizer

from tasks.paraphrase import linearize
from tasks.paraphrase.pieces import piece_tokenizer
from tasks.paraphrase.vocabulary import SEPARATOR, SyntaxVocabulary, add_syntax
from tasks.tokenization import word_tokenizer
from zoo.errors import UserError

LABELS = ["S", "NP", "-LRB-", "``", "$,"]
TEXT = ["( NP the cat ) sat .", "a dog , a cat and the bird sang <x> ."]


def words():
    return word_tokenizer({word for line in TEXT for word in line.split()})


def pieces():
    return piece_tokenizer(TEXT * 20, 300)


@pytest.fixture(params=[words, pieces], ids=["words", "pieces"])
def tokenizer(request):
    return add_syntax(request.param(), LABELS, 3)


def test_ids_are_those_of_the_models(tokenizer):
    vocabulary = SyntaxVocabulary.of(tokenizer)
    assert vocabulary.labels == tuple(LABELS)
    assert (vocabulary.levels, vocabulary.node_count, vocabulary.level_count) == (3, 9, 7)
    nodes, levels = linearize("(S (NP a) (-LRB- -LRB-))")
    assert vocabulary.encode(nodes, levels) == ([1, 4, 5, 6, 2], [1, 4, 5, 5, 2])
    assert vocabulary.decode([1, 4, 5, 6, 2, 0, 0], [1, 4, 5, 5, 2, 0, 0]) == (nodes, levels)
    assert vocabulary.decode([4, 5], [4, 5]) == (["S", "NP"], [1, 2])  # without an end
    assert vocabulary.tokens(nodes, levels)[:4] == ["<node:S>", "<level:1>", "<node:NP>", "<level:2>"]


def test_t18_unseen_labels_are_the_unknown_node(tokenizer):
    vocabulary = SyntaxVocabulary.of(tokenizer)
    assert vocabulary.encode(["S", "CNP"], [1, 2]) == ([1, 4, 3, 2], [1, 4, 5, 2])
    assert vocabulary.decode([1, 4, 3, 2], [1, 4, 5, 2]) == (["S", "?"], [1, 2])
    tokens = vocabulary.tokens(["S", "CNP"], [1, 2])
    assert tokens == ["<node:S>", "<level:1>", "<node:?>", "<level:2>"]
    assert tokenizer.unk_token_id not in tokenizer.convert_tokens_to_ids(tokens)


@pytest.mark.parametrize("level", [0, 4])
def test_levels_outside_the_vocabulary(tokenizer, level):
    with pytest.raises(UserError, match="cut the tree to 3 levels"):
        SyntaxVocabulary.of(tokenizer).encode(["S"], [level])


def test_ids_that_are_no_tree(tokenizer):
    with pytest.raises(UserError, match="no node of a tree"):
        SyntaxVocabulary.of(tokenizer).decode([1, 4], [1, 3])


def test_d12_h08_added_tokens_decode_exactly_and_survive_saving(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert len(loaded) == len(tokenizer) == max(tokenizer.get_vocab().values()) + 1
    assert SyntaxVocabulary.of(loaded) == SyntaxVocabulary.of(tokenizer)
    for line in [
        "( NP the cat )",
        f"<node:S> <level:1> <node:?> <level:2> {SEPARATOR} the cat sat . {SEPARATOR} a dog",
        f"{SEPARATOR} <node:``> <level:3>",
        f"a {SEPARATOR} dog {SEPARATOR}",
        "<node:-LRB-> <level:1> <node:$,>",
    ]:
        for one in (tokenizer, loaded):
            ids = one(line).input_ids
            assert one.decode(ids, skip_special_tokens=True) == line
            assert 3 not in ids
            assert loaded(line).input_ids == ids


def test_text_is_read_alike_after_an_added_token(tokenizer):
    ids = tokenizer("the cat", add_special_tokens=False).input_ids
    assert tokenizer(f"{SEPARATOR} the cat", add_special_tokens=False).input_ids[1:] == ids


def test_a_tokenizer_without_syntax():
    with pytest.raises(UserError, match="no node and level tokens"):
        SyntaxVocabulary.of(words())


@pytest.mark.parametrize(("labels", "levels"), [([""], 3), (["A B"], 3), (["<"], 3), (["?"], 3), (["S"], 0)])
def test_labels_and_levels_that_cannot_be(labels, levels):
    with pytest.raises(UserError):
        add_syntax(words(), labels, levels)
