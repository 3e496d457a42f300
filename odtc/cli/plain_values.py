"""Values of options that mean what is typed, read without pydantic.

typer (from 0.27 on) makes an adapter of pydantic for each option, also for one that nobody gave: a sixth of the CPU
time of a small `odtc fit`. Texts, whole numbers and paths need none. All other values, and all that are wrong, go to
typer, which also says what is wrong with them. An older typer makes no such adapters: with it nothing is done here.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
UNREAD = object()


class PlainFirst:
    """Stands for what typer makes of one option to read its values, and makes that if it is needed.

    Parameters
    ----------
    build : called for what typer makes
    """

    def __init__(self, build: Callable[[], Any]):
        self.build = build

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """What a value of an option means, from the command line or its default."""
        found = _plain(value, param)
        return self.build().coerce(value, param=param, ctx=ctx) if found is UNREAD else found


def read_plainly(parameters: Iterable[Any]) -> None:
    """Has these parameters of a command read plain values without pydantic."""
    for parameter in parameters:
        if "get_runtime_param" not in vars(parameter) and hasattr(parameter, "get_runtime_param"):
            reader = PlainFirst(parameter.get_runtime_param)
            parameter.get_runtime_param = lambda reader=reader: reader


def _plain(value, param):
    """What a plain value means; UNREAD if it is none."""
    kind, given = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    if given.parser is not None or given.min is not None or given.max is not None:
        return UNREAD
    if param.nargs != 1:
        return UNREAD
    if param.multiple:
        texts = kind == list[str] and isinstance(value, list | tuple) and all(type(one) is str for one in value)
        return list(value) if texts else UNREAD
    if value is None or (kind in (str, int, bool, float) and type(value) is kind):
        return value
    if kind is int and type(value) is str and NUMBER.fullmatch(value):
        return int(value)
    if kind is Path and type(value) is str and not (given.exists or given.resolve_path or given.writable):
        return Path(value) if os.access(value, os.R_OK) or not os.path.lexists(value) else UNREAD
    return UNREAD
