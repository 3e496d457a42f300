"""A tree that can only be a leaf satisfies the constraints, or there is none."""

from dataclasses import replace

import numpy as np
import pytest

import odtc
from odtc.errors import ChoiceError, NoSolutionError

X = np.arange(6.0)[:, None]
Y = np.array([0, 0, 0, 1, 0, 0])
SAME = np.ones((6, 1))


@pytest.mark.parametrize(("depth", "cells"), [(0, X), (2, SAME)])
def test_the_leaf_takes_the_cheapest_label_that_keeps_them(depth, cells):
    """It was the cheapest label, called optimal, whatever was asked for."""
    for texts, label, cost in (
        ((), 0, 1.0),
        ("recall[1] >= 0.9", 1, 5.0),
        (("accuracy >= 0.5", "leaf_rows >= 6", "leaves <= 1"), 0, 1.0),
        ("class_leaves[0] <= 0", 1, 5.0),
        ("f1[1] >= 0.2", 1, 5.0),
        ("recall[0] >= 1", 0, 1.0),
    ):
        found = odtc.OptimalTreeClassifier(depth, constraints=texts).fit(cells, Y)
        assert found.predict(cells).tolist() == [label] * 6
        assert (found.objective_, found.bound_, found.is_optimal_, found.status_) == (cost, cost, True, "optimal")
    dear = odtc.OptimalTreeClassifier(depth, cost={(0, 1): 0.1, (1, 0): 3.0}, constraints="cost <= 2").fit(cells, Y)
    assert (dear.predict(cells[:1]).tolist(), dear.objective_) == ([1], 0.5)
    groups = np.array(["p", "q"] * 3)
    side = pytest.importorskip("pandas").Series(groups, name="side")
    fair = odtc.OptimalTreeClassifier(depth, constraints="group_accuracy[group=side] >= 0.6").fit(
        cells, Y, auxiliary=side
    )
    assert fair.objective_ == 1
    with pytest.raises(NoSolutionError, match="group_accuracy"):
        odtc.OptimalTreeClassifier(depth, constraints="group_accuracy[group=side] >= 0.7").fit(cells, Y, auxiliary=side)


@pytest.mark.parametrize(("depth", "cells"), [(0, X), (2, SAME)])
def test_no_leaf_that_keeps_them_is_no_tree(depth, cells):
    with pytest.raises(NoSolutionError, match=r"no tree without a branch node satisfies accuracy >= 0.9, and"):
        odtc.OptimalTreeClassifier(depth, constraints="accuracy >= 0.9").fit(cells, Y)
    both = ("recall[0] >= 0.5", "recall[1] >= 0.5")
    with pytest.raises(NoSolutionError, match=r"recall\[1\] >= 0.5 together with recall\[0\] >= 0.5; recall\[1\]"):
        odtc.OptimalTreeClassifier(depth, constraints=both).fit(cells, Y)
    with pytest.raises(ChoiceError, match="at most the 6 rows"):
        odtc.OptimalTreeClassifier(depth, min_samples_leaf=7).fit(cells, Y)
    assert odtc.OptimalTreeClassifier(depth, min_samples_leaf=6).fit(cells, Y).objective_ == 1


@pytest.mark.parametrize("depth", [0, 2])
def test_what_cannot_be_read_is_refused_there_too(depth):
    with pytest.raises(ChoiceError, match="unknown constraint 'leaf_row'"):
        odtc.OptimalTreeClassifier(depth, constraints="leaf_row >= 2").fit(X if depth == 0 else SAME, Y)
    with pytest.raises(ChoiceError, match="unknown constraint 'leaf_row'"):
        odtc.OptimalTreeRegressor(depth, constraints="leaf_row >= 2").fit(X if depth == 0 else SAME, Y)
    with pytest.raises(ChoiceError, match="at most the 6 rows"):
        odtc.OptimalTreeRegressor(0, min_samples_leaf=7).fit(X, Y)
    assert odtc.OptimalTreeRegressor(0, constraints="leaf_rows >= 6").fit(X, Y).objective_ == pytest.approx(5 / 6)
    with pytest.raises(ChoiceError, match="at most the 6 rows"):
        odtc.OptimalPolicyTree(0, min_samples_leaf=7).fit(X, np.eye(2)[Y])
    assert odtc.OptimalPolicyTree(0, min_samples_leaf=6).fit(X, np.eye(2)[Y]).predict(X).tolist() == [1] * 6


