import dataclasses

import pytest

from tasks.training.arguments import TrainingArguments, build_parser, flag, parse_arguments
from zoo.errors import UserError

GIVEN = ["--model", "tf", "--task", "question_formation", "--output", "run"]


def test_defaults():
    arguments = parse_arguments("", GIVEN)
    assert arguments == TrainingArguments("tf", "question_formation", "run")
    assert (arguments.seed, arguments.data_seed, arguments.save_minutes) == (1, 0, 5.0)
    assert arguments.configuration() == {}


def test_set_options_are_yaml():
    arguments = parse_arguments("", [*GIVEN, "--set", "dropout=0.2", "--set", "layers=[2, 4]", "--set", "x=y=z"])
    assert arguments.configuration() == {"dropout": 0.2, "layers": [2, 4], "x": "y=z"}


@pytest.mark.parametrize("text", ["dropout", "=1", "x=[1"])
def test_a_malformed_set_option_is_named(text):
    with pytest.raises(UserError, match="--set"):
        parse_arguments("", [*GIVEN, "--set", text]).configuration()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--learning-rate", "0"), ("--train-size", "-1"), ("--save-minutes", "-1"), ("--batch-tokens", "0")),
        *((option, "inf") for option in ("--learning-rate", "--save-minutes", "--max-minutes")),
        *((option, "nan") for option in ("--learning-rate", "--save-minutes", "--max-minutes")),
    ],
)
def test_a_value_out_of_range_is_named_with_its_option(option, value):
    with pytest.raises(UserError, match=f"{option} is {value}"):
        parse_arguments("", [*GIVEN, option, value])


def test_zero_is_fine_where_it_means_something():
    arguments = parse_arguments("", [*GIVEN, "--save-minutes", "0", "--data-seed", "0", "--seed", "0"])
    assert (arguments.save_minutes, arguments.seed) == (0, 0)


def test_abbreviations_and_missing_arguments_are_refused():
    for argv in ([*GIVEN, "--max-ex", "3"], GIVEN[:4]):
        with pytest.raises(SystemExit) as stop:
            parse_arguments("", argv)
        assert stop.value.code == 2


def test_help_has_every_option():
    text = build_parser("").format_help()
    assert all(flag(field.name) in text for field in dataclasses.fields(TrainingArguments))


def test_the_command_line_of_arguments_gives_them_again():
    given = [*GIVEN, "--set", "dropout=0.2", "--set=x=-1", "--learning-rate", "3e-05", "--score-during", "--seed", "0"]
    arguments = parse_arguments("", given)
    assert arguments.overrides == ["dropout=0.2", "x=-1"]
    assert parse_arguments("", arguments.command_line()) == arguments
    assert parse_arguments("", parse_arguments("", GIVEN).command_line()) == parse_arguments("", GIVEN)
