"""Lists of subtrees: their weighted costs, costs and uses, and their splits and labels."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Options:
    """Subtrees of one depth below one path.

    Attributes
    ----------
    weight : float64 (options,)
        Weighted cost, relative to label 0.
    vector : float64 (options, 1 + constraints)
        Cost, and the amount used of each constraint.
    code : int32 (options, 2^(depth + 1) - 1)
        A heap from 0: a split, or -1 - label; below a label it is repeated.
    """

    weight: np.ndarray
    vector: np.ndarray
    code: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, which) -> "Options":
        return Options(self.weight[which], self.vector[which], self.code[which])


Leaves = tuple[np.ndarray, np.ndarray]  # weighted costs (labels, leaves), vectors (labels, leaves, 1 + constraints)


def shallow(
    leaf: Leaves,
    below: tuple[Leaves, Leaves] | None,
    splits: np.ndarray,
    price: float,
    node: np.ndarray,
    limit: float,
    distinct: bool,
) -> Options:
    """Return the leaf and the stumps of some rows, with all labels, up to a weighted cost.

    Parameters
    ----------
    leaf : Leaves
        One leaf, of all rows.
    below : (Leaves, Leaves) or None
        The leaves for either outcome of each split, with infinite weights for labels that are not allowed; None for no
        stumps.
    splits : int (splits,)
    price : float
        The weighted cost of a branch node.
    node : float64 (1 + constraints,)
        Its cost, and the amounts that it uses.
    limit : float
    distinct : bool
        Whether the two leaves of a stump must have different labels.
    """
    k = np.flatnonzero(leaf[0][:, 0] <= limit)
    weight, vector = [leaf[0][k, 0]], [leaf[1][k, 0]]
    code = [np.repeat(-1 - k[:, None], 1 if below is None else 3, axis=1)]
    if below is not None:
        zero, one = below
        sums = zero[0][:, None] + one[0][None] + price
        if distinct:
            sums[np.arange(len(sums)), np.arange(len(sums))] = np.inf
        a, b, h = np.nonzero(sums <= limit)
        weight.append(sums[a, b, h])
        vector.append(zero[1][a, h] + one[1][b, h] + node)
        code.append(np.stack([splits[h], -1 - a, -1 - b], axis=1))
    return Options(np.concatenate(weight), np.concatenate(vector), np.concatenate(code).astype(np.int32))


def kept(vector: np.ndarray, of: np.ndarray | None = None) -> np.ndarray:
    """Return the positions of options that are not dominated: of those that use the same amounts the cheapest; with
    one constraint, also none that costs as much as one that uses less. Options of different lists, `of` int
    (options,), are not compared."""
    if not len(vector):
        return np.zeros(0, int)
    of = np.zeros(len(vector), int) if of is None else of
    order = np.lexsort((*vector.T, of))  # by list, then by uses, then by cost
    key = np.column_stack([of, vector[:, 1:]])[order]
    order = order[np.append(True, (np.diff(key, axis=0) != 0).any(axis=1))]
    if vector.shape[1] == 2:
        # The least cost so far; a later list begins again, because its costs are lower by more than all costs.
        apart = vector[order, 0] - of[order] * (np.ptp(vector[:, 0]) + 1)
        order = order[apart < np.append(np.inf, np.minimum.accumulate(apart)[:-1])]
    return order


def join_codes(split, zero: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Return int32 (options, 2 n + 1): the codes of a split, or of one split each, above two subtrees, from codes
    (options, n)."""
    size = zero.shape[1]
    code = np.empty((len(zero), 2 * size + 1), np.int32)
    code[:, 0] = split
    width = 1
    while width <= size:  # level by level, both sides next to each other
        code[:, 2 * width - 1 : 3 * width - 1] = zero[:, width - 1 : 2 * width - 1]
        code[:, 3 * width - 1 : 4 * width - 1] = one[:, width - 1 : 2 * width - 1]
        width *= 2
    return code


def lay(code: np.ndarray, split: np.ndarray, label: np.ndarray, node: int) -> None:
    """Put a subtree (`Options.code`) at a node of `split` and `label`, in place."""
    stack = [(0, node)]
    while stack:
        at, t = stack.pop()
        if code[at] < 0:
            label[t] = -1 - code[at]
        else:
            split[t] = code[at]
            stack += [(2 * at + 1, 2 * t), (2 * at + 2, 2 * t + 1)]


def code_of(split: np.ndarray, label: np.ndarray, node: int, size: int) -> np.ndarray:
    """Return the code (`Options.code`) of the subtree at a node, of this size; below a label it is
    repeated."""
    code, at = np.empty(size, np.int32), np.arange(1, size + 1)
    for place in range(size):
        depth = int(at[place]).bit_length() - 1
        t = (node << depth) + int(at[place]) - (1 << depth)
        above = code[(place - 1) // 2] if place else 0
        code[place] = above if above < 0 else split[t] if split[t] >= 0 else -1 - label[t]
    return code


def widened(code: np.ndarray, size: int) -> np.ndarray:
    """Return int32 (options, size): the codes of subtrees as those of a complete tree of at least their height."""
    nodes = list(code.T)
    while len(nodes) < size:
        nodes.append(nodes[(len(nodes) - 1) // 2])
    return np.stack(nodes, axis=1)
