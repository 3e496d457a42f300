"""The types of class labels: text, whole numbers, decimals or truth values.

Classes are named by text everywhere in odtc. What predicts for other programs (exports, `predict`, `explain`) returns
labels of the type that they have in the data, so that they can be compared with its target.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from odtc.base.text import show_number
from odtc.base.whole_numbers import MAX_EXACT

TEXT, INT, FLOAT, BOOL = "text", "int", "float", "bool"
LABEL_TYPES = (TEXT, INT, FLOAT, BOOL)

Label = str | int | float | bool


def label_type_of(classes: Iterable[str], guessed: bool = True, like: str = TEXT) -> str:
    """Return the type of labels by the names of the classes.

    Parameters
    ----------
    classes : iterable of str
    guessed : bool
        Whether the labels were read as text that may mean numbers, as in a CSV file.
    like : str
        The type of the labels, if they were not.

    Returns
    -------
    str
        TEXT unless every name can be read as a label of another type.
    """
    names = tuple(classes)
    candidates = (BOOL, INT, FLOAT) if guessed else () if like == TEXT else (like,)
    return next((one for one in candidates if names and _fits(names, one)), TEXT)


def _fits(names: Sequence[str], label_type: str) -> bool:
    if label_type == BOOL:
        return {name.lower() for name in names} <= {"false", "true"} and len({name.lower() for name in names}) == len(
            names
        )
    try:
        values = [label_of(name, label_type) for name in names]
        exact = all(abs(value) < MAX_EXACT for value in values)
        return exact and all(name in (str(value), show_number(value)) for value, name in zip(values, names))
    except (ValueError, OverflowError):
        return False


def label_of(name: str, label_type: str) -> Label:
    """Return the label of a class. Raises ValueError if a name is not one of this type."""
    if label_type == BOOL:
        return bool(("false", "true").index(name.lower()))
    if label_type == INT:
        return int(name)
    return float(name) if label_type == FLOAT else name


def in_numpy(values: Any) -> Any:
    """Return a series or a frame of polars with columns of types that numpy does not have, whole numbers of 128 bits or
    decimals, as 64 bits: whole numbers if these hold all of them, otherwise doubles. Anything else is returned
    unchanged."""
    if hasattr(values, "get_columns"):
        return values.with_columns(*map(in_numpy, values.get_columns()))
    kind = str(getattr(values, "dtype", ""))
    if kind.startswith("Decimal") and hasattr(values, "to_list"):
        return values.cast(float)
    if kind not in ("Int128", "UInt128"):
        return values
    fits = values.null_count() == 0 and values.abs().max() is not None and values.abs().max() < MAX_EXACT
    return values.cast(int if fits else float)