def estimators():
    """(estimator class, its words, what it is fitted to) of each task with a leaf alone."""
    costs = np.eye(2)[Y]
    yield odtc.OptimalTreeClassifier, {}, (Y,)
    yield odtc.OptimalTreeRegressor, {}, (Y * 3.0,)
    yield odtc.OptimalTreeRegressor, {"criterion": "absolute_error"}, (Y * 3.0,)
    yield odtc.OptimalPolicyTree, {}, (costs * 2,)


@pytest.mark.parametrize("priced", [{"ccp_alpha": 0.2}, {"params": {"lambda": 0.3}}, {"params": {"lambda_": 0.3}}])
@pytest.mark.parametrize("make, words, told", list(estimators()))
def test_its_objective_is_that_of_a_search_that_comes_to_a_leaf(make, words, told, priced):
    """It was the loss alone, where a search gives (1-λ) loss + λ branch nodes."""
    searched = make(1, constraints="leaves <= 1", **words, **priced).fit(X, *told)
    alone = make(1, **words, **priced).fit(SAME, *told)
    assert searched.model_ is not None and alone.model_ is None
    assert alone.objective_ == alone.bound_ == pytest.approx(searched.objective_, rel=1e-12)


@pytest.mark.parametrize("make, words, told", list(estimators()))
def test_a_model_or_a_parameter_that_there_is_not_is_refused(make, words, told):
    with pytest.raises(ChoiceError, match="'tree'"):
        make(0, model="tree", **words).fit(X, *told)
    with pytest.raises(ChoiceError, match="no parameter 'lamda'"):
        make(0, params={"lamda": 0.1}, **words).fit(X, *told)


@pytest.mark.parametrize("make, words, told", list(estimators()))
def test_verify_derives_all_that_was_said_of_it(make, words, told):
    def failed(model, cells=SAME, given=told):
        return [check.name for check in model.verify(cells, *given) if not check.passed]

    def fitted():
        return make(2, ccp_alpha=0.1, **words).fit(SAME, *told)

    model = fitted()
    assert failed(model) == []
    assert failed(model, X) == ["only tree"]  # a test tells these rows apart
    for name, less in (("objective_", "objective"), ("bound_", None), ("bound_", "bound")):
        model = fitted()
        setattr(model, name, getattr(model, name) * (0.5 if less != "bound" else 2))
        assert failed(model) == ([] if less is None else [less])
    model = fitted()
    model.bound_ = None
    assert failed(model) == ["bound"]
    model = fitted()
    root = model.tree_.root
    model.tree_ = replace(model.tree_, root=replace(root, counts=tuple(one + 1 for one in root.counts)))
    assert failed(model) == ["leaf counts"]
    model.tree_ = replace(model.tree_, root=replace(root, rows=tuple(one + 1 for one in root.rows)))
    assert failed(model) == ["leaf counts"]
    other = fitted()
    if model.tree_.task == "regression":
        other.tree_ = replace(other.tree_, root=replace(root, sums=(*root.sums[:2], root.sums[2] + 1, *root.sums[3:])))
        assert failed(other) == ["leaf counts", "answer"]
    else:
        other.tree_ = replace(other.tree_, root=replace(root, label=1 - root.label))
        assert failed(other)[:1] == ["answer"]
    kept = make(0, min_samples_leaf=6, **words).fit(X, *told)
    assert failed(kept, X) == []
    assert failed(kept, X[:5], tuple(one[:5] for one in told))[0] == "constraints"
