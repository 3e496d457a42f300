"""Sums over splits that depend on the outcomes of a row, with about one entry per original feature.

For each row i, models of trees over binary splits sum one value per split f: v_f0 if the row has outcome 0, v_f1 if it
has outcome 1. Written by splits, the sum has one entry per split. But the splits on one feature have only few different
combinations of outcomes, here called "kinds": each level is one kind, and thresholds θ_1 < … < θ_T have T + 1 kinds,
because a number above θ_r is also above all smaller thresholds. Let x̄ be the outcomes of a usual row, which has the
most frequent kind of every feature. Written by features,

    Σ_f v_f,x_if = u + Σ_{features in which i is not usual} s_a        a: the kind of i there
    u = Σ_f v_f,x̄_f;   s_a = s_c + Σ_{f: a and c differ} ± (v_f1 - v_f0)      c next to a, towards x̄

where u and s are additional variables. The constraints of each data row get short, and only few constraints are needed
to define u and s. This is only a substitution: the meaning of all other variables and the value of the relaxation stay
the same.
"""

from collections.abc import Iterator

import numpy as np

from odtc.algorithms.equal_rows import equal_rows
from odtc.base.value_class import value_class
from odtc.data.encoding import Encoded
from odtc.data.splits import Oblique, Threshold
from odtc.model.blocks import Axis, Block, Cells, labels_where
from odtc.model.builder import ModelBuilder
from odtc.problem.roles import Role

BITS = 48  # maximum number of outcomes that are packed into one number for comparison
BY = ("auto", "splits", "features")
Entries = Iterator[tuple[np.ndarray, Cells, float]]  # rows, columns and coefficient, to broadcast together


@value_class
class Kinds:
    """The kinds of some rows. Steps lead from kind to kind, away from the usual one of each feature, if `answers` are
    the outcomes of the usual row; on step s, after step parent[s] (-1: the usual kind), the outcomes of the splits
    of `moves` = (step, split, sign) become 1 (sign 1) or 0 (-1)."""

    answers: np.ndarray  # bool (splits,)
    parent: np.ndarray  # int (steps,), each less than its position
    moves: tuple[np.ndarray, np.ndarray, np.ndarray]
    unusual: tuple[np.ndarray, np.ndarray]  # (row, step) for each feature of each row that is not usual there

    @classmethod
    def of(cls, encoded: Encoded, rows: np.ndarray) -> "Kinds":
        """Return the kinds of these rows, given as indices."""
        usual, parent = np.zeros(encoded.n_candidate_splits, bool), []
        moves, unusual = [np.zeros((3, 0), int)], [np.zeros((2, 0), int)]
        for splits, nested in features(encoded) if len(rows) else ():
            answers, kind, size = _kinds(encoded.X[np.ix_(rows, splits)], nested)
            base, step = int(size.argmax()), np.full(len(size), -1)
            usual[splits] = answers[base]
            for a in sorted(range(len(size)), key=lambda a: abs(a - base)):
                if a == base:
                    continue
                towards = base if not nested else a - 1 if a > base else a + 1
                at = np.flatnonzero(answers[a] != answers[towards])
                step[a] = len(parent)
                parent.append(step[towards])
                moves.append(np.array([np.full(len(at), step[a]), splits[at], np.where(answers[a, at], 1, -1)]))
            here = np.flatnonzero(kind != base)
            unusual.append(np.array([rows[here], step[kind[here]]]))
        return cls(usual, np.array(parent, int), tuple(np.hstack(moves)), tuple(np.hstack(unusual)))

    def nnz(self, moved: int) -> int:
        """Return the entries of the constraints that define u and s, if a split has `moved` values (v_f0, v_f1, or one
        that is 0)."""
        return 1 + len(self.answers) + len(self.parent) + int((self.parent >= 0).sum()) + moved * len(self.moves[0])

    def climb(self, change: np.ndarray) -> np.ndarray:
        """Return the values of s, (…, steps), if an outcome of 1 in place of 0 is worth `change` (…, splits)."""
        step, split, sign = self.moves
        value = np.zeros((*change.shape[:-1], len(self.parent)))
        np.add.at(value, (..., step), change[..., split] * sign)
        for s, before in enumerate(self.parent.tolist()):
            if before >= 0:
                value[..., s] += value[..., before]
        return value


