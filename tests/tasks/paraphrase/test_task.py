"""The default pairs, and what models of each kind read."""

import numpy as np
import pytest
from pair_files import parse, row, write_rows

from tasks import list_tasks, load_task
from tasks.paraphrase import Pair, linearize
from tasks.paraphrase.grammar_pairs import GRAMMARS, grammar_pairs
from tasks.paraphrase.pairs import fault
from tasks.paraphrase.rows import text_ids
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from zoo.errors import UserError

SIZES = {"train": 60, "validation": 10, "test": 10}
PAIR = Pair("her unicorns do wait .", "do her unicorns wait ?")


@pytest.fixture(scope="module")
def task():
    return load_task("paraphrase")


@pytest.fixture(scope="module")
def data(task):
    return task.load_data(sizes=SIZES)


@pytest.fixture(scope="module")
def tokenizer(task, data):
    return task.make_tokenizer(data, "guided")


def only(rows):
    """The one row of a set, as lists."""
    inputs, labels = rows.batch(np.array([0]))
    return {name: value[0].tolist() for name, value in inputs.items()}, labels[0].tolist()


def test_the_task_is_listed():
    assert list_tasks()[-1] == "paraphrase"


def test_default_pairs_have_exact_trees(data):
    assert data.sizes == SIZES
    pairs = [pair for rows in data.sets.values() for pair in rows]
    assert all(fault(pair) is None for pair in pairs)
    assert all(pair.source != pair.target for pair in pairs)
    assert {linearize(pair.target_parse).nodes[0] for pair in pairs} == {"S", "SQ"}
    assert {linearize(pair.source_parse).nodes[0] for pair in pairs} == {"S", "SQ"}  # both ways round
    assert any(" by the " in pair.target and " was " in pair.target for pair in pairs)


def test_default_pairs_are_the_same_and_in_one_set_only(data, task):
    assert task.load_data(sizes=SIZES).sets == data.sets
    assert grammar_pairs(GRAMMARS, "train", 0, 20) == data.sets["train"][:20]
    assert grammar_pairs(GRAMMARS, "train", 1, 20) != data.sets["train"][:20]
    sentences = [frozenset(pair[:2]) for rows in data.sets.values() for pair in rows]
    assert len(set(sentences)) == len(sentences)


def test_the_vocabulary_of_the_default_pairs(task, data, tokenizer):
    vocabulary = SyntaxVocabulary.of(tokenizer)
    assert vocabulary.levels == 8
    assert {"S", "SQ", "NP", "VP", "AUX"} <= set(vocabulary.labels)
    assert "quest" not in tokenizer.get_vocab()  # tags are no words of a pair
    for rows in data.sets.values():
        for reads in ("strings", "guided", "expansion"):
            assert len(task.encode_set(tokenizer, rows, reads)) == len(rows)


def test_rows_of_guided_models(task, tokenizer):
    target_parse = "(SQ (AUX do) (NP (DT her) (NNS unicorns)) (VP (VB wait)) ?)"
    pair = PAIR._replace(target_parse=target_parse)
    inputs, labels = only(task.encode_set(tokenizer, [pair], "guided"))
    ids = text_ids(tokenizer, pair[:2])
    node_ids, level_ids = SyntaxVocabulary.of(tokenizer).encode(*linearize(target_parse, 8))
    assert inputs == {
        "input_ids": [1, *ids[0], 2],
        "attention_mask": [1] * (len(ids[0]) + 2),
        "node_ids": node_ids,
        "level_ids": level_ids,
        "decoder_input_ids": [1, *ids[1]],
    }
    assert labels == [*ids[1], 2]
    assert tokenizer.decode(ids[1]) == pair.target


