import gzip

import pytest

from tasks import load_task
from tasks.tokenization import EOS, UNKNOWN, encode
from zoo.errors import UserError


def task(**options):
    return load_task("language_modeling", **options)


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_a_folder_of_three_files_packed_or_not(tmp_path):
    write(tmp_path, **{"x.train": "a  b\n\nc\n", "x.valid": "a\n"})
    (tmp_path / "x.test.txt.gz").write_bytes(gzip.compress(b"b c\n"))
    data = task().load_data(tmp_path)
    assert data.sets == {"train": ["a b", "c"], "validation": ["a"], "test": ["b c"]}
    assert data.description == "text x.train.txt, x.valid.txt, x.test.txt.gz"
    assert task().load_data(tmp_path, sizes={"train": 1}).sets["train"] == ["a b"]


def test_one_file_is_parted_in_its_order(tmp_path):
    write(tmp_path, book="\n".join(f"w{i}" for i in range(40)))
    sets = task().load_data(tmp_path / "book.txt").sets
    assert [len(rows) for rows in sets.values()] == [36, 2, 2]
    assert [line for rows in sets.values() for line in rows] == [f"w{i}" for i in range(40)]


def test_running_text_is_cut_at_the_ends_of_sentences(tmp_path):
    write(tmp_path, train='The cat\nsleeps. "It does!" Mr\n\nEnd of\nit', valid="x", test="x")
    expected = ["The cat sleeps.", '"It does!"', "Mr", "End of it"]
    assert task(text="running").load_data(tmp_path).sets["train"] == expected
    assert task(text="lines").load_data(tmp_path).sets["train"] == ["The cat", 'sleeps. "It does!" Mr', "End of", "it"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"train": "a"}, r"holds no validation set; add a text file called valid or"),
        ({"train": " \n", "valid": "a", "test": "a"}, "train.txt holds no words"),
        ({"x.train": "a", "y.train": "a"}, "two files for the train set"),
    ],
)
def test_what_is_wrong_with_a_folder(tmp_path, texts, message):
    with pytest.raises(UserError, match=message):
        task().load_data(write(tmp_path, **texts))


def test_what_is_wrong_with_a_file(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        task().load_data(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes("Löwe".encode("latin-1"))
    with pytest.raises(UserError, match=r"not UTF-8 \(byte 1\)"):
        task().load_data(tmp_path / "latin.txt")
    (tmp_path / "bad.gz").write_bytes(b"no gzip")
    with pytest.raises(UserError, match=r"bad\.gz is damaged"):
        task().load_data(tmp_path / "bad.gz")
    write(tmp_path, short="a\nb\n")
    with pytest.raises(UserError, match="2 sentences, too few"):
        task().load_data(tmp_path / "short.txt")


def test_rare_words_are_unknown(tmp_path):
    write(tmp_path, train="a a b b c", valid="c", test="d")
    data = task().load_data(tmp_path)
    tokenizer = task().make_tokenizer(data)
    assert sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get) == [
        "<pad>", "<bos>", "<eos>", "<unused>", UNKNOWN, "a", "b",
    ]  # fmt: skip
    unknown = tokenizer.get_vocab()[UNKNOWN]
    assert encode(tokenizer, "a c <unk> <eos>") == [5, unknown, unknown, unknown]
    assert tokenizer("a c").input_ids == [1, 5, unknown, EOS]
    assert "c" in task(min_count=1).make_tokenizer(data).get_vocab()
    data.sets["train"].append("<unk>")  # such a text has its own cut
    assert "c" in task().make_tokenizer(data).get_vocab()
    with pytest.raises(UserError, match="no word comes 9 times"):
        task(min_count=9).make_tokenizer(data)


def test_sentences_of_the_grammars_have_trees_and_are_in_one_set_only():
    sizes = {"train": 3_000, "validation": 50, "test": 100}
    data = task().load_data(seed=3, sizes=sizes)
    assert data.sizes == sizes
    heldout = data.sets["validation"] + data.sets["test"]
    assert len(set(heldout)) == 150
    assert not set(heldout) & set(task().load_data(seed=3).sets["train"])
    for sentence in data.sets["test"]:
        assert task().parse(sentence).leaves() == sentence.split()
    assert {sentence.split()[-1] for sentence in data.sets["test"]} == {".", "?"}
    assert task().load_data(seed=4, sizes=sizes).sets["test"] != data.sets["test"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": "continuous"}, "unknown option of language_modeling 'batch'. Did you mean batches"),
        ({"batches": "continous"}, "unknown value of batches 'continous'. Did you mean continuous"),
        ({"text": "line"}, "unknown value of text"),
        ({"segment_tokens": 0}, "segment_tokens is 0"),
        ({"min_count": True}, "min_count is True"),
        ({"grammars": "question_formation"}, r"write it like grammars=\["),
        ({"grammars": ["passivisation"]}, "Did you mean passivization"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(UserError, match=message):
        task(**options)