class BranchSums:
    """Σ_{f: x_if = side} b_tf for rows i, sides 0 and 1 and nodes t: 1 if the split of t sends the row to that side."""

    def __init__(self, encoded: Encoded, by: str):
        """Write by "splits" or "features", or with "auto" by the one with fewer entries per node."""
        self.encoded, self.kinds = encoded, None
        if by != "splits":
            kinds = encoded.derived((Kinds, None), lambda: Kinds.of(encoded, np.arange(encoded.n_rows)))
            short = 2 * (encoded.n_rows + len(kinds.unusual[0])) + kinds.nnz(1)
            self.kinds = kinds if by == "features" or short < encoded.X.size else None

    def add(self, m: ModelBuilder, b: Block, node: Axis) -> None:
        """Add the variables u and s, `bu`[node, side] and `bs`[node, step], with the constraints that define them."""
        self.b = b
        if self.kinds is None:
            return
        t, f, side = labels(node)[:, None], np.arange(self.encoded.n_candidate_splits), np.arange(2)
        self.u = m.columns("bu", node, Axis("side", 2), role=Role.SUM)
        usual = m.rows("usual", node, Axis("side", 2), lower=0, upper=0)
        m.add(usual[t, side], self.u[t, side], -1)
        m.add(usual[t, self.kinds.answers.astype(int)], b[t, f])
        step, split, sign = self.kinds.moves
        self.s, far = _steps(m, "b", node, [self.kinds])
        m.add(far[t, step], b[t, split], sign)

    def entries(self, side: int, t: np.ndarray, rows: slice = slice(None)) -> Entries:
        """Yield entries for the rows of the data, or some consecutive ones, at these nodes, (nodes,)."""
        first, end, _ = rows.indices(self.encoded.n_rows)
        if self.kinds is None:
            i, f = (labels[:, None] for labels in labels_where(self.encoded.X[rows] == side))
            yield first + i, self.b[t, f], 1.0
        else:
            i, step = self.kinds.unusual
            among = (first <= i) & (i < end)
            yield np.arange(first, end)[:, None], self.u[t, side], 1.0
            yield i[among, None], self.s[t, step[among, None]], 1.0 if side else -1.0

    def values(self, b: np.ndarray) -> dict[str, np.ndarray]:
        """Return {block: values} at a point with this b, float64 (nodes, splits)."""
        if self.kinds is None:
            return {}
        one = self.kinds.answers
        return {"bu": np.stack([b[:, ~one].sum(axis=1), b[:, one].sum(axis=1)], axis=1), "bs": self.kinds.climb(b)}


class StumpSums:
    """Σ_f p_{t,f,x_if,y_i} for rows i and nodes t: whether i is correct below t."""

    def __init__(self, encoded: Encoded, by: str):
        """Write as in BranchSums. Rows of each class have kinds, and a usual row, of their own."""
        self.encoded, self.kinds = encoded, None
        if by != "splits":
            classes = range(len(encoded.classes))
            kinds = encoded.derived(
                (Kinds, "classes"), lambda: [Kinds.of(encoded, np.flatnonzero(encoded.y == k)) for k in classes]
            )
            short = encoded.n_rows + sum(len(of_class.unusual[0]) + of_class.nnz(2) for of_class in kinds)
            self.kinds = kinds if by == "features" or short < encoded.X.size else None

    def add(self, m: ModelBuilder, p: Block, node: Axis) -> None:
        """Add the variables u and s, `pu`[node, class] and `ps`[node, step], with the steps of all classes in
        sequence."""
        self.p = p
        if self.kinds is None:
            return
        t, klass = labels(node)[:, None], Axis("class", len(self.kinds))
        k, f = labels(klass)[:, None], np.arange(self.encoded.n_candidate_splits)
        self.u = m.columns("pu", node, klass, role=Role.SUM)
        count = m.rows("count", node, klass, lower=0, upper=0)
        m.add(count[t, k[:, 0]], self.u[t, k[:, 0]], -1)
        side = np.array([of_class.answers for of_class in self.kinds]).astype(int)
        m.add(count[t[:, :, None], k], p[t[:, :, None], f, side, k])
        if not any(len(of_class.parent) for of_class in self.kinds):
            return
        self.s, far = _steps(m, "p", node, self.kinds)
        for k, (first, of_class) in enumerate(zip(_firsts(self.kinds), self.kinds)):
            step, split, sign = of_class.moves
            for side in (0, 1):
                m.add(far[t, first + step], p[t, split, side, k], sign if side else -sign)

    def entries(self, t: np.ndarray) -> Entries:
        """Yield entries as in BranchSums."""
        X, y = self.encoded.X, self.encoded.y
        if self.kinds is None:
            i, f = np.arange(len(X))[:, None, None], np.arange(X.shape[1])[:, None]
            yield i, self.p[t, f, X[:, :, None].view(np.uint8), y[:, None, None]], 1.0
            return
        yield np.arange(len(X))[:, None], self.u[t, y[:, None]], 1.0
        for first, of_class in zip(_firsts(self.kinds), self.kinds):
            i, step = (labels[:, None] for labels in of_class.unusual)
            if len(i):
                yield i, self.s[t, first + step], 1.0

    def values(self, p: np.ndarray) -> dict[str, np.ndarray]:
        """Return {block: values} at a point with this p, float64 (nodes, splits, sides, classes)."""
        if self.kinds is None:
            return {}
        one = np.array([of_class.answers for of_class in self.kinds]).T
        change = p[:, :, 1] - p[:, :, 0]
        return {
            "pu": np.where(one, p[:, :, 1], p[:, :, 0]).sum(axis=1),
            "ps": np.hstack([of_class.climb(change[:, :, k]) for k, of_class in enumerate(self.kinds)]),
        }


