"""Predictions of a tree for a row that may be moved, if it was fitted against such moves (`-p robust=…`)."""

from pathlib import Path

import numpy as np

from odtc.data.cells.data_files import fitting_layout, frames_of
from odtc.data.dataset import layout_of
from odtc.data.reading_rows import code_frames
from odtc.errors import OdtcError
from odtc.evaluation.html_report import open_run
from odtc.trees.attack import is_robust, reachable_leaves
from odtc.trees.boxes import Boxes
from odtc.trees.tree import Tree


def boxes_of_run(tree: str | Path) -> Boxes | None:
    """Return how far rows may be moved, according to the manifest next to a tree.

    Parameters
    ----------
    tree : path
        STEM.tree.json.

    Returns
    -------
    Boxes or None
        None for a tree without a manifest, and if its rows stay where they are.
    """
    try:
        fit = open_run(tree).fit
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OdtcError):
        return None  # a tree by itself is explained, too
    return None if fit is None else fit.problem.module.boxes(fit.problem)


def robust_figures(tree: Tree, path, boxes: Boxes, policy: str = "refuse") -> dict:
    """Return the accuracy under an adversary on a file with labels, under the keys of `--json`.

    Parameters
    ----------
    tree : Tree
    path : path
        A data file; its format is chosen by suffix.
    boxes : Boxes
    policy : str
        As in `odtc.evaluation.predicting.predict_file`; rows that it leaves blank do not count.

    Returns
    -------
    dict
        `boxes` in words, `robust_errors`, the rows that are misclassified at some point in their box, and
        `robust_accuracy`, None without rows.

    Raises
    ------
    DataError, TreeError
        As odtc.data.reading_rows.code_frames and Tree.apply.
    """
    layout = fitting_layout(path, layout_of(tree.features), [tree.features[at].name for at in tree.used])
    frames, lost, total = frames_of(path, layout=layout), 0, 0
    for rows in code_frames(frames, repr(str(path)), tree, True, lenient=policy != "refuse"):
        known = (rows.y >= 0) & (tree.apply(rows.X, rows.first, policy) >= 0)
        lost += int((~is_robust(tree, rows.X[known], rows.y[known], boxes)).sum())
        total += int(known.sum())
    return {
        "boxes": boxes.words(),
        "robust_errors": lost,
        "robust_accuracy": 1 - lost / total if total else None,
    }


def answers_within(tree: Tree, row: np.ndarray, boxes: Boxes) -> dict:
    """Return the predictions of the tree wherever a row is moved.

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
