"""Changes between the rows of an old tree and new rows, as figures and as a page.

The population stability index of a column compares its shares then (p) and now (q) in the same bins:

    PSI = Σ_b (q_b - p_b) ln(q_b / p_b)

The bins of a numeric column are cut at the deciles of the old rows, the bins of a category are its levels, and missing
cells are a bin. An empty bin counts as half a row. From 0.1 on a shift is called small, from 0.25 on large.
"""

import numpy as np

import odtc
from odtc.algorithms.weighted_quantiles import weighted_median
from odtc.base.templates import render
from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.task import TASKS
from odtc.evaluation.refitting import Refit, old_answers, old_leaves, recoded, rows_told
from odtc.problem.constraints.constraint import on_answers
from odtc.trees.tree import Tree
from odtc.verification.verify import RowPredictions

SMALL_SHIFT, LARGE_SHIFT = 0.1, 0.25  # of the population stability index: the usual limits


@value_class
class LeafDrift:
    """A leaf of the old tree: its rule and answer, the answer of a leaf of its new rows ("" for classification, or if
    there are none), and its rows then and now; shares and accuracies from 0 to 1, None if nothing is known."""

    rule: str
    label: str
    label_now: str
    rows_then: int | None
    share_then: float | None
    accuracy_then: float | None
    rows_now: int
    share_now: float
    accuracy_now: float | None


def psi(then: np.ndarray, now: np.ndarray) -> float:
    """Return the population stability index of two counts by bin, float64 (bins,); an empty bin counts as half a
    row."""
    p, q = (np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum() for counts in (then, now))
    return float(((q - p) * np.log(q / p)).sum())


def column_psi(then: np.ndarray, now: np.ndarray, numeric: bool) -> float:
    """Return the index of a column, float64 (rows,) then and now: NaN is missing, and a number a level unless
    `numeric`."""
    known = then[~np.isnan(then)]
    if numeric:
        edges = np.unique(np.quantile(known, np.linspace(0.1, 0.9, 9))) if len(known) else np.zeros(0)
        bin_of = lambda cells: np.where(np.isnan(cells), len(edges) + 1, np.searchsorted(edges, cells, "left"))  # noqa: E731
        n = len(edges) + 2
    else:
        levels = np.unique(np.concatenate([known, now[~np.isnan(now)]]))
        bin_of = lambda cells: np.where(np.isnan(cells), len(levels), np.searchsorted(levels, cells))  # noqa: E731
        n = len(levels) + 1
    counts = [np.bincount(bin_of(cells).astype(int), minlength=n) for cells in (then, now)]
    some = (counts[0] + counts[1]) > 0
    return psi(counts[0][some], counts[1][some])


def leaf_drift(old: Tree, dataset: Dataset) -> list[LeafDrift]:
    """Return the leaves of an old tree, then by its own counts and now by new rows."""
    told, _ = rows_told(dataset)
    leaf, task = old_leaves(old, dataset), TASKS.get(old.task)
    codes = _codes(old, dataset)
    whole = sum(sum(each.rows) for each in old.leaves())
    found = []
    ends = [place for place in old.places() if place.is_leaf]
    for number, place in enumerate(ends):
        node, here = place.node, (leaf == number) & told
        then, now = sum(node.rows), int(here.sum())
        right = int((dataset.y[here] == codes[node.label]).sum())
        answer = old.answer(node)
        found.append(
            LeafDrift(
                rule=place.rule,
                label=answer if isinstance(answer, str) else f"{answer:.6g}",
                label_now="" if task.CLASSES or not now else _answer_now(dataset, here),
                rows_then=then if node.rows else None,
                share_then=then / whole if node.rows and whole else None,
                accuracy_then=node.rows[node.label] / then if then and task.CLASSES else None,
                rows_now=now,
                share_now=now / told.sum(),
                accuracy_now=right / now if now and task.CLASSES else None,
            )
        )
    return found


def _answer_now(dataset: Dataset, here: np.ndarray) -> str:
    """Return the answer of a leaf of these rows, bool (rows,), in words."""
    task, sums = TASKS.get(dataset.task), dataset.sums[here]
    if task.MOMENTS:
        return f"{task.answer(sums.sum(axis=0)):.6g}"
    if task.NUMBERS:
        return f"{weighted_median(task.numbers(sums), dataset.weight[here]):.6g}"
    costs = task.mean_costs(sums.sum(axis=0), dataset.classes)
    return min(costs, key=costs.__getitem__) if costs else ""


