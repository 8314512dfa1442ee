"""scripts/make_data.py: files that load again, no silent overwriting, errors with status 2."""

import pytest

from scripts.make_data import main
from tasks import load_task

SIZES = "train=30,validation=5,test=6,generalization=7"


def test_written_sets_are_the_generated_ones(tmp_path, capsys):
    main(["--task", "passivization", "--output", str(tmp_path / "new"), "--seed", "4", "--sizes", SIZES])
    names = [f"passivization.{suffix}" for suffix in ("train", "dev", "test", "gen")]
    assert capsys.readouterr().out.split() == [str(tmp_path / "new" / name) for name in names]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(names)
    task = load_task("passivization")
    data = task.load_data(tmp_path / "new")
    assert data.sizes == {"train": 30, "validation": 5, "test": 6, "generalization": 7}
    assert all(examples == task.sample(split, len(examples), 4) for split, examples in data.sets.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "passivisation"], "unknown task 'passivisation'. Did you mean passivization"),
        (["--task", "passivization", "--sizes", "train"], "'train' is not SPLIT=NUMBER"),
        (["--task", "passivization", "--sizes", "dev=3"], "unknown split 'dev'"),
        (["--task", "passivization", "--sizes", "train=1,train=2"], "two numbers for train"),
        (["--task", "passivization", "--sizes", f"train={'9' * 5000}"], "at most 9 digits"),
        (["--task", "passivization", "--seed", "-3"], "seed is -3; allowed: a whole number, 0 or more"),
        (["--task", "passivization", "--output", __file__], "which is a file; give a folder"),
        (["--task", "passivization", "--output", f"{__file__}/data"], "Not a directory. Check the path"),
        (["--task", "passivization", "--output", "x" * 300], "File name too long. Check the path"),
    ],
)
def test_bad_input_is_one_error_and_nothing_is_written(tmp_path, capsys, arguments, message):
    assert main(["--output", str(tmp_path / "new"), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_files_are_written_over_only_by_force(tmp_path, capsys):
    old = tmp_path / "passivization.test"
    old.write_text("mine")
    arguments = ["--task", "passivization", "--output", str(tmp_path), "--sizes", SIZES]
    assert main(arguments) == 2
    assert f"{old} would be written over" in capsys.readouterr().err
    assert old.read_text() == "mine"
    main([*arguments, "--force"])
    assert old.read_text() != "mine"


def test_force_writes_nothing_where_one_of_the_files_can_never_be(tmp_path, capsys):
    folder = tmp_path / "passivization.test"
    folder.mkdir()
    assert main(["--task", "passivization", "--output", str(tmp_path), "--sizes", SIZES, "--force"]) == 2
    assert f"{folder} is a folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [folder]


def test_ctrl_c_is_a_line_and_status_130(tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("scripts.make_data.write_sets", interrupt)
    assert main(["--task", "passivization", "--output", str(tmp_path)]) == 130
    assert capsys.readouterr().err.startswith("interrupted")
