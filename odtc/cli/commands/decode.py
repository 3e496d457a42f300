"""`odtc decode` and `odtc verify`: a solution file to its tree, and everything computed again."""

import math
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console, options
from odtc.cli.commands import certify
from odtc.errors import ChoiceError, NoSolutionError


def decode(
    solution_file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.sol|STEM", callback=options.named_by_stem(".sol"), help="Solution file of any solver."
        ),
    ],
    manifest: options.ManifestFile = None,
    log: Annotated[
        Path | None, options.value_option("--log", "FILE", "Log of the solver, for solution formats without a status.")
    ] = None,
    solver_template: options.RawOf = None,
    data: options.MovedData = None,
    o: Annotated[
        Path | None,
        options.value_option(
            "-o", "TREE.json", "Output file, or a stem for STEM.tree.json (default: the stem of the solution)."
        ),
    ] = None,
    no_simplify: options.NoSimplify = False,
    as_json: options.Json = False,
) -> None:
    """Turn a solution file into a checked tree."""
    from odtc.base.atomic_write import require_beside, require_writable
    from odtc.workflow import artifacts, files_of_models
    from odtc.workflow.decoding import finish
    from odtc.workflow.results.lines import simplified_text

    target = options.tree_path(o) if o else artifacts.tree_of_solution(solution_file)
    require_writable(target, solution_file, log)
    model, solution, opened = files_of_models.open_solution(solution_file, manifest, log, solver_template)
    if not o:
        require_beside(solution_file)
    require_writable(target, opened.path)
    with _told_without_solution(as_json):
        _expect_solution(model, solution)
    dataset, note = files_of_models.selected_data(opened, data)
    if note:
        console.say(f"note: {note}")
    known = files_of_models.known_trees(model, solution_file, opened)
    # Constraints added by the user may be on branch nodes that no row of the data needs.
    simplify = not no_simplify and "own" not in opened.facts
    done = finish(model, solution, dataset=dataset, known=known, simplify=simplify)
    if words := simplified_text(done):
        console.say(f"note: {words}")
    written = [str(artifacts.write_tree(done.tree, target))] if done.verified else []
    facts = (
        files_of_models.selection_facts(opened)
        | done.facts
        | {
            "n_rows_dropped": opened.facts["data"]["n_rows_dropped"],
            "same_file": files_of_models.same_file(opened, data),
            "data_note": note or None,
            "tree": written[0] if written else None,
            "files": written,
        }
    )
    console.print_tree_result(done, facts, as_json)


CertificateToCheck = Annotated[
    Path | None, options.value_option("--certificate", "FILE", "Check this certificate of `odtc certify` instead.")
]
Confirm = Annotated[
    str | None, options.value_option("--confirm", "A,B", "Solve the model file again with these solvers, and compare.")
]
VerifyLimit = Annotated[
    float | None,
    options.time_limit_option(
        "Seconds for checking a certificate (default: no limit), for repeating the search (default 5; 0: no "
        "search), and for each solver of --confirm."
    ),
]


