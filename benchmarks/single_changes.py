"""Single changes of a module's source, as mutation tools make them: the operators of benchmarks.mutation."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

COMPARE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "rint", "ceil": "floor", "isnan": "isfinite"}


def changes(node: ast.AST) -> Iterator[tuple[str, Callable]]:
    """(what is changed, in words, and the function that changes a node in place) for each single change of a node."""
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            if type(op) in COMPARE:
                yield f"{type(op).__name__} to {COMPARE[type(op)].__name__}", _set_item("ops", at, COMPARE[type(op)]())
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} to {other.__name__}", _set("op", other())
        for at in range(len(node.values)):
            yield f"without part {at + 1}", lambda node, at=at: node.values.pop(at)
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC and not _is_text(node):
        other = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} to {other.__name__}", _set("op", other())
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        for value in (True, False):
            if not (isinstance(node, ast.While) and value):
                yield f"condition always {value}", _set("test", ast.Constant(value))
    if isinstance(node, ast.comprehension):
        for at in range(len(node.ifs)):
            yield "without the condition", lambda node, at=at: node.ifs.pop(at)
    if isinstance(node, ast.For):
        yield "no round of the loop", _set("iter", ast.Tuple([], ast.Load()))
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        other = not node.value if type(node.value) is bool else node.value + 1
        other = 2 * node.value if other == node.value else other  # of 1e20
        yield f"{node.value!r} to {other!r}", _set("value", other)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert, ast.USub)):
        yield f"without {type(node.op).__name__}", _set("op", None)
    if isinstance(node, ast.Call):
        name = "id" if isinstance(node.func, ast.Name) else "attr"
        if (called := getattr(node.func, name, None)) in CALLS:
            yield f"{called} to {CALLS[called]}", lambda node: setattr(node.func, name, CALLS[called])
        if called == "Check" and not (isinstance(node.args[1], ast.Constant) and node.args[1].value is True):
            yield "check always passed", _set_item("args", 1, ast.Constant(True))
    if _is_termination(node):
        other = "TIME_LIMIT" if node.attr == "OPTIMAL" else "OPTIMAL"
        yield f"{node.attr} to {other}", _set("attr", other)
    if isinstance(node, ast.Dict) and any(
        getattr(getattr(v, "value", None), "id", "") == "Termination" for v in node.values
    ):
        for at, key in enumerate(node.keys):
            yield f"without {ast.unparse(key)}", lambda node, at=at: (node.keys.pop(at), node.values.pop(at))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "without the call", _set("value", ast.Constant(None))


def _is_termination(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Termination"


def _is_text(node: ast.AST) -> bool:
    """Whether an operation joins or fills a text."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in (getattr(node, "left", None), getattr(node, "right", None), getattr(node, "value", None))
    )


def _set(field, value):
    return lambda node: setattr(node, field, value)


def _set_item(field, at, value):
    return lambda node: getattr(node, field).__setitem__(at, value)


class Change(NamedTuple):
    """One change: its place, and what it does."""

    module: str
    line: int
    column: int
    words: str
    function: tuple[str, int] | None  # qualified name and first line of the outermost function; None outside of all
    reached_by: tuple[int, int]  # the lines of the expression
    statement: tuple[int, int]  # and those of the statement, or of the head of one that holds others
    kind: str  # "body" of a function, "default" of an argument, "assignment" or "class" outside of functions
    text: str  # the statement's first line


@dataclass
class Source:
    """A module's source with all single changes of it; messages, annotations and decorators stay as they are."""

    module: str
    path: str
    text: str

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)
        self.changes: list[Change] = []
        self._apply: list[Callable] = []
        self._nodes: list[ast.AST] = []
        for top in self.tree.body:
            self._walk(top, top, None, "", "class" if isinstance(top, ast.ClassDef) else "assignment")

    def code(self, number: int):
        """The code object of the module with one change. The tree stays changed: to be called in a process of its
        own."""
        self._apply[number](self._nodes[number])
        return compile(ast.fix_missing_locations(_Tidy().visit(self.tree)), self.path, "exec")

    def _walk(self, node, statement, function, within, kind) -> None:
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, ast.stmt):
            statement = node
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self._note(node, statement, function, kind)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for part in value if isinstance(value, list) else [value]:
                if not isinstance(part, ast.AST):
                    continue
                if isinstance(node, ast.ClassDef) and function is None:
                    self._walk(part, statement, None, f"{within}{node.name}.", "class")
                elif isinstance(node, ast.FunctionDef) and function is None:
                    own = (f"{within}{node.name}", min([node.lineno, *(d.lineno for d in node.decorator_list)]))
                    self._walk(part, statement, own, within, "default" if field == "args" else "body")
                else:
                    self._walk(part, statement, function, within, kind)

    def _note(self, node, statement, function, kind) -> None:
        for words, apply in changes(node):
            place = node.target if isinstance(node, ast.comprehension) else node
            inner = getattr(statement, "body", None)
            last = inner[0].lineno - 1 if isinstance(inner, list) else statement.end_lineno
            self._nodes.append(node)
            self._apply.append(apply)
            reached = (place.lineno, min(place.end_lineno, max(last, place.lineno)))
            self.changes.append(
                Change(
                    self.module,
                    place.lineno,
                    place.col_offset,
                    words,
                    function,
                    reached,
                    (statement.lineno, max(last, statement.lineno)),
                    kind,
                    self.text.splitlines()[place.lineno - 1].strip(),
                )
            )


class _Tidy(ast.NodeTransformer):
    """Takes out the operators that a change has removed."""

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return node if node.op is not None else node.operand

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return node if len(node.values) > 1 else node.values[0]
