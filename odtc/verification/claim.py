"""The terms of the claim of a certificate: everything about the claim except for its numbers, stated once and compared
as a whole.

A writer of a certificate, of whatever kind, states these terms under "of" (`claim_of`). A checker derives them again
from the data that it has read, and refuses the first that differs (`expect`).
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from odtc.base.json_schema import FLAG, NUMBER, TEXT, WHOLE
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import GIVEN_SHAPE, LAYOUT_SHAPE, Dataset, feature_shape
from odtc.data.reading_spec import LAYOUT, POLICIES
from odtc.errors import CertificateError
from odtc.verification.threshold_columns import left_of


@value_class
class Proof:
    """The statement of a checked certificate: no tree of this depth over these splits that satisfies the constraints
    has an objective below `bound`, and one has `objective`. Both are infinite if no tree satisfies the constraints."""

    objective: float
    bound: float
    steps: dict[str, int]  # how many numbers of each kind were checked
    terms: str  # costs other than a unit of weight for each error, in words; "" if there are none
    of: dict  # the terms of the claim (odtc.verification.claim)
    n_possible_splits: int  # ways in which midpoints and single levels divide the rows of the data
    left_out: dict[str, tuple[int, int]]  # by feature: how many are not among the splits, and how many there are

    @property
    def depth(self) -> int:
        """Return the largest depth of the trees that it covers."""
        return self.of["depth"]

    @property
    def n_candidate_splits(self) -> int:
        """Return the number of splits that these trees may use."""
        return self.of["n_candidate_splits"]

    @property
    def n_rows(self) -> int:
        """Return the number of rows of the data."""
        return self.of["n_rows"]

    @property
    def optimal(self) -> bool:
        """Return whether no tree is better than the tree of the certificate."""
        return self.bound == self.objective

    @property
    def infeasible(self) -> bool:
        """Return whether it proves that no tree satisfies the constraints."""
        return math.isinf(self.objective)


# The shape of the terms (odtc.base.json_schema).
SHAPE = {
    **GIVEN_SHAPE,
    **dict.fromkeys(("classes", "columns", "auxiliary", "constraints"), [TEXT]),
    "target": TEXT,
    "weights": (TEXT, None),
    "missing": POLICIES,
    "task?": TEXT,
    "requested?": {},
    **dict.fromkeys(("n_rows", "n_dropped_missing", "n_dropped_unlabelled", "depth", "n_candidate_splits"), WHOLE),
    "rows_of_class": [WHOLE],
    "all_splits": FLAG,
    "hold_out?": NUMBER,
    **dict.fromkeys(("n_skipped_lines?", "n_set_aside?"), WHOLE),
    **LAYOUT_SHAPE,
}
READ_AS = {"categorical": "a category", "numeric": "numbers"}  # kinds of columns that the user can force
# Options of the reading that are stated if they were given.
TOLD = (*READ_AS, "ignore", "ordered", "decimal", "missing_mark", *LAYOUT)
OF_ROWS = ("hold_out", "n_set_aside")  # the same for options that select rows
OF_LINE = {"feature": TEXT, "slope": NUMBER, "intercept": NUMBER}
# The shapes of the entries of its tree, and of a leaf, in addition to splits and labels.
OF_TREE = {
    **dict.fromkeys(("schema?", "task?", "target?", "missing?", "goal?"), TEXT),
    "classes?": [TEXT],
    "features?": [feature_shape],
}
OF_LEAF = {"counts?": [NUMBER], "rows?": [WHOLE], "sums?": [NUMBER], "curve?": [[NUMBER]], "line?": OF_LINE}
LONGEST_VALUE = 80  # signs of a value in a message
TREE_SCHEMA = "odtc.tree/1"
CLASSES = ("classification",)  # tasks in which the cost is the weight of the errors
COSTS = {
    "regression": "the squared error around the mean of each leaf",
    "linear": "the squared error around the line of each leaf in one numeric column, and the penalty of its slope",
    "median": "the absolute error around the median of each leaf",
    "policy": "the savings against the highest cost of each row that are lost by the actions that are not taken",
    "survival": "D - D log(D/H) of the events D and the hazard H of each leaf",
}
# How the target is read, by the options of `odtc fit` that a task has.
ASKED = ("actions", "treatment", "outcome", "propensity", "scores", "goal", "time", "event", "ridge")
LISTED = 10  # maximum number of classes that are listed one by one
NAMES = {
    "classes": "the classes in their order",
    "columns": "the columns that splits may use",
    "auxiliary": "the auxiliary columns",
    "weights": "the column of weights",
    "missing": "the policy for missing cells",
    "n_rows": "the number of rows",
    "n_dropped_missing": "the number of rows left out for a missing cell",
    "n_dropped_unlabelled": "the number of rows left out without a label or a weight",
    "rows_of_class": "the rows of each class",
    "n_candidate_splits": "the number of splits",
    "categorical": "the columns read as categories",
    "numeric": "the columns read as numbers",
    "ignore": "the columns that are not read",
    "ordered": "the columns whose levels have an order",
    "decimal": "the sign before decimals",
    "missing_mark": "the texts that mean a missing cell",
    "n_skipped_lines": "the number of lines that are not rows",
    **{name: f"the option {name} of the form of the file" for name in LAYOUT},
    "hold_out": "the share of the rows that is set aside",
    "n_set_aside": "the number of rows that are set aside",
    "all_splits": "whether its splits are all",
    "requested": "the options of its task",
}


def split_shape(value, place):
    """Return the JSON shape of a split, by its own kind."""
    own = {"threshold": {"threshold": NUMBER}, "subset": {"values": [(NUMBER, TEXT)]}, "missing": {}}
    kind = value.get("kind") if isinstance(value, dict) else None
    return {"feature": TEXT, "kind": tuple(own)} | (own[kind] if isinstance(kind, str) and kind in own else {})


def column_shape(value, place):
    """Return the JSON shape of a column of splits (odtc.verification.threshold_columns), by its own kind."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == "nested":
        return {"splits": [split_shape], "turned": [WHOLE]}
    return {"feature": TEXT, "thresholds?": [NUMBER]} if kind == "threshold" else split_shape(value, place)


