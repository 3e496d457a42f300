"""User-defined rows and columns appended to a model, and points of the model completed by them.

    min c·x + d·y   s.t.  the model's rows over x;  lower <= A x + B y <= upper;  y within its bounds

A proof about the longer model is about that model only: `Model.base` is the model without the additions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odtc.errors import ModelError
from odtc.model.arrays import Arrays
from odtc.model.blocks import NamedBlock
from odtc.model.feasibility import TOLERANCE, check_point
from odtc.model.points import name_list

MOST_NAME = 200  # largest number of characters of a name; some solvers read at most 255
# Words, in lower case, that some reader of MPS or LP takes for a section, a number, or a part of the objective
# (docs/reference/file-formats.md).
RESERVED = frozenset(
    """
    bin binaries binary bnd bound bounds constant end free gen general generals indicator indicators inf infinity
    int integer integers lazy marker max maximise maximize maximum min minimise minimize minimum nan obj
    objconstant pwlobj rhs scenario scenarios sec semi semicontinuous semiinteger semiintegers semis sin sos sos1
    sos2 st subject such
    """.split()
)


PORTABLE = (
    "ASCII letters, digits and _ that begin with a letter, but neither with e nor with inf, and are not words of MPS "
    "or LP files (obj, nan, st, bounds, …), as some readers take these for numbers or sections"
)


def is_portable(name: object) -> bool:
    """Return whether all formats can write this name of a variable or constraint, as `PORTABLE` states."""
    return (
        isinstance(name, str)
        and name.isascii()
        and name.replace("_", "a").isalnum()
        and name[0].isalpha()
        and name[0] not in "eE"
        and not name.lower().startswith("inf")
        and name.lower() not in RESERVED
        and len(name) <= MOST_NAME
    )


def with_rows(
    model: Arrays, rows: Any, lower: ArrayLike, upper: ArrayLike, names: Sequence[str] | None
) -> dict[str, Any]:
    """Return the fields that change by `Model.add_rows`."""
    import scipy.sparse as sp

    A = _matrix(model, rows)
    n = A.shape[0]
    low, high = _ordered(lower, upper, n, "rows")
    block = NamedBlock(_names(names, "own_row", n, name_list(model.rows)), model.n_rows, _fresh(model.rows, "own"))
    if (free := np.isneginf(low) & np.isposinf(high)).any():
        raise ModelError(
            f"expected a lower or an upper side of every row of your own, got none for row {int(free.argmax())}, which "
            "would forbid nothing; give lower=, upper= or both"
        )
    return dict(
        matrix=sp.vstack([model.A, A]).tocsc(),
        terms=(),
        rows=(*model.rows, block),
        row_lower=np.append(model.row_lower, low),
        row_upper=np.append(model.row_upper, high),
        base=model.as_built,
        content="",
    )


def with_columns(
    model: Arrays, names: Sequence[str] | str, cost: ArrayLike, lower: ArrayLike, upper: ArrayLike, integer: ArrayLike
) -> dict[str, Any]:
    """Return the fields that change by `Model.add_columns`."""
    import scipy.sparse as sp

    names = _texts(names)
    n = len(names)
    if not n:
        raise ModelError("expected the names of one column of your own or more, got none")
    price, whole = _numbers(cost, n, "costs of columns"), _numbers(integer, n, "integer flags of columns")
    low, high = _ordered(lower, upper, n, "columns")
    if not np.isfinite(price).all():
        raise ModelError("expected finite costs of columns of your own, got one that is not")
    if not np.isin(whole, (0, 1)).all():
        raise ModelError("expected integer flags of columns of your own to be True or False, got another")
    block = NamedBlock(
        _names(names, "own_column", n, name_list(model.columns)), model.n_cols, _fresh(model.columns, "own")
    )
    return dict(
        matrix=sp.hstack([model.A, sp.csc_array((model.n_rows, n))]).tocsc(),
        terms=(),
        columns=(*model.columns, block),
        c=np.append(model.c, price),
        col_lower=np.append(model.col_lower, low),
        col_upper=np.append(model.col_upper, high),
        integrality=np.append(model.integrality, whole.astype(np.uint8)),
        base=model.as_built,
        content="",
    )


def completed(longer: Arrays, x: np.ndarray) -> np.ndarray | None:
    """Return a point of a model, extended by the values of the appended columns that cost the least.

    Parameters
    ----------
    longer : Model
        The model with other columns after the columns of the point.
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


def broken_rows(longer: Arrays, x: np.ndarray) -> list[str]:
    """Return the rows that a point violates for all values of the appended columns, each row by itself.

    Parameters
    ----------
    longer : Model
        The model with other columns after the columns of the point.
    x : float64 (fewer columns,)

    Returns
    -------
    list of str
        Names of rows. Rows that contradict each other only in combination are not included.
    """
    n, A = len(x), longer.A
    others = A[:, n:].tocoo()
    ends = others.data * longer.col_lower[n:][others.col], others.data * longer.col_upper[n:][others.col]
    least, most = A[:, :n] @ x, A[:, :n] @ x
    np.add.at(least, others.row, np.minimum(*ends))
    np.add.at(most, others.row, np.maximum(*ends))
    names = name_list(longer.rows)
    wrong = (most < longer.row_lower - TOLERANCE) | (least > longer.row_upper + TOLERANCE)
    return [names[at] for at in np.flatnonzero(wrong)]


