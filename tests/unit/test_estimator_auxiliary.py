"""Auxiliary columns in `fit`: constraints name them, no split uses them, and `predict` does not need them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import odtc
from odtc import OptimalTreeClassifier

PARITY = "statistical_parity[group=sex,positive=yes] <= 0.1"


@pytest.fixture
def people():
    rng = np.random.default_rng(2)
    sex = rng.choice(["f", "m"], 200)
    height = np.where(sex == "m", 178, 166) + rng.integers(-9, 10, 200)
    score = rng.integers(0, 40, 200)
    y = np.where((score > 20) ^ (height > 172) & (rng.random(200) < 0.7), "yes", "no")
    return pd.DataFrame({"height": height, "score": score}), y, pd.DataFrame({"sex": sex})


def parity(said, sex) -> float:
    first, second = ((said[sex == s] == "yes").mean() for s in ("f", "m"))
    return abs(first - second)


def test_the_tree_keeps_parity_between_groups_that_it_does_not_ask(people):
    X, y, auxiliary = people
    free = OptimalTreeClassifier(2).fit(X, y)
    fair = OptimalTreeClassifier(2, constraints=PARITY).fit(X, y, auxiliary=auxiliary)
    sex = auxiliary["sex"].to_numpy()
    assert parity(free.predict(X), sex) > 0.1 >= parity(fair.predict(X), sex)
    assert fair.is_optimal_ and fair.objective_ >= free.objective_ and fair.n_features_in_ == 2
    assert all(check.passed for check in fair.verify(X, y, auxiliary=auxiliary))
    named = odtc.fit(pd.concat([X, auxiliary, pd.Series(y, name="y")], axis=1), auxiliary=["sex"], constraints=[PARITY])
    assert named.facts["objective"] == fair.objective_


def test_a_series_polars_and_a_pipeline_say_the_same(people):
    X, y, auxiliary = people
    learner = OptimalTreeClassifier(2, constraints=PARITY)
    want = learner.fit(X, y, auxiliary=auxiliary).predict(X).tolist()
    assert learner.fit(X, y, auxiliary=auxiliary["sex"]).predict(X).tolist() == want
    assert learner.fit(X, y, auxiliary=pl.DataFrame(auxiliary.to_dict("list"))).predict(X).tolist() == want
    assert (
        learner.fit(pl.DataFrame(X.to_dict("list")), y, auxiliary=pl.DataFrame(auxiliary.to_dict("list"))["sex"])
        .predict(pl.DataFrame(X.to_dict("list")))
        .tolist()
        == want
    )
    pipe = make_pipeline(FunctionTransformer(), learner)
    assert pipe.fit(X, y, optimaltreeclassifier__auxiliary=auxiliary).predict(X).tolist() == want


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda auxiliary: auxiliary.to_numpy(), "a data frame or a series with a name, got ndarray"),
        (lambda auxiliary: auxiliary.iloc[:5], "got 5 and 200 rows"),
        (lambda auxiliary: auxiliary.assign(score=1), "none of X, got 'score' in both"),
        (lambda auxiliary: auxiliary.rename(columns={"sex": "gender"}), "has no column 'sex'"),
        (lambda auxiliary: None, "has no column 'sex'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(people, change, words):
    X, y, auxiliary = people
    with pytest.raises(ValueError, match=words):
        OptimalTreeClassifier(1, constraints=PARITY).fit(X, y, auxiliary=change(auxiliary))
