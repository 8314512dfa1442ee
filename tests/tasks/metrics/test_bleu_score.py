"""BLEU: by sacrebleu, with its signature, and where it says little."""

import unicodedata

import pytest
import sacrebleu

from tasks.metrics import bleu, exact_match
from zoo.errors import UserError

PREDICTIONS = ["the cat sat on the mat .", "they do n't know where it is", "a third line of some words"]
REFERENCES = ["the cat sat on a mat .", "they do not know where it went", "the third line has some words"]


def test_the_score_is_that_of_sacrebleu():
    result = bleu(PREDICTIONS, [[reference] for reference in REFERENCES])
    assert result["score"] == sacrebleu.corpus_bleu(PREDICTIONS, [REFERENCES]).score
    assert 20 < result["score"] < 80
    assert result == bleu(PREDICTIONS, REFERENCES)


def test_s07_empty_lines():
    for reference in ("the cat", "\f", ""):
        result = bleu([""], [[reference]])
        assert (result["score"], bool(result["notice"])) == (0.0, True)
    assert exact_match([""], ["the cat"]).value == 0
    with pytest.raises(UserError, match="one line or more"):
        bleu([], [])


def test_s09_every_prediction_has_its_own_references():
    predictions = [PREDICTIONS[0], *PREDICTIONS[:2]]
    references = [[PREDICTIONS[0]], ["quite another line with more words"], ["nothing to do with that"]]
    assert bleu(predictions, references)["score"] < 50
    with pytest.raises(UserError, match="3 predictions and 1 lists of references"):
        bleu(predictions, [[row[0] for row in references]])
    with pytest.raises(UserError, match="prediction 2 has no reference"):
        bleu(predictions, [["a"], [], ["b"]])


def test_s09_numbers_of_references_may_differ():
    best = bleu(PREDICTIONS, [[REFERENCES[0], PREDICTIONS[0]], [PREDICTIONS[1]], ["none", "at all", PREDICTIONS[2]]])
    assert best["score"] == pytest.approx(100)
    # In sacrebleu's order, the references of a column belong to different predictions.
    two = bleu(PREDICTIONS[:2], [[REFERENCES[0], "x y z"], [REFERENCES[1]]])["score"]
    assert two == sacrebleu.corpus_bleu(PREDICTIONS[:2], [REFERENCES[:2], ["x y z", None]]).score


def test_s10_identical_short_lines_give_0_with_a_notice():
    result = bleu(["yes sir"], [["yes sir"]])
    assert (result["score"], "eff:no" in result["signature"]) == (0.0, True)
    assert "no prediction has 4 tokens" in result["notice"]
    assert bleu(["yes sir", "they do as they like"], ["yes sir", "they do as they like"]) == {
        "score": pytest.approx(100),
        "signature": result["signature"],
        "notice": "",
    }


def test_s12_the_signature_says_how_it_was_computed():
    signature = bleu(PREDICTIONS, REFERENCES)["signature"]
    for part in ("nrefs:1", "case:mixed", "eff:no", "tok:13a", "smooth:exp", f"version:{sacrebleu.__version__}"):
        assert part in signature.split("|")


def test_s12_no_warning_of_lines_that_are_tokenised(caplog):
    bleu([*PREDICTIONS[:1] * 150], [*PREDICTIONS[:1] * 150])
    assert not caplog.records


def test_d07_composed_and_decomposed_letters_are_the_same():
    line = "wir warten für uns und für euch"
    assert bleu([line], [[unicodedata.normalize("NFD", line)]])["score"] == pytest.approx(100)
