"""Messages name options by odtc.base.wording, so that each reader sees the form of their interface."""

import ast
import re
from dataclasses import fields

from odtc.base.wording import flag
from odtc.data.reading_spec import ReadingSpec
from odtc.workflow.specification import ModelSpec, SolvingSpec
from tests.structure.test_layers import MODULES, name_of, tree_of

FLAGS = [flag(field.name) for spec in (ReadingSpec, ModelSpec, SolvingSpec) for field in fields(spec)]
NAMED = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(set(FLAGS) - {'-p'}))})(?![\w-])|(?<![\w-])-p [a-z_]+=")
COMMAND = re.compile(r"`odtc [^`]*`?|\bfit --model cg")  # a command as it is typed
HELP = ("spec_field", "parameter")  # whose texts are shown by the command line alone
DESCRIPTIONS = ("TITLE", "SUMMARY", "OPTIONS")
OF_ITS_READERS = ("cli/", "testing/", "base/wording.py", "estimators/wrong_parameters.py", "workflow/specification.py")


def sentences(tree: ast.AST):
    """The strings of a module, but for docstrings, help texts and descriptions of members."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in HELP:
            continue
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in DESCRIPTIONS:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        yield from sentences(node)


def test_no_sentence_names_an_option_by_itself():
    found = []
    for path in MODULES:
        if name_of(path).startswith(OF_ITS_READERS) or not NAMED.search(path.read_text(encoding="utf-8")):
            continue
        for node in sentences(tree_of(path)):
            if named := NAMED.search(COMMAND.sub("", node.value)):
                found.append(f"{name_of(path)}:{node.lineno} names {named[0]}")
    assert not found, "write option(…) or param(…): " + "; ".join(found)
