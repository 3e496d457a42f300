"""The files of a run in addition to its model files: the tree, the certificate, near-optimal trees."""

import json
from pathlib import Path

from odtc.base.atomic_write import write_text
from odtc.base.commit import remove, rename, together
from odtc.data.cells.data_files import stated_path
from odtc.trees.tree import Tree
from odtc.verification.certificate import SUFFIX as CERTIFICATE
from odtc.workflow.run_record import rename_run

TREE = ".tree.json"
OF_A_START = ".start.tree.json"  # the tree of a start, written if the solver failed
NEAR_BEST = (".pool.json", ".near-optimal.json")  # near-optimal trees


def write_beside(problem, stem) -> list[Path]:
    """Write the additional files of a formulation next to its tree (odtc.problem.formulation), as STEM and their
    suffixes; return the paths."""
    texts = problem.module.beside(problem)
    for suffix, text in texts.items():
        write_text(f"{stem}{suffix}", text)
    return [Path(f"{stem}{suffix}") for suffix in texts]


def write_tree(tree: Tree, path) -> Path:
    """Write STEM.tree.json. If it replaces another tree, the proofs of that one are removed (`forget_proofs`)."""
    path, text = Path(path), json.dumps(tree.to_json(), ensure_ascii=False, indent=1) + "\n"
    if not path.name.endswith(TREE) or _holds(path, text):
        write_text(path, text)
        return path
    stem = str(path).removesuffix(TREE)
    with together(stem):
        forget_proofs(stem)
        write_text(path, text)
    return path


def write_imported(tree: Tree, path: Path) -> None:
    """Write a tree that no run of odtc made; the solution and the record of a tree that it replaces are removed."""
    if not path.name.endswith(TREE):
        write_tree(tree, path)
        return
    with together(stem := str(path).removesuffix(TREE)):
        forget_solution(stem)
        write_tree(tree, path)


def _holds(path: Path, text: str) -> bool:
    """Return whether a file has this text; False if it cannot be read, or is a pipe, which would wait for a writer."""
    try:
        return path.is_file() and path.read_bytes() == text.encode("utf-8", "backslashreplace")
    except OSError:
        return False


def tree_of_solution(path) -> Path:
    """Return the path of the tree of a solution file: STEM.tree.json for STEM.sol, which runs of odtc write, and
    FILE.tree.json for any other solution file, so that each solution file of a model has its own tree."""
    path = Path(path)
    return path.with_suffix(".tree.json") if path.suffix == ".sol" else Path(f"{path}.tree.json")


def write_certificate(facts: dict, data, path) -> Path:
    """Write a certificate, which names its data file, if there is one, relative to its own folder."""
    write_text(path, _certificate_text(facts, data, path))
    return Path(path)


def _certificate_text(facts: dict, data, path) -> str:
    place = {} if data is None else {"path": stated_path(data, Path(path).resolve().parent)}
    return json.dumps(facts | {"data": facts["data"] | place}, ensure_ascii=False, indent=1) + "\n"


def forget_solution(stem) -> None:
    """Remove the solution of an earlier run of this stem, because it could be mistaken for a solution of this run."""
    for suffix in (".sol", ".run.json"):
        remove(f"{stem}{suffix}")


def forget_proofs(stem, certificate: dict | None = None, data=None) -> None:
    """Remove the near-optimal trees and the certificate of an earlier run of this stem, because they could be mistaken
    for those of this run; the certificate stays if it is the same as the one of this run, on this data file."""
    for suffix in NEAR_BEST:
        remove(f"{stem}{suffix}")
    path = Path(f"{stem}{CERTIFICATE}")
    if certificate is None or not _holds(path, _certificate_text(certificate, data, path)):
        remove(path)


def move_run(paths, stem: str, to: str) -> list[Path]:
    """Move the files of the run `stem` to another stem, whose own solution is removed, and return their new paths."""
    moved = [Path(f"{to}{str(path).removeprefix(stem)}") for path in paths]
    with together(to):
        forget_solution(to)
        for path, target in zip(paths, moved):
            rename(path, target)
        if Path(f"{to}.run.json") in moved:
            rename_run(to)
    return moved
