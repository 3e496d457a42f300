"""`odtc verify TREE.json`: a tree file compared with the run that left it, whose figures are computed again; and the
check that the certificate next to a run belongs to this run."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from odtc.base.atomic_write import stem_of
from odtc.base.text import some
from odtc.base.value_class import value_class
from odtc.base.wording import command, option
from odtc.data.dataset import Dataset
from odtc.data.encoding import encode
from odtc.data.reading_spec import CLASSIFICATION
from odtc.errors import OdtcError, TreeError
from odtc.model.feasibility import ROUNDING, Check, is_close
from odtc.model.milp import Model
from odtc.model.solution import Solution
from odtc.problem.exact_objective import same_objective
from odtc.problem.formulation import Certifies
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import CompleteTree, HeapTree
from odtc.trees.tree import Leaf, Tree, read_tree
from odtc.verification.certificate import read_certificate
from odtc.verification.claim import claim_of
from odtc.verification.encoding_again import check_encoding
from odtc.verification.leaf_sums.limits import Limit
from odtc.workflow import files_of_models
from odtc.workflow.decoding import finish, no_solution, with_rows_of
from odtc.workflow.manifest import SUFFIX, Manifest
from odtc.workflow.provenance.certifying import certified_rows, is_certified_cost, is_certified_tree
from odtc.workflow.provenance.searched_again import SearchedAgain, least_prices, search_solved
from odtc.workflow.provenance.settings import of_manifest, settings_of
from odtc.workflow.provenance.split_coverage import uncovered_splits
from odtc.workflow.provenance.without_model import OpenedFit, open_record
from odtc.workflow.results.fit import Fit, Unsolved
from odtc.workflow.run_record import read_solving

# Statements of a certificate that are not about its rows, or that are compared separately.
APART = ("depth", "n_candidate_splits", "all_splits", "constraints")


def recheck_tree(
    path: Path, data: Path | None = None, seconds: float | None = None
) -> tuple[Fit, SearchedAgain | None, str]:
    """Return (the run of a tree file, computed again, with the check "tree file"; the figures recomputed; a remark
    on missing checks).

    The run of STEM.tree.json is described by STEM.sol and STEM.odt.json next to it, or, for a run without a model, by
    STEM.run.json. If neither is there, it is the run of another solution file in the folder, if the tree is the tree of
    that solution, as `odtc decode -o` writes it.

    Parameters
    ----------
    path : Path
    data : Path or None
        The data file, if it is no longer where the run says.
    seconds : float or None
        For a search that derives the figures of the run again (odtc.workflow.provenance.searched_again).

    Raises
    ------
    TreeError
        If the file contains no tree, or not the tree of the run next to it, or if there is no such run.
    OdtcError
        As `odtc verify STEM.sol`.
    """
    tree, stem = read_tree(path), str(path).removesuffix(".json").removesuffix(".tree")
    opened = open_record(stem, path, data, seconds)
    if opened.fit is not None:
        return opened.fit, opened.again, ""
    if opened.note:
        raise TreeError(f"cannot verify {str(path)!r}: {opened.note}")
    own = Path(f"{stem}.sol")
    if own.is_file() and Path(f"{stem}{SUFFIX}").is_file():
        return _held_against(tree, path, own, data, seconds)
    others = []  # solutions of other stems, of which it is not the tree
    for solution_path in _solutions_beside(path):
        with suppress(OdtcError):
            found = _held_against(tree, path, solution_path, data, seconds)
            if all(check.passed for check in found[0].decoded.checks if check.name == "tree file"):
                return found
            others.append(solution_path.name)
    settings = settings_of(path)
    if settings is not None and settings.model.select is not None:
        raise TreeError(
            f"cannot verify {str(path)!r}: it was trained on selected rows "
            f"({option('select', settings.model.select)}), which its run did not write; write them with "
            f"{command('select')}, fit a tree to them, and verify that one"
        )
    nor = f", and it is not the tree of {some(others)}" if others else ""
    raise TreeError(
        f"expected {stem}.sol and {stem}{SUFFIX}, or {stem}.run.json, next to {str(path)!r}, found none of them{nor}; "
        "the tree is checked against the run that wrote it"
    )


def _solutions_beside(path: Path) -> list[Path]:
    """Return the solution files in the folder of a tree, starts left out: `odtc decode FILE.sol -o TREE.json` may have
    made it of any of them."""
    return sorted(one for one in path.resolve().parent.glob("*.sol") if ".start." not in one.name and one.is_file())


@value_class
class SolvedRun:
    """A solution file read back: its model, and its data file, if that is there (otherwise a `note`). A search of some
    `seconds` derives its claims again."""

    path: Path
    model: Model
    solution: Solution
    manifest: Manifest
    dataset: Dataset | None
    data_path: str
    note: str
    seconds: float | None

    @classmethod
    def open(
        cls, path: str | Path, beside: tuple = (), data: str | Path | None = None, seconds: float | None = None
    ) -> "SolvedRun":
        """Read a solution file; `beside` are manifest, log and template, if they are not next to it, `data` is the
        data file, if it was moved. Raises NoSolutionError if it has no point."""
        model, solution, manifest = files_of_models.open_solution(path, *beside)
        if not solution.has_solution:
            raise no_solution(Unsolved(model.problem, model, solution), from_file=True)
        dataset, note = files_of_models.original_data(manifest, data)
        facts = manifest.facts["data"]
        named = manifest.path.parent / facts["path"] if facts.get("path") else facts["name"]
        return cls(Path(path), model, solution, manifest, dataset, str(data or named), note, seconds)

    @cached_property
    def again(self) -> SearchedAgain:
        """The result of the search."""
        return search_solved(with_rows_of(self.model, self.dataset), self.solution, self.seconds)

    def fit(self, simplify: bool = False) -> Fit:
        """Return the run, computed again."""
        known = [*files_of_models.known_trees(self.model, self.path, self.manifest), *self.again.trees]
        return finish(self.model, self.solution, dataset=self.dataset, known=known, simplify=simplify)

    def opened(self, fit: Fit) -> OpenedFit:
        """Return the run, whose figures were computed again (`fit`, `with_tree`)."""
        solving, start = read_solving(stem_of(self.path))
        spec = of_manifest(self.manifest.facts, fit.problem, start, solving)
        selected = "selection" in self.manifest.facts["data"]
        return OpenedFit(fit, spec, self.data_path, self.note, selected=selected, again=self.again)

    def with_tree(self, path: Path) -> tuple[Fit, Check]:
        """Return the run as the file of a tree shows that it was left, and the check of that file (`check_of_tree`)."""
        runs = (self.fit(simplify) for simplify in (False, True))  # as `--no-simplify` leaves it, or as others do
        return check_of_tree(read_tree(path), path, self.path, runs)


def _held_against(
    tree: Tree, path: Path, solution_path: Path, data: Path | None, seconds: float | None
) -> tuple[Fit, SearchedAgain, str]:
    """Return the run of a solution file with the check that `tree` of the file `path` is its tree; the figures derived
    again; a remark on missing checks. Raises TreeError if it has a tree of another target or other features."""
    run = SolvedRun.open(solution_path, data=data, seconds=seconds)
    encoded = run.model.problem.encoded
    if (encoded.target, encoded.features) != (tree.target, tree.features):
        raise TreeError(f"{str(path)!r} is not a tree of {str(solution_path)!r}")
    done, check = run.with_tree(path)
    return replace(done, decoded=replace(done.decoded, checks=[*done.decoded.checks, check])), run.again, run.note


def check_of_tree(tree: Tree, path: Path, solution_path: Path, runs: Iterable[Fit]) -> tuple[Fit, Check]:
    """Check that a tree file contains the tree of a solution, in one of the ways in which it may have been left.

    Parameters
    ----------
    tree : Tree
        The tree of the file.
    path, solution_path : Path
    runs : iterable of Fit
        The run of the solution in each of these ways, computed again.

    Returns
    -------
    (Fit, Check)
        The first run whose tree it is, or the last one.
    """
    same = False
    for done in runs:
        if done.dataset is None:  # the manifest holds equal rows together, and a curve needs each row
            tree = tree.with_curves([()] * tree.n_leaves)
        if same := done.tree.to_json() == tree.to_json():
            break
    held = "the tree and the counts" if same else "another tree than that, or other counts than those,"
    return done, Check("tree file", same, f"{path.name} holds {held} of the solution {solution_path.name}")


def check_of_certificate(done: Fit, path: Path, proved: dict, data: Path | None = None) -> Check:
    """Check that the certificate next to a run belongs to this run: it is on trees of its depth over its rows and all
    its splits, under no constraints but its own, and its tree has the cost of the run's tree. That it proves its
    statement is checked separately.

    Parameters
    ----------
    done : Fit
    path : Path
        The certificate.
    proved : dict
        The result of its check: `depth`, `of`, `data_sha256`, `left_out`, and `infeasible` or `objective`.
    data : Path or None
        The data file that it was checked on, if it is no longer where the certificate says.
    """
    facts = read_certificate(path)
    why = _of_another_run(facts, proved, done) or _of_other_rows(path, facts, proved, done, data)
    own = f"the tree of {path.name} costs what this one costs"
    return Check("certificate", not why, f"{path.name} {why}; certify this run again" if why else own)


def check_certified_tree(certificate: Path, path: Path, data: Path | None = None) -> Check:
    """Check that the tree file next to a certificate contains the tree of this certificate, with the counts of the
    data."""
    facts, tree = read_certificate(certificate), read_tree(path)
    same = is_certified_tree(facts, tree)
    rows = certified_rows(certificate, facts, data)[1]
    encoded = encode(rows, "auto")
    again = HeapTree.from_tree(tree, encoded, CompleteTree(max(1, tree.depth)), True, True).to_tree(encoded)
    # Its splits may be written in another way, such as a1 <= 1.5 for a1 = 1, with the children in the other order.
    leaves = set(zip(tree.apply(rows.X).tolist(), again.apply(rows.X).tolist()))
    own, recounted = tree.leaves(), again.leaves()
    alike = len(leaves) == len(own) and all(_is_recounted(own[one], recounted[other]) for one, other in leaves)
    counted = alike and tree.goal == again.goal
    held = "the tree" if same else "another tree than that"
    words = f"{path.name} holds {held} of the certificate {certificate.name}"
    return Check("tree file", same and counted, words if counted else f"{words}, and other counts than the data")


def _is_recounted(leaf: Leaf, again: Leaf) -> bool:
    """Return whether two leaves are equal, except for the rounding of sums that add rows in another order."""

    def parts(one: Leaf) -> tuple[tuple[float, ...], tuple]:
        line = () if one.line is None else (one.line.slope, one.line.intercept)
        rest = one.label, one.rows, one.curve, one.line and one.line.feature, len(one.sums)
        return (*one.counts, *one.sums, *line), rest

    (numbers, rest), (found, rest_again) = parts(leaf), parts(again)
    if rest != rest_again or len(numbers) != len(found):
        return False
    return np.allclose(numbers, found, rtol=ROUNDING, atol=ROUNDING * max(map(abs, found)))


def _limits(problem: Problem) -> Limit:
    """Return the limits of the trees of a run, as the certificate of a sum over leaves states them."""
    rows = [int(given.bound) for given in problem.constraints if given.name == "leaf_rows"]
    more = {"leaves": 0, "branch_nodes": 1}  # leaves, compared with the bound
    leaves = [int(given.bound) + more[given.name] for given in problem.constraints if given.name in more]
    return Limit(max(rows, default=1), min(leaves, default=0))


def _of_another_run(facts: dict, proved: dict, done: Fit) -> str:
    """Return why a certificate belongs to another run, in words; "" if it does not."""
    problem, source = done.problem, {} if done.dataset is None else done.dataset.source
    # The data file named in the certificate is not used, because its check has read a file.
    hashes = proved["data_sha256"], source.get("sha256")
    if hashes[1] is not None and hashes[0] != hashes[1]:
        return (
            f"was made from a data file with the SHA-256 {hashes[0][:12]}…, and this run from one with "
            f"{hashes[1][:12]}…"
        )
    if done.dataset is not None and done.dataset.selected is not None:
        return "covers all rows of a data file, and this run only some of them that were selected"
    if proved["depth"] != problem.topology.depth:
        return f"covers trees of depth {proved['depth']}, and this run has depth {problem.topology.depth}"
    if done.dataset is not None:
        terms = claim_of(done.dataset, proved["depth"], 0, False)
        names = dict.fromkeys([*terms, *proved["of"]])
        if other := [name for name in names if name not in APART and proved["of"].get(name) != terms.get(name)]:
            return f"states other terms than this run: {some(other)}"
    if problem.encoded.task == CLASSIFICATION and (other := _other_costs(facts, problem)):
        return other
    asked = {str(given) for given in problem.constraints} | set(_limits(problem).words)
    if other := [text for text in proved["of"]["constraints"] if text not in asked]:
        return f"is about trees that satisfy {some(other)}, which this run does not require"
    if proved.get("infeasible"):
        return "proves that no tree satisfies the constraints, and this run has one"
    own = done.decoded.heap
    try:
        heap = HeapTree.from_tree(Tree.from_json(facts["tree"]), problem.encoded, problem.topology)
    except OdtcError:  # it uses a split that this run does not have: with more splits it proves no less
        if str(facts["penalty"]) == "0" and is_certified_cost(problem, proved["objective"], own.loss(problem.encoded)):
            return ""
        return "has a tree over other splits than this run"
    there, here = problem.module.objective(problem, heap), problem.module.objective(problem, own)
    if not same_objective(problem, there, here):
        return f"has a tree that costs {there:.10g}, and the one of this run costs {here:.10g}"
    if problem.module.can(Certifies) and not is_certified_cost(problem, proved["objective"], there):
        return f"states that its tree costs {proved['objective']:.10g}, and in this run it costs {there:.10g}"
    return ""


def _other_costs(facts: dict, problem: Problem) -> str:
    """Return how the costs in a certificate of classes differ from the costs of the run, in words; "" if they do
    not."""
    unit = (facts["scale"] - facts["penalty"]) / facts["weight_scale"]
    there, here = np.array(facts["loss"], float) / unit, problem.encoded.cost
    if not np.allclose(there, here, rtol=1e-9, atol=0):
        return "counts other costs of errors than this run"
    loss, branch = least_prices(problem)
    price = branch / ((loss + branch) or 1.0)  # of sums in which both costs are 1 together
    if not is_close(facts["penalty"] / facts["scale"], price):
        return f"counts {facts['penalty'] / facts['scale']:.10g} for a branch node, and this run {price:.10g}"
    return ""


def _of_other_rows(path: Path, facts: dict, proved: dict, done: Fit, data: Path | None) -> str:
    """Return how a certificate differs from a run in its rows or splits, in words; "" if it does not."""
    _, rows = certified_rows(path, facts, data)
    encoded = done.problem.encoded
    if done.dataset is None and encoded.dataset is None:  # the manifest names no file, and contains the rows
        again = check_encoding(encoded, rows)
        if not again.passed:
            return f"covers other rows than this run, whose data file is not available ({again.text})"
    if absent := uncovered_splits(done.problem, rows, facts, proved["left_out"]):
        return f"is over splits among which {absent:,} of the {encoded.n_candidate_splits:,} splits of this run are not"
    return ""
