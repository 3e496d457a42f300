"""Explanation of a prediction for one row: the splits on its path, each with the row's own side, and the fewest
changes that would lead to another prediction."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property

import numpy as np

from odtc.base.text import in_notebook, of, one_line, show_figure, tally
from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC, Feature
from odtc.data.label_types import Label
from odtc.data.splits import Missing, Split, Subset, Threshold
from odtc.data.task import TASKS
from odtc.trees.places import joinable
from odtc.trees.tree import Branch, Leaf, Tree

# The fewest cells of a row to change so that a tree predicts something else.
#
# Splits on one column each divide the inputs into boxes, one for each leaf. A row is moved into the box of a leaf by
# changing the columns whose cells are outside of it, so the fewest changes lead to the leaf with the fewest such
# columns, among the leaves with another prediction. Trees with hyperplanes have no boxes, so they have no
# counterfactuals here.


@dataclass(frozen=True)
class Change:
    """A column to change: its cell, and the condition that it would have to satisfy, in words."""

    column: str
    cell: str
    needed: str


@value_class
class OtherLeaf:
    """Another leaf, and the changes that lead to it, in the order of the columns."""

    leaf: Leaf
    changes: tuple[Change, ...]
    row: np.ndarray  # float64 (features,): the row after these changes


@value_class
class _Box:
    """A leaf with its conditions (split, whether a row goes left) by column, and the cells that satisfy them."""

    leaf: Leaf
    conditions: dict[int, list[tuple[Split, bool]]]
    cells: dict[int, np.ndarray]

    @property
    def is_reachable(self) -> bool:
        """Return whether any input is in the box."""
        return all(map(len, self.cells.values()))

    def outside(self, row: np.ndarray) -> list[int]:
        """Return the columns whose cells are outside of the box."""
        return [place for place, given in self.conditions.items() if not _satisfied(given, place, row[[place]])[0]]


@value_class
class Counterfactuals:
    """The counterfactuals of the rows of a tree."""

    tree: Tree

    def of(self, row: np.ndarray) -> OtherLeaf | None:
        """Return the fewest changes of a row.

        Parameters
        ----------
        row : float64 (features,)
            Coded like `Dataset.X`.

        Returns
        -------
        OtherLeaf or None
            If several leaves need equally few changes, the one with the most training rows. None if no input has
            another prediction, if a split is not on one column, or if a leaf predicts a line.
        """
        tree, boxes = self.tree, self._boxes
        if not boxes:
            return None
        now = tree.answer(boxes[int(tree.apply(row[None, :])[0])].leaf)
        others = [(box.outside(row), box) for box in boxes if tree.answer(box.leaf) != now and box.is_reachable]
        if not others:
            return None
        places, box = min(others, key=lambda one: (len(one[0]), -sum(one[1].leaf.rows)))
        changed, changes = row.copy(), []
        for place in sorted(places):
            known = box.cells[place]
            apart = np.abs(np.nan_to_num(known, nan=np.inf) - np.nan_to_num(row[place]))
            changed[place] = known[apart.argmin() if tree.features[place].kind == NUMERIC else 0]
            feature = tree.features[place]
            changes.append(Change(feature.name, show_cell(feature, row[place]), self._words(box.conditions[place])))
        return OtherLeaf(box.leaf, tuple(changes), changed)

    @cached_property
    def _boxes(self) -> list[_Box]:
        """The boxes of all leaves, left to right; none if a split is not of one column, or a leaf predicts a line."""
        paths = list(_paths(self.tree))
        splits = {split for _, path in paths for split, _ in path}
        if self.tree.has_lines or not all(isinstance(split, Threshold | Subset | Missing) for split in splits):
            return []
        cells = {place: self._cells(place, splits) for split in splits for place in split.features}
        boxes = []
        for leaf, path in paths:
            conditions: dict[int, list[tuple[Split, bool]]] = {}
            for split, left in path:
                conditions.setdefault(split.features[0], []).append((split, left))
            boxes.append(
                _Box(
                    leaf,
                    conditions,
                    {
                        place: cells[place][_satisfied(given, place, cells[place])]
                        for place, given in conditions.items()
                    },
                )
            )
        return boxes

    def _cells(self, place: int, splits: set[Split]) -> np.ndarray:
        """Return a cell for each combination of sides of all splits on a column."""
        of = [split for split in splits if split.features == (place,)]
        feature = self.tree.features[place]
        if feature.kind != NUMERIC:
            cells = [float(code) for code in (*range(len(feature.levels)), -1)]  # at last a level that was not seen
        else:
            cuts = [split.threshold for split in of if isinstance(split, Threshold)]
            named = [value for split in of if isinstance(split, Subset) for value in split.values]
            beyond = [max(map(abs, named)) + 1.0] if named else []
            cells = sorted({*cuts, *np.nextafter(cuts, np.inf).tolist(), *named, *beyond})
            cells = cells or [0.0]  # a column of which only missing cells matter
        return np.array([*cells, np.nan] if self.tree.missing == "separate" else cells)

    def _words(self, given: list[tuple[Split, bool]]) -> str:
        """Return the conditions of a column in words; of thresholds on one side only the tightest."""
        (place,) = given[0][0].features
        if any(left and isinstance(split, Subset) for split, left in given):  # the values that all sets have in common
            cells = self._cells(place, {split for split, _ in given})
            shared = tuple(cells[_satisfied(given, place, cells) & (cells >= 0)].tolist())
            if shared and self.tree.features[place].kind != NUMERIC:
                return self.tree.branch_words(Subset(place, shared))[0]
        kept: dict[object, tuple[Split, bool]] = {}
        for split, left in given:
            key: object = left if isinstance(split, Threshold) else (split, left)
            before = kept.get(key, (split, left))[0]
            tighter = not isinstance(split, Threshold) or (
                split.threshold <= before.threshold if left else split.threshold >= before.threshold
            )
            kept[key] = (split if tighter else before, left)
        return " and ".join(
            joinable([self.tree.branch_words(split)[0 if left else 1] for split, left in kept.values()])
        )


def _satisfied(given: list[tuple[Split, bool]], place: int, cells: np.ndarray) -> np.ndarray:
    """Return which cells of a column satisfy conditions, bool (cells,)."""
    rows = np.zeros((len(cells), place + 1))
    rows[:, place] = cells
    return np.all([split.left(rows) == left for split, left in given], axis=0)


def _paths(tree: Tree) -> Iterator[tuple[Leaf, list[tuple[Split, bool]]]]:
    """Yield each leaf, left to right, with the splits on its way and whether it is on their left."""
    stack: list[tuple[Branch | Leaf, list[tuple[Split, bool]]]] = [(tree.root, [])]
    while stack:
        node, path = stack.pop()
        if isinstance(node, Leaf):
            yield node, path
        else:
            stack += [(node.right, [*path, (node.split, False)]), (node.left, [*path, (node.split, True)])]


@dataclass(frozen=True)
class Step:
    """One split on the path: its cells by column, the condition that the row satisfies in words, and the training rows
    that satisfy it, too. Policy task: `costs` are the mean costs of each action on these rows, or the mean values
    (`costs_name` is then "value"), as `costs` of the leaf. `told` describes these rows."""

    cells: tuple[tuple[str, str], ...]
    answer: str
    side: str
    rows: tuple[int, ...]
    costs: Mapping[str, float] = field(default_factory=dict)
    costs_name: str = "cost"
    told: str = ""


@dataclass(frozen=True)
class Counterfactual:
    """The prediction of the row after the fewest changes that change it."""

    prediction: str
    label: Label
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        changes = [f"{one_line(one.needed)} (it is {one_line(one.cell)})" for one in self.changes]
        return f"{one_line(self.prediction)} if {' and '.join(changes)}"

    def to_json(self) -> dict:
        """Return the entry `counterfactual` of `odtc explain --json`."""
        return {"prediction": self.label, "changes": [asdict(one) for one in self.changes]}


@dataclass(frozen=True)
class Path:
    """The path of a row. `prediction` is text, and `label` the same as in the data; `quantity` is what a predicted
    number measures, such as the name of the target, and "" for a class or an action. `counterfactual` is None if no
    other prediction can be reached, or if the tree has hyperplanes."""

    prediction: str
    steps: tuple[Step, ...]
    leaf: Leaf
    costs: Mapping[str, float] = field(default_factory=dict)
    costs_name: str = "cost"
    label: Label = ""
    number: int = 1
    told: str = ""
    counterfactual: Counterfactual | None = None
    quantity: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def lines(self, remark: str = "") -> list[str]:
        """Return the path as lines of text, with a remark after the prediction."""
        predicted = " ".join(map(one_line, filter(None, (self.quantity, self.prediction))))
        lines = [f"row {self.number}: {predicted}{remark}"]
        for step in self.steps:
            cells = ", ".join(f"{one_line(name)} is {one_line(cell)}" for name, cell in step.cells)
            lines.append(f"  {one_line(step.answer)}, since {cells}" + (f"; here {step.told}" if step.told else ""))
        if self.told:
            lines.append(f"  so {predicted}: {self.told}")
        return [*lines, *([f"  would be {self.counterfactual}"] if self.counterfactual is not None else [])]

    def to_json(self) -> dict:
        """Return an entry of `rows` of `odtc explain --json`."""
        return {
            "prediction": self.label,
            **({"quantity": self.quantity} if self.quantity else {}),
            "rows": list(self.leaf.rows),
            "counts": list(self.leaf.counts),
            **_means(self),
            "path": [
                {"cells": dict(step.cells), "answer": step.answer, "side": step.side, "rows": list(step.rows)}
                | _means(step)
                for step in self.steps
            ],
            "counterfactual": None if self.counterfactual is None else self.counterfactual.to_json(),
        }


class Explanations(list[Path]):
    """Paths of rows, which `print` and a notebook show as text."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return in_notebook(str(self))


