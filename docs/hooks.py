"""Fills the pages with what odtc itself says, so that they cannot say something else: <!-- models --> and the like."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def on_page_markdown(markdown: str, page, config, files) -> str:
    filled = re.sub(
        r"<!-- (\w+)(?: (\S+))? -->", lambda found: GENERATORS[found[1]](*filter(None, [found[2]])), markdown
    )
    return set_formulas(filled)


def set_formulas(markdown: str) -> str:
    """Formulas in LaTeX as MathML, which browsers set without a script: blocks of kind `math`, and $`…`$ in a line."""
    from latex2mathml.converter import convert

    def set_block(found: re.Match) -> str:
        # The extension for tables cuts lines at bars, also in HTML.
        return f'<div class="formula">{convert(found[1].strip(), display="block")}</div>'.replace("|", "&#124;")

    markdown = re.sub(r"^```math\n(.*?)^```$", set_block, markdown, flags=re.M | re.S)
    # In a span, as Markdown takes a line that begins with `math` for a block.
    return re.sub(r"\$`([^`]+)`\$", lambda found: f"<span>{convert(found[1])}</span>".replace("|", "&#124;"), markdown)


PARAMETERS = "<p>{parameters}</p>"


def on_page_content(html: str, page, config, files) -> str:
    """The parameters of estimators, which their docstrings have from the options of the command line."""
    import odtc

    for name, home in odtc._HOMES.items():
        before, heading, after = html.partition(f'id="{home}.{name}"')
        if heading and PARAMETERS in after:
            html = before + heading + after.replace(PARAMETERS, _parameters_of(getattr(odtc, name)), 1)
    return html


def _parameters_of(estimator: type) -> str:
    from html import escape

    section = (estimator.__doc__ or "").partition("----------\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^(\w+) : (.*)\n((?:    .*\n?)+)", section, flags=re.M)
    lines = [
        f"<dt><code>{name}</code> : {escape(kind)}</dt><dd>{escape(' '.join(text.split()))}</dd>"
        for name, kind, text in entries
    ]
    return f"<dl class='parameters'>{''.join(lines)}</dl>"


def models() -> str:
    """A section per formulation: its formulas, and what `odtc info` says."""
    from odtc.cli.catalogue import describe, members

    sections = []
    for name, summary in members("models"):
        formulas = ROOT / "docs" / "formulas" / f"{name}.md"
        sections += [f"## {name}", summary]
        sections += [formulas.read_text(encoding="utf-8").strip()] if formulas.is_file() else []
        sections.append(f"```text\n{describe(name).partition(chr(10))[2].strip()}\n```")
    return "\n\n".join(sections)


def api(names: str) -> str:
    """The public names of odtc that are given, with commas between them, described by their docstrings."""
    import odtc

    return "\n\n".join(f"::: {odtc._HOMES[name]}.{name}" for name in names.split(","))


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
    from odtc.cli.help_page import EVERY

    sections, stack = [], [(get_command(app), None, ("odtc",))]
    while stack:
        command, parent, words = stack.pop()
        context = command.make_context(
            words[-1], [], parent=parent, resilient_parsing=True, terminal_width=110, max_content_width=110
        )
        context.meta[EVERY] = True  # the options of all tasks
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


GENERATORS = {
    "api": api,
    "models": models,
    "members": members_of,
    "solvers": solvers,
    "commands": commands,
    "source": source,
}
