"""`odtc new`: the files of a new plug-in, which work from the first minute."""

from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import Json


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
