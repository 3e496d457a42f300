"""`odtc list TYPE` and `odtc info NAME`: the formulations, solvers and other parts of odtc and of plug-ins."""

from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import Json, completing


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


def info(name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=_members)]) -> None:
    """Describe a model, constraint, encoding, solver, … and its parameters."""
    from odtc.cli.catalogue import describe

    print(describe(name))