def _means(node: Step | Path) -> dict:
    return {f"mean_{node.costs_name}": dict(node.costs)} if node.costs else {}


def _each(tree: Tree, node: Branch | Leaf) -> tuple[dict[str, float], str]:
    """Return the mean cost of each action on the rows of a node, or its mean value, and a word for which of both."""
    costs = TASKS.get(tree.task).mean_costs(node.sums, tree.classes)
    return ({name: -cost + 0.0 for name, cost in costs.items()}, "value") if tree.goal else (costs, "cost")


def _rows_text(tree: Tree, rows: tuple[int, ...], costs: Mapping[str, float], costs_name: str) -> str:
    """Describe the training rows at a node: how many if leaves predict numbers, for a policy with the costs of actions
    on them, otherwise by class."""
    if not sum(rows):
        return ""
    if costs:
        mean = ", ".join(f"{one_line(name)} {show_figure(number)}" for name, number in costs.items())
        return f"{of(sum(rows), 'row')}, mean {costs_name} {mean}"
    return of(sum(rows), "row") if TASKS.get(tree.task).NUMBERS else tally(rows, tree.classes)


def _leaf_text(tree: Tree, leaf: Leaf) -> str:
    if not leaf.rows:
        return ""
    if TASKS.get(tree.task).CLASSES:
        return f"{leaf.rows[leaf.label]} of {of(sum(leaf.rows), 'training row')} in this leaf"
    words = [of(sum(leaf.rows), "training row"), tree.words_of(leaf)]
    words += [] if leaf.line is None else [f"line {leaf.line.words(tree.features)}"]
    return ", ".join(filter(None, words))


