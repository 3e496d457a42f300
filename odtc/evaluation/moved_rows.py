"""What a tree answers for a row that may be moved, if it was fitted against such moves (`-p robust=…`)."""

import json
from pathlib import Path

import numpy as np

from odtc.errors import OdtcError
from odtc.evaluation.html_report import open_run
from odtc.trees.attack import reachable_leaves
from odtc.trees.boxes import Boxes
from odtc.trees.tree import Tree
from odtc.workflow.manifest import SUFFIX


def boxes_of_run(tree: str | Path) -> Boxes | None:
    """How far rows may be moved, as the manifest beside a tree says.

    Parameters
    ----------
    tree : path
        STEM.tree.json.

    Returns
    -------
    Boxes or None
        None of a tree by itself, and of one whose rows stay where they are.
    """
    manifest = Path(str(tree).removesuffix(".tree.json") + SUFFIX)
    try:
        if not json.loads(manifest.read_bytes())["model"]["params"].get("robust"):
            return None
        fit = open_run(tree).fit
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OdtcError):
        return None  # a tree by itself is explained, too
    return None if fit is None else fit.problem.module.boxes(fit.problem)


def answers_within(tree: Tree, row: np.ndarray, boxes: Boxes) -> dict:
    """What the tree answers wherever a row is moved to.

    Parameters
    ----------
    tree : Tree
    row : float64 (features,)
        Coded like `Dataset.X`.
    boxes : Boxes

    Returns
    -------
    dict
        `by`, the words of the boxes, and `predictions`, the classes that the row can be given, in the order of the
        classes of the tree.
    """
    reached = reachable_leaves(tree, row[None], boxes)[0]
    labels = {leaf.label for leaf, met in zip(tree.leaves(), reached) if met}
    return {"by": boxes.words(), "predictions": [tree.classes[label] for label in sorted(labels)]}
