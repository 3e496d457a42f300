"""`odtc verify TREE.json`: a tree file held against the run that left it, whose figures are computed anew."""

from dataclasses import replace
from pathlib import Path

from odtc.errors import TreeError
from odtc.model.feasibility import Check
from odtc.trees.tree import read_tree
from odtc.workflow import artifacts
from odtc.workflow.decoding import finish
from odtc.workflow.manifest import SUFFIX
from odtc.workflow.provenance.without_model import open_record
from odtc.workflow.results import Fit


def recheck_tree(path: Path, data: Path | None = None) -> tuple[Fit, str]:
    """(the run of a tree file, computed anew, with the check "tree file"; what no check says).

    The run is that of STEM.sol and STEM.odt.json beside STEM.tree.json, or the one without a model of STEM.run.json.

    Parameters
    ----------
    path : Path
    data : Path or None
        The data file, if it is no longer where the run says.

    Raises
    ------
    TreeError
        If the file holds no tree, or is not the tree of the run beside it.
    OdtcError
        As `odtc verify STEM.sol`.
    """
    tree, stem = read_tree(path), str(path).removesuffix(".json").removesuffix(".tree")
    opened = open_record(stem, path, data)
    if opened.fit is not None:
        said = "the bound and how the search ended are the word of the run; `odtc certify` writes a proof to check"
        return opened.fit, said if opened.fit.proof.bound is not None else ""
    solution_path, manifest_path = Path(f"{stem}.sol"), Path(f"{stem}{SUFFIX}")
    if opened.note or not (solution_path.is_file() and manifest_path.is_file()):
        raise TreeError(
            f"cannot verify {str(path)!r}: {opened.note}; fit it again"
            if opened.note
            else f"expected {stem}.sol and {stem}{SUFFIX}, or {stem}.run.json, beside {str(path)!r}, found neither: "
            "the run that left the tree is what it is held against"
        )
    model, solution, manifest = artifacts.open_solution(solution_path, manifest_path)
    dataset, note = artifacts.original_data(manifest, data)
    if dataset is None:  # the manifest holds equal rows together, and a curve needs each row
        tree = tree.with_curves([()] * tree.n_leaves)
    for simplify in (False, True):  # as the run left it, or as `--simplify` does
        done = finish(model, solution, dataset=dataset, simplify=simplify)
        if same := done.tree.to_json() == tree.to_json():
            break
    held = "the tree and the counts" if same else "another tree than that, or other counts than those,"
    check = Check("tree file", same, f"{path.name} holds {held} of the solution {solution_path.name}")
    return replace(done, decoded=replace(done.decoded, checks=[*done.decoded.checks, check])), note
