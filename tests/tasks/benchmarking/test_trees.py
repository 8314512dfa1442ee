"""What the row of the tree edit distance is measured on."""

import argparse
import json

from tasks.benchmarking.trees import distances_work, example_pairs, right_branching, zss_work
from tasks.metrics import tree_edit_distance, tree_nodes


def test_the_pair_has_60_words_and_unlike_labels():
    first, second = right_branching("X"), right_branching("Y")
    assert first.count("(T ") == second.count("(T ") == 60
    assert tree_edit_distance(first, second) == 59


def test_pairs_are_those_of_the_file_or_of_a_grammar(tmp_path):
    pairs, origin = example_pairs(argparse.Namespace(data=None))
    assert (len(pairs), origin) == (200, "pairs of passivization")
    assert min(len(tree_nodes(tree).labels) for pair in pairs for tree in pair) > 5
    line = json.dumps({"source": "a", "target": "b", "source_parse": "(S a)", "target_parse": "(S (X b))"})
    (tmp_path / "test.jsonl").write_text(f"{line}\n" * 201, encoding="utf-8")
    found = example_pairs(argparse.Namespace(data=tmp_path))
    assert found == ([("(S a)", "(S (X b))")] * 200, "pairs of test.jsonl")
    distances_work(found[0])()
    zss_work(found[0][:3])()