def drift_facts(done: Refit, old_data: Dataset | None = None) -> dict:
    """Return the figures of a drift page.

    Parameters
    ----------
    done : Refit
    old_data : Dataset or None
        The rows of the old tree; without them no column has an index.

    Returns
    -------
    dict
        `leaves` (list of LeafDrift as dicts), `unanswered` (new rows that the old tree cannot answer), `psi` by column
        (None without the old rows; a column that is not in both has None), `psi_leaves` (None if the tree has no
        counts), `constraints` (`old_constraints`, empty except for classification), `psi_classes` of the target (None
        if it is not known for the old rows), and for classification `accuracy` of the old tree then and now and of the
        new tree now; for other tasks `figure`, the name of its figure, and `figures`, its three values.
    """
    old, dataset = done.old, done.dataset
    leaves, task = leaf_drift(old, dataset), TASKS.get(dataset.task)
    counted = all(leaf.rows_then is not None for leaf in leaves)
    then, now = (np.array([getattr(leaf, name) or 0 for leaf in leaves], float) for name in ("rows_then", "rows_now"))
    facts = {
        "leaves": [vars(leaf) for leaf in leaves],
        "unanswered": int(dataset.n_file_rows - now.sum()),
        "psi": None if old_data is None else _columns(old_data, dataset),
        "psi_leaves": psi(then, now) if counted else None,
        "constraints": old_constraints(done) if task.CLASSES else [],
    }
    if not task.CLASSES:
        ends = _task_figures(old, old_data), _task_figures(old, dataset), done.chosen.metrics["training"]
        facts["figure"] = next(words for words, number in map(task.headline, filter(None, ends)) if number is not None)
        names = ("old_then", "old_now", "new_now")
        found = [None if one is None else task.headline(one)[1] for one in ends]
        return facts | {"figures": dict(zip(names, found)), "psi_classes": _targets(old_data, dataset)}
    held = np.array([leaf.rows for leaf in old.leaves()]).sum(axis=0) if counted else None
    of_class = np.array([(dataset.y == code).sum() for code in _codes(old, dataset)], float)
    right = sum((leaf.accuracy_now or 0.0) * leaf.rows_now for leaf in leaves)
    return facts | {
        "psi_classes": psi(held, of_class) if counted else None,
        "accuracy": {
            "old_then": float(sum(leaf.rows[leaf.label] for leaf in old.leaves()) / then.sum()) if then.sum() else None,
            "old_now": right / dataset.n_rows,
            "new_now": done.chosen.training.train_accuracy,
        },
    }


def old_constraints(done: Refit) -> list[dict]:
    """Return for each constraint on predictions its value for the old tree on the new rows.

    Returns
    -------
    list of dict
        `constraint` as text, `value` of the old tree, and `satisfied`. Empty if the old tree has no answer for a row,
        or an answer that is not a class of the new rows.
    """
    problem, predicted = done.best.problem, old_answers(done.old, done.dataset)
    if (predicted < 0).any():
        return []
    rows = RowPredictions(problem.encoded, done.dataset, predicted)
    found = []
    for given in on_answers(problem):
        value = rows.value(given)
        found.append({"constraint": str(given), "value": float(value), "satisfied": bool(given.holds(value))})
    return found


def _task_figures(old: Tree, dataset: Dataset | None) -> dict | None:
    """Return the figures of the task of the old tree, on the rows that it can answer; None if there are none."""
    if dataset is None:
        return None
    task, answers = TASKS.get(old.task), old_answers(old, dataset)
    known = ~np.isnan(answers) if task.NUMBERS else answers >= 0
    if not (known & rows_told(dataset)[0]).any():
        return None
    return task.figures(dataset.sums[known], answers[known], dataset.classes) | task.terms(dataset.source)


def _targets(then: Dataset | None, now: Dataset) -> float | None:
    """Return the index of the numbers that rows hold, or of their best actions; None without old rows, or of
    neither."""
    if then is None:
        return None
    numbers = [TASKS.get(rows.task).numbers(rows.sums) for rows in (then, now)]
    if numbers[0] is not None:
        return column_psi(*numbers, True)
    if TASKS.get(now.task).MOMENTS or then.classes != now.classes:
        return None
    return column_psi(*(rows.y[rows_told(rows)[0]].astype(float) for rows in (then, now)), False)


def render_drift(done: Refit, facts: dict, name: str, templates=None) -> str:
    """Return the page: the new rows in the old tree, the changes in it, and their reasons."""
    new = done.chosen.tree
    moved = {one.before for one in done.projection.changes}, {one.after for one in done.projection.changes}
    return render(
        "report/drift.html.jinja",
        templates,
        version=odtc.__version__,
        name=name,
        done=done,
        facts=facts,
        old_text=done.old.drawing(),
        new_text=new.drawing(),
        gone=sorted(_asked(done.old) - _asked(new) - moved[0]),
        come=sorted(_asked(new) - _asked(done.old) - moved[1]),
        of_classes=TASKS.get(done.old.task).CLASSES,
        undone=sorted(moved[1] - _asked(new) - {""}),
        small=SMALL_SHIFT,
        large=LARGE_SHIFT,
    )


def _columns(then: Dataset, now: Dataset) -> dict[str, float | None]:
    kinds = {feature.name: feature.kind for feature in now.features}
    X, found = recoded(now, then.features), {}
    for j, feature in enumerate(then.features):
        same = kinds.get(feature.name) == feature.kind
        found[feature.name] = column_psi(then.X[:, j], X[:, j], feature.kind == NUMERIC) if same else None
    return found


def _codes(old: Tree, dataset: Dataset) -> list[int]:
    codes = {name: code for code, name in enumerate(dataset.classes)}
    return [codes.get(name, -2) for name in old.classes]


def _asked(tree: Tree) -> set[str]:
    return {node.split.words(tree.features)[0] for node, _ in tree.walk() if hasattr(node, "split")}
