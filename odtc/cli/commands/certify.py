"""`odtc certify`: the best tree with few numbers by which anyone can check it; `verify --certificate` does."""

import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.base import interrupts, phases
from odtc.base.text import count_of
from odtc.cli import console
from odtc.cli.options import SPLITTING, DataFile, Json, Part, given_names, takes, time_limit_option, value_option
from odtc.errors import CertificateError, ChoiceError, OutputError, TimeLimitReached
from odtc.workflow.specification import ModelSpec

CertifyLimit = Annotated[
    float | None,
    time_limit_option(
        "Seconds for reading, search and writing; the certificate then proves the bound reached. Its check "
        "may take as long again. Compiling kernels, once after an installation, is not counted."
    ),
]
Penalty = Annotated[
    float,
    value_option(
        "--lambda",
        "NUMBER",
        "Penalty for each branch node: min (1-λ) loss + λ branch nodes, so a node saves at least λ/(1-λ).",
    ),
]
CertificateFile = Annotated[
    Path | None,
    value_option(
        "-o", "STEM|FILE", "Output file, or a stem for STEM.certificate.json (default: DATA_dDEPTH.certificate.json)."
    ),
]


@takes(Part(ModelSpec, only=("depth", "encoding", "class_weight", "cost", "constraints"), short=True), SPLITTING)
def certify(
    context: typer.Context,
    data: DataFile,
    spec,
    lambda_: Penalty = 0.0,
    time_limit: CertifyLimit = None,
    o: CertificateFile = None,
    moved: Annotated[Path | None, value_option("--data", "DATA", "Data file of the run, if it was moved.")] = None,
    as_json: Json = False,
) -> None:
    """Find the best tree without a solver, and write a certificate of its optimality.

    If DATA is the STEM, the STEM.run.json or the STEM.tree.json of a run that was proved, its certificate is written to
    STEM.certificate.json. `odtc verify --certificate` checks a certificate.
    """
    from odtc.base.atomic_write import require_beside, require_writable
    from odtc.base.deadline import limit_left
    from odtc.problem.formulation import FORMULATIONS, Certifies
    from odtc.verification.certificate import SUFFIX
    from odtc.workflow.messages import read_notes
    from odtc.workflow.posing import pose_run
    from odtc.workflow.provenance import certifying
    from odtc.workflow.provenance.certified_later import stem_of_run

    began = time.monotonic()
    if (stem := stem_of_run(data)) is not None:
        named = sorted(given_names(context) - {"data", "moved", "time_limit", "as_json"})  # options not about a run
        _certify_run(stem, moved, time_limit, began, named, as_json)
        return
    spec = replace(spec.with_model(model=FORMULATIONS.able(Certifies)[0], params={"lambda": lambda_}), fitting=True)
    with console.live("reading", time_limit, began):
        problem = pose_run(spec.with_solving(time_limit=time_limit), data)
    console.say(*read_notes(problem.encoded.dataset))
    path = o or Path(f"{problem.encoded.name}_d{spec.model.depth}{SUFFIX}")
    path = path if path.suffix or not path.name else path.with_name(path.name + SUFFIX)
    require_beside(path)
    tree = certifying.tree_beside(path)
    _expect_no_other_run(tree, spec, data)
    for file in (path, tree):
        require_writable(file, data)
    with console.live("odtc", time_limit, began):
        found = certifying.certify(problem, limit_left(began, time_limit), data)
    with interrupts.held(last=True):  # the result is written and reported
        _hand_in(found, path, tree, as_json)


def _expect_no_other_run(tree: Path, spec, data: Path) -> None:
    """Raise ChoiceError if a run of another problem left the tree, which the tree of the certificate would replace."""
    from odtc.workflow.provenance.certified_later import is_of_run
    from odtc.workflow.provenance.run_of_tree import RECORD, TREE

    stem = str(tree).removesuffix(TREE)
    if tree.exists() and Path(stem + RECORD).is_file() and not is_of_run(tree, spec, data):
        raise ChoiceError(
            f"{str(tree)!r} is the tree of another run ({stem}{RECORD}): name another file with -o, or certify the "
            f"tree of that run with `odtc certify {shlex.quote(stem)}`"
        )


def _certify_run(
    stem: str, data: Path | None, time_limit: float | None, began: float, named: list[str], as_json: bool
) -> None:
    """Certify a run later, from its files."""
    from odtc.workflow.provenance.certified_later import certify_later, open_proved

    if named:
        words = ", ".join(f"--{name.rstrip('_').replace('_', '-')}" for name in named)
        raise ChoiceError(f"the run {stem} has its settings in its record: leave {words} out")
    with console.at_work("reading", as_json):
        run = open_proved(stem, data)
    if run.seconds is not None and not as_json:
        console.say(f"the search of the run took {run.seconds:.1f} s; a certificate takes about as long")
    with console.at_work("certify", as_json):
        found = certify_later(run, time_limit, began)
    facts = {"objective": found.objective, "bound": found.bound, "optimal": found.optimal, "checked": found.checked}
    if as_json:
        console.print_json(facts | _scope(found.proof) | {"certificate": str(run.path), "files": [str(run.path)]})
        return
    print(f"proved optimal, certified: objective {found.objective:.10g}, bound {found.bound:.10g}")
    print(found)
    _print_file(run.path, found.proof)


