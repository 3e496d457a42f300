"""Arguments that an estimator does not have are answered by the one that was meant."""

import copy
import inspect
import pickle

import pandas as pd
import pytest
from sklearn.base import clone

import odtc
from odtc.errors import ChoiceError

ESTIMATORS = [odtc.OptimalTreeClassifier, odtc.OptimalTreeRegressor, odtc.OptimalPolicyTree, odtc.OptimalSurvivalTree]


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("missing", "cells of X that are NaN, None or pandas.NA stay"),
        ("depth", "take max_depth"),
        ("lambda_", "take ccp_alpha"),
        ("constraint", "take constraints"),
        ("n_jobs", "take threads"),
        ("maxdepth", r"\(did you mean 'max_depth'\?\)"),
        ("weights", r"fit\(…, sample_weight=…\)"),
        ("max_features", 'take constraints="features <= N"'),
    ],
)
def test_a_wrong_parameter_names_the_right_one(cls, name, meant):
    with pytest.raises(TypeError, match=f"^{cls.__name__} has no parameter '{name}'.*{meant}.*; it has max_depth, "):
        cls(**{name: 1})


def test_a_parameter_of_the_command_line_of_another_task_is_answered():
    with pytest.raises(TypeError, match=r"fit\(X, treatment, outcome, propensity\)"):
        odtc.OptimalPolicyTree(propensity="chance")
    with pytest.raises(TypeError, match=r"structured array of two fields, \(event, time\)"):
        odtc.OptimalSurvivalTree(3, time="days")


def test_parameters_without_a_name_are_told():
    with pytest.raises(TypeError, match="expected all parameters of .* but max_depth by their names"):
        odtc.OptimalTreeClassifier(2, 5)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_what_else_makes_an_estimator_is_as_it_was(cls):
    made = cls(3, min_samples_leaf=4)
    for other in (clone(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.get_params() == made.get_params()
    assert next(iter(inspect.signature(cls).parameters)) == "max_depth"

    class Mine(cls):
        def __init__(self, colour, **rest):
            super().__init__(**rest)
            self.colour = colour

    assert Mine("red", max_depth=1).max_depth == 1


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_depth", r"\(take depth\)"),
        ("min_samples_leaf", "leaf_rows >= N"),
        ("ccp_alpha", "lambda"),
        ("n_jobs", "threads"),
    ],
)
def test_words_of_scikit_learn_are_answered_by_those_of_fit(name, meant):
    with pytest.raises(ChoiceError, match=f"has no parameter '{name}' .*{meant}"):
        odtc.fit([[0.0], [1.0]] * 4, [0, 1] * 4, **{name: 2})


@pytest.mark.parametrize("given", ["a", "a, b"])
def test_a_text_for_a_list_of_columns_is_answered_by_the_list(given):
    """It was taken for "from_dtype", in silence, beside a column of words."""
    rows = {"a": [1, 2, 1, 2] * 3, "b": list("pqpq") * 3}
    with pytest.raises(ValueError, match=r"as \"from_dtype\" or a list .*write \['a'"):
        odtc.OptimalTreeClassifier(1, categorical_features=given).fit(pd.DataFrame(rows), [0, 1, 0, 1] * 3)
