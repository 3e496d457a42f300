"""Fields of a specification: a default, a help text and a range, each written once.

A specification is a frozen dataclass. The options of the command line, the estimator's checks and the command that
makes a run again are derived from its fields, so this module imports nothing that is slow to load.
"""

import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from odtc.base.text import MAX_WHOLE
from odtc.base.wording import SWITCHES, flag, option
from odtc.errors import ChoiceError

# How a field is written on the command line, if not as one plain word.
NAMES, REPEATED, PAIRS = "names", "repeated", "pairs"  # A,B · one option each · KEY=VALUE, one option each
SEVERAL = (NAMES, REPEATED, PAIRS)  # whose option may come several times
INDENT, WIDTH = "    ", 112  # of a docstring
Function = TypeVar("Function", bound=Callable[..., Any])


def spec_field(
    default: Any,
    help: str,
    *,
    metavar: str | None = None,
    wanted: str = "",
    fits: Callable[[Any], bool] | None = None,
    **written: Any,
) -> Any:
    """Return a field of a specification.

    Parameters
    ----------
    default : object
        The value if none is given. A dict is copied for each specification.
    help : str
        One sentence, for `--help` and the documentation.
    metavar : str or None
        How the value is shown in the help.
    wanted : str
        The range in words, for the refusal: "seconds above 0".
    fits : callable or None
        Whether a value is in the range.
    **written
        How the command line writes the field: `form` (NAMES, REPEATED, PAIRS), `type` (of its value there, by default
        the annotation), `completes` (a registry of `odtc list`, or a tuple of words) and `group` (its section of the
        help); and `in_python`, a sentence that follows the help in docstrings.
    """
    about = {"help": help, "metavar": metavar, "wanted": wanted, "fits": fits, **written}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=about)
    return dataclasses.field(default=default, metadata=about)


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def fields_by_name(cls: Any) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a specification, in order."""
    return {field.name: field for field in dataclasses.fields(cls)}


def takes_fields(record: Any) -> Callable[[Function], Function]:
    """Decorate a function that takes the fields of a specification as keywords: its signature has them, and in its
    docstring they replace the line "{fields}"."""

    def mark(function: Function) -> Function:
        fields, own = fields_by_name(record), inspect.signature(function).parameters
        kept = [one for one in own.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        kept += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default_of(field), annotation=field.type)
            for name, field in fields.items()
            if name not in own
        ]
        lines = [line for name, field in fields.items() for line in parameter_lines(name, field, default_of(field))]
        found: Any = function
        found.__signature__ = inspect.signature(function).replace(parameters=kept)
        found.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("{fields}", "\n".join(lines))
        return function

    return mark


def parameter_lines(
    name: str, field: dataclasses.Field[Any] | None, default: Any, kind: str = "", more: str = ""
) -> list[str]:
    """Return the lines on a parameter in the section Parameters of a docstring.

    Parameters
    ----------
    name : str
    field : Field or None
        The field of a specification that the parameter sets: its type and help are used.
    default : object
    kind : str
        The type, if it differs from the type of the field or of the default.
    more : str
        A text in addition to the help of the field.
    """
    of_field = type(default) if field is None else field.type
    words = of_field.__name__ if isinstance(of_field, type) else str(of_field)
    kind = kind or words.replace(" | ", " or ").replace("tuple[str, ...]", "tuple of str")
    told = [] if field is None else [field.metadata["help"], field.metadata.get("in_python", "")]
    text = " ".join(filter(None, [*told, more]))
    return [f"{name} : {kind}, default {default!r}"] + textwrap.wrap(
        text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT
    )


def check_ranges(spec: Any) -> None:
    """Raise ChoiceError for the first field whose value is outside of its range, or of another type."""
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        if not _fits(field, value):
            raise ChoiceError(f"{option(field.name)}: expected {field.metadata['wanted']}, got {value!r}")


def _fits(field: dataclasses.Field[Any], value: Any) -> bool:
    fits = field.metadata.get("fits")
    try:
        return fits is None or bool(fits(value))
    except TypeError:  # a text in place of a number
        return False


def changes_of(spec: Any) -> dict[str, Any]:
    """Return the fields of a specification whose values differ from their defaults."""
    return {
        field.name: value
        for field in dataclasses.fields(spec)
        if (value := getattr(spec, field.name)) != default_of(field)
    }


def command_words(spec: Any) -> list[str]:
    """Return the options of the command line that give this specification: one flag and one value for each field that
    differs from its default."""
    words, changed = [], changes_of(spec)
    for name, field in fields_by_name(spec).items():
        if name not in changed:
            continue
        value, form = changed[name], field.metadata.get("form")
        if name in SWITCHES:
            words.append(flag(name if value else f"no_{name}"))
            continue
        if form == NAMES:
            texts = [",".join(map(quoted, value))]
        elif form == REPEATED:
            texts = list(map(plain, value))
        elif form == PAIRS:
            texts = [f"{key}={plain(one)}" for key, one in value.items()]
        else:
            texts = [plain(value)]
        for text in texts:
            words += [flag(name), text]
    return words


def plain(value: Any) -> str:
    """Return a value as the command line reads it: true for True, 60 for 60.0, and all digits that a number has."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if value.is_integer() and abs(value) < MAX_WHOLE:
            return str(int(value))
        return short if float(short := f"{value:g}") == value else repr(value)
    if isinstance(value, (tuple, list)):
        return ",".join(map(plain, value)) or "none"
    return str(value)


def quoted(name: str, separator: str = ",") -> str:
    """Return a name for a list with this separator, in double quotes if it contains the separator or a quote."""
    plain = name == name.strip() and not set(name) & {separator, '"'}
    return name if plain else '"' + name.replace('"', '""') + '"'
