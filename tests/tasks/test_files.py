"""Files that are whole or not there, and errors about them in one line."""

import pytest

from tasks.files import explain, read_object, write_json, write_text
from zoo.errors import UserError


class NoText:
    """What a file refuses to take."""


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old")
    with pytest.raises(TypeError):
        write_text(path, NoText())
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new" * 10_000 + "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("x" * 255)
    write_text(path, "é\n")
    assert path.read_bytes() == "é\n".encode()


def test_an_object_is_read_as_it_was_written(tmp_path):
    write_json(tmp_path / "a.json", {"text": "é", "number": 0.1})
    assert read_object(tmp_path / "a.json", "") == {"text": "é", "number": 0.1}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"[" * 100_000, b"\xff"])
def test_a_file_that_holds_no_object_is_one_error_with_the_fix(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.json is damaged: .*\. Do this\.$"):
        read_object(path, "Do this.")


def test_errors_of_the_system_name_the_file_and_the_reason(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        (tmp_path / "missing" / "file").read_text()
    text = explain(error.value)
    assert text == f"{tmp_path}/missing/file: No such file or directory. " + text.partition(". ")[2]
    assert explain(OSError("odd")).startswith("odd. ")
