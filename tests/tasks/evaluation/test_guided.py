"""Models that read a gold tree, scored on a transformation task."""

import pytest
import torch

from tasks import load_task
from tasks.evaluation.evaluation import EvaluationSettings
from tasks.evaluation.guided import reader_for
from tasks.evaluation.prefixes import read_prompts
from tasks.evaluation.sampling import sample_outputs, uniform_noise
from tasks.evaluation.scoring import score_batch
from tasks.evaluation.sets import encode_pairs, scored_sets
from tasks.paraphrase.vocabulary import SyntaxVocabulary
from tasks.tokenization import EOS
from tasks.transformation.guided import guide_tree
from zoo import create_model
from zoo.errors import UserError

SIZES = {"hidden_size": 8, "inner_size": 12, "key_size": 4, "value_size": 4}


def setting(name="question_formation", guide="source", model="guig", count=6):
    task = load_task(name, guide=guide)
    tokenizer = task.make_tokenizer(None, "guided")
    sets = {"generalization": task.load_data(splits=["generalization"]).sets["generalization"][:count]}
    pairs = scored_sets(task, sets)
    encoded = {rule: encode_pairs(tokenizer, rows) for rule, rows in pairs.items()}
    network = create_model(model, tokenizer=tokenizer, seed=2, **SIZES).eval()
    return task, tokenizer, sets, pairs, encoded, network, reader_for(network, tokenizer, task, pairs, encoded)


@pytest.mark.parametrize("model", ["guig", "guig-no-source", "guig-no-syntax", "transformer-concat"])
def test_walking_along_an_output_gives_its_teacher_forced_probability(model):
    *_, encoded, _, reader = setting(model=model)
    rows = encoded["hierarchical"]
    scores = score_batch(reader, rows)
    prefixes = read_prompts(reader, [pair.source for pair in rows])
    order, total = torch.arange(len(rows)), torch.zeros(len(rows), dtype=torch.double)
    targets = [[*pair.target, EOS] for pair in rows]
    for step in range(max(map(len, targets))):
        going = [index for index in order.tolist() if len(targets[index]) > step]
        tokens = torch.tensor([targets[index][step] for index in going])
        if step:
            before = torch.tensor([targets[index][step - 1] for index in going])
            prefixes = prefixes.follow(torch.tensor([order.tolist().index(index) for index in going]), before)
        total[going] += prefixes.probabilities[torch.arange(len(going)), tokens].log()
        order = torch.tensor(going)
    assert total.tolist() == pytest.approx([score.log_probability for score in scores], abs=1e-4)
    assert [score.tokens for score in scores] == [len(target) for target in targets]  # the source is no part of it


def test_the_tree_is_that_of_the_source_with_its_tag_or_of_each_target():
    for guide in ("source", "target"):
        task, tokenizer, _, pairs, encoded, network, reader = setting(guide=guide)
        vocabulary = SyntaxVocabulary.of(tokenizer)
        for rule in ("hierarchical", "linear"):
            scores = score_batch(reader, encoded[rule])
            for (source, target), ids, score in zip(pairs[rule], encoded[rule], scores, strict=True):
                tree = linearized(task, source, target, guide)
                nodes, levels = (torch.tensor([part]) for part in vocabulary.encode(*tree))
                logits = network(
                    input_ids=torch.tensor([[1, *ids.source, 2]]), node_ids=nodes, level_ids=levels,
                    decoder_input_ids=torch.tensor([[1, *ids.target]]),
                ).logits  # fmt: skip
                log_probabilities = logits.log_softmax(-1)[0].gather(1, torch.tensor([*ids.target, EOS])[:, None])
                assert log_probabilities.sum().item() == pytest.approx(score.log_probability, abs=1e-4)


def linearized(task, source, target, guide):
    if guide == "target":
        from tasks.paraphrase import linearize

        return linearize(task.parse_target(target))
    tree = guide_tree(task, type("Pair", (), {"source": source, "target": target}), "source")
    assert tree.nodes[:2] == ["S", source.split()[-1]]
    assert tree.levels[:2] == [1, 2]
    return tree


def test_samples_depend_neither_on_the_batch_nor_on_its_order():
    *_, encoded, _, reader = setting(count=4)
    sources = [pair.source for pair in encoded["hierarchical"]]
    noise = [uniform_noise(0, index, 3, 8) for index in range(4)]
    together = sample_outputs(reader, sources, torch.stack(noise))
    for index, source in enumerate(sources):
        assert torch.equal(sample_outputs(reader, [source], noise[index][None])[0], together[index])


@pytest.mark.parametrize("guide", ["source", "target"])
def test_rows_say_that_gold_trees_are_used(guide):
    for name in ("question_formation", "passivization"):
        task, tokenizer, sets, *_, network, _ = setting(name, guide=guide, count=3)
        data = type("Data", (), {"sets": sets})
        figures = task.figures(network, tokenizer, data, None, EvaluationSettings(samples=2))
        note = "uses ground-truth parse trees" + (", target tree given" if guide == "target" else "")
        assert all(figure.note.split(";")[0] == note for figure in figures)
        partial = {figure.set for figure in figures if figure.metric == "partial_accuracy"}
        # Sampled outputs cannot be guided by two trees at once.
        assert partial == (set() if (name, guide) == ("passivization", "target") else {"hierarchical", "linear"})


def test_an_unknown_guide_is_an_error():
    with pytest.raises(UserError, match="unknown guide 'none'"):
        load_task("question_formation", guide="none")
