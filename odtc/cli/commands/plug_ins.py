"""`odtc list TYPE`, `odtc info NAME`, `odtc check NAME` and `odtc new TYPE NAME`: the formulations, solvers and other
parts of odtc and of plug-ins, their property tests, and the files of a new one."""

from pathlib import Path
from typing import Annotated

import typer

from odtc.base import interrupts
from odtc.cli import console
from odtc.cli.options import Json, Templates, completing, value_option
from odtc.errors import ChoiceError


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
            {
                "type": of[0],
                "name": name,
                "ok": bool(passed) and not failed,
                "properties": [_facts(one) for one in outcomes],
            }
        )
    else:
        tail = [f"{failed} failed"] * bool(failed) + [f"{left} not tested"] * bool(left)
        print(f"{of[0]} {name}: {', '.join([f'{passed} of {len(outcomes)} passed', *tail])}")
    if failed or not passed:
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
    from odtc.cli.new_member import begin

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
