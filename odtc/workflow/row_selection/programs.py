"""The data selection of papers/000 and 003 (Zhu et al. 2020): programs (6), (7) and (9) as models, and Algorithm 1.

For distinct points x_j of a cluster, in minimisation form:

    min  f Σ_i a_i - Σ_j b_j                                                            (6), g = 1
    -ε' <= b_j x_j - Σ_{i≠j} λ_ji x_i <= ε'      each column
    Σ_{i≠j} λ_ji = b_j
    0 <= λ_ji <= a_i
    a_j + b_j <= 1
    a, b ∈ {0, 1}

(7) is (6) with f = 0 and without a: λ >= 0, which the paper does not print, and b in [0, 1]. Each j is a program of its
own, so a model may have only some of them. (9) is the relaxation of (6) with f = 1 and ε' = 0.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from odtc.algorithms.convex_hull import Hull
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.errors import ChoiceError
from odtc.fileformats.model_files import FORMATS, write_model
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.workflow.row_selection.selection import clusters_of_tree

SIX, SEVEN, NINE = 6, 7, 9  # numbers of the programs in the paper
MAX_ENTRIES = 50_000_000  # nonzeros of a model: a file of about 2 GB


def _expect_entries(entries: int, n_points: int) -> None:
    """Raise ChoiceError for a program with too many nonzeros."""
    if entries > MAX_ENTRIES:
        raise ChoiceError(
            f"expected clusters whose programs have at most {MAX_ENTRIES:,} nonzeros, got one of {n_points:,} points "
            f"with about {entries:,}; use a larger {option('depth')}, so that clusters are smaller, or fewer rows"
        )


def program(
    points: np.ndarray, number: int, eps: float = 0.0, f: float = 0.0, targets: tuple[int, int] | None = None
) -> Model:
    """Return the model of a program of the paper.

    Parameters
    ----------
    points : float64 (points, columns), distinct, at least two
    number : int
        6, 7 or 9.
    eps : float
        ε' in the units of the points.
    f : float
        The cost of a selected point in (6).
    targets : tuple of int or None
        For (7): the first target j and the one after the last; None for all.

    Returns
    -------
    Model

    Raises
    ------
    ChoiceError
        For a model with more than MAX_ENTRIES nonzeros.
    """
    n, d = points.shape
    first, stop = targets or (0, n)
    _expect_entries((stop - first) * n * (d * (2 if eps else 1) + (1 if number == SEVEN else 3)), n)
    whole, places = number == SIX, np.arange(first, stop)
    m = ModelBuilder(f"selection_{number}")
    point, target, column = Axis("point", n), Axis("point", stop - first, first), Axis("column", d)
    a = None if number == SEVEN else m.columns("a", point, cost=1.0 if number == NINE else f, integer=whole)
    b = m.columns("b", target, cost=-1.0, integer=whole)
    j, i = np.nonzero(places[:, None] != np.arange(n))
    mix = m.columns("mix", target, point, upper=np.inf if a is None else 1.0, positions=j * n + i)
    pairs, j = np.arange(len(j)), places[j]
    # -ε' <= b_j x_j - Σ λ_ji x_i <= ε'; a file has no ranges
    bounds = {"above": (-eps, np.inf), "below": (-np.inf, eps)} if eps else {"mixture": (0.0, 0.0)}
    for name, (low, high) in bounds.items():
        rows = m.rows(name, target, column, lower=low, upper=high)
        of, at = np.nonzero(points[places])
        m.add(rows[places[of], at], b[places[of]], points[places[of], at])
        of, at = np.nonzero(points[i])
        m.add(rows[j[of], at], mix[of], -points[i[of], at])
    # Σ λ_ji = b_j
    total = m.rows("total", target, lower=0.0, upper=0.0)
    m.add(total[j], mix[pairs])
    m.add(total.all(), b.all(), -1.0)
    if a is not None:
        # λ_ji <= a_i
        used = m.rows("used", Axis("pair", len(pairs)), upper=0.0)
        m.add(used[pairs], mix[pairs])
        m.add(used[pairs], a[i], -1.0)
        # a_j + b_j <= 1
        once = m.rows("once", target, upper=1.0)
        m.add(once.all(), a[places])
        m.add(once.all(), b.all())
    return m.finish()


def written(
    dataset: Dataset, depth: int, number: int, eps: float, f: float, stem: str, format: str
) -> Iterator[dict[str, object]]:
    """Write a program for each cluster of two points or more, STEM_1.mps and so on, and yield its facts: leaf, class,
    file, size, and the row of the data, counted from 1, of each point. Arguments as in `program`; `depth` is the depth
    of CART's tree.

    Raises
    ------
    ChoiceError, ModelError, OutputError
    """
    suffix = FORMATS.get(format).SUFFIX
    tree, clusters = clusters_of_tree(dataset, depth)
    leaf = tree.apply(dataset.X)
    for place, cluster in enumerate(clusters, 1):
        points, first = np.unique(cluster.Z, axis=0, return_index=True)
        if len(points) < 2:
            continue
        model = program(points, number, eps, f)
        path = write_model(model, Path(f"{stem}_{place}{suffix}"), format)
        row = cluster.rows[0]
        yield {
            "leaf": int(leaf[row]) + 1,
            "class": dataset.classes[dataset.y[row]],
            "file": str(path),
            "n_cols": model.n_cols,
            "n_model_rows": model.n_rows,
            "rows": (cluster.rows[first] + 1).tolist(),
        }


def by_algorithm(extreme: np.ndarray, J: np.ndarray, near: np.ndarray, beta1: float, beta2: float) -> np.ndarray:
    """Return the places that Algorithm 1 keeps; `extreme`, bool (points,), are those outside I, and `J` places."""
    n, outside = len(extreme), np.flatnonzero(extreme)
    if n - len(outside) >= (1 - beta1) * n:
        return outside
    if len(J) <= beta2 * n:
        K = np.setdiff1d(outside, J)
        J = np.union1d(J, K[np.argsort(near[K], kind="stable")[: max(0, max(1, int(beta2 * n)) - len(J))]])
    return J


def heavy_points(found: Hull, dimensions: int) -> np.ndarray:
    """Return J: the points with a weight of 1/(d+1) or more in some mixture; and the heaviest of each mixture, because
    the mixtures of a program may have more than d + 1 points."""
    share = found.weight >= 1 / (dimensions + 1) - 1e-12
    if len(share):
        share[np.arange(len(share)), found.weight.argmax(axis=1)] = True
    return np.unique(found.of[share])
