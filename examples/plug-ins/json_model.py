"""Models as JSON: columns with costs, bounds and kinds, rows with sides and coefficients.

A number that JSON has not, an infinite bound, is null.
"""

import json
import math

import numpy as np
import scipy.sparse as sp

from odtc.extend import Model, ModelError, NamedBlock, name_list

TYPE = "format"
NAME = "json_model"
SUFFIX = ".json"
SUMMARY = "JSON, for programs of one's own"


def write(model, stream, cuts=False) -> None:
    A = model.A.tocsr()
    A.sort_indices()
    facts = {
        "name": model.name,
        "constant": model.offset,
        "columns": [
            {"name": name, "cost": cost, "lower": _told(low), "upper": _told(up), "integer": bool(kind)}
            for name, cost, low, up, kind in zip(
                name_list(model.columns),
                *(part.tolist() for part in (model.c, model.col_lower, model.col_upper, model.integrality)),
            )
        ],
        "rows": [
            {
                "name": name,
                "lower": _told(low),
                "upper": _told(up),
                "columns": A.indices[begin:end].tolist(),
                "coefficients": A.data[begin:end].tolist(),
            }
            for name, low, up, begin, end in zip(
                name_list(model.rows), model.row_lower.tolist(), model.row_upper.tolist(), A.indptr, A.indptr[1:]
            )
        ],
    }
    stream.write(json.dumps(facts, indent=1).encode() + b"\n")


def read(data: bytes, name: str):
    try:
        facts = json.loads(data)
        columns, rows = facts["columns"], facts["rows"]
        starts = np.cumsum([0, *(len(row["columns"]) for row in rows)])
        A = sp.csr_array(
            (
                np.array([number for row in rows for number in row["coefficients"]], float),
                np.array([place for row in rows for place in row["columns"]], np.int32),
                starts,
            ),
            shape=(len(rows), len(columns)),
        )
        return Model(
            facts["name"],
            np.array([column["cost"] for column in columns], float),
            float(facts["constant"]),
            _sides(rows, "lower", -math.inf),
            _sides(rows, "upper", math.inf),
            _sides(columns, "lower", -math.inf),
            _sides(columns, "upper", math.inf),
            np.array([column["integer"] for column in columns], np.uint8),
            columns=(NamedBlock(tuple(column["name"] for column in columns)),),
            rows=(NamedBlock(tuple(row["name"] for row in rows)),),
            matrix=A.tocsc(),
        )
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as problem:
        raise ModelError(f"{name}: expected a model as JSON, got {type(problem).__name__}: {problem!s:.100}") from None


def _told(side: float) -> float | None:
    return side if math.isfinite(side) else None


def _sides(members: list, key: str, absent: float) -> np.ndarray:
    return np.array([absent if member[key] is None else member[key] for member in members], float)
