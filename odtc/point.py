"""What a point file format is: named values to text and back, one module of `points/` each.

    NAME, SUFFIX, SUMMARY
    matches(text)                  whether a file that begins like this is of the format
    read(text)                     -> RawPoint
    write(model, x, stream, termination)   a start or a solution

A solution file is recognised by what stands in it, never by its name.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from odtc.errors import SolutionError
from odtc.output import new_file
from odtc.registry import Registry
from odtc.solution import Termination

# In the order of trial: a format with a clear mark before one that takes nearly anything.
POINTS = Registry(
    "point format", "odtc.points", ("highs", "name-value"),
    ("NAME", "SUFFIX", "SUMMARY", "matches", "read", "write"),
)


@dataclass(frozen=True)
class RawPoint:
    """What a file says: `values` is float64 of shape (names,), or None where it holds no point;
    `n_columns` the number of columns the file announces, where it does."""

    format: str
    names: list[str]
    values: np.ndarray | None
    termination: Termination | None = None
    objective: float | None = None
    n_columns: int | None = None


def read_point(path) -> RawPoint:
    """Reads a solution or start file of any known format. Raises SolutionError."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as problem:
        raise SolutionError(f"cannot read the solution file {str(path)!r}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise SolutionError(f"expected a solution file in text, got {str(path)!r}, which is not UTF-8") from None
    if not text.strip():
        raise SolutionError(f"the solution file {str(path)!r} is empty; the solver wrote no solution")
    for name in POINTS.names():
        module = POINTS.get(name)
        if module.matches(text):
            try:
                point = module.read(text)
            except SolutionError as problem:
                raise SolutionError(f"{path}: {problem}") from None
            if point.values is not None and not np.isfinite(point.values).all():
                at = int((~np.isfinite(point.values)).argmax())
                raise SolutionError(
                    f"{path}: expected finite numbers, got {point.values[at]} for column {point.names[at]!r}"
                )
            return point
    raise SolutionError(
        f"cannot tell which format {str(path)!r} is in; known: {', '.join(POINTS.names())}; is it a solution file?"
    )


def write_point(model, x: np.ndarray, path, format: str, termination=Termination.UNKNOWN) -> Path:
    """Writes a point of the model; the same bytes every time. Raises OutputError."""
    module = POINTS.get(format)
    with new_file(path) as stream:
        module.write(model, x, stream, termination)
    return Path(path)


def pairs(words: list[str], where: str) -> tuple[list[str], np.ndarray]:
    """(names, values) from words that alternate; raises SolutionError where they do not."""
    names, texts = words[0::2], words[1::2]
    if len(names) != len(texts):
        raise SolutionError(f"expected a name and a value on every line of {where}, got {names[-1]!r} alone; the file is cut off")
    try:
        return names, np.array(texts, dtype=float)
    except ValueError as problem:
        raise SolutionError(f"expected a name and a number on every line of {where}: {problem}") from None
