"""`odtc decode` and `odtc verify`: a solution file to its tree, and everything computed anew."""

from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.commands import certify
from odtc.cli.options import (
    Json,
    ManifestFile,
    MovedData,
    RawOf,
)
from odtc.errors import ChoiceError


def decode(
    solution_file: Annotated[Path, typer.Argument(metavar="FILE.sol", help="Any solver's solution file.")],
    manifest: ManifestFile = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="The solver's log, for formats without a status.")
    ] = None,
    solver_template: RawOf = None,
    data: MovedData = None,
    o: Annotated[
        Path | None, typer.Option("-o", metavar="TREE.json", help="By default STEM.tree.json beside the solution.")
    ] = None,
    simplify: Annotated[
        bool, typer.Option("--simplify", help="Write the tree without the branch nodes that no row needs.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Turn a solution file into a checked tree."""
    from odtc.base.atomic_write import require_writable
    from odtc.workflow import artifacts
    from odtc.workflow.decoding import finish
    from odtc.workflow.messages import needless_text

    model, solution, opened = artifacts.open_solution(solution_file, manifest, log, solver_template)
    target = o or Path(f"{artifacts.stem_of(solution_file)}.tree.json")
    require_writable(target, solution_file, opened.path, log)
    _expect_solution(model, solution, as_json)
    dataset, note = artifacts.selected_data(opened, data)
    if note:
        console.say(f"note: {note}")
    known = artifacts.known_trees(model, solution_file, opened)
    done = finish(model, solution, dataset=dataset, known=known, simplify=simplify)
    if not simplify and (offer := needless_text(done)):
        console.say(f"note: {offer}")
    written = [str(artifacts.write_tree(done.tree, target))] if done.verified else []
    facts = (
        artifacts.selection_facts(opened)
        | done.facts
        | {
            "n_rows_dropped": opened.facts["data"]["n_rows_dropped"],
            "tree": written[0] if written else None,
            "files": written,
        }
    )
    console.print_tree_result(done, facts, as_json)


def verify(
    solution_file: Annotated[Path | None, typer.Argument(metavar="FILE.sol")] = None,
    manifest: ManifestFile = None,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="The solver's log.")] = None,
    solver_template: RawOf = None,
    data: MovedData = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Check a certificate of `odtc certify` instead."),
    ] = None,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="A,B", help="Have these solvers solve the model file, too, and compare."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.0, help="Seconds for each solver of --confirm.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute everything anew: point against model, tree against data and model file. Exit 1 if anything disagrees."""
    from odtc.workflow import artifacts
    from odtc.workflow.decoding import finish
    from odtc.workflow.provenance.rechecking import recheck

    if (solution_file is None) == (certificate is None):
        raise ChoiceError(
            "expected a solution file, or --certificate with the file of one, "
            + ("got neither" if certificate is None else "not both")
        )
    if certificate is not None:
        certify.verify_certificate(certificate, data, as_json)
        return
    model, solution, opened = artifacts.open_solution(solution_file, manifest, log, solver_template)
    _expect_solution(model, solution, as_json)
    dataset, note = artifacts.original_data(opened, data)
    known = artifacts.known_trees(model, solution_file, opened)
    done = finish(model, solution, dataset=dataset, known=known)
    solvers = tuple(filter(None, (confirm or "").split(",")))
    done, remark = recheck(done, dataset, opened, solution_file, solution, solvers, time_limit)
    decoded = done.decoded
    if as_json:
        console.print_json(
            done.facts
            | {
                "n_rows_dropped": opened.facts["data"]["n_rows_dropped"],
                "tree": None,
                "files": [],
                "checks": [check.to_json() for check in decoded.checks],
                "verified": decoded.verified,
            }
        )
    else:
        console.print_checks(decoded.checks)
    for words in filter(None, (note, remark)):
        console.say(words)
    console.refuse_failed(decoded)


def _expect_solution(model, solution, as_json: bool) -> None:
    """Prints what is known, and raises NoSolutionError, if a solution file holds no point."""
    from odtc.workflow.decoding import no_solution
    from odtc.workflow.results import Unsolved

    if not solution.has_solution:
        problem = no_solution(Unsolved(model.problem, model, solution))
        console.print_no_solution(problem, [], as_json)
        raise problem
