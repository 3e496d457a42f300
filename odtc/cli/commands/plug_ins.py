"""`odtc list TYPE`, `odtc info NAME`, `odtc check NAME` and `odtc new TYPE NAME`: the formulations, solvers and other
parts of odtc and of plug-ins, their property tests, and the files of a new one."""

import importlib.machinery
import keyword
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from odtc.base import interrupts
from odtc.base.atomic_write import write_text
from odtc.base.templates import render, template_folders
from odtc.base.text import did_you_mean
from odtc.cli import console
from odtc.cli.catalogue import REGISTRIES
from odtc.cli.options import Json, Templates, completing, value_option
from odtc.errors import ChoiceError, OutputError
from odtc.trees.exporting import EXPORTERS

# Type, as the group of its entry points without "odtc." and the plural -> its registry.
KINDS = {one.group.removeprefix("odtc.").removesuffix("s"): one for one in (*REGISTRIES.values(), EXPORTERS) if one}
# Type -> the file from which a new plug-in begins.
FIRST = {
    "formulation": "cut_based",
    "cut": "class_predicted",
    "constraint": "predicted_share",
    "solver": "scipy_milp",
    "exporter": "nested_json",
    "reader": "json_lines",
    "encoding": "medians",
    "selection": "nearest_rows",
    "heuristic": "one_split",
    "format": "json_model",
    "point": "json_point",
}
# No property test knows the costs of the leaves of a task, so its test counts them by itself.
BEGUN = FIRST | {"task": "poisson_rate"}


def _kinds(incomplete: str) -> list[str]:
    from odtc.cli.catalogue import REGISTRIES

    return [kind for kind in REGISTRIES if kind.startswith(incomplete)]


def _members(incomplete: str) -> list[str]:
    return [name for kind in _kinds("") for name in completing(kind)(incomplete)]


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="TYPE", help="models, cuts, …; without it, the types of plug-ins are listed.", autocompletion=_kinds
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List models, constraints, encodings, solvers and other plug-ins."""
    from odtc.cli.catalogue import REGISTRIES, registered

    if kind is None:
        if as_json:
            console.print_json({"types": list(REGISTRIES)})
        else:
            print("\n".join(REGISTRIES))
        return
    entries = registered(kind)
    if as_json:
        console.print_json({kind: [{"name": name, "summary": summary} for name, summary in entries]})
        return
    if not entries:
        console.say(f"this version has no {kind}")
    width = max((len(name) for name, _ in entries), default=0)
    for name, summary in entries:
        print(f"{name:<{width}}  {summary}")


def info(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", autocompletion=_members, help="Name of a plug-in, such as oct or leaf_rows."),
    ],
) -> None:
    """Describe a model, constraint, encoding, solver, … and its parameters."""
    from odtc.cli.catalogue import describe

    print(describe(name))


def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a plug-in, of odtc or your own.")],
    kind: Annotated[
        str | None,
        value_option("--type", "TYPE", "Type of the plug-in (formulation, cut, …), if several types have this name."),
    ] = None,
    property: Annotated[str | None, value_option("--property", "NAME", "Only this property test.")] = None,
    examples: Annotated[
        int | None,
        value_option("--examples", "N", "Number of random cases for each property test.", min=1, max=100_000),
    ] = None,
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Test a plug-in on random cases with the property tests of its type."""
    from odtc.testing import cases
    from odtc.testing.suite import kinds_of

    of = kinds_of(name, templates) if kind is None else [kind]
    if len(of) > 1:
        raise ChoiceError(f"{name!r} is the name of a {' and of a '.join(of)}: choose one with --type")
    outcomes = []
    for case in cases(of[0], name, property=property, templates=templates):
        outcome = case.run(examples)
        if interrupts.exit_code(0):  # a property that ran a solver or a search fails then
            raise KeyboardInterrupt
        outcomes.append(outcome)
        if not as_json:
            print(outcome.text, flush=True)
            interrupts.leaves("the properties above were tested")
    failed, left = (sum(bool(getattr(outcome, word)) for outcome in outcomes) for word in ("failure", "not_tested"))
    passed = len(outcomes) - failed - left
    if as_json:
        console.print_json(
            {"type": of[0], "name": name, "ok": not failed, "properties": [_facts(one) for one in outcomes]}
        )
    else:
        tail = [f"{failed} failed"] * bool(failed) + [f"{left} not tested"] * bool(left)
        print(f"{of[0]} {name}: {', '.join([f'{passed} of {len(outcomes)} passed', *tail])}")
    if failed:
        raise typer.Exit(1)


def _facts(outcome) -> dict:
    case = outcome.case
    return {
        "property": case.property.name,
        "statement": case.property.statement,
        "variant": case.words,
        "cases": outcome.tried,
        "passed": not outcome.failure and not outcome.not_tested,
        "failure": outcome.failure or None,
        "not_tested": outcome.not_tested or None,
        "example": outcome.notes,
    }