def verify(
    solution_file: Annotated[
        Path | None, typer.Argument(metavar="FILE|STEM", help="File of odtc, or the stem of a run.")
    ] = None,
    manifest: options.ManifestFile = None,
    log: Annotated[Path | None, options.value_option("--log", "FILE", "Log of the solver.")] = None,
    solver_template: options.RawOf = None,
    data: options.MovedData = None,
    certificate: CertificateToCheck = None,
    confirm: Confirm = None,
    time_limit: VerifyLimit = None,
    as_json: options.Json = False,
) -> None:
    """Recompute a result: solution against model, tree against data, proof. Exit code 1 if anything disagrees.

    FILE is anything that odtc wrote: a solution, TREE.json, certificate, frontier or near-optimal set; another file
    stands for the solution or tree of its run. For a STEM, check the solution (or the tree, if no solver wrote one),
    certificate, near-optimal trees and frontier.
    """
    from odtc.workflow.provenance.named_files import NamedFiles, files_to_verify
    from odtc.workflow.provenance.searched_again import claimed_facts, claimed_text
    from odtc.workflow.provenance.tree_file import recheck_tree

    if (solution_file is None) == (certificate is None):
        raise ChoiceError(
            "expected a solution or tree file, or --certificate with the file of one, "
            + ("got neither" if certificate is None else "not both")
        )
    given = {"--manifest": manifest, "--log": log, "--solver-template": solver_template, "--confirm": confirm}
    files = NamedFiles(certificate=certificate) if solution_file is None else files_to_verify(solution_file)
    if solution_file is not None and (files.main is None or files.main.suffix == ".json"):
        _expect_no_solver(given, files)
    if files.main is None:
        _verify_proofs(files, data, time_limit, as_json)
        return
    if files.main.suffix == ".json":
        with console.at_work("verify", as_json):
            done, again, *remarks = recheck_tree(files.main, data, time_limit)
        dropped = done.dataset.n_dropped if done.dataset is not None else None
    else:
        solvers = tuple(filter(None, (confirm or "").split(",")))
        tree = None if files.main == solution_file else files.main.with_suffix(".tree.json")
        with _told_without_solution(as_json), console.at_work("verify", as_json):
            done, again, dropped, *remarks = _rechecked(
                files.main, (manifest, log, solver_template), data, (solvers, time_limit), tree
            )
    derived = again.derived(done)
    checks, proof, lines, more = _checks_of_stem(done, files, data, time_limit, derived, as_json)
    remarks += [*more, files.note]
    decoded = replace(done.decoded, checks=[*done.decoded.checks, *checks])
    claimed = claimed_facts(done.facts, derived)
    if not as_json:
        console.print_checks(decoded.checks)
        print(*lines, sep="\n", end="\n" * bool(lines))
        remarks.append(claimed_text(claimed, again.bound))
    else:
        rest = {"claimed": claimed, "own_bound": again.bound, "n_rows_dropped": dropped, "tree": None, "files": []}
        console.print_json(done.facts | proof | rest | _checked(decoded.checks))
    console.say(*filter(None, remarks))
    console.refuse_failed(decoded.checks)


def _verify_proofs(files, data: Path | None, time_limit: float | None, as_json: bool) -> None:
    """Verify the certificate, with the tree that was written with it, and the frontier of a run without a solution and
    a tree, and print the results. Raises SolutionError if a check fails."""
    from odtc.workflow.provenance.frontier_file import recheck_frontier
    from odtc.workflow.provenance.tree_file import check_certified_tree

    facts, lines, of_tree, found = {}, [], [], None
    with console.at_work("verify", as_json):
        if files.certificate is not None:
            facts, lines = certify.verify_certificate(files.certificate, data, time_limit)
        if files.tree is not None:
            of_tree = [check_certified_tree(files.certificate, files.tree, data)]
        if files.frontier is not None:
            found = recheck_frontier(files.frontier, data, time_limit)
            facts |= {"vary": found.vary, "claimed": list(found.claimed), "files": []}
    checks = [*of_tree, *(() if found is None else found.checks)]
    if as_json:
        console.print_json(facts | _checked(checks) if checks else facts)
    else:
        print(*lines, sep="\n", end="\n" * bool(lines))
        for check in of_tree:
            print(f"{'tree' if check.passed else 'FAIL'}      {check.text}")
        if found is not None:
            console.print_checks(found.checks)
    if found is not None and found.note:
        console.say(found.note)
    console.refuse_failed(of_tree, "the certified tree")
    console.refuse_failed(() if found is None else found.checks, "the frontier")


def _expect_no_solver(given: dict, files) -> None:
    """Raise ChoiceError for an option that needs a solution file, if none is verified."""
    path = files.main or files.certificate or files.frontier
    what = "has the name of a tree" if files.main else "is a certificate" if files.certificate else "is a frontier"
    if needless := [name for name, value in given.items() if value is not None]:
        raise ChoiceError(f"{needless[0]} needs a solution file, but {str(path)!r} {what}; leave the option out")


