"""CART and CART*: trees in the same form as all others, checked, and refused if a model is needed."""

from pathlib import Path

import pytest
from sklearn.tree import DecisionTreeClassifier

import odtc
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import limits
from tests import pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"
LEARNERS = ["cart", "cart_tuned"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_gives_a_checked_tree_that_proves_nothing(name):
    params = {"folds": 3} if name == "cart_tuned" else {}
    facts = odtc.fit(EXAMPLES / "monks" / "monks-1.csv", name, 2, encoding="onehot", params=params).facts
    assert facts["verified"] and facts["has_solution"] and facts["bound"] is None
    assert facts["termination"] == "unknown" and facts["n_cols"] is None
    assert facts["objective"] == facts["n_rows"] - facts["train_correct"]


def test_cart_is_that_of_scikit_learn():
    fitted = odtc.fit(EXAMPLES / "iris" / "iris.csv", "cart", 2)
    data = fitted.cart.features, odtc.read(EXAMPLES / "iris" / "iris.csv")
    theirs = DecisionTreeClassifier(max_depth=2, random_state=0).fit(data[1].X, data[1].y)
    assert fitted.facts["train_accuracy"] == pytest.approx(theirs.score(data[1].X, data[1].y))


def test_a_pure_tree_is_proved_by_itself():
    facts = odtc.fit(EXAMPLES / "iris" / "iris.csv", "cart", 8).facts
    assert facts["objective"] == 0 and facts["termination"] == "optimal" and facts["bound"] == 0


@pytest.mark.parametrize("name", LEARNERS)
def test_there_is_no_model_to_build(name):
    with pytest.raises(ChoiceError, match="`odtc.fit`"):
        pipeline.build(EXAMPLES / "monks" / "monks-1.csv", name, 2)


@pytest.mark.slow
def test_the_tuned_tree_is_the_same_each_time():
    trees = [odtc.fit(EXAMPLES / "monks" / "monks-3.csv", "cart_tuned", 2, folds=3).tree for _ in range(2)]
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    ("both", "tight"),
    [
        (("leaf_rows >= 20", "leaf_rows >= 2"), "leaf_rows >= 20"),
        (("branch_nodes <= 4", "leaves <= 4"), "leaves <= 4"),
        (("leaves <= 9", "branch_nodes <= 3"), "leaves <= 4"),
    ],
)
def test_of_several_limits_cart_grows_within_the_tightest(both, tight):
    problem = pipeline.pose(EXAMPLES / "monks" / "monks-1.csv", "cart", 4, encoding="onehot", constraints=both)
    alone = pipeline.pose(EXAMPLES / "monks" / "monks-1.csv", "cart", 4, encoding="onehot", constraints=(tight,))
    assert limits(problem) == limits(alone)
    assert problem.module.tree(problem).split.tolist() == alone.module.tree(alone).split.tolist()
