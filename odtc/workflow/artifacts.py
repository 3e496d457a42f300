"""The files of a run in addition to its model files: the tree, the certificate, near-optimal trees."""

import json
from pathlib import Path

from odtc.base.atomic_write import write_text
from odtc.base.commit import remove, rename, together
from odtc.data.cells.data_files import stated_path
from odtc.trees.tree import Tree
from odtc.workflow.run_record import rename_run

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
    """Write STEM.tree.json."""
    write_text(path, json.dumps(tree.to_json(), ensure_ascii=False, indent=1) + "\n")
    return Path(path)


def tree_of_solution(path) -> Path:
    """Return the path of the tree of a solution file: STEM.tree.json for STEM.sol, which runs of odtc write, and
    FILE.tree.json for any other solution file, so that each solution file of a model has its own tree."""
    path = Path(path)
    return path.with_suffix(".tree.json") if path.suffix == ".sol" else Path(f"{path}.tree.json")


def write_certificate(facts: dict, data, path) -> Path:
    """Write a certificate, which names its data file, if there is one, relative to its own folder."""
    path = Path(path)
    place = {} if data is None else {"path": stated_path(data, path.resolve().parent)}
    write_text(path, json.dumps(facts | {"data": facts["data"] | place}, ensure_ascii=False, indent=1) + "\n")
    return path


def forget_solution(stem) -> None:
    """Remove the solution of an earlier run of this stem, because it could be mistaken for a solution of this run."""
    for suffix in (".sol", ".run.json"):
        remove(f"{stem}{suffix}")


def forget_near_optimal(stem) -> None:
    """Remove the near-optimal trees of an earlier run of this stem, because they could be mistaken for trees of this
    run."""
    for suffix in NEAR_BEST:
        remove(f"{stem}{suffix}")


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
