"""Ctrl-C in an estimator: its best tree so far is kept, and whatever runs it stops."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import odtc
from odtc import (
    OptimalPolicyTree,
    OptimalSurvivalTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
)
from odtc.formulations import dpflow

RNG = np.random.default_rng(5)
X = RNG.random((60, 3))
LABELS = (X[:, 0] * X[:, 1] > 0.25).astype(int)
TARGETS = {
    OptimalTreeClassifier: LABELS,
    OptimalTreeRegressor: X[:, 0] + X[:, 1],
    OptimalSurvivalTree: np.array(list(zip(LABELS > 0, 1 + RNG.random(60))), dtype=[("event", bool), ("time", float)]),
    OptimalPolicyTree: RNG.random((60, 2)),
}


@pytest.fixture
def pressed(monkeypatch):
    """Ctrl-C at the end of the first search, so that it has a tree and no bound; the list counts searches."""
    times, own = [], dpflow.search

    def search(*given, **named):
        times.append(1)
        found = own(*given, **named)
        return replace(found, interrupted=True, proved=False, bound=0.0) if len(times) == 1 else found

    monkeypatch.setattr(dpflow, "search", search)
    return times


@pytest.mark.parametrize("kind", TARGETS, ids=lambda kind: kind.__name__)
def test_an_interrupted_estimator_has_its_best_tree_and_raises(kind, pressed):
    estimator = kind(max_depth=2)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, TARGETS[kind])
    assert estimator.status_ == "interrupted" and not estimator.is_optimal_ and estimator.bound_ == 0
    assert estimator.tree_.depth <= 2 and len(estimator.predict(X)) == len(X)
    assert estimator.fit(X, TARGETS[kind]) is estimator and estimator.status_ == "optimal"


@pytest.mark.parametrize(
    "run",
    [
        lambda X, y: GridSearchCV(OptimalTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(X, y),
        lambda X, y: cross_val_score(OptimalTreeClassifier(max_depth=2), X, y, cv=3),
        lambda X, y: make_pipeline(StandardScaler(), OptimalTreeClassifier(max_depth=2)).fit(X, y),
        lambda X, y: OptimalTreeClassifier(max_depth=2).cost_complexity_pruning_path(X, y),
    ],
    ids=["grid", "cross-validation", "pipeline", "path"],
)
def test_what_runs_an_interrupted_estimator_stops(run, pressed):
    with pytest.raises(KeyboardInterrupt):
        run(X, LABELS)
    assert len(pressed) == 1


def test_fit_in_python_returns_what_an_interruption_leaves(pressed):
    done = odtc.fit(X, y=LABELS, depth=2)
    assert done.was_interrupted and done.verified and not done.proved
    assert not odtc.fit(X, y=LABELS, depth=2).was_interrupted
