"""Fills the pages with what odtc itself says, so that they cannot say something else: <!-- models --> and the like."""

import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


# A link from a page to a file of the repository outside docs/, which works in a clone; the site has a copy of the file.
OUTSIDE = re.compile(r"\]\(((?:\.\./)*)\.\./((?:examples|benchmarks|odtc|tests)/[^)#\s]+)\)")


def on_files(files, config):
    from mkdocs.structure.files import File

    texts = [Path(page.abs_src_path).read_text(encoding="utf-8") for page in files.documentation_pages()]
    for path in sorted({path for text in texts for _, path in OUTSIDE.findall(text)}):
        files.append(File.generated(config, f"repository/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    filled = re.sub(
        r"<!-- ([\w-]+)(?: (\S+))? -->", lambda found: GENERATORS[found[1]](*filter(None, [found[2]])), markdown
    )
    return set_formulas(OUTSIDE.sub(r"](\1repository/\2)", filled))


def set_formulas(markdown: str) -> str:
    """Formulas in LaTeX as MathML, which browsers set without a script: blocks of kind `math`, and $`…`$ in a line."""

    def set_block(found: re.Match) -> str:
        return f'<div class="formula">{_mathml(found[1].strip(), "block")}</div>'

    markdown = re.sub(r"^```math\n(.*?)^```$", set_block, markdown, flags=re.M | re.S)
    # In a span, as Markdown takes a line that begins with `math` for a block.
    return re.sub(r"\$`([^`]+)`\$", lambda found: f"<span>{_mathml(found[1], 'inline')}</span>", markdown)


def _mathml(latex: str, display: str) -> str:
    from latex2mathml.converter import convert

    text = convert(latex, display=display).replace("|", "&#124;")  # the extension for tables cuts lines at bars
    return re.sub(r"<mo([^>]*)>(?=&#x0007C;)", r'<mo\1 lspace="0" rspace="0">', text)


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
    from odtc.cli.catalogue import describe, registered

    sections = []
    for name, summary in registered("models"):
        formulas = ROOT / "docs" / "formulas" / f"{name}.md"
        sections += [f"## {name}", f"{summary}."]
        sections += [formulas.read_text(encoding="utf-8").strip()] if formulas.is_file() else []
        sections += _described(describe(name).partition("\n")[2].strip(), formulas.is_file())
    return "\n\n".join(sections)


def _described(text: str, formulas: bool) -> list[str]:
    """The parts of a description as Markdown: parameters in a table, and a program only if the page has no formulas."""
    parts = []
    for part in re.split(r"\n{2,}", text):
        if part.startswith("    "):
            if not (formulas and part.lstrip().startswith("min")):
                parts.append(f"```text\n{textwrap.dedent(part)}\n```")
            continue
        parameters = re.findall(r"^-p (\S+)=…  (.*)$", part, flags=re.M)
        rest = re.sub(r"^-p .*\n?", "", part, flags=re.M).strip()
        parts.append(re.sub(r"^(?!\*|  )(.*)\n(?=\* )", r"\1\n\n", rest, flags=re.M))
        if parameters:
            rows = (f"| `{key}` | {_cell(meaning)} |" for key, meaning in parameters)
            parts.append("\n".join(["| parameter `-p` | meaning |", "|---|---|", *rows]))
    return parts


def api(names: str) -> str:
    """The public names of odtc that are given, with commas between them, described by their docstrings."""
    import odtc

    return "\n\n".join(f"::: {odtc._HOMES[name]}.{name}" for name in names.split(","))


def plug_ins(kind: str) -> str:
    from odtc.cli.catalogue import registered

    rows = (f"| `{name}` | {_cell(summary)} |" for name, summary in registered(kind))
    return "\n".join(["| name | description |", "|---|---|", *rows])


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


OPTION = re.compile(r"^  -.*\n(?: {4,}.*\n)*", re.M)  # an option of a help text, with the lines of its description
SHARED = "Options of several commands"


def commands() -> str:
    """The help of every command; options that several commands share are printed once, in the sections of the help."""
    texts = _help_texts()
    counts = Counter(_plain(option) for text in texts.values() for option in set(OPTION.findall(text)))
    shared: dict[str, dict[str, str]] = {}  # section -> option on one line -> as printed
    for text in texts.values():
        for title, options in re.findall(r"^(\S.*:)\n((?: .*\n|\n)*)", text, flags=re.M):
            often = {_plain(option): option for option in OPTION.findall(options) if counts[_plain(option)] >= 5}
            shared[title] = often | shared.get(title, {})
    del shared["Options:"]  # of commands without sections
    known = {option for options in shared.values() for option in options}
    block = "\n".join(f"{title}\n{''.join(options.values())}" for title, options in shared.items() if options)
    sections = []
    for words, text in sorted(texts.items()):
        names = re.findall(r"--?[\w-]+", " ".join(_name(one) for one in OPTION.findall(text) if _plain(one) in known))
        own = OPTION.sub(lambda option: "" if _plain(option[0]) in known else option[0], text)
        own = re.sub(r"^\S.*:\n(?=\n|\Z)", "", own, flags=re.M)  # a section without an option of its own
        own = re.sub(r"\n{3,}", "\n\n", own).strip()
        sections.append(f"## {' '.join(words)}\n\n```text\n{own}\n```")
        if names := [f"`{name}`" for name in names if name not in ("-h", "--help")]:
            sections.append(f"[{SHARED}](#{SHARED.lower().replace(' ', '-')}): {', '.join(names)}.")
    return "\n\n".join([sections[0], f"## {SHARED}\n\n```text\n{block.strip()}\n```", *sections[1:]])


def _name(option: str) -> str:
    """The last of the names of an option, for example `--depth` of `-d, --depth N`."""
    return re.findall(r"(?<!\S)--?[\w-]+", re.split(" {2,}|\n", option.strip())[0])[-1]


def _help_texts() -> dict[tuple[str, ...], str]:
    """The help of each command by its words, with the options of all tasks."""
    from typer.main import get_command

    from odtc.cli.app import app
    from odtc.cli.help_page import EVERY

    texts, stack = {}, [(get_command(app), None, ("odtc",))]
    while stack:
        command, parent, words = stack.pop()
        context = command.make_context(
            words[-1], [], parent=parent, resilient_parsing=True, terminal_width=96, max_content_width=96
        )
        context.meta[EVERY] = True
        texts[words] = command.get_help(context).strip() + "\n"
        if hasattr(command, "commands"):
            stack += [(below, context, (*words, name)) for name, below in command.commands.items()]
    return texts


def _plain(option: str) -> str:
    return " ".join(option.split())


def source(path: str) -> str:
    """A file of the project as it stands, in a block of its kind."""
    kind = {".py": "python", ".toml": "toml", ".jinja": "text"}[Path(path).suffix]
    return f"```{kind}\n{(ROOT / path).read_text(encoding='utf-8').strip()}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


GENERATORS = {
    "api": api,
    "models": models,
    "plug-ins": plug_ins,
    "solvers": solvers,
    "commands": commands,
    "source": source,
}
