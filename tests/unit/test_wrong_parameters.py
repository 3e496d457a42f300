"""Arguments that an estimator does not have are answered by the one that was meant."""

import copy
import inspect
import math
import pickle
from types import SimpleNamespace

import pandas as pd
import pytest
from sklearn.base import clone

import odtc
from odtc.errors import ChoiceError
from odtc.estimators.parameters import PARAMETERS, expect
from odtc.problem.parameters import parse_params

ESTIMATORS = [odtc.OptimalTreeClassifier, odtc.OptimalTreeRegressor, odtc.OptimalPolicyTree, odtc.OptimalSurvivalTree]


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("missing", "cells of X that are NaN, None or pandas.NA stay"),
        ("depth", "take max_depth"),
        ("select", r"odtc.fit\(X, y, select=…\) trains on selected ones"),
        ("within", r"odtc.near_optimal\(X, y, within=…\)"),
        ("confidence", r"odtc.fit\(X, y, confidence=…\)"),
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
        ("max_depth", r"\(use depth\)"),
        ("min_samples_leaf", "leaf_rows >= N"),
        ("ccp_alpha", "lambda"),
        ("n_jobs", "threads"),
        ("min_leaf_rows", "leaf_rows >= N"),
        ("within", r"\(use odtc.near_optimal"),
        ("pool", r"\(use odtc.near_optimal"),
        ("price", r"\(use odtc.frontier"),
        ("certificate", r"\(use odtc.certify"),
    ],
)
def test_words_of_scikit_learn_and_of_the_command_line_are_answered_by_those_of_fit(name, meant):
    with pytest.raises(ChoiceError, match=f"has no parameter '{name}' .*{meant}"):
        odtc.fit([[0.0], [1.0]] * 4, [0, 1] * 4, **{name: 2})


@pytest.mark.parametrize("given", ["a", "a, b"])
def test_a_text_for_a_list_of_columns_is_answered_by_the_list(given):
    """It was taken for "from_dtype", in silence, beside a column of words."""
    rows = {"a": [1, 2, 1, 2] * 3, "b": list("pqpq") * 3}
    with pytest.raises(ValueError, match=r"as \"from_dtype\" or a list .*write \['a'"):
        odtc.OptimalTreeClassifier(1, categorical_features=given).fit(pd.DataFrame(rows), [0, 1, 0, 1] * 3)


NUMBERS = (-1, 0, 1, 2, 0.25, 0.5, 0.75, 1.0, 1.5, math.nan, math.inf, -math.inf, True, False)
OTHERS = (None, "x", "balanced", "squared_error", ("a",), ["a"], [1], {}, object())
FIT = {  # of these the values that a parameter may have, by its words
    "max_depth": (0, 1, 2),
    "min_samples_leaf": (1, 2, 0.25, 0.5, 0.75),
    "min_weight_fraction_leaf": (0, 0.25, 0.5),
    "max_leaf_nodes": (2, None),
    "ccp_alpha": (0, 1, 2, 0.25, 0.5, 0.75, 1.0, 1.5),
    "model": ("x", "balanced", "squared_error"),
    "solver": ("x", "balanced", "squared_error", None),
    "encoding": ("x", "balanced", "squared_error"),
    "criterion": ("squared_error",),
    "leaf": (),  # "constant" and "linear", which are none of these
    "ridge": (0, 1, 2, 0.25, 0.5, 0.75, 1.0, 1.5),
    "time_limit": (1, 2, 0.25, 0.5, 0.75, 1.0, 1.5, None),
    "threads": (1, 2, None),
    "gap": (0, 1, 2, 0.25, 0.5, 0.75, 1.0, 1.5),
    "cuts": ("x", "balanced", "squared_error", ("a",), None),
    "params": ({}, None),
    "robust": (0, 1, 2, 0.25, 0.5, 0.75, 1.0, 1.5, "x", "balanced", "squared_error", {}, None),
    "constraints": ("x", "balanced", "squared_error", ("a",), ["a"]),
    "class_weight": ("balanced", {}, None),
    "categorical_features": ("x", "balanced", "squared_error", ("a",), ["a"], [1], {}),
    "verbose": (0, 1, 2, True, False),
    "progress": (None,),
}


@pytest.mark.parametrize("name", [name for name, _, _ in PARAMETERS])
def test_a_parameter_takes_what_its_words_say_and_no_truth_value_for_a_number(name):
    for value in (*NUMBERS, *OTHERS):
        fits = any(value is one or (type(value) is type(one) and value == one) for one in FIT[name])
        bare = SimpleNamespace(get_params=lambda deep, value=value: {name: value}, **{name: value})
        if fits:
            expect(bare)
        else:
            with pytest.raises(ValueError, match=f"expected {name} as .*, got "):
                expect(bare)


def test_a_number_beyond_doubles_is_refused_as_a_parameter_of_a_record():
    """A record with lambda = 10^400 ended in a fault of odtc."""
    with pytest.raises(ChoiceError, match=r"'lambda': expected a number .*, got a whole number of very many digits"):
        parse_params("dpflow", {"lambda": 10**400})
