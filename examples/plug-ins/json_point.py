"""Points as JSON: {"values": {name of a column: value}, "objective": number, "status": word}."""

import json

import numpy as np

from odtc.extend import RawPoint, SolutionError, Termination, name_list

TYPE = "point"
NAME = "json_point"
SUFFIX = ".point.json"
SUMMARY = "JSON, for programs of one's own"


def matches(head: bytes) -> bool:
    return head.lstrip().startswith(b'{"values"')


def read(data: bytes) -> RawPoint:
    try:
        facts = json.loads(data)
        names, values = list(facts["values"]), np.array([float(value) for value in facts["values"].values()])
        status = Termination(facts["status"]) if "status" in facts else None
        objective = float(facts["objective"]) if "objective" in facts else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise SolutionError(f"expected a point as JSON, got {type(problem).__name__}: {problem!s:.100}") from None
    return RawPoint(NAME, names, values, status, objective)


def write(model, x, stream, termination=Termination.UNKNOWN) -> None:
    facts = {
        "values": dict(zip(name_list(model.columns), np.asarray(x, float).tolist())),
        "objective": float(model.objective(x)),
        "status": str(termination),
    }
    stream.write(json.dumps(facts).encode() + b"\n")
