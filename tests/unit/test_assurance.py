"""Constraints assured on new rows: the bounds are exact, and what is called assured fails as rarely as it says."""

import json
from math import comb

import numpy as np
import pytest

import odtc
from benchmarks.assurance import simulated
from odtc.errors import ChoiceError
from odtc.workflow.constrained.assurance import assurances, lower_bound, upper_bound
from tests.command_line import odtc as command
from tests.command_line import refused


@pytest.mark.parametrize("alpha", [0.05, 0.0125])
@pytest.mark.parametrize("n", [1, 7, 30])
def test_a_bound_from_below_fails_at_most_as_often_as_it_says(n, alpha):
    """By the probabilities of all counts, for shares on a grid."""
    for share in np.linspace(0.01, 0.99, 33):
        wrong = sum(
            comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1) if lower_bound(k, n, alpha) > share
        )
        assert wrong <= alpha + 1e-12
    assert [upper_bound(k, n, alpha) for k in range(n + 1)] == pytest.approx(
        [1 - lower_bound(n - k, n, alpha) for k in range(n + 1)]
    )
    assert lower_bound(n, n, alpha) == pytest.approx(alpha ** (1 / n))


def test_what_is_called_assured_holds_in_the_population():
    """A few of the draws of `python -m benchmarks.assurance`: at most one in twenty is wrong."""
    draws = [simulated(seed) for seed in range(24)]
    assert sum(one["assured"] for one in draws) > 0
    assert sum(one["wrong"] for one in draws) <= 0.05 * len(draws)


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    names = []
    for name, n in (("train", 120), ("test", 200)):
        side, x, z = rng.integers(0, 2, n), rng.integers(0, 4, n), rng.integers(0, 3, n)
        y = np.where((x > 1) ^ (rng.random(n) < 0.1), "yes", "no")
        lines = [f"{'pq'[s]},{a},{b},{c}" for s, a, b, c in zip(side, x, z, y)]
        names.append(tmp_path / f"{name}.csv")
        names[-1].write_text("side,x,z,class\n" + "\n".join(lines) + "\n")
    return names


def test_command_line(files, tmp_path):
    train, test = files
    words = [
        "--depth",
        1,
        "--aside",
        "side",
        "--constraint",
        "recall[yes] >= 0.7",
        "--test",
        test,
        "-o",
        tmp_path / "t",
    ]
    words += ["--constraint", "statistical_parity[group=side,positive=yes] <= 0.01", "--constraint", "f1[yes] >= 0.1"]
    facts = command("fit", train, *words, "--confidence", 0.95, "--json").facts["assured"]
    recall, parity, f1 = facts["constraints"]
    assert facts["confidence"] == 0.95 and "had no part" in facts["assumption"]
    assert recall["assured"] and recall["figure"] >= 0.7
    assert not parity["assured"] and parity["figure"] > 0.01 and "too few" in parity["why"]
    assert not f1["assured"] and "no exact test" in f1["why"]
    said = command("fit", train, *words, "--confidence", 0.95).out
    assert "assured   recall[yes] >= 0.7: " in said and "f1[yes] >= 0.1: cannot be assured" in said
    assert "--test FILE of rows that had no part" in refused(command("fit", train, *words[:6], "--confidence", 0.95))
    json.dumps(facts)


def test_a_confidence_needs_rows_and_constraints(files):
    train, test = files
    fitted = odtc.fit(train, "auto", 1, constraints=("accuracy >= 0.6",))
    with pytest.raises(ChoiceError, match="name their file with --test"):
        fitted.assured(0.95)
    with pytest.raises(ChoiceError, match="between 0 and 1"):
        assurances(fitted.problem, fitted.tree, None, 95)
    tested = odtc.fit(train, "auto", 1, constraints=("accuracy >= 0.6", "features <= 1"), test=test)
    assert [entry.holds for entry in tested.assured(0.95)] == [True]
    assert [entry.holds for entry in tested.assured(0.999999)] in ([True], [False])
