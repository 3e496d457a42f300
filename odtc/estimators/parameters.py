"""What the parameters of the estimator may be, said in the words of its users."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike

from odtc.base.spec_fields import default_of, fields_by_name
from odtc.model.options import Options


def _whole(least: int):
    return lambda value: isinstance(value, Integral) and not isinstance(value, bool) and value >= least


def _number(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _of_field(spec, name: str, of_its_type) -> tuple:
    """The parameter that is a field of a specification, with the range of that."""
    one = fields_by_name(spec)[name]
    fits, default = one.metadata["fits"], default_of(one)
    wanted = one.metadata["wanted"] + (", or None" if default is None else "")
    return name, lambda value: of_its_type(value) and fits(value), wanted


# (name, whether a value fits, what was expected); what only the data can tell is said where it is met.
PARAMETERS = (
    ("max_depth", _whole(0), "an integer of at least 0"),
    ("min_samples_leaf", _whole(1), "an integer of at least 1"),
    ("min_weight_fraction_leaf", lambda value: _number(value) and 0 <= value <= 0.5, "a number from 0 to 0.5"),
    ("model", lambda value: isinstance(value, str), 'the name of a formulation (`odtc list models`), or "auto"'),
    (
        "solver",
        lambda value: value is None or isinstance(value, str | PathLike),
        "the name of a solver (`odtc list solvers`), several between commas, or None",
    ),
    ("encoding", lambda value: isinstance(value, str), "the name of an encoding (`odtc list encodings`)"),
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
        "constraints",
        lambda value: (
            isinstance(value, str) or isinstance(value, Sequence) and all(isinstance(text, str) for text in value)
        ),
        'a text like "leaf_rows >= 5", or a list of them',
    ),
    (
        "class_weight",
        lambda value: value is None or isinstance(value, str) and value == "balanced" or isinstance(value, Mapping),
        'a dict {label: weight}, "balanced" or None',
    ),
    (
        "categorical_features",
        lambda value: isinstance(value, str | Iterable),
        '"from_dtype" or a list of names or places',
    ),
)


def expect(estimator) -> None:
    """Raises ValueError for the first parameter that does not fit, whatever the data."""
    for name, fits, what in PARAMETERS:
        if not fits(getattr(estimator, name)):
            raise ValueError(f"expected {name} as {what}, got {getattr(estimator, name)!r}")