def features(encoded: Encoded) -> list[tuple[np.ndarray, bool]]:
    """Return (splits, nested) of each feature: its nested thresholds, ordered so that every row has outcome 1 for the
    first ones and 0 for the others, and separately its other splits; a single one is nested."""
    groups = {}
    for f, split in enumerate(encoded.splits):
        nested = isinstance(split, Threshold | Oblique)
        groups.setdefault(
            (split.scale if nested else split.features, nested, nested and bool(encoded.ones_left[f])), []
        ).append(f)
    ones = encoded.X.sum(axis=0)
    return [
        (np.array(sorted(splits, key=lambda f: -ones[f]) if nested else splits), nested or len(splits) == 1)
        for (_, nested, _), splits in groups.items()
    ]


def labels(axis: Axis) -> np.ndarray:
    return axis.first + np.arange(axis.size)


def _kinds(X: np.ndarray, nested: bool):
    """Return the distinct rows of X in order, the number of each row among them, and how many rows each has."""
    if not nested:
        kind, first = equal_rows((_bits(X[:, at : at + BITS]), 2**BITS) for at in range(0, X.shape[1], BITS))
        answers = X[first]
        order = np.lexsort(answers.T[::-1])
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        kind = number[kind]
        return answers[order], kind, np.bincount(kind, minlength=len(order))
    ones = X.sum(axis=1)
    size = np.bincount(ones)
    levels = np.flatnonzero(size)
    return np.arange(X.shape[1]) < levels[:, None], (np.cumsum(size > 0) - 1)[ones], size[levels]


def _bits(X: np.ndarray) -> np.ndarray:
    """Return the outcomes of each row, of at most BITS splits, as a number: int64 (rows,)."""
    packed = np.packbits(X, axis=1)
    wide = np.zeros((len(X), 8), np.uint8)
    wide[:, : packed.shape[1]] = packed
    return wide.view("<i8")[:, 0]


def _firsts(kinds) -> list[int]:
    """Return the position of the first step of each, with the steps of all in sequence."""
    return np.cumsum([0, *(len(one.parent) for one in kinds[:-1])]).tolist()


def _steps(m: ModelBuilder, name: str, node: Axis, kinds) -> tuple[Block, Block]:
    """Add the variables s of all kinds and the constraints Σ moves + s_parent - s = 0, still without the moves."""
    parent = np.concatenate(
        [np.where(one.parent < 0, -1, first + one.parent) for first, one in zip(_firsts(kinds), kinds)]
    )
    axes, t, step = (node, Axis("step", len(parent))), labels(node)[:, None], np.arange(len(parent))
    s = m.columns(f"{name}s", *axes, role=Role.SUM, lower=-1.0)
    far = m.rows(f"{name}step", *axes, lower=0, upper=0)
    m.add(far[t, step], s[t, step], -1)
    behind = step[parent >= 0]
    m.add(far[t, behind], s[t, parent[behind]])
    return s, far
