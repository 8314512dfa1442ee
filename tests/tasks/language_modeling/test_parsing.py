import pytest
from levelled_model import TOKENIZER, LevelledModel, PlainModel

from tasks.brackets import parse_trees
from tasks.evaluation.evaluation import EvaluationSettings
from tasks.language_modeling.levels import encode_words, has_levels, sentence_levels
from tasks.language_modeling.parsing import score_trees
from zoo.errors import UserError

GOLD = """
(S (NP-SBJ (DT The) (NN cat)) (, ,) (VP (NP (DT a) (NN dog)) (CD 3)) (. .))
(S (NN cat))
(S (, ,) (. .))
(S (A b) (B (C a) (D zebra)))
"""
METHODS = ("split", "binary", "layer_2_split", "layer_2_binary", "left", "right", "balanced", "random")


def score(text=GOLD, training=(), **settings):
    trees = list(parse_trees(text, "here"))
    return score_trees(LevelledModel(), TOKENIZER, trees, "toy", training, EvaluationSettings(**settings))


def by_name(figures, name="trees"):
    return {figure.metric: figure for figure in figures if figure.set == name}


def test_levels_are_those_of_the_words_after_bos():
    ids = [encode_words(TOKENIZER, words.split()) for words in ("a b", "The zebra 1,000", "c")]
    vocabulary = TOKENIZER.get_vocab()
    assert ids[1] == [vocabulary["the"], vocabulary["<unk>"], vocabulary["N"]]
    for batch_tokens in (4, 1000):
        levels = sentence_levels(LevelledModel(), ids, batch_tokens)
        for row, of_layers in zip(ids, levels, strict=True):
            assert of_layers[0] == pytest.approx([index / 10 for index in row])
            assert of_layers[1] == pytest.approx([1 - index / 10 for index in row])
    assert has_levels(LevelledModel())
    assert not has_levels(PlainModel())


def test_every_parser_and_every_baseline_is_there_always():
    figures = score()
    for name in ("trees", "trees_10"):
        metrics = by_name(figures, name)
        assert {f"{kind}_{method}" for kind in ("sentence_f1", "corpus_f1") for method in METHODS} <= set(metrics)
    assert {figure.n for figure in figures if "f1" in figure.metric} == {2}  # sentences of two words or more


def test_hand_worked_scores():
    # Words that count: the cat a dog 3, with NP 0-2, VP 2-5, NP 2-4; and b a zebra with B 1-3.
    figures = by_name(score())
    # Right branching: 1-5 2-5 3-5, one of three; 1-3, one of one. Left: 0-2 0-3 0-4, one of three; 0-2, none of one.
    assert figures["sentence_f1_right"].value == pytest.approx((1 / 3 + 1) / 2)
    assert figures["corpus_f1_right"].value == pytest.approx(2 / 4)
    assert figures["sentence_f1_left"].value == pytest.approx((1 / 3 + 0) / 2)
    # Balanced: 0-2 2-5 3-5, two of three; 1-3.
    assert figures["sentence_f1_balanced"].value == pytest.approx((2 / 3 + 1) / 2)
    assert figures["recall_NP_right"].value == 0.0
    assert figures["recall_VP_right"].value == 1.0
    assert (figures["recall_NP_balanced"].value, figures["recall_NP_balanced"].n) == (0.5, 2)


def test_trees_of_levels_are_scored():
    # Ids are in the order of . <unk> N a b c cat d dog the, so the levels of the first layer are
    # the 1.3, cat 1.0, a 0.7, dog 1.2, 3 0.6 and b 0.8, a 0.7, zebra 0.5.
    ids = [TOKENIZER.get_vocab()[word] for word in ("<unk>", "N", "a", "b", "cat", "dog", "the")]
    assert ids == [5, 6, 7, 8, 10, 12, 13]
    figures = by_name(score())
    # binary: (the cat a)(dog 3) -> 0-3 3-5, then the|cat a -> 0-3: cat 1-3; none of 3 gold: F1 0. Second: b|a zebra: 1.
    assert figures["sentence_f1_binary"].value == pytest.approx((0 + 1) / 2)
    # split: the first word is the maximum: [the [cat a dog 3]], and then [[cat a] [dog 3]]: 1-5, 1-3, 3-5. Second: 1.
    assert figures["sentence_f1_split"].value == pytest.approx((0 + 1) / 2)
    # The other layer turns the order round: binary ((the cat a dog) 3), ((the cat) (a dog)): 0-4, 0-2, 2-4. Second:
    # ((b a) zebra).
    assert figures["sentence_f1_layer_2_binary"].value == pytest.approx((2 / 3 + 0) / 2)


def test_p06_punctuation_can_be_kept():
    figures = by_name(score(keep_punctuation=True))
    # The last sentences count as well; `cat` alone does not.
    assert figures["sentence_f1_right"].n == 3
    assert "punctuation kept" in figures["sentence_f1_right"].note
    assert "punctuation left out" in by_name(score())["sentence_f1_right"].note
    # the cat , a dog 3 . with 0-2, 3-6, 3-5: left branching has 0-2 of five; `, .` has nothing to find; b a zebra.
    left = [2 * (1 / 5) * (1 / 3) / (1 / 5 + 1 / 3), 1.0, 0.0]
    assert figures["sentence_f1_left"].value == pytest.approx(sum(left) / 3)


def test_short_sentences_are_scored_by_themselves_by_the_words_that_count():
    long = "(S (A " + " ".join(f"(B x{i})" for i in range(10)) + ") (. .) (A (B a)))"
    figures = score(GOLD + long)
    assert by_name(figures, "trees")["sentence_f1_left"].n == 3
    assert by_name(figures, "trees_10")["sentence_f1_left"].n == 2
    # Nothing is short: no value, and no division by zero.
    empty = by_name(score(long), "trees_10")
    assert (empty["sentence_f1_left"].value, empty["sentence_f1_left"].note) == (None, "no items")


def test_what_the_model_was_trained_on_is_said():
    assert "2 sentences of 2 words or more, 1 of them in the training text" in by_name(
        score(training=["the cat a dog N .", "the cat a dog"])
    )["sentence_f1_left"].note.replace("toy; ", "")


def test_only_punctuation_has_no_scores():
    figures = score("(S (, ,) (. .))")
    assert {figure.value for figure in figures} == {None}


def test_gold_trees_for_a_model_without_levels_are_an_error(tmp_path):
    from tasks import load_task
    from tasks.interface import TaskData

    settings = EvaluationSettings(trees=str(tmp_path))
    with pytest.raises(UserError, match="levelled has no levels to make trees from"):
        load_task("language_modeling").figures(PlainModel(), TOKENIZER, TaskData({}, ""), list, settings)


def test_p05_gold_trees_of_the_grammars_need_no_treebank():
    from tasks import load_task

    task = load_task("language_modeling")
    data = task.load_data(sizes={"test": 3}, splits=["test"])
    figures = by_name(task.figures(LevelledModel(), TOKENIZER, data, list, EvaluationSettings()))
    assert {"sentence_f1_split", "corpus_f1_split", "sentence_f1_random"} <= set(figures)
    assert figures["sentence_f1_left"].n == 3
    assert figures["sentence_f1_left"].note.startswith("no model; trees of the grammars, test set")
