import math

import pytest

from tasks.training.schedule import Budget, Plateau, protocol_for
from zoo.errors import UserError

PROTOCOL = protocol_for("seed-000")


def drive(values, **options):
    """The plateau rule and, for each value, (best so far, learning rate in halvings, checkpoints waited)."""
    plateau = Plateau(PROTOCOL.learning_rate)
    seen = []
    for value in values:
        best = plateau.update(value, PROTOCOL, **options)
        seen.append((best, round(math.log2(PROTOCOL.learning_rate / plateau.learning_rate)), plateau.waited))
    return plateau, seen


def test_protocol_is_that_of_the_paper():
    assert (PROTOCOL.gradient_norm, PROTOCOL.checkpoint_examples) == (10, 80_000)
    assert 512 <= PROTOCOL.batch_tokens <= 2048
    assert 1e-5 <= PROTOCOL.learning_rate <= 1e-3


def test_given_values_replace_those_of_the_protocol():
    changed = protocol_for("seed-000", learning_rate=1e-4, batch_tokens=None)
    assert (changed.learning_rate, changed.batch_tokens) == (1e-4, PROTOCOL.batch_tokens)


def test_without_warm_up_the_rate_is_that_of_the_plateau():
    assert [PROTOCOL.warmup_factor(step) for step in (1, 10**6)] == [1.0, 1.0]


@pytest.mark.parametrize(("preset", "steps"), [("guig", 12_800), ("guig-expander", 6_400)])
def test_guig_warms_up_and_falls_as_the_inverse_square_root(preset, steps):
    protocol = protocol_for(preset)
    for step in (1, steps // 2, steps, 4 * steps):  # the formula of the authors, scale 2.0 and width 256
        rate = 2.0 * 256**-0.5 * min(step**-0.5, step * steps**-1.5)
        assert protocol.learning_rate * protocol.warmup_factor(step) == pytest.approx(rate, rel=1e-12)
    assert (protocol.batch_examples, protocol.epochs, protocol.label_smoothing) == (256, 30, 0.1)


def test_rate_halves_after_two_checkpoints_without_improvement_and_training_stops_after_three():
    _, seen = drive([3.0, 3.1, 3.0, 2.9, 3.0, 3.0, 3.0])
    assert seen == [
        (True, 0, 0),
        (False, 0, 1),
        (False, 1, 2),  # equal to the best is no improvement
        (True, 1, 0),
        (False, 1, 1),
        (False, 2, 2),
        (False, 2, PROTOCOL.stop_patience),
    ]


def test_a07_nan_is_never_best_and_counts_as_no_improvement():
    plateau, seen = drive([math.nan, 2.0, 1.5, math.nan])
    assert [best for best, _, _ in seen] == [False, True, True, False]
    assert (plateau.best, plateau.waited) == (1.5, 1)
    assert drive([math.inf])[0].best is None


def test_the_checkpoint_that_ends_a_budget_does_not_count_against_patience():
    plateau, _ = drive([2.0, 2.5, 2.5, 2.5], counts=False)
    assert (plateau.waited, plateau.learning_rate) == (0, PROTOCOL.learning_rate)


def test_budget_says_which_limit_is_reached():
    budget = Budget(max_examples=160_000, max_minutes=10)
    assert budget.spent(examples=159_999, minutes=9.9, epochs=7) is None
    assert budget.spent(examples=160_000, minutes=0, epochs=0) == "max_examples"
    assert budget.spent(examples=0, minutes=10.01, epochs=0) == "max_minutes"
    assert Budget(max_epochs=5).spent(examples=0, minutes=0, epochs=5) == "max_epochs"
    assert Budget().spent(examples=10**9, minutes=10**9, epochs=10**9) is None


def test_budget_in_words():
    budget = Budget(160_000, 10, 5)
    reasons = ("max_examples", "max_minutes", "max_epochs", "converged")
    texts = ["160,000 examples", "10 minutes", "5 epochs", "to convergence"]
    assert [budget.describe(reason) for reason in reasons] == texts


@pytest.mark.parametrize("limits", [{"max_examples": 0}, {"max_minutes": -1}, {"max_epochs": math.nan}])
def test_a_budget_of_nothing_is_an_error(limits):
    with pytest.raises(UserError, match=r"--max-.* allowed: a number above 0"):
        Budget(**limits)
