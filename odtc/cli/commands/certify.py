"""`odtc certify`: the best tree with few numbers by which anyone can check it; `verify --certificate` does."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import SPLITTING, DataFile, Json, Part, takes
from odtc.errors import OutputError
from odtc.workflow.specification import ModelSpec

IN_HAND = 0.5  # seconds for the check of a certificate, after an interruption


@takes(Part(ModelSpec, only=("depth", "encoding", "class_weight", "cost", "constraints")), SPLITTING)
def certify(
    data: DataFile,
    spec,
    lambda_: Annotated[
        float, typer.Option("--lambda", help="Price of a branch node: (1-λ) errors + λ branch nodes.")
    ] = 0.0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", min=0.0, help="Seconds for the search; then the certificate is of the bound reached."
        ),
    ] = None,
    o: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="By default DATA_dDEPTH.certificate.json in this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the best tree by dynamic programming, and write a proof that `odtc verify --certificate` checks."""
    import time

    from odtc.base import deadline
    from odtc.base.atomic_write import require_beside, require_writable, stem_of
    from odtc.base.commit import together
    from odtc.model.solution import Termination
    from odtc.problem.formulation import FORMULATIONS, Certifies
    from odtc.trees.heap_tree import HeapTree
    from odtc.trees.tree import Tree
    from odtc.verification.certificate import SUFFIX
    from odtc.verification.coverage import words
    from odtc.workflow.artifacts import write_certificate, write_tree
    from odtc.workflow.decoding import proved
    from odtc.workflow.messages import read_notes
    from odtc.workflow.posing import pose_run

    spec = replace(spec.with_model(model=FORMULATIONS.able(Certifies)[0], params={"lambda": lambda_}), fitting=False)
    problem, depth = pose_run(spec, data), spec.model.depth
    for note in read_notes(problem.encoded.dataset):
        console.say(note)
    path = o or Path(f"{problem.encoded.name}_d{depth}{SUFFIX}")
    require_beside(path)
    tree = path.with_name(path.name.removesuffix(SUFFIX).removesuffix(".json") + ".tree.json")
    for file in (path, tree):
        require_writable(file, data)
    began = time.monotonic()
    with deadline.within(time_limit):
        facts = problem.module.certificate(problem)
        interrupted = deadline.is_interrupted()
    limit_came = time_limit is not None and time.monotonic() - began >= time_limit
    ended = Termination.INTERRUPTED if interrupted else Termination.TIME_LIMIT if limit_came else Termination.UNKNOWN
    proof, checked = _proof(facts, problem.encoded.dataset, interrupted)
    if facts["tree"] is None:
        write_certificate(facts, data, path)
        if as_json:
            console.print_json({"infeasible": True} | _scope(proof) | {"certificate": str(path), "files": [str(path)]})
            return
        print(f"proved: {_none(proof)}; {words(proof.n_splits, proof.left_out)}")
        print(
            f"{path}  {path.stat().st_size:,} bytes, {_steps(proof)}; check it with `odtc verify --certificate {path}`"
        )
        return
    heap = HeapTree.from_tree(Tree.from_json(facts["tree"]), problem.encoded, problem.topology)
    done = proved(problem, heap, proof.bound, time.monotonic() - began, ended)
    console.refuse_failed(done.decoded)
    files, refused = {"certificate": str(path), "tree": str(tree), "files": [str(path), str(tree)]}, None
    try:
        with together(stem_of(path)):
            write_tree(done.tree, tree)
            write_certificate(facts, data, path)
    except OutputError as full:  # what is proved is told all the same
        files, refused = {"certificate": None, "tree": None, "files": []}, full
    if as_json:
        console.print_json(done.facts | _scope(proof) | {"checked": checked} | files)
        if refused is not None:
            raise refused
        return
    print(
        f"{'' if checked else 'by the search, '}no tree of depth {depth} over these {proof.n_tests} tests"
        f"{_satisfying(proof)} costs less than {proof.bound:.10g}; "
        f"{words(proof.n_splits, proof.left_out)}"
    )
    if not proof.optimal:
        but = ": the bound is proved, not the tree" if checked else ""
        print(f"the best tree found costs {proof.objective:.10g}{but}; allow more time")
        if len(proof.of["constraints"]) < len(problem.constraints):
            print("it satisfies the constraints; the bound is of all trees, whether they do or not")
    if refused is not None:
        raise refused
    right = f": {done.training.train_correct} of {done.size.n_rows} rows right" if done.judged is None else ""
    print(f"{tree}  {tree.stat().st_size:,} bytes{right}")
    unchecked = "" if checked else "; not checked here, as an interruption came first"
    print(
        f"{path}  {path.stat().st_size:,} bytes, {_steps(proof)}{unchecked}; check it with "
        f"`odtc verify --certificate {path}`"
    )


