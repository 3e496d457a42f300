"""Plain words: constructions that a reader has to translate must not become more frequent in text that a user sees.

`word_rates.json` has the hits per 10,000 words of each text. If a test fails, write the new sentences plainly. To lower
the rates after a round of rewriting: `ODTC_WORDS=write python -m pytest tests/structure/test_words.py`.
"""

import ast
import inspect
import json
import math
import os
import re
from pathlib import Path

import pytest
from typer.main import get_command

import odtc
from odtc import extend
from odtc.cli.app import app
from tests.structure.test_layers import MODULES, nodes_of

ROOT = Path(odtc.__file__).parents[1]
RATES = Path(__file__).with_name("word_rates.json")
STEP = 0.5  # of a rate in the file
AVOIDED = {
    "what … as a noun": r"\bwhat (a|an|the|it|they|is|was|are|were|no|all|other|each|every|rows|splits|costs|of)\b",
    "told, tells": r"\b(tells?|told)\b",
    "asks, asked": r"\b(asks?|asked)\b",
    "alone": r"\balone\b",
    "beside": r"\bbeside\b",
    "stands, lies": r"\b(stands?|stood|lies?)\b",
    "is no": r"\b(is|are|was|were) no (?!longer)",
    "that of, those of": r"\b(that|those) of\b",
    "is of, Of a": r"\b(is|are|was) of\b|(^|[.;:|]\s+|\(\s*)Of (a|an|the|these|this|those|all|it|which)\b",
    "but for, anew, shall, mend": r"\bbut for\b|\banew\b|\bshall\b|\bmend(s|ed)?\b",
}
WANTED = {"for example, because, such as": r"\bfor example\b|\bbecause\b|\bsuch as\b"}


def docs() -> str:
    if not (ROOT / "README.md").is_file():
        pytest.skip("odtc is installed: the pages are not next to these tests")
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return "\n".join(re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S) for page in pages)


def help_texts() -> str:
    found, commands = [], [get_command(app)]
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        found += [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
    return "\n".join(found)


def _literals(nodes: tuple[ast.AST, ...]):
    """The texts of a module that are no docstrings, with … for what is filled in."""
    docstrings: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            docstrings.add(id(node.body[0].value))
        if isinstance(node, ast.JoinedStr):
            docstrings |= {id(part) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def messages() -> str:
    return "\n".join(text for path in MODULES for text in _literals(nodes_of(path)) if len(text.split()) > 3)


def public_docstrings() -> str:
    public = [getattr(module, name) for module in (odtc, extend) for name in module.__all__]
    members = [
        member
        for one in public
        if inspect.isclass(one)
        for name, member in vars(one).items()
        if not name.startswith("_") and callable(member)
    ]
    own = [one for one in (*public, *members) if inspect.isclass(one) or inspect.isroutine(one)]
    return "\n".join(one.__doc__ or "" for one in own)


TEXTS = {"docs": docs, "help": help_texts, "messages": messages, "public docstrings": public_docstrings}


def one_hit(text: str) -> float:
    return 10_000 / max(1, len(text.split()))


def rates(text: str) -> dict[str, float]:
    return {name: one_hit(text) * len(re.findall(pattern, text, re.M)) for name, pattern in (AVOIDED | WANTED).items()}


@pytest.mark.parametrize("name", TEXTS)
def test_no_rate_rises(name):
    text, known = TEXTS[name](), json.loads(RATES.read_text()) if RATES.exists() else {}
    found, room = rates(text), one_hit(text)  # one sentence more is no rise: the number of words changes, too
    if os.environ.get("ODTC_WORDS") == "write":
        up = {key: math.ceil(found[key] / STEP) * STEP for key in AVOIDED}
        down = {key: math.floor(found[key] / STEP) * STEP for key in WANTED}
        old = known.get(name, {})
        known[name] = {key: min(up[key], old.get(key, math.inf)) for key in AVOIDED}
        known[name] |= {key: max(down[key], old.get(key, 0.0)) for key in WANTED}
        RATES.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    risen = [
        f"{key}: {found[key]:.1f}, was {known[name][key]}" for key in AVOIDED if found[key] > known[name][key] + room
    ]
    risen += [
        f"{key}: {found[key]:.1f}, was {known[name][key]}" for key in WANTED if found[key] < known[name][key] - room
    ]
    assert not risen, f"{name}, per 10,000 words (write it plainly): {risen}"


def test_the_patterns_find_what_they_name():
    said = rates("What it costs is told. A column asks alone, beside that of others; it stands and is no number, anew.")
    assert all(said[name] > 0 for name in AVOIDED if name not in ("what … as a noun", "is of, Of a"))
    assert rates("what it costs. Of a row it is of use.")["what … as a noun"] > 0
    assert rates("such as this, because of it")["for example, because, such as"] > 0 == rates("plain")["alone"]