def _text(answer: Label) -> str:
    return f"{answer:.10g}" if isinstance(answer, float) else str(answer)


def explain_rows(tree: Tree, X: np.ndarray, numbers: Iterable[int]) -> Explanations:
    """Explain rows.

    Parameters
    ----------
    tree : Tree
    X : float64 (rows, features)
        Coded like `Dataset.X`.
    numbers : iterable of int
        The number of each row, by which texts and errors name it.

    Returns
    -------
    Explanations

    Raises
    ------
    DataError
        If the tree refuses a row.
    """
    other = Counterfactuals(tree)
    return Explanations(_explained(tree, other, np.asarray(row, float), number) for row, number in zip(X, numbers))


def explain(tree: Tree, row: np.ndarray, number: int = 1) -> Path:
    """Explain one row, float64 (features,), as `explain_rows`."""
    return explain_rows(tree, np.asarray(row, float)[None, :], [number])[0]


def _explained(tree: Tree, other: Counterfactuals, row: np.ndarray, number: int) -> Path:
    reached = tree.apply(row[None, :], number)
    node, steps = tree.root, []
    while isinstance(node, Branch):
        left = bool(node.split.left(row[None, :])[0])
        cells = tuple(
            (tree.features[place].name, show_cell(tree.features[place], row[place])) for place in node.split.features
        )
        answer = tree.branch_words(node.split)[0 if left else 1]
        node = node.left if left else node.right
        costs = _each(tree, node)
        told = _rows_text(tree, node.rows, *costs)
        steps.append(Step(cells, answer, "left" if left else "right", node.rows, *costs, told))
    changed = other.of(row)
    if changed is not None:
        changed = Counterfactual(_text(tree.answer(changed.leaf)), tree.label(changed.leaf), changed.changes)
    label = tree.label(node) if node.line is None else float(tree.numbers_at(row[None, :], reached)[0])
    answer = _text(tree.answer(node) if node.line is None else label)
    task = TASKS.get(tree.task)
    quantity = (task.QUANTITY or tree.target) if task.NUMBERS else ""
    told = _leaf_text(tree, node)
    return Path(answer, tuple(steps), node, *_each(tree, node), label, number, told, changed, quantity)


def show_cell(feature: Feature, value: float) -> str:
    """Return a cell in words; a level that was not seen in training has no name here."""
    if np.isnan(value):
        return "missing"
    return "a level not seen in training" if value < 0 and feature.kind != NUMERIC else feature.show(value)
