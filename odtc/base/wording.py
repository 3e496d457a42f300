"""Names of options and kinds of files in messages: `--time-limit` on the command line, `time_limit` in Python, and
`max_depth` for the depth of an estimator.

The code that finds an error writes the sentence, and the caller knows the reader: the command line states that it is
one (`on_command_line`), an estimator states which keywords are its own (`in_keywords`); all others use the names of
Python. The names are the field names of specifications (odtc.workflow.specification). Options that only the command
line has, such as --pool, are written unchanged.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from os import PathLike
from typing import Any

from odtc.base.value_class import value_class

# Options that are other words than their fields; all others have dashes for underscores.
FLAGS = {"constraints": "--constraint", "template": "--solver-template", "params": "-p"}
KEYWORDS = {"start": "start_from", "lambda": "lambda_"}  # of `odtc.fit`
FUNCTIONS = ("certify", "fit", "frontier", "inspect")  # commands that are functions of odtc, too
SWITCHES = ("header",)  # fields without a value on the command line: --header, --no-header
ANY = "…"  # a value that is left open


@value_class
class CommandLine:
    """`--missing drop`, `-p tail=1` and `odtc fit`."""

    def option(self, name: str, *values: Any) -> str:
        if name in SWITCHES:
            return flag(name if not values or values[0] else f"no_{name}")
        return " ".join([flag(name), " or ".join(map(_as_word, values))]) if values else flag(name)

    def param(self, name: str, *values: Any) -> str:
        return f"-p {name}={' or '.join(map(_as_word, values))}" if values else f"-p {name}"

    def params(self, values: Mapping[str, Any]) -> str:
        return " ".join(self.param(name, value) for name, value in values.items())

    def command(self, name: str) -> str:
        return f"`odtc {name}`"


@value_class
class Python:
    """missing="drop", tail=1 and `odtc.fit`; `keywords` are those that are other words than the fields."""

    keywords: tuple[tuple[str, str], ...] = tuple(KEYWORDS.items())

    def option(self, name: str, *values: Any) -> str:
        keyword = dict(self.keywords).get(name, name)
        return f"{keyword}={' or '.join(map(_as_python, values))}" if values else f"`{keyword}`"

    def param(self, name: str, *values: Any) -> str:
        return self.option(name, *map(_typed, values))

    def params(self, values: Mapping[str, Any]) -> str:
        return ", ".join(self.param(name, value) for name, value in values.items())

    def command(self, name: str) -> str:
        return f"`odtc.{name}`" if name in FUNCTIONS else f"`odtc {name}`"


Wording = CommandLine | Python  # the results of the functions of this module for one kind of reader
_of_process: Wording = Python()
_of_context: ContextVar[Wording | None] = ContextVar("wording", default=None)


@contextmanager
def on_command_line() -> Iterator[None]:
    """Inside, messages name the options of the command line, in all threads of the process."""
    global _of_process
    before, _of_process = _of_process, CommandLine()
    try:
        yield
    finally:
        _of_process = before


@contextmanager
def in_keywords(names: Mapping[str, str]) -> Iterator[None]:
    """Inside, messages use these keywords of a Python function: {"depth": "max_depth"} for an estimator."""
    token = _of_context.set(Python(tuple((KEYWORDS | dict(names)).items())))
    try:
        yield
    finally:
        _of_context.reset(token)


def as_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for another process, whose sentences are for the reader of this one."""
    return partial(_run_in, _now(), function)


def flag(name: str) -> str:
    """Return the option of the command line for a field."""
    return FLAGS.get(name, "--" + name.replace("_", "-"))


def option(name: str, *values: Any) -> str:
    """Return an option, with its proposed value.

    Parameters
    ----------
    name : str
        The field of a specification.
    *values : object
        One value, or the possible values; a list of names is one value, and `...` is a placeholder.

    Returns
    -------
    str
        `--time-limit` or `time_limit`; `--missing drop or separate` or missing="drop" or "separate".
    """
    return _now().option(name, *values)


