"""Arguments that the constructor of an estimator does not have, each with the one that was meant."""

import inspect

from odtc.base.text import did_you_mean

_WEIGHTS = "weights of rows are given to fit(…, sample_weight=…)"
_COLUMNS = "columns are given to fit(X, y) as arrays; leave out of X the columns that the tree must not split on"
_MARKS = "replace them by NaN or None in X"
_NEAR = "near-optimal trees are counted by odtc.near_optimal(X, y, within=…)"
# Names used by the command line, by scikit-learn or by other packages, and the parameters that they mean here.
MEANT = {
    "missing": "cells of X that are NaN, None or pandas.NA stay, and the tree may test whether one is missing, as with "
    'missing="separate" of odtc.fit; drop rows from X and y to leave them out',
    "depth": "max_depth",
    "lambda_": "ccp_alpha",
    "lam": "ccp_alpha",
    "alpha": "ccp_alpha",
    "constraint": "constraints",
    "min_leaf_rows": "min_samples_leaf",
    "min_leaf_size": "min_samples_leaf",
    "max_leaves": "max_leaf_nodes",
    "max_branch_nodes": "max_leaf_nodes, which is one more",
    "max_features": 'constraints="features <= N"',
    "features": 'constraints="features <= N"',
    "min_samples_split": "min_samples_leaf",
    "n_jobs": "threads",
    "workers": "threads",
    "seed": "random_state",
    "costs": "cost",
    "categorical": "categorical_features",
    "numeric": "turn a column of text into numbers in X",
    "ordered": "make the column of X an ordered Categorical of pandas",
    "decimal": "turn a column of text into numbers in X",
    "missing_mark": _MARKS,
    "na_values": _MARKS,
    "weights": _WEIGHTS,
    "sample_weight": _WEIGHTS,
    "target": _COLUMNS,
    "ignore": _COLUMNS,
    "auxiliary": "columns that only constraints use are given to fit(X, y, auxiliary=…) of OptimalTreeClassifier",
    "criterion": "only OptimalTreeRegressor has it; a classifier minimises the weight of misclassified rows",
    "splitter": "the search tries all thresholds",
    "callback": "progress",
    "actions": "costs of actions are given to fit(X, costs), an array with a column for each action",
    "treatment": "treatments and outcomes are given to fit(X, treatment, outcome)",
    "outcome": "treatments and outcomes are given to fit(X, treatment, outcome)",
    "propensity": "probabilities of treatments are given to fit(X, treatment, outcome, propensity)",
    "time": "times and events are given to fit(X, y) as a structured array of two fields, (event, time)",
    "event": "times and events are given to fit(X, y) as a structured array of two fields, (event, time)",
    "select": "odtc.fit(X, y, select=…) trains on selected ones, and its result predicts; estimators take all rows",
    "confidence": "odtc.fit(X, y, confidence=…) tests constraints on rows that the search does not see",
    "pool": _NEAR,
    "within": _NEAR,
    "task": "OptimalTreeClassifier, OptimalTreeRegressor, OptimalSurvivalTree and OptimalPolicyTree are a task each",
}


def expect_known(cls: type, positional: tuple, named: dict) -> None:
    """Raise TypeError for the first argument that the constructor of `cls` does not have, and suggest a similar one.

    Parameters
    ----------
    cls : type, an estimator
    positional : tuple
        Arguments without a name.
    named : dict
        Arguments by their names.

    Raises
    ------
    TypeError
    """
    found = list(inspect.signature(cls.__init__).parameters.values())[1:]
    kinds = {one.kind for one in found}
    known = [one.name for one in found]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in named:
            if name not in known:
                meant = f"; {_told(name, known)}" if name in MEANT else did_you_mean(name, known)
                raise TypeError(f"{cls.__name__} has no parameter {name!r}{meant}; it has {', '.join(known)}")
    places = [one.name for one in found if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    if inspect.Parameter.VAR_POSITIONAL not in kinds and len(positional) > len(places):
        raise TypeError(
            f"expected all parameters of {cls.__name__} but {', '.join(places)} by their names, got {len(positional)} "
            f"without one; write NAME=VALUE ({', '.join(known)})"
        )


def _told(name: str, known: list[str]) -> str:
    """Return the intended parameter; the name of a parameter comes first."""
    meant = MEANT[name]
    return f"take {meant}" if meant.partition(",")[0].partition("=")[0] in known else meant
