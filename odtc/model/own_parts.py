"""Rows and columns of a user's own behind those of a model, and points of the model completed by them.

    min c·x + d·y   s.t.  the model's rows over x;  lower <= A x + B y <= upper;  y within its bounds

What is proved of the longer model is proved of it alone: `Model.base` is the model as it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from odtc.errors import ModelError
from odtc.model.blocks import NamedBlock
from odtc.model.feasibility import check_point
from odtc.model.points import name_list

if TYPE_CHECKING:
    from odtc.model.milp import Model

MOST_NAME = 200  # characters; some solvers read 255
# Words that begin a section of an LP file, in some reader (docs/background/file-formats.md).
KEYWORDS = {
    "st",
    "subject",
    "such",
    "free",
    "bound",
    "bounds",
    "int",
    "integer",
    "integers",
    "gen",
    "general",
    "generals",
}
KEYWORDS |= {
    "bin",
    "binary",
    "binaries",
    "sos",
    "min",
    "max",
    "minimize",
    "maximize",
    "minimum",
    "maximum",
    "semi",
    "sec",
}


def with_rows(model: "Model", rows: Any, lower: ArrayLike, upper: ArrayLike, names: Sequence[str] | None) -> "Model":
    """As `Model.add_rows`."""
    import scipy.sparse as sp

    if isinstance(rows, Mapping):
        rows = [rows]
    if not sp.issparse(rows) and len(rows) and isinstance(rows[0], Mapping):
        A = _of_names(model, rows)
    else:
        A = sp.csr_array(np.atleast_2d(rows) if not sp.issparse(rows) else rows, dtype=float)
    if A.shape[1] != model.n_cols:
        raise ModelError(f"expected rows over the {model.n_cols} columns of the model, got {A.shape[1]} coefficients")
    if not np.isfinite(A.data).all():
        raise ModelError("expected finite coefficients in rows of your own, got one that is not")
    A.eliminate_zeros()
    n = A.shape[0]
    low, high = (np.broadcast_to(np.asarray(side, float), (n,)) for side in (lower, upper))
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise ModelError("expected lower sides of rows of your own up to their upper sides, got others")
    block = NamedBlock(_names(names, "own_row", n, name_list(model.rows)), model.n_rows, _fresh(model.rows, "own"))
    return replace(
        model,
        matrix=sp.vstack([model.A, A]).tocsc(),
        terms=(),
        rows=(*model.rows, block),
        row_lower=np.append(model.row_lower, low),
        row_upper=np.append(model.row_upper, high),
        base=model.base or model,
        content="",
    )


def with_columns(
    model: "Model", names: Sequence[str] | str, cost: ArrayLike, lower: ArrayLike, upper: ArrayLike, integer: ArrayLike
) -> "Model":
    """As `Model.add_columns`."""
    import scipy.sparse as sp

    names = [names] if isinstance(names, str) else names
    n = len(names)
    cost, low, high = (np.broadcast_to(np.asarray(value, float), (n,)) for value in (cost, lower, upper))
    if not np.isfinite(cost).all() or np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise ModelError("expected finite costs and bounds in order in columns of your own, got others")
    block = NamedBlock(
        _names(names, "own_column", n, name_list(model.columns)), model.n_cols, _fresh(model.columns, "own")
    )
    return replace(
        model,
        matrix=sp.hstack([model.A, sp.csc_array((model.n_rows, n))]).tocsc(),
        terms=(),
        columns=(*model.columns, block),
        c=np.append(model.c, cost),
        col_lower=np.append(model.col_lower, low),
        col_upper=np.append(model.col_upper, high),
        integrality=np.append(model.integrality, np.broadcast_to(np.asarray(integer, np.uint8), (n,))),
        base=model.base or model,
        content="",
    )


def completed(longer: "Model", x: np.ndarray) -> np.ndarray | None:
    """A point of a model with the values of the columns behind its own that cost the least.

    Parameters
    ----------
    longer : Model
        The model with other columns behind those of the point.
    x : float64 (fewer columns,)

    Returns
    -------
    float64 (columns,) or None
        None if no values of the other columns satisfy the rows.
    """
    n = len(x)
    if n < longer.n_cols:
        from scipy.optimize import Bounds, LinearConstraint, milp

        A, held = longer.A.tocsr(), longer.A[:, :n] @ x
        mine = np.flatnonzero(np.diff(A[:, n:].tocsr().indptr))
        found = milp(
            longer.c[n:],
            integrality=longer.integrality[n:],
            bounds=Bounds(longer.col_lower[n:], longer.col_upper[n:]),
            constraints=LinearConstraint(
                A[mine][:, n:], (longer.row_lower - held)[mine], (longer.row_upper - held)[mine]
            ),
        )
        if found.x is None:
            return None
        x = np.append(x, found.x)
    return x if all(check.passed for check in check_point(longer, x)) else None


def _of_names(model: "Model", rows: Sequence[Mapping[str, float]]) -> Any:
    """Rows as {name of a column: coefficient} as a csr_array."""
    import scipy.sparse as sp

    place = {name: at for at, name in enumerate(name_list(model.columns))}
    for row in rows:
        for name in row:
            if name not in place:
                raise ModelError(
                    f"expected names of columns in rows of your own, got {str(name)!r:.80}; "
                    "`model.column_names` has them"
                )
    entries = [(at, place[name], float(coef)) for at, row in enumerate(rows) for name, coef in row.items()]
    at, column, coef = zip(*entries) if entries else ((), (), ())
    return sp.csr_array((np.array(coef, float), (np.array(at, int), np.array(column, int))), (len(rows), model.n_cols))


def _names(given: Sequence[str] | None, stem: str, n: int, taken: list[str]) -> tuple[str, ...]:
    """Names that all formats can write, none of them taken."""
    known = set(taken)
    if given is None:
        begin = next(k for k in range(len(taken) + 1) if not any(f"{stem}_{k + i}" in known for i in range(n)))
        given = [f"{stem}_{begin + i}" for i in range(n)]
    names = tuple([given] if isinstance(given, str) else given)
    if len(names) != n:
        raise ModelError(f"expected {n} names, got {len(names)}")
    for name in names:
        if (
            not isinstance(name, str)
            or not name.isascii()
            or not name.replace("_", "a").isalnum()
            or not name[0].isalpha()
            or name[0] in "eE"
            or name.lower().startswith("inf")
            or name.lower() in KEYWORDS
            or len(name) > MOST_NAME
        ):
            raise ModelError(
                "expected names of ASCII letters, digits and _ that begin with a letter, but neither with e nor with "
                f"inf, and are no keyword of LP files, as some readers take these for numbers, got {str(name)!r:.80}"
            )
        if name in known:
            raise ModelError(f"expected names that the model has not, got {name!r}")
        known.add(name)
    return names


def _fresh(blocks: Sequence[Any], stem: str) -> str:
    """The name of a block that none has yet."""
    taken = {block.name for block in blocks}
    return next(name for k in range(len(blocks) + 1) if (name := stem if not k else f"{stem}{k}") not in taken)