def node_shape(value, place):
    """Return the JSON shape of a node of a tree: a leaf, or a branch node with its children."""
    if isinstance(value, dict) and "label" in value:
        return {"label": TEXT} | OF_LEAF
    return {"split": split_shape, "left": node_shape, "right": node_shape}


def claim_of(dataset: Dataset, depth: int, n_candidate_splits: int, all_splits: bool, constraints=()) -> dict:
    """Return the terms of a claim about a data set.

    Parameters
    ----------
    dataset : Dataset
        The rows, as they were read from the file.
    depth, n_candidate_splits : int
        The claim covers all trees of this depth over this many splits.
    all_splits : bool
        Whether these are all splits that separate rows in different ways (odtc.verification.coverage).
    constraints : sequence of str
        Constraints that the trees satisfy, as `--constraint` is written.
    """
    return (
        {
            "target": dataset.target,
            "classes": list(dataset.classes),
            "columns": [feature.name for feature in dataset.features],
            "auxiliary": [feature.name for feature in dataset.auxiliary],
            "weights": dataset.source.get("weights"),
            "missing": dataset.missing,
            "n_rows": dataset.n_file_rows,
            "n_dropped_missing": dataset.n_dropped - dataset.n_unlabelled,
            "n_dropped_unlabelled": dataset.n_unlabelled,
            "rows_of_class": np.bincount(dataset.y, minlength=len(dataset.classes)).tolist(),
            "depth": depth,
            "n_candidate_splits": n_candidate_splits,
            "all_splits": all_splits,
            "constraints": list(constraints),
        }
        | _read_as(dataset.source)
        | ({"n_skipped_lines": dataset.n_skipped} if dataset.n_skipped else {})
        | _set_aside(dataset)
        | ({} if dataset.task in CLASSES else {"task": dataset.task, "requested": _asked(dataset.source)})
    )


