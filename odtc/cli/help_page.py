"""Help that is read from the top: examples first, then options.

`-h` lists the options of FIRST that the command has, in the order in which people need them. `--help` lists all options
in the sections of GROUPS. The section of an option is the one that its field of a specification names (`group=` in
`spec_field`), or `rich_help_panel` of typer, or else "Output". The sections of OF_TASKS appear only with the task that
needs them, for example `--task policy --help`. A command with few options shows all of them in one list.
"""

import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer
import typer.core

from odtc.cli.console import say
from odtc.data.reading_spec import FILE, POLICY, REGRESSION, SURVIVAL

# Values of options that mean exactly the typed text, read without pydantic.
#
# From version 0.27 on, typer makes an adapter of pydantic for each option, also for one that was not given: a sixth of
# the CPU time of a small `odtc fit`. Texts, numbers and paths need none. All other values, and all invalid ones,
# are passed to typer, which also writes the error message. An older typer makes no such adapters, so nothing is done
# here.


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
    """Return the result of a parser for a value; UNREAD if the parser refuses the value."""
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


DATA, TREE, MODEL, CONSTRAINTS, SOLVER, OUTPUT = "Data", "Tree", "Model", "Constraints", "Solver", "Output"
OF_TASKS = {"policy": POLICY, "survival": SURVIVAL, "regression": REGRESSION}  # task -> the section of its own options
GROUPS = (DATA, FILE, *OF_TASKS.values(), TREE, CONSTRAINTS, MODEL, SOLVER, OUTPUT)
FEW = 8  # options that need no sections
BRIEF = 16  # options up to which `-h` shows all of them
FIRST = (  # what -h shows
    *("--target", "--depth", "--depths", "--formulations", "--vary", "--constraint", "--task", "--test"),
    *("--hold-out", "--time-limit"),
    *("--certificate", "--ignore", "--missing", "--class-weight", "--model", "--solver", "--folds", "-o"),
)
GUESSES = {"--max-depth": "--depth", "--exclude": "--ignore"}  # names that people try, and the options that they mean
TASK_OF, SHORT, EVERY = "odtc.task", "odtc.short", "odtc.every"  # of a context: --task, -h, and all sections


class CommandHelp(typer.core.TyperCommand):
    """A command with a short and a long help. If an option that takes one value is given twice, a note says which value
    counts."""

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        read_plainly(self.get_params(ctx))
        args = self._with_names(ctx, args)
        options = args[: args.index("--")] if "--" in args else args
        ctx.meta[SHORT] = "-h" in options and "--help" not in options
        ctx.meta[TASK_OF] = next((task for task in _values("--task", options)), "")
        order = self.make_parser(ctx).parse_args(args=list(args))[2]
        left = super().parse_args(ctx, args)
        for option, times in Counter(order).items():
            if times > 1 and option.param_type_name == "option" and not (option.multiple or option.is_flag):
                between = ", and takes several between commas" if "," in (option.metavar or "") else ""
                say(f"note: {option.opts[0]} comes {times} times; the last one holds{between}")
        return left

    def _with_names(self, ctx, args: list[str]) -> list[str]:
        """The words with the names of options in place of GUESSES, where the command has these options only."""
        known = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        end = args.index("--") if "--" in args else len(args)
        return [
            "".join((GUESSES[name], *value))
            if at < end and (name := word.partition("=")[0]) in GUESSES.keys() - known and GUESSES[name] in known
            else word
            for at, word in enumerate(args)
            for value in [word.partition("=")[1:]]
        ]

    def format_options(self, ctx, formatter) -> None:
        arguments, sections, of_option = [], {}, {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                arguments.append((record[0].partition(" <")[0], record[1]))  # without its type, as "<path>"
            else:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or OUTPUT, []).append(record)
                of_option |= dict.fromkeys(parameter.opts, record)
        if (count := sum(map(len, sections.values()))) <= FEW or len(sections) == 1:
            sections = {"Options": [record for records in sections.values() for record in records]}
        elif ctx.meta.get(SHORT) and count > BRIEF:
            first = FIRST if arguments else ("--data", *FIRST)  # with an argument, --data only replaces a moved file
            shown = [*_once(of_option[name] for name in first if name in of_option), _all_options(ctx)]
            sections = {"Options that you need first": shown}
        elif not ctx.meta.get(EVERY):
            hidden = [title for task, title in OF_TASKS.items() if task != ctx.meta.get(TASK_OF)]
            sections = {title: records for title, records in sections.items() if title not in hidden}
        for title, records in (("Arguments", arguments), *sorted(sections.items(), key=_place)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _values(option: str, words: list[str]):
    """The values of an option on a command line, the last one first."""
    for word, following in reversed([*zip(words, [*words[1:], ""])]):
        name, equals, value = word.partition("=")
        if name == option and (equals or following):
            yield value if equals else following


def _once(records) -> list:
    """The records in order, each once."""
    return list({id(record): record for record in records}.values())


def _all_options(ctx) -> tuple[str, str]:
    return "--help", f"Show all options: {ctx.command_path} --help"


def _place(section) -> int:
    return GROUPS.index(section[0]) if section[0] in GROUPS else len(GROUPS)


class GroupHelp(typer.core.TyperGroup):
    """A group of commands whose help shows the whole first sentence of each, in the sections that they name."""

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        read_plainly(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def format_commands(self, ctx, formatter) -> None:
        sections: dict[str, list] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                sections.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(
                    (name, first_sentence(command.help or ""))
                )
        width = max((len(name) for records in sections.values() for name, _ in records), default=0)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in records])


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(textwrap.dedent(text).strip().partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".") + "."
