"""Value classes: classes of fields that are set once, and equal where all fields are equal.

`dataclass(frozen=True)` writes and compiles the source of six methods for each class. Two hundred such classes take a
quarter of the CPU time of a small fit. A value class compiles its constructor only, and shares the other methods.
"""

import reprlib
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(kind: type[Kind]) -> type[Kind]:
    """Make a class of values, with the constructor, equality, hash and text of `dataclass(frozen=True)`.

    Only mypy checks that no field is set later; a class whose objects users receive is a `frozen_class`, which also
    checks it at run time.

    Parameters
    ----------
    kind : type, with annotated fields and `dataclasses.field` as in a dataclass

    Returns
    -------
    type : the same class, which is a dataclass for `fields`, `replace` and `asdict`
    """
    made = dataclass(eq=False, repr=False)(kind)
    for name, method in SHARED.items():
        if name not in vars(kind):
            setattr(made, name, method)
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_class(kind: type[Kind]) -> type[Kind]:
    """Make a value class whose fields are set by its constructor only; as a frozen dataclass, it raises
    FrozenInstanceError otherwise. Its constructor is slower than the constructor of a value class.

    Parameters
    ----------
    kind : type, as for `value_class`

    Returns
    -------
    type : the same class
    """
    made: Any = value_class(kind)
    made.__setattr__, made.__delattr__ = _set_once, _keep
    return made  # type: ignore[no-any-return]


def _set_once(value: Any, name: str, new: Any) -> None:
    if name in vars(value) or name not in value.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(value, name, new)


def _keep(value: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


@cache
def _compared(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function of a value that gives its fields that are compared."""
    names = [one.name for one in fields(kind) if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _equal(one: Any, other: Any) -> Any:
    if type(one) is not type(other):
        return NotImplemented
    kind: Any = type(one)
    values = _compared(kind)
    return values(one) == values(other)


def _hash(one: Any) -> int:
    kind: Any = type(one)
    return hash(_compared(kind)(one))


@reprlib.recursive_repr()
def _text(one: Any) -> str:
    shown = (f"{given.name}={getattr(one, given.name)!r}" for given in fields(one) if given.repr)
    return f"{type(one).__qualname__}({', '.join(shown)})"


SHARED: dict[str, Callable[..., Any]] = {"__eq__": _equal, "__hash__": _hash, "__repr__": _text}