def _checks_of_stem(
    done, files, data: Path | None, time_limit: float | None, derived: list[str], as_json: bool
) -> tuple[list, dict, list[str], list[str]]:
    """Return (checks, facts, lines and remarks) of the files of the same stem as a run: its certificate, near-optimal
    trees and frontier. What the certificate proves is added to `derived`."""
    checks, proof, lines, remarks = [], {}, [], []
    if files.certificate is not None:
        from odtc.workflow.provenance.tree_file import check_of_certificate

        with console.at_work("verify", as_json):
            proved, lines = certify.verify_certificate(files.certificate, data, time_limit)
            checks.append(check_of_certificate(done, files.certificate, proved, data))
        proof = {"certificate": proved}
        same = proved.get("objective") is not None and math.isclose(proved["objective"], done.proof.objective)
        if checks[0].passed and same and _proves(proved, done.proof.bound):
            derived += ["certified", "bound", "gap", *["termination"] * bool(proved.get("optimal"))]
    for path in files.near_best:
        from odtc.workflow.provenance.near_best import check_near_best

        with console.at_work("verify", as_json):
            check, word = check_near_best(done, path, time_limit)
        checks.append(check)
        remarks.append(word)
    if files.frontier is not None:
        from odtc.workflow.provenance.frontier_file import recheck_frontier

        with console.at_work("verify", as_json):
            found = recheck_frontier(files.frontier, data, time_limit, done.dataset)
        checks += found.checks
        remarks.append(found.note)
    return checks, proof, lines, remarks


def _checked(checks) -> dict:
    """Return checks under the keys of `--json`."""
    return {"checks": [check.to_json() for check in checks], "verified": all(check.passed for check in checks)}


def _proves(proof: dict, bound: float | None) -> bool:
    """Return whether the proof of a certificate, as JSON, is at least the bound of a run."""
    proved = proof.get("bound")
    return None not in (proved, bound) and (proved >= bound or math.isclose(proved, bound))


def _rechecked(path: Path, beside: tuple, data: Path | None, confirmed: tuple, tree: Path | None) -> tuple:
    """Return (the run of a solution file with all checks, the figures recomputed, rows left out, remark, remark).
    `beside` are manifest, log and template, `confirmed` are solvers and the seconds of each, and of a search again,
    `tree` is the file of the tree that was made of it, if that is to be checked, too. Raises NoSolutionError
    without a point."""
    from odtc.workflow.provenance.rechecking import recheck
    from odtc.workflow.provenance.tree_file import SolvedRun

    run = SolvedRun.open(path, beside, data, confirmed[1])
    done, held, facts = run.fit(), [], run.manifest.facts["data"]
    # Without the data file the leaves of selected rows have only these.
    if tree is not None and tree.is_file() and not (run.dataset is None and "selection" in facts):
        held = [run.with_tree(tree)[1]]
    derived = run.again.derived(done)
    done, remark = recheck(done, run.dataset, run.manifest, path, run.solution, *confirmed, derived=derived)
    done = replace(done, decoded=replace(done.decoded, checks=[*done.decoded.checks, *held]))
    return done, run.again, facts["n_rows_dropped"], run.note, remark


@contextmanager
def _told_without_solution(as_json: bool):
    """Print the facts on a solution file without a point before the NoSolutionError from inside continues."""
    try:
        yield
    except NoSolutionError as problem:
        console.print_no_solution(problem, [], as_json)
        raise


def _expect_solution(model, solution) -> None:
    """Raise NoSolutionError, with the known facts, if a solution file has no point."""
    from odtc.workflow.decoding import no_solution
    from odtc.workflow.results.fit import Unsolved

    if not solution.has_solution:
        raise no_solution(Unsolved(model.problem, model, solution), from_file=True)