def _proof(facts: dict, dataset, interrupted: bool):
    """(what a certificate proves, True): what its check would refuse is not written. After an interruption, or if one
    ends the check, (what it states, False)."""
    from odtc.base import deadline
    from odtc.errors import TimeLimitReached
    from odtc.verification import certificate

    if facts["schema"] != certificate.OF_THRESHOLDS:
        return _checks()[facts["schema"]](facts, dataset), True
    try:
        with deadline.within(IN_HAND if interrupted else None):
            return certificate.check(facts, dataset, deadline.check), True
    except (TimeLimitReached, KeyboardInterrupt):
        return certificate.stated(facts, dataset), False


def verify_certificate(path: Path, data: Path | None, as_json: bool) -> None:
    """The check of a certificate against its data file, read anew."""
    from odtc.data.reading import fingerprint, read
    from odtc.data.reading_spec import ReadingSpec
    from odtc.errors import CertificateError, ChoiceError, DataError
    from odtc.verification import certificate
    from odtc.verification.claim import words as terms_in_words
    from odtc.verification.coverage import words

    checks = _checks()
    facts = certificate.read_certificate(path, tuple(checks))
    source = facts["data"]
    if data is None and "path" not in source:
        raise CertificateError(
            f"the certificate {str(path)!r} does not say of which data file it is; name it with --data"
        )
    file = data or path.resolve().parent / source["path"]
    try:
        told = {"categorical": (), "numeric": (), "weights": None} | source
        rows = read(file, **ReadingSpec.from_manifest(told).keywords)
    except (DataError, ChoiceError) as problem:  # whose hints are of options that a certificate has no need of
        raise CertificateError(
            f"{str(file)!r} is not the data of the certificate {str(path)!r}, which expects the target "
            f"{source['target']!r} "
            f"({str(problem).partition(';')[0]}); name its data with --data"
        ) from None
    try:
        proof = checks[facts["schema"]](facts, rows)
    except CertificateError as problem:
        raise CertificateError(f"{path}: {problem}") from None
    same = None if source.get("sha256") is None else source["sha256"] == fingerprint(file)
    if same is False:
        console.say(
            f"the data file {str(file)!r} is not the one that the certificate was made of (its SHA-256 differs); it "
            f"proves its tree here too"
        )
    none = getattr(proof, "infeasible", False)
    if as_json:
        paid = {"infeasible": True} if none else {"objective": proof.objective, "bound": proof.bound}
        head = {"verified": True, "optimal": proof.optimal and not none} | paid
        sizes = {"same_file": same, "depth": proof.depth, "n_rows": proof.n_rows}
        console.print_json(head | sizes | _scope(proof) | {"of": proof.of})
        return
    if none:
        print(f"proved: {_none(proof)} on {proof.n_rows} rows; {_steps(proof)} checked in whole numbers")
    else:
        print(
            f"proved: no tree of depth {proof.depth} over {proof.n_tests} tests{_satisfying(proof)} costs less than "
            f"{proof.bound:.10g} on {proof.n_rows} rows{f' ({proof.terms})' if proof.terms else ''}; {_steps(proof)} "
            "checked in whole numbers"
        )
    if not proof.optimal:
        print(f"bound     the tree of the certificate costs {proof.objective:.10g}: the bound is proved, not the tree")
    print(f"tests     {words(proof.n_splits, proof.left_out)}")
    print(f"of        {terms_in_words(proof.of)}")


def _checks() -> dict:
    """The check of each schema."""
    from odtc.verification import certificate, leaf_sums
    from odtc.verification.constrained import constrained_certificate

    return {
        **dict.fromkeys(leaf_sums.MEASURES, leaf_sums.check_leaf_sums),
        certificate.SCHEMA: certificate.check,
        certificate.OF_THRESHOLDS: certificate.check,
        constrained_certificate.SCHEMA: constrained_certificate.check_constrained,
    }


def _scope(proof) -> dict:
    """What a proof is over, and in how many steps, as JSON."""
    return {
        "n_tests": proof.n_tests,
        **proof.steps,
        "terms": proof.terms,
        "all_midpoints": not proof.left_out,
        "n_splits": proof.n_splits,
        "left_out": {name: list(of) for name, of in proof.left_out.items()},
    }


def _none(proof) -> str:
    return f"no tree of depth {proof.depth} over these {proof.n_tests} tests satisfies the constraints"


def _steps(proof) -> str:
    named = {name.removeprefix("n_").replace("_", " "): count for name, count in proof.steps.items()}
    return ", ".join(f"{count:,} {name.removesuffix('s') if count == 1 else name}" for name, count in named.items())


def _satisfying(proof) -> str:
    return " that satisfies the constraints" if proof.of["constraints"] else ""
