"""Values of options that mean exactly the typed text, read without pydantic.

From version 0.27 on, typer makes an adapter of pydantic for each option, also for one that was not given: a sixth of
the CPU time of a small `odtc fit`. Texts, numbers and paths need none. All other values, and all invalid ones,
are passed to typer, which also writes the error message. An older typer makes no such adapters, so nothing is done
here.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

NUMBER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
DECIMAL = re.compile(rf"{NUMBER.pattern}(\.[0-9]{{1,9}})?", re.ASCII)
UNREAD = object()


class PlainFirst:
    """Replacement of typer's adapter for the values of one option, which makes the adapter only if it is needed.

    Parameters
    ----------
    build : called to make typer's adapter
    """

    def __init__(self, build: Callable[[], Any]):
        self.build = build

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of an option, from the command line or its default."""
        found = _plain(value, param)
        return self.build().coerce(value, param=param, ctx=ctx) if found is UNREAD else found


def read_plainly(parameters: Iterable[Any]) -> None:
    """Let these parameters of a command read plain values without pydantic."""
    for parameter in parameters:
        if "get_runtime_param" not in vars(parameter) and hasattr(parameter, "get_runtime_param"):
            reader = PlainFirst(parameter.get_runtime_param)
            parameter.get_runtime_param = lambda reader=reader: reader


def _parsed(value, parser: Callable[[Any], Any]):
    """Return what a function reads from a value; UNREAD if it refuses it."""
    try:
        return None if value is None else parser(value)
    except typer.BadParameter:
        return UNREAD


def _plain(value, param):
    """Return the value of a plain text; UNREAD if it is not plain."""
    kind, given = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    if given.min is not None or given.max is not None or param.nargs != 1:
        return UNREAD
    if given.parser is not None:
        return _parsed(value, given.parser) if not param.multiple else UNREAD
    if param.multiple:
        texts = kind == list[str] and isinstance(value, list | tuple) and all(type(one) is str for one in value)
        return list(value) if texts else UNREAD
    if value is None or (kind in (str, int, bool, float) and type(value) is kind):
        return value
    if kind in (int, float) and type(value) is str and (NUMBER if kind is int else DECIMAL).fullmatch(value):
        return kind(value)
    if kind is Path and type(value) is str and not (given.exists or given.resolve_path or given.writable):
        return Path(value) if os.access(value, os.R_OK) or not os.path.lexists(value) else UNREAD
    return UNREAD