def _matrix(model: Arrays, rows: Any) -> Any:
    """Return user-defined rows as a csr_array over the columns of a model; raises ModelError for invalid rows."""
    import scipy.sparse as sp

    rows = [rows] if isinstance(rows, Mapping) else rows
    if isinstance(rows, Sequence) and not isinstance(rows, str) and any(isinstance(row, Mapping) for row in rows):
        A = _of_names(model, rows)
    else:
        try:
            given = rows if sp.issparse(rows) else np.asarray(rows, float)
            if not given.ndim:
                raise TypeError  # a number, or None
            A = sp.csr_array(given if sp.issparse(given) else np.atleast_2d(given), dtype=float)
        except (TypeError, ValueError):
            raise ModelError(
                "expected rows of your own as numbers of shape (rows, columns), or as coefficients by names of columns "
                f"such as {{{name_list(model.columns)[0]!r}: 1.0}}, got {rows!r:.80}; their sides are lower= and upper="
            ) from None
    if not A.shape[0] or not A.shape[1]:
        raise ModelError("expected one row of your own or more, got none")
    if A.shape[1] != model.n_cols:
        raise ModelError(f"expected rows over the {model.n_cols} columns of the model, got {A.shape[1]} coefficients")
    if not np.isfinite(A.data).all():
        raise ModelError("expected finite coefficients in rows of your own, got one that is not")
    A.eliminate_zeros()
    return A


def _numbers(given: ArrayLike, n: int, what: str) -> np.ndarray:
    """Return float64 (n,) from n numbers, or from one number for all; raises ModelError for other values and shapes."""
    try:
        numbers = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ModelError(f"expected {what} of your own as numbers, got {given!r:.80}") from None
    if numbers.shape not in ((), (1,), (n,)):
        raise ModelError(f"expected {what} of your own as one number or {n}, got an array of shape {numbers.shape}")
    return np.broadcast_to(numbers, (n,))


def _ordered(lower: ArrayLike, upper: ArrayLike, n: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper sides of `n` rows, or the bounds of `n` columns."""
    low, high = _numbers(lower, n, f"lower of {what}"), _numbers(upper, n, f"upper of {what}")
    wrong = np.flatnonzero(np.isnan(low) | np.isnan(high) | (low > high) | (low == np.inf) | (high == -np.inf))
    if len(wrong):
        at = wrong[0]
        raise ModelError(
            f"expected lower up to upper in {what} of your own, got lower {low[at]:g} and upper {high[at]:g} in {at}"
        )
    return low, high


def _texts(given: Any) -> tuple[Any, ...]:
    """Return the given name or names as a tuple; `_names` checks each."""
    if isinstance(given, str):
        return (given,)
    try:
        return tuple(given)
    except TypeError:
        raise ModelError(f"expected names of your own as texts, got {given!r:.80}") from None


def _of_names(model: Arrays, rows: Sequence[Mapping[str, float]]) -> Any:
    """Convert rows {name of a column: coefficient} to a csr_array."""
    import scipy.sparse as sp

    place = {name: at for at, name in enumerate(name_list(model.columns))}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or not row:
            raise ModelError(f"expected coefficients by names of columns in each row, got {row!r:.80} in row {number}")
        for name, coef in row.items():
            if name not in place:
                raise ModelError(
                    f"expected names of columns in rows of your own, got {str(name)!r:.80}; "
                    "`model.column_names` has them"
                )
            _numbers(coef, 1, f"coefficients of the column {name!r} in rows")
    entries = [(at, place[name], float(coef)) for at, row in enumerate(rows) for name, coef in row.items()]
    at_row, at_column, coefs = (np.array(part) for part in zip(*entries))
    return sp.csr_array((coefs, (at_row, at_column)), (len(rows), model.n_cols))


def _names(given: Sequence[str] | None, stem: str, n: int, taken: list[str]) -> tuple[str, ...]:
    """Return names that all formats can write and that are not taken."""
    known = set(taken)
    if given is None:
        begin = next(k for k in range(len(taken) + 1) if not any(f"{stem}_{k + i}" in known for i in range(n)))
        given = [f"{stem}_{begin + i}" for i in range(n)]
    names = _texts(given)
    if len(names) != n:
        raise ModelError(f"expected {n} names, got {len(names)}")
    for name in names:
        if not is_portable(name):
            raise ModelError(f"expected names of {PORTABLE}, got {str(name)!r:.80}")
        if name in known:
            raise ModelError(f"expected names that the model has not, got {name!r}")
        known.add(name)
    return names


def _fresh(blocks: Sequence[Any], stem: str) -> str:
    """Return a name that no block has yet."""
    taken = {block.name for block in blocks}
    return next(name for k in range(len(blocks) + 1) if (name := stem if not k else f"{stem}{k}") not in taken)
