"""A row is one measured figure with all that is needed to know what it is a figure of."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.files import write_text
from zoo.errors import UserError


@dataclass(frozen=True)
class Row:
    """One figure of one run."""

    run: str
    model: str
    label: str
    family: str
    task: str
    set: str  # validation, test, hierarchical, linear, or generalization for ratios of the last two
    metric: str
    value: float | None  # None where there is none: `note` says why
    standard_error: float | None  # of a sampled value
    n: int  # items; tokens for cross_entropy_per_token
    seed: int
    step: int
    examples: int
    budget: str
    data: str
    parameters: int
    settings: str  # what differs from the default configuration and protocol
    code_version: str
    versions: dict[str, str]
    note: str = ""
    lower: float | None = None  # a certified value lies between lower and upper, whatever was sampled
    upper: float | None = None
    sampled_inputs: int | None = None  # of the n inputs, those that were sampled because their interval is too wide


COLUMNS = tuple(field.name for field in dataclasses.fields(Row))
OPTIONAL = ("note", "lower", "upper", "sampled_inputs")  # files of older versions lack them
INTEGERS = ("n", "seed", "step", "examples", "parameters")
NUMBERS: dict[str, Callable[[Any], float]] = {
    **dict.fromkeys(("value", "standard_error", "lower", "upper"), float),
    "sampled_inputs": int,
}


def write_json_rows(path: Path, rows: Iterable[Row]) -> None:
    """Writes results.json, whole or not at all."""
    content = [dataclasses.asdict(row) for row in rows]
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_csv_rows(path: Path, rows: Iterable[Row]) -> None:
    """Writes rows as CSV, `versions` as one text, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        versions = ", ".join(f"{name} {version}" for name, version in row.versions.items())
        writer.writerow(dataclasses.asdict(row) | {"versions": versions})
    write_text(path, text.getvalue())


def read_rows(path: Path) -> list[Row]:
    """Rows of a results.json or of a CSV file with the same columns. Raises UserError naming file and row."""
    try:
        text = path.read_text(encoding="utf-8")
        records = list(csv.DictReader(io.StringIO(text))) if path.suffix == ".csv" else json.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"cannot read rows from {path}: {error}.") from None
    if not isinstance(records, list):
        raise UserError(
            f"{path} holds no list of rows. Give a results.json or CSV that evaluate.py or compare.py wrote."
        )
    return [_parse(record, f"{path}, row {number}") for number, record in enumerate(records, start=1)]


def _parse(record: Any, where: str) -> Row:
    if not isinstance(record, Mapping):
        raise UserError(f"{where}: not a row but {record!r}.")
    missing = [name for name in COLUMNS if name not in OPTIONAL and record.get(name, ...) is ...]
    if missing:
        raise UserError(f"{where}: without {', '.join(missing)}. A row has the columns {', '.join(COLUMNS)}.")
    values = {name: record[name] for name in COLUMNS if name in record}
    try:
        values |= {name: int(values[name]) for name in INTEGERS}
        values |= {
            name: None if values[name] in ("", None) else read(values[name])
            for name, read in NUMBERS.items()
            if name in values
        }
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: {error}.") from None
    if isinstance(values["versions"], str):
        values["versions"] = dict(item.rsplit(" ", 1) for item in values["versions"].split(", ") if " " in item)
    return Row(**values)