def param(name: str, *values: Any) -> str:
    """Return a parameter of a formulation, as `option`: `-p tail=1`, or tail=1."""
    return _now().param(name, *values)


def params(values: Mapping[str, Any]) -> str:
    """Return several parameters with their values: `-p tail=0 -p fold=false`, or tail=0, fold=False."""
    return _now().params(values)


def command(name: str) -> str:
    """Return a command, `odtc fit`; in Python the function if there is one, `odtc.fit`."""
    return _now().command(name)


def _now() -> Wording:
    return _of_context.get() or _of_process


def _run_in(wording: Wording, function: Callable[..., Any], *given: Any, **more: Any) -> Any:
    token = _of_context.set(wording)
    try:
        return function(*given, **more)
    finally:
        _of_context.reset(token)


def _as_word(value: Any) -> str:
    """Return a value as a word of the command line."""
    if value is ...:
        return ANY
    if isinstance(value, bool):
        return str(value).lower()
    return shlex.quote(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))


def _typed(value: Any) -> Any:
    """Return the value of a parameter that is a text, as Python writes it: 1 for "1", True for "true"."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _as_python(value: Any) -> str:
    if value is ...:
        return ANY
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_python, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


# The end of the name of a file -> its kind and the commands that read it, for the message of a command that was given
# another file.
FILE_KINDS = {
    ".tree.json": "a tree, which `odtc show`, `predict`, `export`, `explain` and `report` read",
    ".odt.json": "a manifest; name the solution file that belongs to it",
    ".run.json": "the record of a run; name the solution file or the tree of the run",
    ".pool.json": "a list of trees, which `odtc show` reads",
    ".near-optimal.json": "the near-optimal trees, which `odtc show` reads",
    ".frontier.json": "the points of a frontier with their trees, which `odtc verify` checks",
    ".mps": "a model file, which `odtc solve` reads",
    ".lp": "a model file, which `odtc solve` reads",
    ".mst": "a start, which `odtc solve --start` reads",
    ".start.sol": "a start, which `odtc solve --start` reads",
    ".sol": "a solution, which `odtc decode` makes a tree",
    ".csv": "a table of data, which `odtc fit` and `odtc build` read",
    ".tsv": "a table of data, which `odtc fit` and `odtc build` read",
    ".parquet": "a table of data, which `odtc fit` and `odtc build` read",
    ".html": "a page for the browser",
    ".log": "the log of a solver, which `odtc decode --log` reads next to the solution file",
    ".certificate.json": "a certificate, which `odtc verify` checks",
    ".columns.json": "the columns of a run of cg",
    ".tune.json": "the scores of `odtc tune`",
    **dict.fromkeys((".svg", ".png", ".pdf"), "a picture"),
    **dict.fromkeys((".py", ".c", ".java", ".js", ".r", ".sql"), "code, as `odtc export` writes it"),
    **dict.fromkeys((".pmml", ".onnx", ".pkl", ".tex"), "a tree for another program, as `odtc export` writes it"),
}


def in_command(path: str | PathLike[str]) -> str:
    """Return a path as a word of a command, which does not begin as an option does."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def kind_by_name(path: str | PathLike[str], *expected: str) -> str:
    """Return "; by its name it is a tree, which …" for a file of another kind than those whose names end as
    `expected`; "" if the name does not show a kind."""
    end = _end_of(path)
    return "" if end is None or end in expected else f"; by its name it is {FILE_KINDS[end]}"


def what_it_is(path: str | PathLike[str], end: str | None = None) -> str:
    """Return the description of a file by its name, or by the ending `end` of its kind, without the commands that read
    such files."""
    return FILE_KINDS.get(end or _end_of(path) or "", "a file of another program").partition(",")[0].partition(";")[0]


def _end_of(path: str | PathLike[str]) -> str | None:
    name = str(path).lower().removesuffix(".gz")
    return next((end for end in FILE_KINDS if name.endswith(end)), None)
