"""The best tree with the certificate that proves it: what `odtc certify` and `odtc.certify` do."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from odtc.base import deadline
from odtc.base.atomic_write import require_beside, require_writable
from odtc.base.commit import together
from odtc.base.text import count_of
from odtc.data.cells.data_files import recorded_data
from odtc.data.dataset import Dataset
from odtc.data.reading import read_as, unlike_recorded
from odtc.data.reading_spec import ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import CertificateError, ChoiceError, DataError, TimeLimitReached
from odtc.model.feasibility import is_close
from odtc.model.solution import Termination
from odtc.problem.exact_objective import same_objective
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification import certificate
from odtc.verification.coverage import words
from odtc.workflow import artifacts
from odtc.workflow.decoding import proved
from odtc.workflow.provenance.certificates import LEAST
from odtc.workflow.provenance.run_of_tree import TREE
from odtc.workflow.results.fit import Fit

INTERVAL = 1e-9  # relative: more than the width of the interval that a certificate of logarithms proves


def is_certified_cost(problem: Problem, proved: float, paid: float) -> bool:
    """Return whether the objective of a certificate is the cost of a tree; if the costs of leaves are sums, it is an
    end of an interval."""
    of_sums = TASKS.get(problem.encoded.task).MOMENTS and is_close(proved, paid, INTERVAL, unit=0.0)
    return of_sums or same_objective(problem, proved, paid)


def is_certified_tree(facts: dict, tree: Tree) -> bool:
    """Return whether the tree in a certificate is this one, except for its curves and its goal, which some certificates
    do not contain."""

    def stated(one: Tree) -> dict:
        return replace(one.with_curves([()] * one.n_leaves), goal="").to_json()

    return facts["tree"] is not None and stated(Tree.from_json(facts["tree"])) == stated(tree)


def certified_rows(path: Path, facts: dict, data: Path | None = None) -> tuple[Path, Dataset]:
    """Return (the data file of a certificate, its rows read as the certificate states).

    Parameters
    ----------
    path : Path
        The certificate.
    facts : dict
        Its content.
    data : Path or None
        The data file, if it is no longer where the certificate says.

    Raises
    ------
    CertificateError
        If the certificate names no file, or the file does not contain its data.
    """
    source = facts["data"]
    if data is None and "path" not in source:
        raise CertificateError(
            f"the certificate {str(path)!r} does not say of which data file it is; name it with --data"
        )
    file = recorded_data(path, source.get("path", ""), data)
    if why := unlike_recorded(file, None, "the certificate"):
        raise CertificateError(f"cannot check the certificate {str(path)!r}: {why}")
    try:
        told = {"categorical": (), "numeric": (), "weights": None} | source
        return file, read_as(file, ReadingSpec.from_manifest(told))
    except (DataError, ChoiceError) as problem:  # whose hints are of options that a certificate has no need of
        raise CertificateError(
            f"{str(file)!r} is not the data of the certificate {str(path)!r}, which expects the target "
            f"{source['target']!r} ({str(problem).partition(';')[0]}); name its data with --data"
        ) from None


@dataclass(frozen=True)
class Certificate:
    """A tree, and the numbers by which anyone can check that none is better.

    Attributes
    ----------
    facts : dict
        The content of the file, which `odtc verify --certificate` checks.
    proof : record
        The result of its check: `objective`, `bound`, `optimal`, `depth`, `n_candidate_splits`, `n_rows`.
    checked : bool
        Whether it was checked; False only after an interruption, or if after a limit the check took longer than all
        before.
    fit : Fit or None
        The tree with its checks and figures; None if it is proved that no tree satisfies the constraints.
    """

    facts: dict = field(repr=False)
    proof: Any = field(repr=False)
    checked: bool
    fit: Fit | None = field(repr=False)
    source: Path | None = field(default=None, repr=False)

    @property
    def infeasible(self) -> bool:
        """Return whether it is proved that no tree satisfies the constraints."""
        return self.facts["tree"] is None

    @property
    def tree(self) -> Tree | None:
        """The best tree found; None if no tree satisfies the constraints."""
        return None if self.fit is None else self.fit.tree

    @property
    def objective(self) -> float | None:
        """The cost of the tree."""
        return None if self.infeasible else self.proof.objective

    @property
    def bound(self) -> float | None:
        """The lower bound on the cost of all trees."""
        return None if self.infeasible else self.proof.bound

    @property
    def optimal(self) -> bool:
        """Return whether it is proved that no tree is better than this one."""
        return not self.infeasible and self.checked and bool(self.proof.optimal)

    def write(self, path: str | Path) -> Path:
        """Write STEM.certificate.json and, if there is a tree, STEM.tree.json next to it.

        `path` is the STEM or the file of the certificate.

        Raises
        ------
        OutputError
        """
        stem = Path(path).name.removesuffix(".json").removesuffix(certificate.SUFFIX.removesuffix(".json"))
        path = Path(path).with_name(stem + certificate.SUFFIX)
        require_beside(path)
        for file in (path, tree_beside(path)):
            require_writable(file, self.source)
        self.write_to(path)
        return path

    def write_to(self, path: Path) -> None:
        """Write the certificate to this file, and the tree next to it."""
        with together(str(tree_beside(path)).removesuffix(TREE)):
            if self.tree is not None:
                artifacts.write_tree(self.tree, tree_beside(path))
            artifacts.write_certificate(self.facts, self.source, path)

    def __str__(self) -> str:
        of, proof = " that satisfies the constraints" if self.proof.of["constraints"] else "", self.proof
        covered = words(proof.n_possible_splits, proof.left_out)
        if self.infeasible:
            return f"{'proved' if self.checked else 'by the search'}: {none_satisfies(proof)}; {covered}"
        lines = [
            f"{'' if self.checked else 'by the search, '}no tree of depth {proof.depth} over these "
            f"{count_of(proof.n_candidate_splits, 'split', '')}{of} costs less than {proof.bound:.10g}; {covered}"
        ]
        if not proof.optimal:
            but = ": the bound is proved, not the tree" if self.checked else ""
            lines.append(f"the best tree found costs {proof.objective:.10g}{but}; allow more time")
            if len(proof.of["constraints"]) < len(self.fit.problem.constraints):
                lines.append(
                    "it satisfies the constraints; the bound applies to all trees, with or without the constraints"
                )
        return "\n".join(lines)


def tree_beside(path: Path) -> Path:
    """Return the file of the tree next to the file of a certificate."""
    return path.with_name(path.name.removesuffix(certificate.SUFFIX).removesuffix(".json") + TREE)


def none_satisfies(proof) -> str:
    """Return the statement that the certificate of conflicting constraints proves, in words."""
    return (
        f"no tree of depth {proof.depth} over these {count_of(proof.n_candidate_splits, 'split', '')} "
        "satisfies the constraints"
    )


def certify(problem: Problem, time_limit: float | None, source: Path | None = None) -> Certificate:
    """Search, and check the certificate of the result; at the limit, or after Ctrl-C or SIGTERM, of the bound reached.

    Parameters
    ----------
    problem : Problem
        One of a formulation that `Certifies`.
    time_limit : float or None
        Wall seconds for the search, without those for compiling kernels; the check may work as long as the search
        did, or as long as the limit leaves, and some seconds at least.
    source : Path or None
        The data file, which the written certificate names.
    """
    began, paused, at = time.monotonic(), deadline.paused(), time.process_time()
    with deadline.budget(time_limit):
        facts = problem.module.certificate(problem)
        interrupted = deadline.is_interrupted()
    worked = time.monotonic() - began - (deadline.paused() - paused)
    limit_came = time_limit is not None and worked >= time_limit
    ended = Termination.INTERRUPTED if interrupted else Termination.TIME_LIMIT if limit_came else Termination.UNKNOWN
    patience = None if time_limit is None else max(LEAST, time.process_time() - at, time_limit - worked)
    patience = deadline.IN_HAND if interrupted else patience
    with deadline.within(deadline.IN_HAND if interrupted else None):  # whoever has pressed Ctrl-C waits by the clock
        proof, checked = _proof(facts, problem.encoded.dataset, patience)
    if facts["tree"] is None:
        return Certificate(facts, proof, checked, None, source)
    heap = HeapTree.from_tree(Tree.from_json(facts["tree"]), problem.encoded, problem.topology)
    # Intervals that meet prove a tree whose cost is a logarithm, although two roundings of it may differ.
    bound = problem.module.objective(problem, heap) if checked and proof.optimal else proof.bound
    fit = proved(problem, heap, bound, time.monotonic() - began, ended)
    return Certificate(facts, proof, checked, replace(fit, certified=True) if checked else fit, source)


def _proof(facts: dict, dataset: Dataset, seconds: float | None) -> tuple[Any, bool]:
    """Return (the proof of a certificate, True), so that a certificate that its check would refuse is not written. If
    the check takes more work than this, or an interruption ends it, return (its statement, False)."""
    try:
        with deadline.work(seconds):
            return certificate.check(facts, dataset), True
    except (TimeLimitReached, KeyboardInterrupt):
        return certificate.stated(facts, dataset), False
