"""`odtc check`: a plug-in of any type under the property tests of its type."""

from typing import Annotated

import typer

from odtc.base import interrupts
from odtc.cli import console
from odtc.cli.options import Json, Templates, value_option
from odtc.errors import ChoiceError


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
