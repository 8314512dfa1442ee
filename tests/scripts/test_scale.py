import json
from pathlib import Path

import pytest

from scripts.scale import main, read_rates, relative_lengths, report
from zoo import UserError


def test_hours_are_examples_by_rate() -> None:
    """15 runs of 5,000,000 + 5 x (5 to 15) x 80,000 examples in all, for a task as long as question formation."""
    worth = sum(relative_lengths().values())
    hours = [worth * examples / 1000 / 3600 for examples in (7_000_000, 11_000_000)]
    text = report({"tf": 1000.0}, (1, 4))
    assert f"| `tf` | 1000 | {hours[0]:.0f} to {hours[1]:.0f} |" in text
    assert f"| 4 | {hours[0] / 4:.1f} to {hours[1] / 4:.1f} |" in text
    assert "105 independent runs" in text


def test_a_task_counts_by_its_tokens() -> None:
    lengths = relative_lengths()
    assert len(lengths) == 7
    assert lengths["question_formation"] == 1
    assert lengths["passivization"] < 1


@pytest.mark.parametrize("text", ["", "[]", '{"rows": []}', '{"rows": [{"row": "1"}]}'])
def test_a_file_without_rates_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rates.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"rates\.json.*scripts/benchmark\.py"):
        read_rates(path)


def test_rates_of_another_machine(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps({"rows": [{"row": "models", "what": "training tf", "examples_per_second": 5000}]}))
    monkeypatch.setattr("sys.argv", ["scale.py", "--rates", str(path), "--nodes", "2"])
    main()
    assert "| `tf` | 5000 |" in capsys.readouterr().out
