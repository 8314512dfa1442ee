"""Texts and parses that models write, in batches as alone."""

import pytest
import torch

from tasks.metrics import Nodes, tree_nodes
from tasks.paraphrase.generation import Decoding, decode, expansion, generate_parses, generate_texts, pad_rows
from tasks.paraphrase.guidance import asked_for, syntax
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from tests.tasks.paraphrase.small_models import grammar_data, small_model
from zoo.errors import UserError

WRITERS = ("guig", "transformer-concat", "lstm", "tf")
DECODING = Decoding(beams=3, longest=8)


@pytest.fixture(scope="module")
def given():
    _, data, tokenizer = grammar_data()
    return data.sets["test"], tokenizer


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("beams", [1, 3])
def test_g04_g05_a_batch_gives_what_each_row_gives_alone(name, beams, given):
    pairs, tokenizer = given
    model = small_model(name, tokenizer)
    sources, parses = [pair.source for pair in pairs], asked_for(pairs, "target", 3)
    assert len({len(parse.labels) for parse in parses}) > 1
    decoding = Decoding(beams, longest=8)
    outputs = generate_texts(model, tokenizer, sources, parses, decoding)
    alone = [generate_texts(model, tokenizer, [s], [p], decoding)[0] for s, p in zip(sources, parses, strict=True)]
    assert outputs == alone
    assert len(set(outputs)) > 1
    assert outputs == generate_texts(model, tokenizer, sources, parses, decoding)


@pytest.mark.parametrize("name", WRITERS)
def test_texts_hold_words_only(name, given):
    pairs, tokenizer = given
    model = small_model(name, tokenizer)
    outputs = generate_texts(model, tokenizer, [pair.source for pair in pairs], asked_for(pairs, "target", 3), DECODING)
    for output in outputs:
        assert "<" not in output
        assert len(output.split()) <= 8


def test_what_a_model_is_given_decides_what_it_writes(given):
    pairs, tokenizer = given
    source, parse = pairs[0].source, asked_for(pairs, "target", 3)[0]
    other, template = pairs[1].source, asked_for(pairs, "template", 1)[0]
    for name, reads_source, reads_syntax in (("guig", 1, 1), ("guig-no-source", 0, 1), ("guig-no-syntax", 1, 0)):
        model = small_model(name, tokenizer)
        outputs = generate_texts(model, tokenizer, [source, other, source], [parse, parse, template], DECODING)
        assert (outputs[0] != outputs[1], outputs[0] != outputs[2]) == (reads_source, reads_syntax), name


def test_trees_may_have_other_nodes_and_more_levels_than_the_vocabulary(given):
    pairs, tokenizer = given
    deep = Nodes(["S", *["CNP"] * 20], list(range(1, 22)))
    for name in ("guig", "lstm"):
        assert generate_texts(small_model(name, tokenizer), tokenizer, [pairs[0].source], [deep], DECODING)


def test_t18_generated_parses_are_trees_and_those_that_did_not_end_are_marked(given):
    pairs, tokenizer = given
    model = small_model("guig-expander", tokenizer)
    sources = [syntax(pair.source_parse) for pair in pairs]
    found = generate_parses(model, tokenizer, sources, asked_for(pairs, "template", 3), Decoding(2, longest=6))
    for nodes, finished in found:
        steps = list(zip([0, *nodes.levels], nodes.levels, strict=False))
        assert nodes.levels[0] == 1
        assert all(2 <= level <= before + 1 for before, level in steps[1:])
        assert len(nodes.labels) <= 6
        assert finished or len(nodes.labels) == 6


def test_an_expansion_ends_at_eos_or_is_not_finished():
    vocabulary = SyntaxVocabulary(("S", "NP"), 2)
    root, child, unknown = (node * vocabulary.level_count + level for node, level in ((4, 4), (5, 5), (3, 5)))
    end = 2 * vocabulary.level_count + 2
    assert expansion(vocabulary, [root, child, end, 0, 0]) == (Nodes(["S", "NP"], [1, 2]), True)
    assert expansion(vocabulary, [root, unknown]) == (Nodes(["S", "?"], [1, 2]), False)


def test_a10_text_ends_at_eos(given):
    _, tokenizer = given
    words = tokenizer("the zebra does eat .", add_special_tokens=False).input_ids
    assert decode(tokenizer, [*words, 2, *words, 0]) == "the zebra does eat ."
    assert decode(tokenizer, [2, 0, 0]) == decode(tokenizer, []) == ""


def test_rows_are_padded_on_one_side():
    rows = [{"input_ids": [1, 5]}, {"input_ids": [1, 5, 6]}]
    left, right = (pad_rows(rows, on_left=side, device="cpu") for side in (True, False))
    assert left["input_ids"].tolist() == [[0, 1, 5], [1, 5, 6]]
    assert right["input_ids"].tolist() == [[1, 5, 0], [1, 5, 6]]
    assert torch.equal(left["attention_mask"], (left["input_ids"] != 0).long())


@pytest.mark.parametrize("settings", [{"beams": 0}, {"beams": True}, {"longest": 0}, {"beams": 1.5}])
def test_a_search_is_checked(settings):
    with pytest.raises(UserError, match="allowed: a whole number from 1"):
        Decoding(**settings)


def test_no_items_give_no_outputs(given):
    _, tokenizer = given
    assert generate_texts(small_model("guig", tokenizer), tokenizer, [], [], DECODING) == []
    assert tree_nodes("") == Nodes([], [])