def _hand_in(found, path: Path, tree: Path, as_json: bool) -> None:
    """Write a certificate and its tree, and report them."""
    proof, done = found.proof, found.fit
    unchecked = "" if found.checked else "; not checked here, as an interruption or the limit came first"
    if done is None:
        found.write_to(path)
        if as_json:
            told = {"infeasible": True} | _scope(proof) | {"checked": found.checked}
            console.print_json(told | {"certificate": str(path), "files": [str(path)]})
            return
        print(found)
        _print_file(path, proof, unchecked)
        return
    console.refuse_failed(done.decoded.checks)
    files, refused = {"certificate": str(path), "tree": str(tree), "files": [str(path), str(tree)]}, None
    try:
        found.write_to(path)
    except OutputError as full:  # the proof is reported in any case
        files, refused = {"certificate": None, "tree": None, "files": []}, full
    if as_json:
        console.print_json(done.facts | _scope(proof) | {"checked": found.checked} | files)
        if refused is not None:
            raise refused
        return
    print(found)
    if refused is not None:
        raise refused
    right = (
        f": {done.training.train_correct} of {count_of(done.size.n_rows, 'row', '')} correct"
        if done.metrics is None
        else ""
    )
    print(f"{tree}  {tree.stat().st_size:,} bytes{right}")
    _print_file(path, proof, unchecked)


def _print_file(path: Path, proof, remark: str = "") -> None:
    """Print the line on the file of a certificate."""
    print(
        f"{path}  {path.stat().st_size:,} bytes, {_steps(proof)}{remark}; check it with "
        f"`odtc verify --certificate {path}`"
    )


def verify_certificate(path: Path, data: Path | None, time_limit: float | None = None) -> tuple[dict, list[str]]:
    """Check a certificate against its data file, read again, within seconds and a share of the memory.

    Returns
    -------
    (the proof, as JSON; the same as lines of words)
    """
    from odtc.base import deadline, memory
    from odtc.data.reading import fingerprint
    from odtc.verification import certificate
    from odtc.verification.claim import words as terms_in_words
    from odtc.verification.coverage import words
    from odtc.workflow.provenance import certifying

    if not path.exists() and (beside := path.with_name(path.name + certificate.SUFFIX)).exists():
        path = beside  # of a stem
    facts = certificate.read_certificate(path)
    source = facts["data"]
    file, rows = certifying.certified_rows(path, facts, data)
    digest = fingerprint(file)
    same = None if source.get("sha256") is None else source["sha256"] == digest
    other = f"the data file {str(file)!r} is not the one that the certificate was made of (its SHA-256 differs)"
    try:
        phases.begin("checking the certificate")
        with memory.limited("checking the certificate", CertificateError), deadline.budget(time_limit or None):
            proof = certificate.check(facts, rows)
    except TimeLimitReached:
        raise CertificateError(
            f"{path}: the check had not ended after {time_limit:g} seconds, so nothing is proved; allow more time"
        ) from None
    except CertificateError as problem:
        raise CertificateError(f"{path}: {problem}{f'; {other}' if same is False else ''}") from None
    if same is False:
        console.say(f"{other}; it proves its tree here too")
    none = proof.infeasible
    paid = {"infeasible": True} if none else {"objective": proof.objective, "bound": proof.bound}
    head = {"verified": True, "optimal": proof.optimal and not none} | paid
    sizes = {"same_file": same, "data_sha256": digest, "depth": proof.depth, "n_rows": proof.n_rows}
    told = head | sizes | _scope(proof) | {"of": proof.of}
    if none:
        none_of = certifying.none_satisfies(proof)
        lines = [f"proved: {none_of} on {count_of(proof.n_rows, 'row', '')}; {_steps(proof)} checked in whole numbers"]
    else:
        lines = [
            f"proved: no tree of depth {proof.depth} over "
            f"{count_of(proof.n_candidate_splits, 'split', '')}{_satisfying(proof)} costs less than {proof.bound:.10g} "
            f"on {count_of(proof.n_rows, 'row', '')}{f' ({proof.terms})' if proof.terms else ''}; {_steps(proof)} "
            "checked in whole numbers"
        ]
    if not proof.optimal:
        lines.append(
            f"bound     the tree of the certificate costs {proof.objective:.10g}: the bound is proved, not the tree"
        )
    covered = f"splits    {words(proof.n_possible_splits, proof.left_out)}"
    return told, [*lines, covered, f"of        {terms_in_words(proof.of)}"]


def _scope(proof) -> dict:
    """Return the splits and terms of a proof, and its number of steps, as JSON."""
    return {
        "n_candidate_splits": proof.n_candidate_splits,
        **proof.steps,
        "terms": proof.terms,
        "all_midpoints": not proof.left_out,
        "n_possible_splits": proof.n_possible_splits,
        "left_out": {name: list(of) for name, of in proof.left_out.items()},
    }


def _steps(proof) -> str:
    if proof.steps == {"n_targets": 0}:
        return "no targets, as rows alike in every split cost as much"
    named = {name.removeprefix("n_").replace("_", " "): count for name, count in proof.steps.items()}
    listed = named.pop("listed", 0)
    words = [f"{count:,} {name.removesuffix('s') if count == 1 else name}" for name, count in named.items()]
    if listed:
        words.append(f"{listed:,} of them with a list of {'its' if listed == 1 else 'their'} trees")
    return ", ".join(words)


def _satisfying(proof) -> str:
    return " that satisfies the constraints" if proof.of["constraints"] else ""
