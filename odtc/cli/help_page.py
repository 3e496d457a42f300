"""Help as a page that is read from the top: an example first, then the options by what they are about.

`GROUPS` is the order of the sections. An option stands in the section that its field of a specification names
(`group=` in `spec_field`); an option that only one command has stands under "Output" unless it says otherwise
(`rich_help_panel` of typer). A command with few options shows them in one list.
"""

import textwrap
from collections import Counter

import typer.core

from odtc.cli.console import say
from odtc.cli.plain_values import read_plainly

DATA, TREE, MODEL, CONSTRAINTS, SOLVER, OUTPUT = GROUPS = ("Data", "Tree", "Model", "Constraints", "Solver", "Output")
FEW = 8  # options that need no sections


class CommandHelp(typer.core.TyperCommand):
    """A command whose help has its options in sections, the shortest flags first. Of an option that takes one value and
    comes twice it says which one holds."""

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        read_plainly(self.get_params(ctx))
        order = self.make_parser(ctx).parse_args(args=list(args))[2]
        left = super().parse_args(ctx, args)
        for option, times in Counter(order).items():
            if times > 1 and option.param_type_name == "option" and not (option.multiple or option.is_flag):
                between = ", and takes several between commas" if "," in (option.metavar or "") else ""
                say(f"note: {option.opts[0]} comes {times} times; the last one holds{between}")
        return left

    def format_options(self, ctx, formatter) -> None:
        arguments, sections = [], {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                arguments.append((record[0].partition(" <")[0], record[1]))  # without its type, as "<path>"
            else:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or OUTPUT, []).append(record)
        if sum(map(len, sections.values())) <= FEW:
            sections = {"Options": [record for records in sections.values() for record in records]}
        for title, records in (("Arguments", arguments), *sorted(sections.items(), key=_place)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


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