def new(
    kind: Annotated[
        str, typer.Argument(metavar="TYPE", help="formulation, cut, constraint, solver, exporter, task, …")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of your plug-in.")],
    folder: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the files.")] = Path(),
    package: Annotated[
        bool, typer.Option("--package", help="Write a folder with pyproject.toml and an entry point, for pip install.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Create a plug-in (formulation, cut, exporter, …) with a test, as a start for your own."""

    paths = begin(kind, name, folder, package)
    if as_json:
        console.print_json({"kind": kind, "name": name, "files": [str(path) for path in paths]})
        return
    for path in paths:
        print(path)
    if kind == "task":  # no property test knows the costs of its leaves
        first = f"pip install -e '{paths[0].parent}[test]' && " if package else ""
        print(f"try it: {first}python -m pytest {paths[-1]}")
    elif package:
        print(f"try it: pip install -e {paths[0].parent} && odtc check {name}")
    else:
        print(f"try it: odtc check {name} --plugin {paths[0]}")


# Files of a new plug-in: a working one of its type under a new name, a test that runs the property tests, a package.
#
# The plug-ins are in examples/plug-ins of the repository, and in odtc/templates/new of the package; the templates of
# the other files are in templates/plug-in.


def texts_of(kind: str, name: str, package: bool) -> dict[str, str]:
    """Return the texts of a new plug-in by the names of their files.

    Parameters
    ----------
    kind : str
        One of BEGUN.
    name : str
        The name that it is registered by; a name of Python.
    package : bool
        Whether a pyproject.toml with the entry point is among them.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ChoiceError
        If the type is unknown, or the name is taken, is not a name of Python, or is the name of a module that it
        would hide.
    """
    if kind not in BEGUN:
        raise ChoiceError(f"unknown type of plug-in {kind!r}{did_you_mean(kind, BEGUN)}; known: {', '.join(BEGUN)}")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ChoiceError(f"expected a name of small letters, digits and _ that begins with a letter, got {name!r}")
    if keyword.iskeyword(name) or name == "conftest" or name.startswith("test_"):
        raise ChoiceError(f"expected a name that Python and pytest have no use for, got {name!r}: take another name")
    if _is_module(name):
        raise ChoiceError(
            f"{name!r} is the name of a Python module here, which {name}.py would hide: take another name"
        )
    registry = KINDS[kind]
    if name in registry.module_names:
        raise ChoiceError(f"odtc has a {kind} {name!r}: take another name")
    own = re.sub(rf"\b{BEGUN[kind]}\b", name, first_of(kind).read_text(encoding="utf-8"))
    if package:  # an entry point states its type
        own = re.sub(r'^TYPE = "\w+"\n', "", own, flags=re.M)
    command = "pip install -e '.[test]' && python -m pytest" if package else f"python -m pytest test_{name}.py"
    facts = {"name": name, "kind": kind, "group": registry.group, "package": package, "command": command}
    test = render(f"plug-in/{'test' if kind in FIRST else 'test_task'}.py.jinja", **facts)
    about = {"pyproject.toml": render("plug-in/pyproject.toml.jinja", **facts)} if package else {}
    return about | {f"{name}.py": own, f"test_{name}.py": test}


def _is_module(name: str) -> bool:
    """Return whether Python has a module of this name, elsewhere than in the current folder."""
    if name in sys.stdlib_module_names:
        return True
    elsewhere = [folder for folder in sys.path if folder and Path(folder).resolve() != Path.cwd()]
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    return spec is not None and spec.origin is not None  # a folder without code has none


def first_of(kind: str) -> Path:
    """Return the file from which a plug-in of a type begins."""
    (own,) = template_folders(None)
    examples = own.parent / "examples"
    folders = (own / "new", examples / "plug-ins", examples / "my-task")
    return next(path for path in (folder / f"{BEGUN[kind]}.py" for folder in folders) if path.is_file())


def begin(kind: str, name: str, folder: Path, package: bool) -> list[Path]:
    """Write the files of a new plug-in, and overwrite no file.

    Parameters
    ----------
    kind, name, package
        As for `texts_of`.
    folder : path
        Where the files are written; with `package` into a folder of the plug-in's name there.

    Returns
    -------
    list of Path

    Raises
    ------
    ChoiceError
        As `texts_of` does.
    OutputError
        If a file is there already, or cannot be written.
    """
    texts = texts_of(kind, name, package)
    into = folder / name if package else folder
    paths = [into / file for file in texts]
    for path in paths:
        if path.exists():
            raise OutputError(f"{str(path)!r} is there already: take another name or folder")
    try:
        into.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values()):
            write_text(path, text)
    except OSError as problem:
        raise OutputError(f"cannot write to {str(into)!r}: {problem.strerror}") from None
    return paths
