"""ONNX: each split is computed by plain operators in 64 bits, and a tree of `ai.onnx.ml` finds the leaf from the
results.

There is one input per column that the tree uses, of shape (rows, 1), with the column's name, followed by _in if an
output has this name: double for a number, NaN if it is missing; text for the others, the name of the level ("true" and
"false" too), empty or a word such as NA if it is missing. Outputs are `label` (rows,), of the type of the labels
(LABELS), and `probabilities`, float (rows, classes), the shares of the training weight in the leaf; for a policy they
are not probabilities, and the output is called `shares_of_votes`. If the tree refuses a missing cell, the label is
empty, the least int64, NaN or false, and the shares are NaN. A tree whose leaves predict numbers has one output
`prediction`, double (rows,), NaN if it refuses the row.
"""

import numpy as np

from odtc.data.dataset import NUMERIC
from odtc.data.label_types import BOOL, FLOAT, INT, TEXT
from odtc.data.reading_spec import missing_texts
from odtc.data.splits import Missing, Oblique, Subset, Threshold
from odtc.data.task import TASKS
from odtc.trees.exporting import need
from odtc.trees.places import Question
from odtc.trees.tree import Leaf, Tree

NAME = "onnx"
SUMMARY = "ONNX, for onnxruntime and the like: numbers as double, levels as text"
SUFFIX = "onnx"
NUMBERS = LINES = True
# By the type of the labels: the element type, the array's, and the label of a row that the tree refuses.
LABELS = {
    TEXT: ("STRING", object, ""),
    INT: ("INT64", np.int64, np.iinfo(np.int64).min),
    FLOAT: ("DOUBLE", np.float64, np.nan),
    BOOL: ("BOOL", np.bool_, False),
}


def write(tree: Tree) -> bytes:
    onnx = need("onnx", "--to onnx")
    tree, numbers = tree.with_answers()
    helper = onnx.helper
    graph = _Graph(helper, onnx.TensorProto, onnx.numpy_helper, tree, numbers)
    graph.ask()
    model = helper.make_model(
        helper.make_graph(graph.nodes, "odtc", graph.inputs, graph.outputs, graph.constants),
        producer_name="odtc",
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
        ir_version=8,
    )
    model.doc_string = tree.target if numbers else f"{tree.target}: {', '.join(tree.classes)}"
    onnx.checker.check_model(model)
    return model.SerializeToString()


