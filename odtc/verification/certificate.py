"""A certificate: a tree, and numbers by which anyone can check that no tree over these splits is better.

    {"schema": "odtc.proof/1", "kind": K, "data": {...}, "classes": [...], "depth": D, "weight_scale": W, "tree": {...},
     "of": {...}, ...}

"of" states the terms of the claim (odtc.verification.claim): the checker derives them from the data and compares them.
Numbers of weights times W are whole. The rest depends on the kind, which is the name of a body in KINDS; each body is
a module with the `SHAPE` of its parts (`shape(kind)`), and `check(facts, dataset, bounds, pause)`.
docs/reference/proof-format.md describes all of them.

The check needs only the data file and nothing of the compiler.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from odtc.base import deadline
from odtc.base.json_schema import (
    NOT_WHOLE,
    TEXT,
    WHOLE,
    SchemaError,
    explain_error,
    read_object,
    show_value,
    validate,
)
from odtc.base.wording import command
from odtc.data.dataset import GIVEN_SHAPE, Dataset
from odtc.data.reading_spec import POLICIES
from odtc.errors import CertificateError, OdtcError, TimeLimitReached
from odtc.verification.claim import OF_TREE, Proof, node_shape
from odtc.verification.claim import SHAPE as CLAIM_SHAPE

SCHEMA = "odtc.proof/1"
SUFFIX = ".certificate.json"
LABELS, CONSTRAINTS = "labels", "constraints"
SUMS = ("regression", "survival", "linear")  # tasks in which the cost of a leaf is a function of sums over its rows
KINDS = {LABELS: "labels", **dict.fromkeys(SUMS, "leaf_sums"), CONSTRAINTS: "constrained.constrained_certificate"}

# The shape of what all kinds state (odtc.base.json_schema).
HEADER = {
    "schema": (SCHEMA,),
    "classes": [TEXT],
    "depth": WHOLE,
    "weight_scale": WHOLE,
    "tree": {"root": node_shape} | OF_TREE,
    "of": CLAIM_SHAPE,
}
SOURCE = {
    "data": {
        "target": TEXT,
        "missing": POLICIES,
        "path?": TEXT,
        "weights?": (TEXT, None),
        "auxiliary?": [TEXT],
        **GIVEN_SHAPE,
        "sha256?": (TEXT, None),
    }
}


def read_certificate(path) -> dict:
    """Return the JSON object of a certificate; raises CertificateError."""
    facts = read_object(path, "certificate", CertificateError)
    if facts.get("schema") != SCHEMA:
        raise CertificateError(
            f"expected a certificate of schema {SCHEMA!r} in {str(path)!r}, got "
            f"{show_value(facts.get('schema'))}; "
            f"make it with {command('certify')}"
        )
    try:
        validate(facts, {"kind": tuple(KINDS)})
    except SchemaError as problem:
        raise CertificateError(f"the certificate {str(path)!r} is of no known kind: {problem}; make it again") from None
    try:
        validate(facts, SOURCE)
    except SchemaError as problem:
        raise CertificateError(
            f"the certificate {str(path)!r} does not say how its data was read: {problem}; make it again"
        ) from None
    return facts


def check(facts: dict, dataset: Dataset, pause: Callable[[], None] = deadline.check) -> Proof:
    """Check a certificate against a data set, and return what it proves.

    Parameters
    ----------
    facts : dict, the JSON object of the certificate
    dataset : Dataset
    pause : called between the parts of a long check; may raise to end it

    Returns
    -------
    Proof

    Raises
    ------
    CertificateError
        With the first thing that is not correct.
    """
    return _checked(facts, dataset, True, pause)


def stated(facts: dict, dataset: Dataset) -> Proof:
    """Return the claim of a certificate with its bounds unchecked, for an interrupted check."""
    return _checked(facts, dataset, False, lambda: None)


def _checked(facts: dict, dataset: Dataset, bounds: bool, pause: Callable[[], None]) -> Proof:
    try:
        facts = _with_whole_numbers(facts)
        validate(facts, {"kind": tuple(KINDS)})
        body = _body(facts["kind"])
        validate(facts, HEADER | body.shape(facts["kind"]))
        if facts["classes"] != list(dataset.classes):  # in this order: losses are by place, labels by name
            raise CertificateError(
                f"the certificate has the classes {', '.join(facts['classes'])}, in this order, but the data has "
                f"{', '.join(dataset.classes)}"
            )
        return body.check(facts, dataset, bounds, pause)
    except (CertificateError, TimeLimitReached):
        raise
    except (*NOT_WHOLE, OdtcError, ArithmeticError, RecursionError) as problem:
        raise CertificateError(f"the certificate is damaged: {explain_error(problem)}; make it again") from None


def _with_whole_numbers(value: Any) -> Any:
    """Return a JSON value in which 2.0 is the whole number 2, because JSON has only one kind of numbers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_with_whole_numbers(one) for one in value]
    return {key: _with_whole_numbers(one) for key, one in value.items()} if isinstance(value, dict) else value


def _body(kind: str) -> ModuleType:
    """Return the module that checks a kind; the others are not loaded."""
    return import_module(f"odtc.verification.{KINDS[kind]}")
