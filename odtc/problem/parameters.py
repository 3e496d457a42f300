"""The parameters of a formulation: fields with a default, a help text and a range, and their values from texts."""

import dataclasses
from typing import Any

from odtc.base.json_schema import show_value
from odtc.base.text import did_you_mean
from odtc.base.wording import option
from odtc.errors import ChoiceError
from odtc.problem.formulation import FORMULATIONS


def parameter(
    default: Any,
    help: str,
    least: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] | None = None,
    silent: bool = False,
    listed_by: str = "",
) -> Any:
    """Define a field of a formulation's Params.

    Parameters
    ----------
    default : bool, int, float or str
        Its type is the type of the parameter.
    help : str
        A description, for `odtc info MODEL`.
    least : number or None
        The least value.
    below : number or None
        Values are below this one.
    choices : tuple of str or None
        All values, if they are words.
    silent : bool
        Whether manifests contain it only if it is set: the compiler writes it itself.
    listed_by : str
        For a text that may be a list itself: a sign that occurs only in such lists. A grid uses a text with it whole.

    Returns
    -------
    dataclasses.Field
    """
    about = {"help": help, "least": least, "below": below, "choices": choices}
    return dataclasses.field(default=default, metadata=about | {"silent": silent, "listed_by": listed_by})


def merge_rows() -> Any:
    """Return the field `merge` that every formulation has."""
    return parameter(True, "merge identical rows of one class into one row with their weight", silent=True)


def keeps_rows(params: Any) -> bool:
    """Return whether a model of these parameters has a row for each data row: with `merge=false`, or as printed
    (`literal=true`)."""
    return not getattr(params, "merge", True) or bool(getattr(params, "literal", False))


def parameter_key(field: dataclasses.Field[Any]) -> str:
    """Return the public key of a field: `lambda_` is written `lambda`."""
    return field.name.rstrip("_")


# Names of parameters in scikit-learn and other packages, and options of `odtc fit` that are functions in Python, with
# the names here.
MEANT = {
    "max_depth": "depth",
    "min_samples_leaf": "the constraint 'leaf_rows >= N'",
    "min_leaf_size": "the constraint 'leaf_rows >= N'",
    "max_leaf_nodes": "the constraint 'leaves <= N'",
    "max_leaves": "the constraint 'leaves <= N'",
    "max_features": "the constraint 'features <= N'",
    "ccp_alpha": "lambda, the penalty for a branch node",
    "random_state": "seed",
    "n_jobs": "threads",
    "sample_weight": "weights, as numbers or as a column of the data",
    "na_values": "missing_mark",
    "timeout": "time_limit",
    "min_leaf_rows": "the constraint 'leaf_rows >= N'",
    "max_branch_nodes": "the constraint 'branch_nodes <= N'",
    "within": "odtc.near_optimal, or --within on the command line",
    "pool": "odtc.near_optimal, or --pool on the command line",
    "price": "odtc.frontier, or --price on the command line",
    "certificate": "odtc.certify, or --certificate on the command line",
}


def parse_params(formulation: str, given: dict[str, Any]) -> Any:
    """Return the Params of a formulation from texts or values; raises ChoiceError for an unknown key, or a value of
    another type or out of range."""
    cls = FORMULATIONS.get(formulation).Params
    fields = {parameter_key(field): field for field in dataclasses.fields(cls)}
    values = {}
    for key, value in given.items():
        key = key.rstrip("_")
        if key not in fields:
            known = ", ".join(fields) or "it has none"
            hint = f" (use {MEANT[key]})" if key in MEANT else did_you_mean(key, fields) or _of_others(key)
            raise ChoiceError(f"model {formulation!r} has no parameter {key!r}{hint}; known: {known}")
        values[fields[key].name] = _parse(key, fields[key], value)
    return cls(**values)


def able_models(key: str) -> list[str]:
    """Return the formulations of odtc that have a parameter, by its public key."""
    return [name for name in FORMULATIONS.module_names if has_parameter(name, key)]


def grid_values(key: str, text: str) -> list[str]:
    """Return the values of a parameter that a text of a grid names.

    Parameters
    ----------
    key : str
        Its public key.
    text : str
        Values between commas; of a parameter whose value may be such a list itself, one value.

    Returns
    -------
    list of str
    """
    key = key.rstrip("_")
    for name in able_models(key):
        field = next(one for one in dataclasses.fields(FORMULATIONS.get(name).Params) if parameter_key(one) == key)
        if (sign := field.metadata.get("listed_by")) and sign in text:
            return [text.strip()]
    return [value.strip() for value in text.split(",")]


def has_parameter(formulation: str, key: str) -> bool:
    """Return whether a formulation has a parameter, by its public key. Raises ChoiceError for an unknown
    formulation."""
    return key.rstrip("_") in map(parameter_key, dataclasses.fields(FORMULATIONS.get(formulation).Params))


def _of_others(key: str) -> str:
    """Return the formulations that have this parameter, as a part of a sentence; "" for none."""
    able = able_models(key)
    return f", which is one of {option('model', *able)}" if able else ""


def params_to_json(params: Any) -> dict[str, Any]:
    """Return the values by their public keys."""
    values = {field: getattr(params, field.name) for field in dataclasses.fields(params)}
    shown = {field: value for field, value in values.items() if value != field.default or not _silent(field)}
    return {parameter_key(field): value for field, value in shown.items()}


def _silent(field: dataclasses.Field[Any]) -> bool:
    return bool(field.metadata.get("silent"))


def _parse(key: str, field: dataclasses.Field[Any], value: Any) -> Any:
    least, below, choices = (field.metadata.get(word) for word in ("least", "below", "choices"))
    kind = type(field.default)
    try:
        if kind is bool:
            if not isinstance(value, bool):
                value = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                    str(value).lower()
                ]
        else:
            value = kind(value)
        fits = (least is None or value >= least) and (below is None or value < below)
        if not fits or (choices and value not in choices):
            raise ValueError
    except (ValueError, KeyError, TypeError, OverflowError):
        if choices:
            wanted = "one of " + ", ".join(choices)
        else:
            wanted = {"bool": "true or false", "int": "a whole number", "float": "a number"}.get(
                kind.__name__, kind.__name__
            )
            wanted += f" of at least {least}" if least is not None else ""
            wanted += f" and below {below}" if below is not None else ""
        raise ChoiceError(f"parameter {key!r}: expected {wanted}, got {show_value(value)}") from None
    return value