def _read_as(source: Mapping) -> dict:
    """Return the columns whose kind was given, because another kind has other splits, and the columns that were not
    read."""
    found = {key: source[key] for key in TOLD if source.get(key) or (key in LAYOUT and key in source)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def _set_aside(dataset: Dataset) -> dict:
    """Return the rows that were set aside before the data was read: the claim does not cover them."""
    share = dataset.source.get("hold_out")
    return dict(zip(OF_ROWS, (share, 0 if dataset.held_out is None else len(dataset.held_out)))) if share else {}


def _asked(source: Mapping) -> dict:
    """Return the options by which the target was read, without defaults."""
    found = {key: source[key] for key in ASKED if source.get(key)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def expect(facts: dict, found: dict) -> None:
    """Raise CertificateError with the first term of a certificate that differs from the one found."""
    stated, rows = facts["of"], found["n_rows"]
    if (told := facts.get("data", {}).get("n_rows", rows)) != rows:
        raise CertificateError(f"the certificate covers {_short(told)} rows, but the data file has {rows}")
    for key in (*found, *sorted(stated.keys() - found.keys())):
        if stated.get(key) != (value := found.get(key)):
            place, told, value = _apart(NAMES.get(key, f"the {key}"), stated.get(key), value)
            raise CertificateError(
                f"the certificate states {place} as {_short(told)}, but of this data it is {_short(value)}"
            )


def expect_tree(tree: dict, dataset: Dataset) -> None:
    """Raise CertificateError if the tree of a certificate states facts about the data that differ from them, because a
    user of the tree relies on them, too."""
    found = {
        "schema": TREE_SCHEMA,
        "task": dataset.task,
        "target": dataset.target,
        "classes": list(dataset.classes),
        "features": [feature.to_json() for feature in dataset.features],
        "missing": dataset.missing,
        "goal": "",  # a certificate counts costs
    }
    for key in found.keys() & tree.keys():
        if tree[key] != found[key]:
            place, told, value = _apart(f"its {key}", tree[key], found[key])
            raise CertificateError(
                f"the tree of the certificate states {place} as {_short(told)}, but of this data it is {_short(value)}"
            )


def walk(facts: dict, dataset: Dataset, leaf: Callable, branch: Callable = lambda node, path, goes: None) -> None:
    """Go through the tree of a certificate.

    Parameters
    ----------
    facts : dict
    dataset : Dataset
    leaf : called as leaf(node, rows) for each leaf, with the numbers of its rows
    branch : called as branch(node, path, goes) for each branch node, with the columns of the splits from the root to it
        and whether each row of the data goes left

    Raises
    ------
    CertificateError
        If the tree is too deep, or states facts about the data that differ from them.
    """

    def below(node: dict, rows: np.ndarray, above: tuple[str, ...]) -> None:
        if "label" in node:
            leaf(node, rows)
            return
        if len(above) == facts["depth"]:
            raise CertificateError(f"the tree of the certificate is deeper than {facts['depth']}")
        path, goes = (*above, node["split"]["feature"]), left_of(node["split"], dataset)
        branch(node, path, goes)
        below(node["left"], rows[goes[rows]], path)
        below(node["right"], rows[~goes[rows]], path)

    expect_tree(facts["tree"], dataset)
    below(facts["tree"]["root"], np.arange(dataset.n_rows), ())


def expect_leaf(leaf: dict, dataset: Dataset, rows: np.ndarray, lines: bool = False) -> None:
    """Raise CertificateError if a leaf of the tree of a certificate states counts, sums or points of a curve that do
    not match its rows, with the numbers `rows`, or a line that is not checked (unless `lines` are)."""
    if leaf.get("line") and not lines:
        raise CertificateError("a leaf of the tree of the certificate predicts a line, which this proof does not cover")
    found = {
        key: np.bincount(dataset.y[rows], each[rows], len(dataset.classes))
        for key, each in (("counts", dataset.weight), ("rows", dataset.copies))
    }
    found["sums"] = dataset.sums[rows].sum(axis=0)
    if leaf.get("curve"):
        found["curve"] = _curve(dataset, rows)
    off = {"counts": 1.0, "rows": 1.0, "sums": np.abs(dataset.sums).max(axis=0, initial=0.0), "curve": 0.0}
    for key in found.keys() & leaf.keys():
        told = np.array(leaf[key], float)
        if told.shape != found[key].shape or not np.allclose(told, found[key], rtol=1e-9, atol=1e-9 * off[key]):
            raise CertificateError(
                f"a leaf of the tree of the certificate has the {key} {_short(leaf[key])}, on the data they are "
                f"{_short(found[key].tolist())}"
            )


def _curve(dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    """Return float64 (points, 2), (share, number): the minimum, quartiles and maximum of these rows for the task
    median, where a number is the least one up to which this share of their weight is reached; no points for another
    task."""
    if dataset.task != "median" or not len(rows):
        return np.zeros(0)
    weight, y = dataset.sums[rows, 1], dataset.sums[rows, -1]
    order = np.argsort(y, kind="stable")
    held, y = weight[order].cumsum(), y[order]
    return np.array([[share, y[held >= share * held[-1] * (1 - 1e-12)][0]] for share in (0.0, 0.25, 0.5, 0.75, 1.0)])


def expect_losses(facts: dict, dataset: Dataset) -> None:
    """Raise CertificateError if the losses of a certificate do not match its task: for a median the distances between
    two numbers, for a policy the votes, which are the weights of the rows."""
    if dataset.task not in ("median", "policy"):
        return
    unit = (facts["scale"] - facts["penalty"]) / facts["weight_scale"]
    if dataset.task == "median":
        values = [Fraction(name) for name in dataset.classes]
        wanted = np.array([[float(abs(one - other)) for other in values] for one in values])
    else:
        wanted = 1.0 - np.eye(len(dataset.classes))
    if not np.allclose(np.array(facts["loss"]) / unit, wanted, rtol=1e-9, atol=0):
        raise CertificateError(f"the certificate states other losses than {option('task', dataset.task)} has")


def words(terms: dict) -> str:
    """Describe the terms in words, for the line after the claim."""
    task, names = terms.get("task"), terms["classes"]
    asked = terms.get("requested", {})
    listed = ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")
    said = [f"task {task}, of which the cost is {COSTS.get(task, 'its own')}"] if task else []
    said += [f"{key} {', '.join(value) if isinstance(value, list) else value}" for key, value in asked.items()]
    said.append(f"target {terms['target']!r} ({listed})")
    said.append(f"weights in column {terms['weights']!r}" if terms["weights"] is not None else "every row counts 1")
    said += [f"{name} is read as {kind}" for key, kind in READ_AS.items() for name in terms.get(key, ())]
    if terms.get("ignore"):
        said.append(f"ignored columns: {', '.join(name or 'column 1 (no name)' for name in terms['ignore'])}")
    if terms.get("decimal"):
        said.append(f"numbers have the decimal sign {terms['decimal']!r}")
    if layout := [option(key, terms[key]) for key in LAYOUT if key in terms]:
        said.append(f"the file is read with {', '.join(layout)}")
    if terms.get("missing_mark"):
        said.append(f"also missing: {', '.join(terms['missing_mark'])}")
    said += [f"the levels of a column have an order, {text}" for text in terms.get("ordered", ())]
    if terms["auxiliary"]:
        said.append(f"no split uses {', '.join(terms['auxiliary'])}")
    left = [f"{terms['n_dropped_missing']:,} with missing cells"] if terms["n_dropped_missing"] else []
    left += [f"{terms['n_skipped_lines']:,} lines that are not rows"] if terms.get("n_skipped_lines") else []
    left += (
        [f"{terms['n_set_aside']:,} set aside at random ({option('hold_out', terms['hold_out'])})"]
        if "hold_out" in terms
        else []
    )
    left += [f"{terms['n_dropped_unlabelled']:,} without a label or a weight"] if terms["n_dropped_unlabelled"] else []
    said.append(f"rows left out: {', '.join(left) or 'none'}")
    if terms["missing"] == "separate":
        said.append("splits may separate missing cells")
    if terms["constraints"]:
        said.append(f"all trees satisfy {', '.join(terms['constraints'])}")
    return "; ".join(said)


def _apart(place: str, told, value) -> tuple[str, Any, Any]:
    """Return the first part in which two values differ, with its place, if a message would cut off one of them."""
    if max(len(repr(told)), len(repr(value))) <= LONGEST_VALUE:
        return place, told, value
    if isinstance(told, list) and isinstance(value, list) and len(told) == len(value):
        pairs = [(f"item {at} of {place}", *pair) for at, pair in enumerate(zip(told, value), 1)]
    elif isinstance(told, dict) and isinstance(value, dict):
        pairs = [(f"{key!r} of {place}", told.get(key), value.get(key)) for key in {**value, **told}]
    else:
        return place, told, value
    return next((_apart(*pair) for pair in pairs if pair[1] != pair[2]), (place, told, value))


def _short(value) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}…"
