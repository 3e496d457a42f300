"""Scores of a tree on the rows that its fit did not see, and the check that a finished fit states them."""

from typing import Any

import numpy as np

from odtc.base.json_schema import FLAG, NUMBER, TEXT, WHOLE, SchemaError, validate
from odtc.data.dataset import Dataset
from odtc.data.task import TASKS
from odtc.errors import OdtcError
from odtc.model.feasibility import ROUNDING, is_close
from odtc.trees.attack import is_robust
from odtc.trees.tree import Tree
from odtc.workflow.posing import pose_run
from odtc.workflow.specification import RunSpec

MAYBE = (None, NUMBER)
SCORES = ("accuracy", "balanced_accuracy", "figure", "robust_accuracy")
# A finished fit (odtc.evaluation.cross_validation.Fold) as JSON, except for its position in a study.
SHAPE = {
    **dict.fromkeys(SCORES, MAYBE),
    "n_leaves": (None, WHOLE),
    "proved": FLAG,
    "seconds": MAYBE,
    "error": (None, TEXT),
    "tree": (None, {}),
}


def scores_of(tree: Tree, train: Dataset, test: Dataset, boxes: Any) -> dict[str, float | None]:
    """Return the scores of a tree.

    Parameters
    ----------
    tree : Tree
    train, test : Dataset
        The rows that it was fitted on, and others, as they are judged by the former.
    boxes : odtc.trees.boxes.Boxes or None
        How far the rows may be moved.

    Returns
    -------
    dict
        SCORES; None for scores that the task does not have.
    """
    task, found = TASKS.get(train.task), dict.fromkeys(SCORES)
    if not task.CLASSES:
        told = task.figures(test.sums, tree.answers(test.X), train.classes).get(task.HEADLINE)
        return found | {"figure": told if told is None or not task.LESS_IS_BETTER else -told}
    right = tree.predict(test.X) == test.y
    of_class = [right[test.y == label].mean() for label in np.unique(test.y)]
    stays = None if boxes is None else float(is_robust(tree, test.X, test.y, boxes).mean())
    if boxes is None and tree.depth == 0:
        stays = float(right.mean())  # a single leaf predicts the same wherever rows are moved
    return found | {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(np.mean(of_class)),
        "robust_accuracy": stays,
    }


def agrees(result: dict, train: Dataset, test: Dataset, spec: RunSpec) -> bool:
    """Return whether a finished fit is complete, and its tree has the stated scores on these rows, so that a forged
    file needs at least a tree of this depth with these scores. The file only claims that the tree is the one of the
    fit, its seconds, and the reason why a fit has no tree.

    Parameters
    ----------
    result : dict
    train, test : Dataset
        The rows of the fit, and those that it was scored on.
    spec : RunSpec

    Returns
    -------
    bool
    """
    try:
        validate(result, SHAPE)
        if result["tree"] is None:
            told = [result[name] for name in (*SCORES, "n_leaves")]
            return told == [None] * len(told) and not result["proved"] and result["error"] is not None
        tree = Tree.from_json(result["tree"])
        task = TASKS.get(train.task)
        train = task.scored_rows(train, train)
        test = task.scored_rows(test, train)
        alike = (tree.features, tree.task, tree.missing) == (train.features, train.task, train.missing)
        if not alike or (task.CLASSES and tree.classes != train.classes) or tree.depth > spec.model.depth:
            return False
        boxes = None
        if "robust" in spec.model.params:
            problem = pose_run(spec.with_solving(time_limit=None), train)
            boxes = problem.module.boxes(problem)
        found = scores_of(tree, train, test, boxes)
    except (OdtcError, SchemaError, ValueError, TypeError, IndexError):
        return False
    return tree.n_leaves == result["n_leaves"] and all(_same(found[name], result[name]) for name in SCORES)


def _same(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else is_close(one, other, ROUNDING)