def test_rows_of_language_models(task, tokenizer):
    pair = PAIR._replace(target_parse="(SQ (AUX do) (NP her unicorns) wait ?)")
    rows = task.encode_set(tokenizer, [pair], "strings")
    inputs, labels = only(rows)
    prompt = f"<node:SQ> <level:1> <node:AUX> <level:2> <node:NP> <level:2> <sep> {pair.source} <sep>"
    assert tokenizer.decode(inputs["input_ids"]) == f"<bos> {prompt} {pair.target}"
    assert labels[: len(prompt.split())] == [-100] * len(prompt.split())
    assert tokenizer.decode(labels[len(prompt.split()) :]) == f"{pair.target} <eos>"
    assert len(labels) == len(inputs["input_ids"])
    assert rows.text(0) == f"{pair.source} -> {pair.target}"


def test_rows_of_expanders(task, tokenizer):
    source, target = "(S (NP (DT her) (NNS unicorns)) .)", "(SQ (AUX do) (NP (DT (NN (NN her)))))"
    pair = PAIR._replace(source_parse=source, target_parse=target)
    inputs, labels = only(task.encode_set(tokenizer, [pair], "expansion"))
    vocabulary = SyntaxVocabulary.of(tokenizer)
    assert (inputs["node_ids"], inputs["level_ids"]) == vocabulary.encode(*linearize(source))
    template = linearize(target, 3)
    assert template.nodes == ["SQ", "AUX", "NP", "DT"]
    assert (inputs["template_node_ids"], inputs["template_level_ids"]) == vocabulary.encode(*template)
    outputs = [
        node * vocabulary.level_count + level
        for node, level in zip(*vocabulary.encode(*linearize(target)), strict=True)
    ]
    assert outputs[0] == vocabulary.level_count + 1
    assert (inputs["decoder_input_ids"], labels) == (outputs[:-1], outputs[1:])


def test_an_exemplars_tree_is_the_template(task):
    pair = PAIR._replace(target_parse="(SQ (VP a))", template_parse="(S (NP (DT (X b))))")
    assert task.template(pair) == (["S", "NP", "DT"], [1, 2, 3])
    assert task.tree(pair.target_parse).nodes == ["SQ", "VP"]


def test_trees_are_cut_to_the_levels_of_the_task(tokenizer):
    deep = "(A " * 12 + "x" + ")" * 12
    pair = PAIR._replace(target_parse=deep)
    inputs, _ = only(load_task("paraphrase").encode_set(tokenizer, [pair], "guided"))
    assert len(inputs["node_ids"]) == 10


def test_words_outside_the_default_vocabulary(task, tokenizer):
    pair = PAIR._replace(source="her unicorn do purrs .", target_parse=parse("x"))
    with pytest.raises(UserError, match="'purrs' is not in the vocabulary"):
        task.encode_set(tokenizer, [pair], "guided")
    with pytest.raises(UserError, match="which no text can"):
        task.encode_set(tokenizer, [pair._replace(source="her <eos> .")], "guided")


def test_a_pair_without_a_source_tree_cannot_train_an_expander(task, tokenizer):
    with pytest.raises(UserError, match="option parser"):
        task.encode_set(tokenizer, [PAIR._replace(target_parse="(S a)")], "expansion")


def test_text_from_files_gets_pieces(tmp_path):
    write_rows(tmp_path / "train.jsonl", [row("the cat sat", "a cat sat"), row("für den Hund", "dem Hunde")] * 20)
    task = load_task("paraphrase", pieces=300, levels=4)
    data = task.load_data(tmp_path)
    tokenizer = task.make_tokenizer(data)
    assert SyntaxVocabulary.of(tokenizer) == SyntaxVocabulary(("S", "X"), 4)
    assert len(tokenizer) <= 300 + 1 + 3 + 4
    other = row("unseen жук", "ok")
    rows = task.encode_set(tokenizer, [Pair(**other)], "guided")
    ids = only(rows)[0]["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "unseen жук"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": 0}, "levels is 0"),
        ({"template_levels": 1.5}, "template_levels is 1.5"),
        ({"levels": 2}, "more than the 2 levels"),
        ({"grammars": ["passives"]}, "Did you mean passivization"),
        ({"grammars": "passivization"}, r"grammars=\[question_formation\]"),
        ({"level": 8}, "unknown option of paraphrase 'level'. Did you mean levels"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(UserError, match=message):
        load_task("paraphrase", **options)
