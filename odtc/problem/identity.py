"""The identity of a model: a SHA-256 digest of all its inputs, known before its first byte is written.

It covers the encoded rows, the splits, the costs, the formulation with its version and parameters, the constraints and
the cut families; it does not depend on the host, the folder, the name of the data or the format of the file. The
manifest, the model file, the starts, the run record and the solution contain it, and every step that reads two of them
compares it.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import odtc
from odtc.base import deadline
from odtc.data.dataset import Feature
from odtc.data.reading_spec import CLASSIFICATION
from odtc.data.splits import Split
from odtc.data.task import lines_of
from odtc.model.milp import Model
from odtc.model.vectors import replaced
from odtc.problem.parameters import parameter_key
from odtc.problem.problem import Problem

SCHEMA = "odtc.identity/1"
SPLITS_AT_ONCE = 1024  # splits between two checks of the deadline
RESULTS_AT_ONCE = 2**24  # results that are packed between two checks of the deadline


def identity_of(problem: Problem, cuts: tuple[str, ...] = (), own: str | None = None) -> str:
    """Return the identity of the model of a problem with the rows of these cut families.

    Parameters
    ----------
    problem : Problem
        The problem that is compiled.
    cuts : tuple of str
        Names of cut families, as in `Model.cuts`.
    own : str or None
        The version of the formulation that counts, if it is not the current one; "" if it stated none. The version of
        odtc counts for a formulation that states none.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    TimeLimitReached
        If the deadline has passed.
    """
    encoded, module = problem.encoded, problem.module
    features = encoded.features
    facts = {
        "schema": SCHEMA,
        "formulation": problem.formulation,
        "version": (module.VERSION if own is None else own) or odtc.__version__,
        "depth": int(problem.topology.depth),
        "params": _set_params(problem.params),
        "constraints": [str(given) for given in problem.constraints],
        "cuts": list(cuts),
        "target": encoded.target,
        "classes": list(encoded.classes),
        "features": [feature.to_json() for feature in features],
        "missing": encoded.missing,
        "splits": [
            [split.to_json(features), bool(left), _merged(features, merged)]
            for split, left, merged in _timed(zip(encoded.splits, encoded.ones_left, encoded.stands_for))
        ],
        **({"task": encoded.task} if encoded.task != CLASSIFICATION else {}),
        "groups": [[of.text, list(of.names)] for of in encoded.groups],
    }
    deadline.check()
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=True).encode("ascii"))
    for array, kind in _arrays(problem):
        digest.update(f"{array.shape}{kind}".encode("ascii"))
        digest.update(np.ascontiguousarray(array, kind).tobytes())
    return digest.hexdigest()


def _arrays(problem: Problem) -> Iterator[tuple[Any, str]]:
    """Yield the arrays of the encoded rows that determine the model, each with its type in the digest."""
    encoded = problem.encoded
    yield _packed(encoded.X), "u1"
    yield encoded.y, "<i4"
    yield encoded.weight, "<f8"
    yield encoded.copies, "<i8"
    yield np.asarray(encoded.cost, float), "<f8"
    for of in encoded.groups:
        yield of.weight, "<f8"
    if encoded.sums is not None and encoded.sums.size:
        yield encoded.sums, "<f8"
    if problem.module.WEIGHS or problem.module.holds_cells(problem):
        yield encoded.values, "<f8"
    if (lines := lines_of(encoded)) is not None:
        yield lines.row_of, "<i4"
        yield lines.cells, "<f8"
        yield np.array([float(lines.ridge), *lines.names]), "<f8"


def _timed(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items, and check the clock now and then."""
    for at, item in enumerate(items):
        if at % SPLITS_AT_ONCE == 0:
            deadline.check()
        yield item


def _packed(X: Any) -> np.ndarray:
    """Return the results of each row as packed bits, uint8 (rows, bytes); results stored as ranks are not expanded to
    a table."""
    step = max(1, RESULTS_AT_ONCE // max(1, X.shape[1]))
    parts = []
    for first in range(0, len(X), step):
        deadline.check()
        parts.append(np.packbits(X[first : first + step], axis=1))
    return np.concatenate(parts) if parts else np.packbits(X, axis=1)


def identified(model: Model) -> Model:
    """Return the model with its identity; a model that was not built from a problem, or that has it, is returned
    unchanged."""
    if model.problem is None or model.built is not None:
        return model
    named = replaced(model, identity=identity_of(model.problem, model.cuts), built=None)
    return replaced(named, built=named)


def stamp_of(model: Model) -> str:
    """Return the identity of the input of a solver.

    It is the identity of the model, or, if its user added or replaced something, a SHA-256 of it and of the arrays; ""
    for a model without identity.
    """
    if not model.identity or model.as_built is model:
        return model.identity
    digest, A = hashlib.sha256(model.identity.encode("ascii")), model.A.tocsc()
    vectors = (model.c, [model.offset], model.row_lower, model.row_upper, model.col_lower, model.col_upper, A.data)
    for array in vectors:
        digest.update(np.ascontiguousarray(array, "<f8").tobytes())
    for array in (model.integrality, A.indices, A.indptr):
        digest.update(np.ascontiguousarray(array, "<i8").tobytes())
    return digest.hexdigest()


def short(identity: str) -> str:
    """Return the first digits of an identity, for messages."""
    return identity[:12]


def _merged(features: tuple[Feature, ...], merged: tuple[tuple[Split, bool], ...]) -> list[Any]:
    """Return the splits that one represents: the equal ones first, then the complements, as in a manifest."""
    return [[split.to_json(features) for split, same in merged if same == kind] for kind in (True, False)]


def _set_params(params: Any) -> dict[str, Any]:
    """Return the parameters that differ from their defaults: a new one changes no identity until it is set."""
    fields = {parameter_key(field): field for field in dataclasses.fields(params)}
    values = {key: getattr(params, field.name) for key, field in fields.items()}
    return {key: value for key, value in values.items() if value != fields[key].default}
