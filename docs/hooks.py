"""Fills the pages with what odtc itself says, so that they cannot say something else: <!-- models --> and the like."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def on_page_markdown(markdown: str, page, config, files) -> str:
    return re.sub(r"<!-- (\w+)(?: (\S+))? -->", lambda found: GENERATORS[found[1]](*filter(None, [found[2]])), markdown)


def models() -> str:
    """A section per formulation: what `odtc info` says."""
    from odtc.cli.catalogue import describe, members

    return "\n\n".join(
        f"## {name}\n\n{summary}\n\n```text\n{describe(name).partition(chr(10))[2].strip()}\n```"
        for name, summary in members("models")
    )


def members_of(kind: str) -> str:
    from odtc.cli.catalogue import members

    return "\n".join(
        ["| name | what it is |", "|---|---|", *(f"| `{name}` | {_cell(summary)} |" for name, summary in members(kind))]
    )


def solvers() -> str:
    """A section per solver: what it reads, and the command that odtc calls it by, one argument a line."""
    from odtc.solvers.solver import SOLVERS

    sections = []
    for name in SOLVERS.names():
        module = SOLVERS.get(name)
        template = ROOT / "templates" / "command" / f"{name}.jinja"
        lines = [
            f"## {name}",
            "",
            f"{module.SUMMARY[:1].upper()}{module.SUMMARY[1:]}. It {module.DIALECT.words()}.",
            "",
        ]
        if template.exists():
            lines += ["```text", template.read_text(encoding="utf-8").strip(), "```", ""]
        lines += ["```text", f"odtc fit DATA --solver {name}", f"odtc solve STEM.mps --solver {name} --dry-run", "```"]
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def commands() -> str:
    """The help of every command, as it is printed."""
    from typer.main import get_command

    from odtc.cli.app import app

    sections, stack = [], [(get_command(app), None, ("odtc",))]
    while stack:
        command, parent, words = stack.pop()
        context = command.make_context(
            words[-1], [], parent=parent, resilient_parsing=True, terminal_width=110, max_content_width=110
        )
        sections.append((words, command.get_help(context).strip()))
        if hasattr(command, "commands"):
            stack += [(below, context, (*words, name)) for name, below in command.commands.items()]
    return "\n\n".join(f"## {' '.join(words)}\n\n```text\n{text}\n```" for words, text in sorted(sections))


def source(path: str) -> str:
    """A file of the project as it stands, in a block of its kind."""
    kind = {".py": "python", ".toml": "toml", ".jinja": "text"}[Path(path).suffix]
    return f"```{kind}\n{(ROOT / path).read_text(encoding='utf-8').strip()}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


GENERATORS = {"models": models, "members": members_of, "solvers": solvers, "commands": commands, "source": source}
