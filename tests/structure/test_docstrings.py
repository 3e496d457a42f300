"""Public functions, and those that authors of plug-ins call, have numpydoc sections."""

import ast
import inspect
import textwrap

import pytest

import odtc
import odtc.extend

# Names whose docstring may lack a section. Names leave this table; none enters.
ALLOWED: dict[str, set[str]] = {}


def public_functions(cls):
    """(name, function) of the methods that a class itself defines."""
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function) and not name.startswith("_"):
            yield f"{cls.__name__}.{name}", function


def functions_of(module):
    return {name: found for name in module.__all__ if inspect.isfunction(found := getattr(module, name))}


def classes_of(module):
    return [found for name in module.__all__ if inspect.isclass(found := getattr(module, name))]


WHOLE = functions_of(odtc) | functions_of(odtc.extend)
WHOLE |= {name: function for cls in classes_of(odtc) for name, function in public_functions(cls)}
METHODS = {name: function for cls in classes_of(odtc.extend) for name, function in public_functions(cls)}


def wanted_sections(function) -> set[str]:
    """The sections that the docstring of a function needs, by its source."""
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    own = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    inner = {
        id(each)
        for one in ast.walk(node)
        if isinstance(one, ast.FunctionDef) and one is not node
        for each in ast.walk(one)
    }
    mine = [each for each in ast.walk(node) if id(each) not in inner]
    returned = any(isinstance(each, ast.Return) and each.value is not None for each in mine)
    wanted = {"Parameters": bool(own), "Returns": returned, "Raises": any(isinstance(each, ast.Raise) for each in mine)}
    return {section for section, needed in wanted.items() if needed}


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_public_function_says_what_it_takes_returns_and_raises(name):
    doc = inspect.getdoc(WHOLE[name]) or ""
    first = doc.split("\n\n")[0]
    assert first and "\n" not in first, f"{name}: the docstring begins with one summary line"
    absent = {section for section in wanted_sections(WHOLE[name]) if f"\n{section}\n{'-' * len(section)}\n" not in doc}
    assert absent <= ALLOWED.get(name, set()), f"{name}: the docstring lacks {', '.join(sorted(absent))}"


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_public_function_describes_each_parameter_by_its_name(name):
    doc = inspect.getdoc(WHOLE[name]) or ""
    block = doc.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    told = {
        word.strip().lstrip("*")
        for line in block.splitlines()
        if line[:1].strip()
        for word in line.split(" :")[0].split(",")
    }
    own = {one for one in inspect.signature(WHOLE[name]).parameters if one not in ("self", "cls")}
    assert told == own, f"{name}: described {sorted(told)}, taken {sorted(own)}"


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_for_authors_of_plug_ins_says_what_it_does(name):
    assert (inspect.getdoc(METHODS[name]) or "").strip(), f"{name} does not say what it does"
