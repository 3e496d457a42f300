"""Trees of other programs and of other runs, converted to the columns of a dataset, with the rows in their leaves
counted again.

scikit-learn (its documentation, "sklearn.tree", and `Tree` in sklearn/tree/_tree.pyx) rounds a number to 32 bits and
sends it left if it is <= the threshold, a missing one as the node specifies. A threshold here is compared in 64 bits,
so it becomes the largest number that scikit-learn sends left: every number then goes the same way, not only the numbers
in the data.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from odtc.base.text import did_you_mean, show_number
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import BOOLEAN, NUMERIC, Dataset
from odtc.data.reading import read, read_arrays
from odtc.data.reading_spec import CLASSIFICATION
from odtc.data.splits import Missing, Split, Subset, Threshold
from odtc.data.table.coded_columns import RowsOf
from odtc.data.task import TASKS
from odtc.data.tasks import median, policy, regression, survival
from odtc.errors import ChoiceError, TreeError
from odtc.trees.tree import Branch, Leaf, Node, Tree, read_tree

# How a pickle or a compressed one begins (pickle from protocol 2 on, gzip, zlib, bzip2, xz, lzma, lz4).
PICKLES = (b"\x80", b"\x1f\x8b", b"\x78", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00", b"\x04\x22\x4d\x18")
BRANCH_LINE = re.compile(r"(?P<column>.+) (?P<sign><=|>) +(?P<number>-?(?:\d+(?:\.\d*)?|inf))$", re.IGNORECASE)
NUMBER_LINE = re.compile(r"value: \[(?P<number>-?\d+(?:\.\d*)?)\]$")
LEAF_LINE = re.compile(r"(?:weights: \[[^\]]*\] )?class: (?P<label>.*)$")
TEXT_LINE = re.compile(r"(?P<bars>(?:\|\s+)*)\|-+ (?P<words>.*)$")


@value_class
class Comparison:
    """A node that sends a row left if x[column] <= threshold in 32 bits; a threshold of infinity separates known cells
    from missing ones. `slack` is how far the threshold may be off if its text was rounded; `absent_left` is whether
    missing cells go left, None if that is not known."""

    column: str
    threshold: float
    left: "Comparison | str | float"  # a leaf is the name of its class, or the number that it predicts
    right: "Comparison | str | float"
    slack: float = 0.0
    absent_left: bool | None = None


def import_tree(source, data, y=None, **reading) -> Tree:
    """Convert a tree of another program to the features and classes of a data set, and count its rows in the leaves.

    Predictions equal scikit-learn's for every number. A leaf that predicts a number keeps it, even if the mean, the
    median or the risk of its rows in the data set differs. For a policy, the classes of the tree are the actions; for
    survival, the numbers of a regressor are risks. For a median, the numbers of the tree become classes, in addition
    to the numbers of the data.

    Parameters
    ----------
    source : DecisionTreeClassifier, DecisionTreeRegressor, Tree or path
        A fitted estimator of scikit-learn, also in a Pipeline after a ColumnTransformer that chooses columns or codes
        levels, a tree of another run, or a file with one of odtc's trees in JSON or with the text of `export_text(…,
        feature_names=…)`. A column of the estimator is the feature of this name, or of this position if the estimator
        has no names; "feature=level" and "feature_level" are the 0/1 column of a level.
    data : Dataset, path, data frame, or array (rows, columns)
    y : array (rows,) or None
        The labels of the rows of an array, or of a data frame without a target.
    **reading
        Options of `odtc.read` for data that is not a Dataset: `target`, `task`, `missing`, …

    Returns
    -------
    Tree

    Raises
    ------
    TreeError
        If the tree has no meaning on this data set.
    DataError, ChoiceError
        If the data cannot be read.

    Examples
    --------
    >>> import odtc
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> odtc.import_tree(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), X, y).n_leaves
    3
    """
    dataset = _dataset_of(data, y, reading)
    source = _source_of(source, dataset)
    try:
        root = _root_of(source, dataset)
        if dataset.task == median.NAME:
            dataset = median.with_answers(dataset, _answers_of(root))
        root, task = _counted(root, dataset, np.arange(dataset.n_rows)), TASKS.get(dataset.task)
    except RecursionError:
        raise TreeError("expected a tree of at most some hundred levels, got a deeper one") from None
    return Tree(
        root,
        dataset.features,
        dataset.classes,
        dataset.target,
        dataset.missing,
        dataset.task,
        policy.MOST if task.terms(dataset.source).get("goal") == policy.MOST else "",
        dataset.label_type,
    )


def _dataset_of(data, y, reading: dict) -> Dataset:
    """Return the data set of the arguments of `import_tree`; raises ChoiceError for reading options with a Dataset."""
    if not isinstance(data, Dataset):
        return read(data, **reading) if y is None else read_arrays(data, y, **reading)
    if y is None and not reading:
        return data
    raise ChoiceError("labels and reading options cannot be given with a Dataset, which has its own")


def _source_of(source, dataset: Dataset):
    """Return the tree of another program, read if it is in a file; raises TreeError if the data was read for another
    task."""
    if isinstance(source, (str, Path)):
        source = read_foreign(source)
    if dataset.task not in tasks_of_source(source):
        raise TreeError(
            f"expected a tree for {option('task', dataset.task)}, as {dataset.name!r} was read for, got one for "
            f"{option('task', task_of_source(source))}; read the data for that, or fit a tree again"
        )
    return source


def _root_of(source, dataset: Dataset) -> Node:
    """Return the nodes of a tree, an estimator or comparisons over the features and classes of a data set."""
    if isinstance(source, Tree):
        return _moved(source.root, source, dataset)
    nodes = source if isinstance(source, (Comparison, str, float)) else _of_estimator(source, dataset)
    return _laid(nodes, dataset, np.arange(dataset.n_rows))


def read_foreign(path, trust: bool = False):
    """Read a file for `import_tree`. A pickle is opened only with `trust`, because opening one runs any code that its
    author put into it. Raises TreeError."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise TreeError(f"cannot read the tree {str(path)!r}: {problem.strerror}") from None
    head = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:2]
    if head.startswith(b"{"):
        return read_tree(path)
    if head == b"|-":
        return _of_text(data.decode("utf-8-sig", "replace"), str(path))
    if not data.startswith(PICKLES):
        raise TreeError(
            f"expected a tree of odtc in JSON, the text of scikit-learn's export_text, or a pickled estimator in "
            f"{str(path)!r}, got none of them"
        )
    if not trust:
        raise TreeError(
            f"{str(path)!r} is a pickle, and opening a pickle runs the code in it: add --trust if it comes from you, "
            "or print the tree with export_text(tree, feature_names=…, decimals=17) and import that text"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as problem:  # whatever the classes that it names raise
        raise TreeError(
            f"cannot open the pickle {str(path)!r} ({type(problem).__name__}: {problem}); print the tree with "
            f"export_text instead"
        ) from None


def last_left(threshold: float) -> float:
    """Return the largest double that is <= threshold when rounded to 32 bits (ties to even)."""
    low = np.float32(threshold)
    if float(low) > threshold:
        low = np.nextafter(low, np.float32(-np.inf))
    high = np.nextafter(low, np.float32(np.inf))
    if not np.isfinite(high):
        return float(low)
    middle = (float(low) + float(high)) / 2
    return middle if np.float32(middle) == low else float(np.nextafter(middle, -np.inf))


def _of_estimator(estimator, dataset: Dataset):
    """Return the nodes of a fitted tree of scikit-learn, recognized by its attributes, so that scikit-learn need not
    be imported."""
    estimator, columns = _behind_choice(estimator)
    fitted, classes = getattr(estimator, "tree_", None), getattr(estimator, "classes_", None)
    if fitted is None or (classes is None and not _answers_numbers(estimator)):
        raise TreeError(
            "expected a fitted DecisionTreeClassifier or DecisionTreeRegressor of scikit-learn, got "
            f"{type(estimator).__name__}"
        )
    if fitted.n_outputs != 1:
        raise TreeError(f"expected a tree that predicts one column, got one that predicts {fitted.n_outputs}")
    columns = getattr(estimator, "feature_names_in_", None) if columns is None else columns
    if columns is None:
        if estimator.n_features_in_ != len(dataset.features):
            raise TreeError(
                f"expected the columns of {dataset.name!r}, {len(dataset.features)} of them, got a tree fitted on "
                f"{estimator.n_features_in_} columns without names; fit it on a DataFrame, so that it knows their names"
            )
        columns = [feature.name for feature in dataset.features]
    absent = getattr(fitted, "missing_go_to_left", np.zeros(fitted.node_count, bool))

    def node(t):
        if fitted.children_left[t] < 0 and classes is None:
            return float(fitted.value[t, 0, 0])
        if fitted.children_left[t] < 0:
            return _label(classes[int(fitted.value[t, 0].argmax())], dataset)
        return Comparison(
            str(columns[fitted.feature[t]]),
            float(fitted.threshold[t]),
            node(fitted.children_left[t]),
            node(fitted.children_right[t]),
            absent_left=bool(absent[t]),
        )

    return node(0)


def tasks_of_source(source) -> tuple[str, ...]:
    """Return the tasks for which a tree of `read_foreign`, or an estimator, may be imported, its own first. Numbers of
    another program may be means, medians or risks; a tree of odtc states which, and a mean may serve as a median."""
    task = task_of_source(source)
    if task == CLASSIFICATION:
        return task, policy.NAME
    if task not in (regression.NAME, median.NAME):
        return (task,)
    both = (task, *{regression.NAME, median.NAME} - {task})
    return both if isinstance(source, Tree) else (*both, survival.NAME)


def task_of_source(source) -> str:
    """Return the task of a tree that `read_foreign` has read, or of an estimator: the task of its leaves."""
    if isinstance(source, Tree):
        return source.task
    while isinstance(source, Comparison):
        source = source.left
    numbers = isinstance(source, float) or (not isinstance(source, str) and _answers_numbers(source))
    return regression.NAME if numbers else CLASSIFICATION


def _answers_numbers(estimator) -> bool:
    """Return whether an estimator, or the last one of a Pipeline, is a fitted tree whose leaves predict numbers."""
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    return hasattr(last, "tree_") and not hasattr(last, "classes_")


def _behind_choice(estimator) -> tuple:
    """Return (the tree, the names of its columns or None) of a Pipeline that chooses columns, or codes levels as 0/1
    columns, before a tree; for any other estimator itself."""
    steps = [step for _, step in getattr(estimator, "steps", [])]
    if not steps:
        return estimator, None
    parts = [part for _, part, columns in getattr(steps[0], "transformers_", []) if len(columns)]
    kinds = [part if isinstance(part, str) else type(part).__name__ for part in parts]
    # A FunctionTransformer without a function is what scikit-learn makes of "passthrough".
    plain = [
        kind in ("passthrough", "drop", "OneHotEncoder") or (kind == "FunctionTransformer" and part.func is None)
        for kind, part in zip(kinds, parts)
    ]
    if len(steps) != 2 or not kinds or not all(plain):
        words = ", ".join(type(step).__name__ for step in steps)
        raise TreeError(
            "expected a tree, or a Pipeline of a ColumnTransformer (passthrough and OneHotEncoder) and a tree, got a "
            f"Pipeline of {words}; import only its tree, fitted on the columns of the data"
        )
    columns = [str(name) for name in steps[0].get_feature_names_out()]
    if steps[0].verbose_feature_names_out:
        columns = [name.partition("__")[2] for name in columns]
    return steps[1], columns


def _of_text(text: str, place: str):
    """Return the nodes from the output of export_text; raises TreeError with the line."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            found = TEXT_LINE.match(line.rstrip())
            if found is None:
                raise TreeError(f"{place}, line {number}: expected a line of export_text, got {line.strip()[:60]!r}")
            lines.append((number, found["bars"].count("|"), found["words"]))
    at = 0

    def branch(depth, sign):
        nonlocal at
        number, level, words = lines[at] if at < len(lines) else (len(text.splitlines()), -1, "the end of the file")
        found = BRANCH_LINE.match(words)
        if level != depth or found is None or found["sign"] != sign:
            hint = "; print it with a larger max_depth" if words.startswith("truncated branch") else ""
            raise TreeError(
                f"{place}, line {number}: expected 'COLUMN {sign} NUMBER' or 'class: LABEL' at depth {depth}, got "
                f"{words[:60]!r}{hint}"
            )
        at += 1
        return found["column"].rstrip(), found["number"]

    def node(depth):
        nonlocal at
        leaf = LEAF_LINE.match(lines[at][2]) if at < len(lines) and lines[at][1] == depth else None
        if leaf:
            at += 1
            return leaf["label"]
        number = NUMBER_LINE.match(lines[at][2]) if at < len(lines) and lines[at][1] == depth else None
        if number:
            at += 1
            return float(number["number"])
        column, number = branch(depth, "<=")
        left = node(depth + 1)
        if branch(depth, ">") != (column, number):
            raise TreeError(f"{place}, line {lines[at - 1][0]}: expected the other side of {column!r} <= {number}")
        _, _, decimals = number.partition(".")
        return Comparison(
            column, float(number), left, node(depth + 1), slack=0.5 * 10.0 ** -len(decimals) if number != "inf" else 0.0
        )

    root = node(0)
    if at < len(lines):
        raise TreeError(f"{place}, line {lines[at][0]}: expected the end of the tree, got {lines[at][2][:60]!r}")
    return root


def _laid(node, dataset: Dataset, rows: np.ndarray) -> Node:
    """Return the nodes of scikit-learn as nodes of odtc, without counts; `rows` are those that reach this node."""
    if isinstance(node, (str, float)):
        return _leaf(node, dataset)
    asked = _asked(node, dataset, rows)
    if not isinstance(asked, tuple):
        return _laid(asked, dataset, rows)
    split, left, right = asked
    goes = split.left(RowsOf(dataset.X, rows))
    return Branch(split, _laid(left, dataset, rows[goes]), _laid(right, dataset, rows[~goes]))


def _leaf(answer: str | float, dataset: Dataset) -> Leaf:
    """Return a leaf that predicts a class, or a number, which is then the only entry of its sums (`_counted`)."""
    if isinstance(answer, float):
        if dataset.task == survival.NAME and not 0 < answer < np.inf:
            raise TreeError(
                "expected a number above 0 in each leaf, the risk of an event relative to all rows, got "
                f"{show_number(answer)}; import a tree of risks, or fit one with odtc"
            )
        return Leaf(0, sums=(answer,))
    return Leaf(dataset.classes.index(_label(answer, dataset)))


def _asked(node: Comparison, dataset: Dataset, rows: np.ndarray):
    """Return (split, left, right) of a comparison, or its one child if all go the same way."""
    place, level = _place(node.column, dataset)
    numeric = dataset.features[place].kind == NUMERIC
    if level is not None:  # a 0/1 column: 1 if the cell is this level
        zero, one = (node.left if value <= node.threshold else node.right for value in (0, 1))
        return zero if zero is one else (Subset(place, (level,)), one, zero)
    absent = np.isnan(dataset.X[:, place]).any()
    if absent and node.absent_left is None:
        raise TreeError(
            f"the text does not say where the tree sends the missing cells of {node.column!r}; import the pickled "
            f"estimator, or leave them out"
        )
    if node.threshold == np.inf:
        return node.left if node.absent_left else (Missing(place), node.right, node.left)
    if absent and node.absent_left:  # at our splits they go right, so a split on missing cells comes first
        return Missing(place), node.left, replace(node, absent_left=False)
    cells = dataset.X[rows, place] if numeric else _numbers(place, dataset)
    low, high = last_left(node.threshold - node.slack), last_left(node.threshold + node.slack)
    unsure = cells[(cells > low) & (cells <= high)]
    if unsure.size:
        raise TreeError(
            f"the text rounds the threshold of {node.column!r} to {show_number(node.threshold)}, so the cell "
            f"{show_number(unsure[0])} may go either way; print the tree with export_text(…, decimals=17)"
        )
    last = last_left(node.threshold)
    return Threshold(place, last) if numeric else _codes_below(place, cells, last), node.left, node.right


def _moved(node: Node, tree: Tree, dataset: Dataset) -> Node:
    """Return a node of one of odtc's trees over the features and classes of this dataset, by their names."""
    if isinstance(node, Leaf):
        return _leaf(tree.answer(node), dataset)
    old = tree.features[node.split.feature]
    place = next((j for j, feature in enumerate(dataset.features) if feature.name == old.name), None)
    if place is None:
        raise TreeError(_no_column(old.name, dataset))
    return Branch(
        _moved_split(node.split, old, place, dataset),
        _moved(node.left, tree, dataset),
        _moved(node.right, tree, dataset),
    )


def _moved_split(split: Split, old, place: int, dataset: Dataset) -> Split:
    new = dataset.features[place]
    if isinstance(split, Missing):
        return Missing(place)
    if isinstance(split, Subset):
        values = [_level(dataset, place, old.show(value)) for value in split.values]
        return Subset(place, tuple(value for value in values if value is not None))  # no row has the others
    if new.kind == NUMERIC:
        return Threshold(place, split.threshold)
    return _codes_below(place, _numbers(place, dataset), split.threshold)


def _numbers(place: int, dataset: Dataset) -> np.ndarray:
    """Return the levels of a feature as numbers, in code order; raises TreeError for words."""
    feature = dataset.features[place]
    values = [0.0, 1.0] if feature.kind == BOOLEAN else list(map(_number, feature.levels))
    if None in values:
        raise TreeError(
            f"the tree compares the column {feature.name!r} with a number, but its cells in {dataset.name!r} are "
            f"words; fit a tree on 0/1 columns named {feature.name + '=' + feature.levels[0]!r}, …"
        )
    return np.array(values)


def _codes_below(place: int, values: np.ndarray, threshold: float) -> Subset:
    return Subset(place, tuple(map(float, np.flatnonzero(values <= threshold))))


def _answers_of(node: Node) -> list[float]:
    """Return the numbers of the leaves below a node that `_leaf` made."""
    return list(node.sums) if isinstance(node, Leaf) else _answers_of(node.left) + _answers_of(node.right)


def _counted(node: Node, dataset: Dataset, rows: np.ndarray) -> Node:
    """Return the nodes with these rows of the data set in their leaves."""
    if isinstance(node, Leaf):
        y, K, task = dataset.y[rows], len(dataset.classes), TASKS.get(dataset.task)
        label, sums = node.label, tuple(map(float, dataset.sums[rows].sum(axis=0)))
        if task.MOMENTS:
            sums = task.keeping(node.sums[0], dataset.sums[rows])
        elif task.NUMBERS:
            label = dataset.classes.index(show_number(node.sums[0] + 0.0))
        return Leaf(
            label,
            tuple(map(float, np.bincount(y, dataset.weight[rows], K))),
            tuple(map(int, np.bincount(y, dataset.copies[rows], K))),
            sums,
            task.curve(dataset.sums[rows]) if len(rows) else (),
        )
    left = node.split.left(RowsOf(dataset.X, rows))
    return Branch(node.split, _counted(node.left, dataset, rows[left]), _counted(node.right, dataset, rows[~left]))


def _place(column: str, dataset: Dataset) -> tuple[int, float | None]:
    """Return (feature, level) for a column's name: level None for the feature itself, otherwise the value in `X` whose
    0/1 column it is."""
    found = [(place, None) for place, feature in enumerate(dataset.features) if feature.name == column]
    found = found or [
        (place, level)
        for place, feature in enumerate(dataset.features)
        for mark in "=_"
        if column.startswith(feature.name + mark)
        and (level := _level(dataset, place, column[len(feature.name) + 1 :])) is not None
    ]
    if len(found) > 1:
        names = " or ".join(repr(dataset.features[place].name) for place, _ in found)
        raise TreeError(
            f"the column {column!r} of the tree may be a level of {names}; name the 0/1 columns FEATURE=LEVEL"
        )
    if not found:
        raise TreeError(_no_column(column, dataset))
    return found[0]


def _no_column(column: str, dataset: Dataset) -> str:
    names = [feature.name for feature in dataset.features]
    return (
        f"the tree needs a column {column!r}, which {dataset.name!r} does not have{did_you_mean(column, names)}; "
        "expected a column of the data, or FEATURE=LEVEL with a level that occurs in it"
    )


def _level(dataset: Dataset, place: int, text: str) -> float | None:
    """Return the value in `X` of a level by its text, None if no cell has it; 3.0 is 3, True is true."""
    feature, number = dataset.features[place], _number(text)
    if feature.kind == NUMERIC:
        return number if number is not None and (dataset.X[:, place] == number).any() else None
    if _word(text, feature.levels) in feature.levels:
        return float(feature.levels.index(_word(text, feature.levels)))
    return next(
        (float(code) for code, level in enumerate(feature.levels) if number is not None and _number(level) == number),
        None,
    )


def _label(label, dataset: Dataset) -> str:
    """Return the class of the dataset for a label of an estimator: by its text, or as a number."""
    if (text := _word(str(label), dataset.classes)) in dataset.classes:
        return text
    number = _number(text)
    for name in dataset.classes:
        if number is not None and _number(name) == number:
            return name
    raise TreeError(
        f"the tree predicts the class {str(label)!r}, which the target {dataset.target!r} of {dataset.name!r} has "
        f"not: {', '.join(dataset.classes[:10])}"
    )


def _word(text: str, known: tuple[str, ...]) -> str:
    """Return a label; Python's True and False as "true" and "false", unless the data file has them with capitals."""
    return text.lower() if text in ("True", "False") and text not in known else text


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
