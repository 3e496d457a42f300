"""The places where odtc says no, found in its source, each of which can be switched off.

A site is a `raise` outside of handlers, or a `Check` that can fail. A forgery that a site refuses, and that
is taken as soon as this site is off, breaks the rule of this site alone.
"""

import ast
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from odtc.errors import CertificateError

RULES = {"CertificateError", "ValueError"}


@dataclass(frozen=True)
class Site:
    """One place that refuses: `key` names it in a table of forgeries, `lines` are those of its statement."""

    key: str
    module: str
    function: tuple[str, ...]  # the class, if there is one, and the function
    number: int  # among all nodes of the module
    lines: range


def _outermost(tree: ast.Module):
    """(names, node) of all functions of a module and methods of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield (node.name,), node
        if isinstance(node, ast.ClassDef):
            yield from (((node.name, own.name), own) for own in node.body if isinstance(own, ast.FunctionDef))


def _first_words(node: ast.expr) -> str:
    """The text that a message begins with, or the expression of a name that is no text."""
    texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return texts[0].strip() if texts and isinstance(node, (ast.Constant, ast.JoinedStr)) else ast.unparse(node)


def _is_check(node: ast.AST) -> bool:
    """Whether a call makes a `Check` that can fail."""
    return (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "Check"
        and not (isinstance(node.args[1], ast.Constant) and node.args[1].value is True)
    )


def _is_rule(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise) and getattr(getattr(node.exc, "func", None), "id", "") in RULES


@cache
def sites(module: str, checks: bool) -> dict[str, Site]:
    """The sites of a module by key: its checks, or its rules."""
    tree = _parsed(module)
    number = {id(node): at for at, node in enumerate(ast.walk(tree)) if (_is_check(node) if checks else _is_rule(node))}
    found: dict[str, Site] = {}
    for names, function in _outermost(tree):
        parts = list(ast.walk(function))
        handlers = [node for node in parts if isinstance(node, ast.ExceptHandler) and not checks]
        handled = {id(part) for handler in handlers for part in ast.walk(handler)}
        refusing = [node for node in parts if id(node) in number and id(node) not in handled]
        for node in sorted(refusing, key=lambda node: (node.lineno, number[id(node)])):
            said = node.args[0] if checks else node.exc.args[0]
            key = f"{module.rpartition('.')[2]}.{names[-1]}: {' '.join(_first_words(said).split()[:6])}"
            while key in found:
                key += " (again)"
            found[key] = Site(key, module, names, number[id(node)], range(node.lineno, node.end_lineno + 1))
    return found


def _parsed(module: str) -> ast.Module:
    return ast.parse(Path(importlib.import_module(module).__file__).read_text(encoding="utf-8"))


@contextmanager
def switched_off(site: Site) -> Iterator[None]:
    """The code without this site: its rule is passed over, its check always passes."""
    module, tree = importlib.import_module(site.module), _parsed(site.module)
    node = list(ast.walk(tree))[site.number]
    if isinstance(node, ast.Call):
        node.args[1] = ast.copy_location(ast.Constant(True), node)
    else:
        tree = _Without(node).visit(tree)
    code = compile(ast.fix_missing_locations(tree), module.__file__, "exec")
    for name in site.function:
        code = next(part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name)
    function = _function(module, site.function)
    before, function.__code__ = function.__code__, code
    try:
        yield
    finally:
        function.__code__ = before


class _Without(ast.NodeTransformer):
    """Puts `pass` in the place of a statement."""

    def __init__(self, statement: ast.stmt):
        self.statement = statement

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if node is self.statement else node


def _function(module, names: tuple[str, ...]) -> FunctionType:
    found = module
    for name in names:
        found = inspect.getattr_static(found, name)
    while not isinstance(found, FunctionType):
        found = getattr(found, "fget", None) or getattr(found, "func", None) or found.__wrapped__
    return found


def came_from(error: BaseException | None, site: Site) -> bool:
    """Whether an error, or one that it was raised for, was raised at this site."""
    path = importlib.import_module(site.module).__file__
    while error is not None:
        frame = error.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == path and frame.tb_lineno in site.lines:
                return True
            frame = frame.tb_next
        error = error.__context__
    return False


def expect_refused_alone(forgery, site: Site, folder, taken: bool | None = True) -> None:
    """Asserts that a rule refuses a forgery, which is `taken` without this rule, or refused by another one; None if
    there is no end without it."""
    with pytest.raises((CertificateError, ValueError)) as refusal:
        forgery(folder)
    assert came_from(refusal.value, site), refusal.value
    if taken is None:
        return
    with switched_off(site):
        if taken:
            assert forgery(folder) is not None
            return
        with pytest.raises((CertificateError, ValueError)):
            forgery(folder)
