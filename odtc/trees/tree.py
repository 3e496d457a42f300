"""A decision tree in the words and units of the data file: the result of decoding, for every formulation."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from odtc.base.json_schema import TEXT, SchemaError, explain_error, read_object, show_value, validate
from odtc.base.text import in_notebook
from odtc.base.value_class import frozen_class
from odtc.base.wording import option
from odtc.data import label_types
from odtc.data.codebook import codebook_of, shown_features, shown_values
from odtc.data.dataset import Codebook, Feature, codebook_shape, feature_shape
from odtc.data.label_types import LABEL_TYPES, Label, label_of, label_type_of
from odtc.data.reading_spec import CLASSIFICATION, POLICIES
from odtc.data.splits import Split, split_from_json, split_shape
from odtc.data.table.coded_columns import RowsOf
from odtc.data.task import TASKS
from odtc.errors import DataError, TreeError
from odtc.trees import places
from odtc.trees.places import Branch as Branch
from odtc.trees.places import Leaf as Leaf
from odtc.trees.places import Line as Line
from odtc.trees.places import Node as Node
from odtc.trees.places import Place, leaf_shape

SCHEMA = "odtc.tree/1"


@frozen_class
class Tree:
    """A decision tree, with its features and classes.

    `missing` is the policy under which the tree was trained: with "separate" a missing number goes right at a
    threshold; with "drop" or "error" no training row had one, and predicting one raises DataError. `goal` is "max" if
    the values of a policy are minus the costs, as with outcomes. `label_type` is the type of the labels that `classes`
    name: "text", "int", "float" or "bool".
    """

    root: Node
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    target: str = "class"
    missing: str = "drop"
    task: str = CLASSIFICATION
    goal: str = ""
    label_type: str = label_types.TEXT

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the classes, of the type that they have in the data."""
        return tuple(label_of(name, self.label_type) for name in self.classes)

    @cached_property
    def shown(self) -> "Tree":
        """The tree in the words of its codebook (odtc.data.codebook): the same splits and leaves, with names
        for readers; itself without a codebook."""
        codebook = codebook_of(self.features)
        if codebook is None:
            return self
        features, classes = shown_features(self.features, codebook), self.classes
        if not (task := TASKS.get(self.task)).NUMBERS:
            classes = shown_values(self.target, self.classes, codebook, columns=not task.CLASSES)
        target = codebook.columns.get(self.target, self.target)
        return replace(self, features=features, classes=classes, target=target, label_type=label_types.TEXT)

    def __str__(self) -> str:
        """Return the tree as drawn on screen."""
        return self.drawing().rstrip("\n")

    def drawing(self) -> str:
        """Return the tree as drawn on screen.

        Returns
        -------
        str
            Ends with a line feed.
        """
        from odtc.trees.text_drawing import drawn

        tree, numbers = self.with_answers()
        shown, remarks = tree.shown, [self.shown.words_of(leaf) for leaf in self.leaves()]
        title = shown.target, TASKS.get(self.task).ANSWER if numbers else ""
        return drawn(shown.places(), shown.classes, title, self.task == CLASSIFICATION, remarks)

    def __repr__(self) -> str:
        return f"<Tree of {self.target}: {self.size}>"

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    @property
    def size(self) -> str:
        """The number of leaves and the depth, in words."""
        return f"{self.n_leaves} {'leaves' if self.n_leaves > 1 else 'leaf'}, depth {self.depth}"

    def leaves(self) -> list[Leaf]:
        """Return all leaves, left to right.

        Returns
        -------
        list of Leaf
        """
        return [node for node, _ in self.walk() if isinstance(node, Leaf)]

    def walk(self):
        """Visit every node: a parent before its children, left before right.

        Returns
        -------
        iterator of (Branch or Leaf, int)
            The node and its depth, 0 for the root.
        """
        stack = [(self.root, 0)]
        while stack:
            node, depth = stack.pop()
            yield node, depth
            if isinstance(node, Branch):
                stack += [(node.right, depth + 1), (node.left, depth + 1)]

    @property
    def n_leaves(self) -> int:
        return len(self.leaves())

    @property
    def n_branch_nodes(self) -> int:
        return self.n_leaves - 1

    @property
    def depth(self) -> int:
        return max(depth for _, depth in self.walk())

    @property
    def used(self) -> set[int]:
        """The positions of the features of its splits and of the lines of its leaves."""
        return {
            feature
            for node, _ in self.walk()
            for feature in (node.split.features if isinstance(node, Branch) else node.measured)
        }

    @property
    def has_lines(self) -> bool:
        """True if a leaf predicts a line."""
        return any(leaf.line for leaf in self.leaves())

    @property
    def used_names(self) -> list[str]:
        """The names of the features of its splits and lines, sorted."""
        return sorted({self.features[place].name for place in self.used})

    def places(self) -> list[Place]:
        """Return every node with its position.

        Returns
        -------
        list of odtc.trees.places.Place
            A parent before its children, left before right, for example the root first.
        """
        return places.places(self.root, self.features, self.missing)

    def branch_words(self, split: Split) -> tuple[str, str]:
        """Return the conditions of both branches of a split.

        Parameters
        ----------
        split : Split

        Returns
        -------
        (str, str)
            Of the left and of the right branch, such as "age <= 30" and "age > 30 or missing", because rows with a
            missing cell go right.
        """
        return places.branch_words(split, self.features, self.missing)

    def with_answers(self) -> "tuple[Tree, tuple[float, ...]]":
        """Return the tree with a class for each number that its leaves predict.

        Returns
        -------
        (Tree, tuple of float)
            The tree, and the number of each class; this tree and () if its leaves predict classes or actions.
        """
        if not TASKS.get(self.task).NUMBERS:
            return self, ()

        def answer(leaf):
            return float(self.answer(leaf)), leaf.line

        answers = list(dict.fromkeys(map(answer, self.leaves())))
        words = [f"{one:.6g}" if line is None else line.words(self.shown.features) for one, line in answers]

        def answering(leaf):
            label = answers.index(answer(leaf))
            spread = tuple(sum(leaf.counts) * (k == label) if leaf.counts else 0.0 for k in range(len(answers)))
            rows = tuple(sum(leaf.rows) * (k == label) for k in range(len(answers)))
            return replace(leaf, label=label, counts=spread, rows=rows)

        return replace(self.with_leaves(answering), classes=tuple(words)), tuple(one for one, _ in answers)

    def with_leaves(self, change: Callable[[Leaf], Leaf]) -> "Tree":
        """Return the tree with another leaf in place of each.

        Parameters
        ----------
        change : callable
            Takes a Leaf and returns a Leaf; called for the leaves left to right.

        Returns
        -------
        Tree
        """

        def changed(node: Node) -> Node:
            if isinstance(node, Branch):
                return Branch(node.split, changed(node.left), changed(node.right))
            return change(node)

        return replace(self, root=changed(self.root))

    def with_curves(self, curves: Iterable[tuple[tuple[float, float], ...]]) -> "Tree":
        """Return the tree with these curves in its leaves.

        Parameters
        ----------
        curves : iterable of ((float, float), …)
            The points of the curve of each leaf, left to right.

        Returns
        -------
        Tree
        """
        given = iter(curves)
        return self.with_leaves(lambda leaf: replace(leaf, curve=next(given)))

    def apply(self, X: np.ndarray, first: int = 1, on_missing: str = "refuse") -> np.ndarray:
        """Return the leaf of each row.

        Parameters
        ----------
        X : float64 (rows, features)
            Coded like `Dataset.X`.
        first : int
            The number that an error gives the first row.
        on_missing : str
            How to handle a missing number at a threshold or a hyperplane, unless the tree was trained with
            missing="separate": "refuse" raises, with "blank" the row reaches no leaf, with "majority" it follows the
            side that more training rows took (the left one if they are equal).

        Returns
        -------
        int64 (rows,)
            The position in `leaves()`; -1 for none.

        Raises
        ------
        DataError
            For a missing number that is refused.
        TreeError
            For "majority" if the leaves do not state their numbers of training rows.
        """
        if hasattr(X, "iloc") or hasattr(X, "get_column"):
            raise TreeError(
                "expected rows as numbers, coded as the features of the tree are, got a data frame; Fit.predict, the "
                "estimators and `odtc predict` take it"
            )
        if on_missing == "majority" and self.missing != "separate" and not all(leaf.rows for leaf in self.leaves()):
            raise TreeError(
                "the tree does not say how many training rows took each side, so a missing cell cannot follow the "
                "majority; fit it again, or choose --on-missing blank"
            )
        reached = np.zeros(len(X), dtype=np.int64)
        number = 0
        stack = [(self.root, np.arange(len(X)))]
        while stack:
            node, rows = stack.pop()
            reads = node if isinstance(node, Leaf) else node.split
            absent = self._unanswered(reads, RowsOf(X, rows))
            if absent.any() and on_missing == "refuse":
                raise self._no_answer(reads, RowsOf(X, rows), rows + first)
            if absent.any() and on_missing == "blank":
                reached[rows[absent]] = -1
                rows, absent = rows[~absent], absent[~absent]
            if isinstance(node, Leaf):
                reached[rows] = number
                number += 1
                continue
            left = node.split.left(RowsOf(X, rows))
            left[absent] = sum(node.left.rows) >= sum(node.right.rows)
            stack += [(node.right, rows[~left]), (node.left, rows[left])]
        return reached

    def _unanswered(self, reads: Split | Leaf, X: RowsOf) -> np.ndarray:
        """Return which rows lack a number that a split or a leaf measures, bool (rows,)."""
        absent = np.zeros(len(X), bool)
        for place in reads.measured if self.missing != "separate" else ():
            absent |= np.isnan(X[:, place])
        return absent

    def _no_answer(self, reads: Split | Leaf, X: RowsOf, numbers: np.ndarray) -> DataError:
        """Return the error for the first column that a split or a leaf measures in which a row lacks a number."""
        feature = next(place for place in reads.measured if np.isnan(X[:, place]).any())
        weighs = isinstance(reads, Leaf) or len(reads.features) > 1
        return DataError(
            f"row {numbers[np.isnan(X[:, feature])][0]} has no value for {self.features[feature].name!r}, which this "
            f"tree {'weighs' if weighs else 'compares with a threshold'}; "
            f"fill it in, predict with {option('on_missing', 'blank', 'majority')}, or train with "
            f"{option('missing', 'separate')}"
        )

    def answer(self, leaf: Leaf) -> str | float:
        """Return the prediction of a leaf without its line: the name of a class or an action, or a number.

        Parameters
        ----------
        leaf : Leaf

        Returns
        -------
        str or float
        """
        task = TASKS.get(self.task)
        if task.MOMENTS:
            return task.answer(leaf.sums)
        return float(self.classes[leaf.label]) if task.NUMBERS else self.classes[leaf.label]

    def label(self, leaf: Leaf) -> Label:
        """Return the prediction of a leaf with the type that it has in the data: 1 for the class "1" of whole numbers.

        Parameters
        ----------
        leaf : Leaf

        Returns
        -------
        str, bool, int or float
        """
        answer = self.answer(leaf)
        return label_of(answer, self.label_type) if isinstance(answer, str) else answer

    def words_of(self, node: Node) -> str:
        """Return the description of the rows of a node by its task.

        Parameters
        ----------
        node : Branch or Leaf

        Returns
        -------
        str
            "" if counts of rows are enough, or nothing is known about them.
        """
        if not node.sums:
            return ""
        curve = node.curve if isinstance(node, Leaf) else ()
        return TASKS.get(self.task).leaf_words(node.sums, self.classes, curve, self.goal)

    def answers(self, X: np.ndarray) -> np.ndarray:
        """Return the prediction for each row: the class as `predict`, or a number if the leaves predict numbers.

        Parameters
        ----------
        X : float64 (rows, features)
            As in `apply`.

        Returns
        -------
        int64 or float64 (rows,)

        Raises
        ------
        DataError
            As in `apply`.
        """
        if not TASKS.get(self.task).NUMBERS:
            return self.predict(X)
        return self.numbers_at(X, self.apply(X))

    def numbers_at(self, X: np.ndarray, reached: np.ndarray) -> np.ndarray:
        """Return the number that the leaf of each row predicts.

        Parameters
        ----------
        X : float64 (rows, features)
        reached : int64 (rows,)
            As `apply` returns it.

        Returns
        -------
        float64 (rows,)
            NaN for a row without a leaf.
        """
        found = np.array([*(self.answer(leaf) for leaf in self.leaves()), np.nan], dtype=float)[reached]
        for number, leaf in enumerate(self.leaves()):
            if leaf.line is not None:
                rows = np.flatnonzero(reached == number)
                at = leaf.line.of_rows(RowsOf(X, rows))
                found[rows] = np.where(np.isnan(at), found[rows], at)
        return found

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : float64 (rows, features)
            As in `apply`.

        Returns
        -------
        int64 (rows,)
            Indices into `classes`.

        Raises
        ------
        DataError
            As `apply`.
        """
        labels = np.array([leaf.label for leaf in self.leaves()], dtype=np.int64)
        return labels[self.apply(X)]

    def to_json(self) -> dict:
        """Return the tree as JSON, schema "odtc.tree/1"; `from_json` reads it back equal.

        Returns
        -------
        dict
        """
        return {
            "schema": SCHEMA,
            **({"task": self.task} if self.task != CLASSIFICATION else {}),
            **({"goal": self.goal} if self.goal else {}),
            "target": self.target,
            "classes": list(self.classes),
            **({"label_type": self.label_type} if self.label_type != label_types.TEXT else {}),
            "features": [feature.to_json() for feature in self.features],
            **({} if (codebook := codebook_of(self.features)) is None else {"labels": codebook.to_json()}),
            "missing": self.missing,
            "root": self._node_json(self.root),
        }

    def _node_json(self, node) -> dict:
        if isinstance(node, Leaf):
            return node.to_json(self.classes, self.features)
        return {
            "split": node.split.to_json(self.features),
            "left": self._node_json(node.left),
            "right": self._node_json(node.right),
        }

    @classmethod
    def from_json(cls, facts: dict, place: str = "") -> "Tree":
        """Return the tree of its JSON form.

        Parameters
        ----------
        facts : dict
            An object of the schema "odtc.tree/1".
        place : str
            The place of the tree in its file, for messages.

        Returns
        -------
        Tree

        Raises
        ------
        TreeError
            If the schema is another, or something is absent or cannot be; the message names its place.
        """
        if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
            got = facts.get("schema") if isinstance(facts, dict) else facts
            more = "; `odtc show FILE --tree N` shows one tree of a pool" if got == "odtc.pool/1" else ""
            came = "an object without a schema" if isinstance(facts, dict) and got is None else show_value(got)
            raise TreeError(
                f"expected a tree of schema {SCHEMA!r}{f' at {place}' if place else ''}, got {came}"
                f"{more or '; a tree is what `odtc fit`, `decode` and `import` write as STEM.tree.json'}"
            )
        try:
            validate(facts, _shape, place)
            codebook = Codebook(**facts["labels"]) if "labels" in facts else None
            features = tuple(replace(Feature.from_json(f), codebook=codebook) for f in facts["features"])
            classes = tuple(facts["classes"])

            def node(part):
                if "label" in part:
                    return Leaf.from_json(part, classes, features)
                return Branch(split_from_json(part["split"], features), node(part["left"]), node(part["right"]))

            task = facts.get("task", CLASSIFICATION)
            about = (
                facts["target"],
                facts["missing"],
                task,
                facts.get("goal", ""),
                facts.get("label_type", label_types.TEXT),
            )
            return cls(node(facts["root"]), features, classes, *about)
        except (SchemaError, RecursionError) as problem:
            raise TreeError(f"the tree is damaged: {explain_error(problem)}") from None


def _shape(facts, place: str) -> dict:
    """Return the shape of a tree in JSON (odtc.base.json_schema)."""
    classes = facts.get("classes")
    like = facts.get("label_type", label_types.TEXT)
    named = like in LABEL_TYPES and isinstance(classes, list) and all(isinstance(name, str) for name in classes)
    if named and like != label_types.TEXT and label_type_of(classes, False, like) != like:
        raise SchemaError(
            f"expected classes of the type {like!r}{f' at {place}' if place else ''}, got {show_value(classes)}"
        )

    def node(value, place):
        if not isinstance(value, dict) or "label" not in value:
            return {"split": split_shape, "left": node, "right": node}
        return leaf_shape(value, place, classes)

    return {
        "classes": [TEXT],
        "features": [feature_shape],
        "labels?": codebook_shape,
        "target": TEXT,
        "task?": TEXT,
        "goal?": ("", "max"),
        "label_type?": LABEL_TYPES,
        "missing": POLICIES,
        "root": node,
    }


def tree_of(given) -> Tree:
    """Return a Tree, or the tree of a fitted estimator, a Pipeline that ends with one, the best estimator of a search
    of scikit-learn, or a Fit. Raises TreeError for anything else.

    Columns that a Pipeline makes have the names that its other steps give them.
    """
    given = getattr(given, "best_estimator_", given)
    if getattr(given, "steps", None):
        return _of_pipeline(given)
    tree = given if isinstance(given, Tree) else getattr(given, "tree_", getattr(given, "tree", None))
    if not isinstance(tree, Tree):
        hint = (
            "`odtc.import_tree` makes a tree of scikit-learn one of ours"
            if tree is not None
            else "call fit first"
            if hasattr(given, "fit")
            else "read one with odtc.read_tree"
        )
        raise TreeError(f"expected a tree of odtc, a fit or a fitted estimator, got {type(given).__name__}; {hint}")
    return tree


def steps_before_tree(given) -> list[str]:
    """Return the names of the types of the steps that a Pipeline applies to the rows before its tree."""
    steps = getattr(getattr(given, "best_estimator_", given), "steps", [])
    return [type(step).__name__ for _, step in steps[:-1] if step not in (None, "passthrough")]


def _of_pipeline(pipeline) -> Tree:
    tree = tree_of(pipeline[-1])
    try:
        found = pipeline[:-1].get_feature_names_out()
    except (AttributeError, ValueError):  # a step has no names, or is not fitted
        return tree
    names = [] if found is None else [str(name) for name in found]  # None if no step is before the tree
    if len({*names}) != len(tree.features) or len(names) != len(tree.features):
        return tree
    return replace(tree, features=tuple(replace(one, name=name) for one, name in zip(tree.features, names)))


def read_tree(path) -> Tree:
    """Read a tree from a JSON file that `odtc fit` or `odtc decode` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    Tree

    Raises
    ------
    TreeError
        If the file cannot be read or contains no tree.

    Examples
    --------
    >>> import json, odtc
    >>> fitted = odtc.fit("examples/monks/monks-1.csv", depth=1, encoding="onehot")
    >>> with open("monks.tree.json", "w") as file:
    ...     json.dump(fitted.tree.to_json(), file)
    >>> odtc.read_tree("monks.tree.json").n_leaves
    2
    """
    facts = read_object(path, "tree", TreeError)
    try:
        return Tree.from_json(facts)
    except TreeError as problem:
        raise TreeError(f"{path}: {problem}") from None
