"""Schemas of JSON files: a damaged file is refused with the place of its damage.

A schema is one of

* TEXT, WHOLE, NUMBER (finite), REAL, FLAG or ANY;
* a list of one schema, which all entries satisfy;
* a dict of schemas by key; a key that ends in "?" may be absent, and further keys may be present;
* a tuple of alternatives;
* a function of a value and its place that returns the next schema, so that schemas may depend on values.
"""

import dataclasses
import json
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from odtc.base.commit import expect_settled
from odtc.base.registry import of_this_stem
from odtc.base.system import read_file
from odtc.base.wording import kind_by_name

TEXT = "a text"
WHOLE = "a whole number"
NUMBER = "a finite number"
REAL = "a number"
FLAG = "true or false"
ANY = "anything"
KINDS: dict[type, Any] = {  # how a value of an annotation is written
    **{str: TEXT, Path: TEXT, int: WHOLE, float: NUMBER, bool: FLAG},
    **{tuple: [TEXT], dict: {}, object: ANY, NoneType: None},
}
LONGEST = 60  # characters of a value in a message
LARGEST = sys.float_info.max  # JSON's whole numbers have no end, ours are doubles


class SchemaError(Exception):
    """The first place of a value that does not satisfy its schema, in a sentence."""


def read_object(path: str | PathLike[str], what: str, error: type[Exception], named: bool = True) -> dict[str, Any]:
    """Return the JSON object of a file; raise `error` with a sentence that names the file and the place of the damage.

    A file that the user has not `named`, because it was found next to another one, must be a regular file.
    """
    expect_settled(path)
    try:
        data = Path(path).read_bytes() if named else read_file(path)
        text = data.decode("utf-8")
    except OSError as problem:
        raise error(
            f"cannot read the {what} {str(path)!r}: {problem.strerror}{of_this_stem(path, '.tree.json')}"
        ) from None
    except UnicodeDecodeError as problem:
        raise error(
            f"expected a {what} in JSON in {str(path)!r}, got bytes that are not UTF-8 text (byte {problem.start + 1})"
        ) from None
    try:
        facts = json.loads(text)
    except json.JSONDecodeError as problem:
        raise error(
            f"expected a {what} in JSON in {str(path)!r}, got text that is not JSON "
            f"({problem.msg} in line {problem.lineno}, column {problem.colno}){kind_by_name(path)}"
        ) from None
    except RecursionError:
        raise error(f"expected a {what} in JSON in {str(path)!r}, got one that is nested too deeply") from None
    except ValueError:  # Python reads no number of so many digits
        raise error(f"expected a {what} in JSON in {str(path)!r}, got a number of thousands of digits in it") from None
    if not isinstance(facts, dict):
        raise error(f"expected a {what} in {str(path)!r}, got {show_value(facts)} in JSON")
    return facts


def read_if_of(
    path: str | PathLike[str], schema: str, suffix: str, what: str, advice: str, error: type[Exception]
) -> dict[str, Any] | None:
    """Return the JSON object of a file of this schema; None for any other file. If the name of another file ends in
    `suffix`, `error` is raised, with advice."""
    named = str(path).endswith(suffix)
    try:
        facts = read_object(path, what, error)
    except error:
        if named:
            raise
        return None
    if facts.get("schema") == schema:
        return facts
    if named:
        raise error(
            f"expected a {what} of schema {schema!r} in {str(path)!r}, got {show_value(facts.get('schema'))}; {advice}"
        )
    return None


def validate(value: Any, shape: Any, place: str = "") -> None:
    """Raise SchemaError if the value does not satisfy this schema."""
    while callable(shape):
        shape = shape(value, place)
    if isinstance(shape, tuple):
        _fit_any(value, shape, place)
    elif isinstance(shape, dict):
        _expect(isinstance(value, dict), "an object", value, place)
        for key, inner in shape.items():
            name = key.removesuffix("?")
            if name in value:
                validate(value[name], inner, f"{place}.{name}" if place else name)
            elif key == name:
                raise SchemaError(f"{name!r} is missing{f' at {place}' if place else ''}")
    elif isinstance(shape, list):
        _expect(isinstance(value, list), "a list", value, place)
        for at, entry in enumerate(value):
            validate(entry, shape[0], f"{place}[{at}]")
    else:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        fits = {
            TEXT: isinstance(value, str),
            FLAG: isinstance(value, bool),
            ANY: True,
            WHOLE: number and isinstance(value, int),
            NUMBER: number and abs(value) <= LARGEST,
            REAL: number and (isinstance(value, float) or abs(value) <= LARGEST),
        }
        _expect(fits.get(shape, value == shape), shape if shape in fits else repr(shape), value, place)


def list_of(length: int, shape: Any) -> Callable[[Any, str], Any]:
    """Return the schema of a list of this length, whose entries satisfy `shape`."""

    def of_length(value: Any, place: str) -> Any:
        _expect(not isinstance(value, list) or len(value) == length, f"a list of {length}", value, place)
        return [shape]

    return of_length


def schema_of(record: Any) -> dict[str, Any]:
    """Return the schema of a dataclass as `dataclasses.asdict` writes it, by the annotations of its fields: texts,
    numbers, tuples of texts, dicts, objects of any kind, and unions of these."""
    return {field.name: _of_annotation(field.type) for field in dataclasses.fields(record)}


def _of_annotation(kind: Any) -> Any:
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    schemas: list[Any] = []
    for schema in (KINDS[get_origin(one) or one] for one in kinds):
        if schema not in schemas:
            schemas.append(schema)
    return tuple(schemas) if len(schemas) > 1 else schemas[0]


def _fit_any(value: Any, shapes: tuple[Any, ...], place: str) -> None:
    for shape in shapes:
        try:
            validate(value, shape, place)
            return
        except SchemaError as problem:
            last = problem
    simple = [shape for shape in shapes if not isinstance(shape, (dict, list)) and not callable(shape)]
    if len(simple) < len(shapes):
        raise last
    _expect(
        False,
        " or ".join(shape if shape in (TEXT, WHOLE, NUMBER, REAL, FLAG) else repr(shape) for shape in simple),
        value,
        place,
    )


def _expect(fits: bool, wanted: str, value: Any, place: str) -> None:
    if not fits:
        raise SchemaError(f"expected {wanted}{f' at {place}' if place else ''}, got {show_value(value)}")


def show_value(value: object) -> str:
    """Return a value in a few characters."""
    if value is None:
        return "null"
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**LONGEST:
        return "a whole number of very many digits"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


# What reading a value of another shape raises; `explain_error` puts each into words.
NOT_WHOLE = (
    SchemaError,
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def explain_error(problem: Exception) -> str:
    """Return the error of a value that satisfies its schema, in words instead of the name of an exception."""
    if isinstance(problem, KeyError):
        return f"{show_value(problem.args[0])} is not known there"
    if isinstance(problem, RecursionError):
        return "it is nested too deeply"
    if isinstance(problem, (TypeError, AttributeError, IndexError)):
        return "a value has another type, or a list another length, than in a file of odtc"
    if isinstance(problem, OverflowError):
        return "a number is too large"
    return " ".join(str(problem).split()) or "it cannot be"
