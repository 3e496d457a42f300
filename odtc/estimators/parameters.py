"""Valid values of the parameters of the estimator, described for its users."""

import contextlib
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

from odtc.base.spec_fields import default_of, fields_by_name, parameter_lines
from odtc.data.reading_spec import LEAVES, ReadingSpec
from odtc.model.options import Options
from odtc.workflow.specification import ModelSpec, SolvingSpec


def _whole(least: int):
    return lambda value: isinstance(value, Integral) and not isinstance(value, bool) and value >= least


def _number(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _of_field(spec, name: str, of_its_type) -> tuple:
    """Return the parameter that is a field of a specification, with the range of that."""
    one = fields_by_name(spec)[name]
    fits, default = one.metadata["fits"], default_of(one)
    wanted = one.metadata["wanted"] + (", or None" if default is None else "")
    return name, lambda value: of_its_type(value) and fits(value), wanted


# (name, whether a value fits, the expected values); errors that only the data shows are raised where it is read.
PARAMETERS = (
    ("max_depth", _whole(0), "an integer of at least 0"),
    (
        "min_samples_leaf",
        lambda value: _whole(1)(value) or (isinstance(value, float) and 0 < value < 1),
        "an integer of at least 1, or a share of the rows, above 0 and below 1",
    ),
    ("min_weight_fraction_leaf", lambda value: _number(value) and 0 <= value <= 0.5, "a number from 0 to 0.5"),
    (
        "max_leaf_nodes",
        lambda value: value is None or _whole(2)(value),
        "an integer of at least 2, or None",
    ),
    ("ccp_alpha", lambda value: _number(value) and value >= 0, "a number of at least 0"),
    ("model", lambda value: isinstance(value, str), 'the name of a formulation (`odtc list models`), or "auto"'),
    (
        "solver",
        lambda value: value is None or isinstance(value, str | PathLike),
        "the name of a solver (`odtc list solvers`), several between commas, or None",
    ),
    ("encoding", lambda value: isinstance(value, str), "the name of an encoding (`odtc list encodings`)"),
    (
        "criterion",
        lambda value: isinstance(value, str) and value in ("squared_error", "absolute_error"),
        '"squared_error" or "absolute_error"',
    ),
    _of_field(ReadingSpec, "leaf", lambda value: value in LEAVES),
    _of_field(ReadingSpec, "ridge", _number),
    _of_field(Options, "time_limit", lambda value: value is None or _number(value)),
    _of_field(Options, "threads", lambda value: value is None or _whole(1)(value)),
    _of_field(Options, "gap", _number),
    (
        "cuts",
        lambda value: value is None or isinstance(value, str | tuple),
        "names of cut families between commas (`odtc list cuts`), or None",
    ),
    (
        "params",
        lambda value: value is None or isinstance(value, Mapping),
        "a dict of parameters of the formulation, or None",
    ),
    (
        "robust",
        lambda value: value is None or isinstance(value, str | Mapping) or (_number(value) and value >= 0),
        "a radius of at least 0, a dict {column: radius}, or None",
    ),
    (
        "constraints",
        lambda value: (
            isinstance(value, str) or (isinstance(value, Sequence) and all(isinstance(text, str) for text in value))
        ),
        'a text like "leaf_rows >= 5", or a list of them',
    ),
    (
        "class_weight",
        lambda value: value is None or (isinstance(value, str) and value == "balanced") or isinstance(value, Mapping),
        'a dict {label: weight}, "balanced" or None',
    ),
    (
        "verbose",
        lambda value: isinstance(value, bool) or _whole(0)(value),
        "0, 1 (a line of progress) or 2 (the log of the solver, too)",
    ),
    (
        "progress",
        lambda value: value is None or callable(value),
        "a function that takes Progress records, or None",
    ),
    (
        "categorical_features",
        lambda value: isinstance(value, str | Iterable),
        '"from_dtype" or a list of names or places',
    ),
)

# The parameters that all estimators have in addition to `max_depth`, with their defaults.
COMMON = {
    "min_samples_leaf": 1,
    "min_weight_fraction_leaf": 0.0,
    "max_leaf_nodes": None,
    "ccp_alpha": 0.0,
    "model": "auto",
    "solver": None,
    "time_limit": None,
    "encoding": "auto",
    "categorical_features": "from_dtype",
    "constraints": (),
    "params": None,
    "threads": None,
    "random_state": None,
    "simplify": True,
    "verbose": 0,
    "progress": None,
}
# Parameters that are fields of a specification under another name.
FIELD_OF = {"max_depth": "depth", "random_state": "seed"}
# The types of parameters that take more in Python than on the command line.
TYPES = {
    "solver": "str or None",
    "start": "str, path or None",
    "params": "dict or None",
    "cuts": "str, tuple of str or None",
    "class_weight": 'dict {label: weight}, "balanced" or None',
    "min_samples_leaf": "int or float",
    "cost": "mapping {(true label, predicted label): cost}, matrix in the order of `classes_`, or None",
    "constraints": "str or sequence of str",
    "categorical_features": '"from_dtype" or sequence of names or places',
    "random_state": "int, RandomState instance or None",
    "max_leaf_nodes": "int or None",
    "ccp_alpha": "float",
    "robust": "number, mapping {column name: number or str}, str or None",
    "progress": "callable or None",
    "monotonic_cst": "sequence of int, mapping {column name: int} or None",
}
# Texts in addition to the help of a field, or without one.
TEXTS = {
    "min_samples_leaf": "Fewest training rows in a leaf, or, as a float, their share of all rows, rounded up. "
    'A number above 1 is the constraint "leaf_rows >= N". Rows of weight 0 do not count.',
    "min_weight_fraction_leaf": "Least share of the weight (sample and class weights) in a leaf. If all rows have the "
    "same weight, it is a constraint on their number. Otherwise, a classifier fits the best tree with as many rows in "
    "each leaf as can have this weight, prunes it until it satisfies the limit, and compares it with CART's tree under "
    "the limit. `bound_` is valid, and a ConvergenceWarning says if the tree is not proved optimal. Other estimators "
    "need rows of equal weight.",
    "categorical_features": "Columns that are categories. Columns of text and of a categorical dtype always are; an "
    "ordered Categorical of pandas is split in its order.",
    "time_limit": "If it ends without a proof, the best tree so far is kept, with a ConvergenceWarning, and "
    "`is_optimal_` is False.",
    "encoding": 'auto encodes each column by its type; "auto:bins=16" uses fewer thresholds.',
    "max_leaf_nodes": 'Most leaves; N is the constraint "branch_nodes <= N - 1".',
    "ccp_alpha": "Penalty for a leaf on scikit-learn's scale: min loss / (weight of all rows) + ccp_alpha "
    "* leaves. The loss is the weight of misclassified rows, with class weights in both weights, or the squared error, "
    "absolute error or cost for other tasks. The formulation gets it as lambda_, with "
    "lambda_ / (1 - lambda_) = ccp_alpha * (weight of all rows), so the optimum is the same; `objective_` and "
    "`bound_` are on the scale of the formulation. Models without lambda_ refuse it.",
    "monotonic_cst": "1 if the prediction must not fall as the column grows, -1 if it must not rise, 0 for no "
    "constraint, for all inputs. With two classes, the second of `classes_` becomes more likely: the constraint "
    "monotone_everywhere[COLUMN,positive=CLASS]. With a model, or with weights that are not small fractions, the "
    "constraint is on training rows only (monotone[COLUMN,positive=CLASS]), and a UserWarning says if the tree breaks "
    "the order for other inputs. For numbers, trees are ranked until one is monotone, and a ConvergenceWarning says if "
    "none is proved.",
    "robust": "How far the numbers of a row may change: a row counts as an error if it is misclassified anywhere in "
    'its box. One radius for all numbers, or one for each column, such as {"age": 2, "income": "5%", "colour": "free"} '
    "(odtc.trees.boxes). It is the parameter `robust` of flowoct.",
    "class_weight": '"balanced" gives all classes the same total weight, sample weights included; scikit-learn\'s '
    "trees balance the numbers of rows.",
    "criterion": "squared_error (leaves predict means) or absolute_error (leaves predict medians).",
    "leaf": "Constant or linear; a line is only in a column without missing values.",
    "scores": "One of doubly-robust, direct and ips.",
    "verbose": "1 shows the progress of `fit`: a line in a terminal, a bar in a notebook, and the result in the "
    "last line. 2 shows the log of the solver, too.",
    "progress": "Function that is called with Progress records (`seconds`, `incumbent`, `bound`, `gap`) during the "
    "search.",
    "simplify": "Remove branch nodes that no row needs.",
    "random_state": "None is 0, so that the same data give the same tree.",
}


def section(cls: type) -> str:
    """Return the section Parameters of an estimator's docstring, from its constructor and the fields of the
    specifications."""
    fields = fields_by_name(ReadingSpec) | fields_by_name(SolvingSpec) | fields_by_name(ModelSpec)
    lines = ["Parameters", "----------"]
    for name, given in inspect.signature(cls).parameters.items():
        field = fields.get(FIELD_OF.get(name, name))
        lines += parameter_lines(name, field, given.default, TYPES.get(name, ""), TEXTS.get(name, ""))
    return "\n".join(lines)


def document(cls: type) -> type:
    """Return the estimator, with `{parameters}` in its docstring replaced by its parameters."""
    cls.__doc__ = inspect.cleandoc(cls.__doc__ or "").replace("{parameters}", section(cls))
    return cls


def constructor(**own: Any) -> Callable[..., None]:
    """Return the constructor of an estimator. It sets each parameter as the attribute of its name, unchanged, because
    scikit-learn reads and copies these.

    Parameters
    ----------
    **own
        The parameters that not all estimators have, with their defaults. Only `max_depth` may be given without its
        name.
    """
    kind = inspect.Parameter
    known = [kind("self", kind.POSITIONAL_OR_KEYWORD), kind("max_depth", kind.POSITIONAL_OR_KEYWORD, default=2)]
    known += [kind(name, kind.KEYWORD_ONLY, default=default) for name, default in (COMMON | own).items()]
    signature = inspect.Signature(known)

    def __init__(self, *positional, **named):
        given = signature.bind(self, *positional, **named)
        given.apply_defaults()
        for name in list(given.arguments)[1:]:
            setattr(self, name, given.arguments[name])

    made: Any = __init__
    made.__signature__ = signature
    return made


def expect(estimator) -> None:
    """Raise ValueError for the first parameter that does not fit, before the data is read."""
    given = estimator.get_params(deep=False)
    for name, fits, what in PARAMETERS:
        if name in given and not fits(getattr(estimator, name)):
            raise ValueError(f"expected {name} as {what}, got {getattr(estimator, name)!r}")


OWN = ("odtc", contextlib.__name__)  # `fit` is wrapped in a context (odtc.base.threads)


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the nearest line outside of odtc and of the wrappers of its methods.

    Parameters
    ----------
    text : str
    category : subclass of Warning
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
