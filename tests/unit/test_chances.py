"""A column that looks like the probability of an action, but has another role, is reported."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odtc
from odtc.data.notes import notes_on
from odtc.data.reading import read
from odtc.errors import DataWarning
from tests.command_line import CHECKOUT

pytestmark = pytest.mark.usefixtures("told_on_command_line")

N = 400


def campaign(seed: int, **columns):
    """Rows of which some are sent a letter, the more probably the more visits they have."""
    draw = np.random.default_rng(seed)
    visits, age = draw.integers(0, 10, N), draw.integers(18, 80, N)
    chance = 0.1 + 0.08 * visits
    sent = draw.random(N) < chance
    known = {
        "mail": chance,  # of one action, in all rows
        "received": np.where(sent, chance, 1 - chance),
        "discount": draw.random(N).round(3).clip(0.001),  # a share that has nothing to do with it
        "rank": ((visits + 1) / 30).round(3),  # tells who is sent a letter, but is no probability of it
    }
    revenue = 10 + visits + sent * np.where(age < 40, 5.0, -3.0) + draw.normal(0, 1, N)
    frame = {"visits": visits, "age": age} | {name: known[name] for name in columns}
    return pl.DataFrame(frame | {"sent": np.where(sent, "mail", "none"), "revenue": revenue})


def said(frame, **options):
    dataset = read(frame, task="policy", treatment="sent", outcome="revenue", scores="ips", **options)
    return [note.text for note in notes_on(dataset) if "probability" in note.text]


@pytest.mark.parametrize("seed", range(5))
def test_a_feature_that_is_a_probability_is_told(seed):
    (text,) = said(campaign(seed, mail=1, discount=1, rank=1))
    assert text.startswith("column 'mail' looks like the probability of 'mail', and is read as a feature")
    assert "in the order mail, none, with --propensity" in text
    (text,) = said(campaign(seed, received=1, discount=1, rank=1))
    assert text.startswith("column 'received' looks like the probability of the action that a row received")


@pytest.mark.parametrize("seed", range(5))
def test_the_probability_of_one_action_that_is_read_as_of_the_one_received_is_told(seed):
    (text,) = said(campaign(seed, mail=1), propensity=["mail"])
    assert "is read as the probability of the action which each row received; give --propensity a column" in text
    assert said(campaign(seed, received=1), propensity=["received"]) == []
    both = campaign(seed, mail=1).with_columns(none=1 - pl.col("mail"))
    assert said(both, propensity=["mail", "none"]) == []


def test_the_column_of_the_example_is_told():
    path = CHECKOUT / "examples/policy/letters.csv"
    (text,) = [
        note.text for note in notes_on(read(path, task="policy", treatment="letter", outcome="paid", scores="ips"))
    ]
    assert text == (
        "column 'chance' looks like the probability of the action that a row received, and is read as a feature; name "
        "it with --propensity, or leave it out with --ignore"
    )


def test_the_likelier_of_two_plausible_meanings_is_told():
    """On 210 rows of the example the numbers may be probabilities of one action, too, and the advice was to name a
    column for each action, which the file does not have."""
    how = {"task": "policy", "treatment": "letter", "outcome": "paid", "scores": "ips", "hold_out": 0.3}
    (text,) = [note.text for note in notes_on(read(CHECKOUT / "examples/policy/letters.csv", **how))]
    assert text.startswith("column 'chance' looks like the probability of the action that a row received")


def test_the_estimator_warns_of_both():
    frame = campaign(0, mail=1)
    X, chance = pd.DataFrame({name: frame[name] for name in ("visits", "age", "mail")}), frame["mail"].to_numpy()
    treatment, outcome = frame["sent"].to_numpy(), frame["revenue"].to_numpy()
    learner = odtc.OptimalPolicyTree(0, scores="ips")
    with pytest.warns(DataWarning, match="column 'mail' looks like the probability of 'mail'.*leave it out of X"):
        learner.fit(X, treatment, outcome)
    with pytest.warns(DataWarning, match="column 'propensity' .*; give fit a column for each action"):
        learner.fit(X[["visits", "age"]], treatment, outcome, chance)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        learner.fit(X[["visits", "age"]], treatment, outcome, np.column_stack([chance, 1 - chance]))