def predict(content: bytes, tree: Tree, X: np.ndarray) -> list:
    """Return the predictions of onnxruntime for rows coded like `Dataset.X`: names of classes, or numbers."""
    runtime = need("onnxruntime", "the check of --to onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    cells = {}
    for entry, at in zip(session.get_inputs(), _places(tree)):
        feature, column = tree.features[at], X[:, at]
        if feature.kind != NUMERIC:
            words = dict(enumerate(feature.levels))  # any other text is no level
            texts = ["" if np.isnan(one) else words.get(int(one), "?".join(["", *feature.levels])) for one in column]
            column = np.array(texts, dtype=object)
        cells[entry.name] = column[:, None]
    found = session.run(None, cells)[0].tolist()
    return found if TASKS.get(tree.task).NUMBERS else [dict(zip(tree.labels, tree.classes)).get(one) for one in found]


def _places(tree: Tree) -> list[int]:
    """Return the positions of the columns that are inputs, in their order."""
    return sorted(tree.used) or list(range(len(tree.features)))


class _Graph:
    """The operators of a tree, as they are collected."""

    def __init__(self, helper, types, arrays, tree: Tree, numbers: tuple[float, ...] = ()):
        self.helper, self.types, self.arrays, self.tree, self.numbers = helper, types, arrays, tree, numbers
        shares = "probabilities" if TASKS.get(tree.task).CLASSES else "shares_of_votes"
        self.results = ("prediction",) if numbers else ("label", shares)
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []
        self.mark = "odtc_"  # prefix of every name that is not that of a column
        while any(feature.name.startswith(self.mark) for feature in tree.features):
            self.mark += "_"
        self.columns = {place: self._column(place) for place in _places(tree)}

    def ask(self) -> None:
        """Add the results of all splits as columns, the leaf that they lead to, and its prediction."""
        tree, op, types = self.tree, self._op, self.types
        answers, records, leaves, lines, rows, stack = [], [], [], [], [], [(tree.root, None)]

        def place(*record):
            records.append(list(record))
            return len(records) - 1

        def hang(number, above):
            if above is not None:
                records[above[0]][above[1]] = number

        while stack:
            node, above = stack.pop()
            if isinstance(node, Leaf):
                hang(place("LEAF", 0, 0, 0, len(leaves)), above)
                leaves.append(self.numbers[node.label] if self.numbers else tree.labels[node.label])
                lines.append(node.line)
                total = sum(node.counts)
                rows.append(np.array(node.counts) / total if total else np.eye(len(tree.classes))[node.label])
                continue
            for feature in node.split.measured if tree.missing != "separate" else ():
                answers.append(op("Cast", op("IsNaN", self.columns[feature]), to=types.FLOAT))
                refuse = place("LEAF", 0, 0, 0, -1)
                number = place("BRANCH_GT", len(answers) - 1, refuse, 0, 0)
                hang(number, above)
                above = (number, 3)
            answers.append(op("Cast", self._answer(node.split), to=types.FLOAT))
            number = place("BRANCH_GT", len(answers) - 1, 0, 0, 0)
            hang(number, above)
            stack += [(node.right, (number, 3)), (node.left, (number, 2))]
        if not answers:
            answers.append(op("Cast", op("IsNaN", next(iter(self.columns.values()))), to=types.FLOAT))
        for record in records:
            if record[4] == -1:
                record[4] = len(leaves)
        found = self._routed(op("Concat", *answers, axis=1), _root_first(records))
        leaf = op("Reshape", op("Cast", found, to=types.INT64), self._constant(np.array([-1])))
        if self.numbers:
            found = self._of_lines(op("Gather", self._constant(np.array([*leaves, np.nan])), leaf, axis=0), leaf, lines)
            self.nodes.append(self.helper.make_node("Identity", [found], ["prediction"]))
            self.outputs.append(self.helper.make_tensor_value_info("prediction", types.DOUBLE, ["rows"]))
            return
        kind, dtype, refused = LABELS[tree.label_type]
        labels = self._constant(np.array([*leaves, refused], dtype=dtype))
        self.nodes.append(self.helper.make_node("Gather", [labels, leaf], ["label"], axis=0))
        shares = np.array([*rows, np.full(len(tree.classes), np.nan)], dtype=np.float32)
        self.nodes.append(self.helper.make_node("Gather", [self._constant(shares), leaf], [self.results[1]], axis=0))
        self.outputs += [
            self.helper.make_tensor_value_info("label", getattr(types, kind), ["rows"]),
            self.helper.make_tensor_value_info(self.results[1], types.FLOAT, ["rows", len(tree.classes)]),
        ]

    def _column(self, place: int) -> str:
        """Return a column coded like `Dataset.X`: double (rows, 1)."""
        feature = self.tree.features[place]
        others = {*self.results, *(other.name for other in self.tree.features if other is not feature)}
        name = feature.name
        while name in others:
            name += "_in"
        kind = self.types.DOUBLE if feature.kind == NUMERIC else self.types.STRING
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, ["rows", 1]))
        question = Question("number", feature)
        if feature.kind == NUMERIC:
            nan = self._constant(np.array(np.nan))
            for mark in question.mark_numbers:
                name = self._op("Where", self._op("Equal", name, self._constant(np.array(mark))), nan, name)
            return name
        missing = dict.fromkeys((*missing_texts(feature.layout), *question.marks))
        codes = [*map(float, range(len(feature.levels))), *[float("nan")] * len(missing)]
        coded = self._op(
            "LabelEncoder",
            name,
            domain="ai.onnx.ml",
            keys_strings=[*feature.levels, *missing],
            values_floats=codes,
            default_float=-1.0,
        )
        return self._op("Cast", coded, to=self.types.DOUBLE)

    def _answer(self, split) -> str:
        """Return bool (rows, 1), true if the split sends a row left."""
        op, number = self._op, lambda value: self._constant(np.array(value, dtype=np.float64))
        if isinstance(split, Threshold):
            return op("LessOrEqual", self.columns[split.feature], number(split.threshold))
        if isinstance(split, Missing):
            return op("IsNaN", self.columns[split.feature])
        if isinstance(split, Subset):
            equal = [op("Equal", self.columns[split.feature], number(value)) for value in split.values] or [
                op("And", absent := op("IsNaN", self.columns[split.feature]), op("Not", absent))
            ]
            found = equal[0]
            for other in equal[1:]:
                found = op("Or", found, other)
            return found
        assert isinstance(split, Oblique)
        total = number(0.0)
        for term in split.terms:
            column = self.columns[term.feature]
            held = (
                column
                if term.level is None
                else op("Cast", op("Equal", column, number(term.level)), to=self.types.DOUBLE)
            )
            total = op("Add", total, op("Mul", number(term.weight), held))
        return op("LessOrEqual", total, number(split.bound))

    def _of_lines(self, found: str, leaf: str, lines) -> str:
        """Return double (rows,): the numbers `found` of the leaves, or of those with a line the number on it."""
        op = self._op
        intercepts = self._constant(np.array([line.intercept if line else 0.0 for line in lines] + [0.0]))
        for feature in sorted({line.feature for line in lines if line}):
            held = [bool(line and line.feature == feature) for line in lines]
            slopes = self._constant(np.array([line.slope if own else 0.0 for line, own in zip(lines, held)] + [0.0]))
            cell = op("Reshape", self.columns[feature], self._constant(np.array([-1])))
            at = op("Mul", op("Gather", slopes, leaf, axis=0), cell)
            at = op("Add", op("Gather", intercepts, leaf, axis=0), at)
            own = op("Gather", self._constant(np.array([*held, False])), leaf, axis=0)
            if self.tree.missing == "separate":
                own = op("And", own, op("Not", op("IsNaN", cell)))
            found = op("Where", own, at, found)
        return found

    def _routed(self, answers: str, records) -> str:
        """Return float (rows, 1): the leaf to which the results of splits, float (rows, splits), lead."""
        modes, features, true, false, leaf = map(list, zip(*records))
        ends = [number for number, mode in enumerate(modes) if mode == "LEAF"]
        return self._op(
            "TreeEnsembleRegressor",
            answers,
            domain="ai.onnx.ml",
            n_targets=1,
            nodes_treeids=[0] * len(records),
            nodes_nodeids=list(range(len(records))),
            nodes_modes=modes,
            nodes_featureids=features,
            nodes_truenodeids=true,
            nodes_falsenodeids=false,
            nodes_values=[0.5] * len(records),
            target_treeids=[0] * len(ends),
            target_nodeids=ends,
            target_ids=[0] * len(ends),
            target_weights=[float(leaf[number]) for number in ends],
        )

    def _op(self, kind: str, *given: str, domain: str = "", **attributes) -> str:
        name = f"{self.mark}{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(given), [name], domain=domain, **attributes))
        return name

    def _constant(self, values: np.ndarray) -> str:
        name = f"{self.mark}c{len(self.constants)}"
        if values.dtype == object:
            self.constants.append(
                self.helper.make_tensor(name, self.types.STRING, values.shape, [text.encode() for text in values])
            )
        else:
            self.constants.append(self.arrays.from_array(values, name))
        return name


def _root_first(records) -> list:
    """Return the records renumbered so that the root, to which no other leads, is number 0."""
    below = {child for mode, _, true, false, _ in records if mode != "LEAF" for child in (true, false)}
    root = next(number for number in range(len(records)) if number not in below)
    order = [root, *(number for number in range(len(records)) if number != root)]
    new = {old: number for number, old in enumerate(order)}
    return [
        [mode, feature, new[true] if mode != "LEAF" else 0, new[false] if mode != "LEAF" else 0, leaf]
        for mode, feature, true, false, leaf in (records[old] for old in order)
    ]
