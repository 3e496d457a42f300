"""Formats of points: named values to text and back, one module of odtc.fileformats.solutions each.

A format that only solvers write does not have WrittenPoints, and one that they only read does not have ReadPoints. A
solution file is recognised by its content, never by its name.
"""

import re
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from odtc.base.atomic_write import new_file
from odtc.base.byte_stream import ByteStream
from odtc.base.commit import expect_settled
from odtc.base.compression import TooLargeError, unpacked
from odtc.base.memory import require_memory
from odtc.base.registry import Contract, Registry, of_this_stem
from odtc.base.text import count_of
from odtc.base.value_class import frozen_class
from odtc.base.wording import kind_by_name
from odtc.errors import ChoiceError, SolutionError
from odtc.fileformats.model_files import identity_in
from odtc.model.blocks import Block, NamedBlock
from odtc.model.milp import Model
from odtc.model.name_spans import Words
from odtc.model.points import align, name_list
from odtc.model.solution import NO_POINT, Termination


class PointFormat(Protocol):
    """Functions and constants that every format of points defines."""

    NAME: str
    SUFFIX: str  # the ending of its files, ".sol"
    SUMMARY: str


class ReadPoints(Protocol):
    """A format that solvers write."""

    @abstractmethod
    def matches(self, head: bytes) -> bool:
        """Return whether a file that begins with these bytes has the format."""
        ...

    @abstractmethod
    def read(self, data: bytes) -> "RawPoint":
        """Return the point of the bytes of a file, whose lines end with a line feed."""
        ...


class WrittenPoints(Protocol):
    """A format that solvers read: of starts, or of solutions."""

    @abstractmethod
    def write(self, model: Model, x: np.ndarray, stream: ByteStream, termination: Termination) -> None:
        """Write the point `x` of a model as bytes to a binary stream; `termination` is how the solver ended."""
        ...


# In the order of trial: a format with a clear mark before one that takes nearly anything.
POINTS = Registry(
    "point format",
    "odtc.fileformats.solutions",
    (
        "highs",
        "highs-sparse",
        "highs-table",
        "cplex",
        "scip",
        "cbc",
        "glpk",
        "glpk-table",
        "xpress",
        "xpress-ascii",
        "symphony",
        "lp-solve",
        "name-value",
    ),
    Contract(always=(PointFormat,), one_of=(ReadPoints, WrittenPoints)),
    "odtc.points",
)

# What a job script puts behind the solution of any format (odtc.solvers.job_script): no format need know it.
MARK = re.compile(rb"# odtc model [0-9a-f]{64} file [0-9a-f]{64}\n\Z")
# Formats whose files may have no value for a variable that is 0.
LEAVE_OUT_ZEROS = ("highs", "highs-sparse", "scip", "cbc", "symphony")
HEAD = 4096  # bytes by which a file is recognised
MEMORY = 11  # bytes that are held for a byte of a solution: 700 MB of short lines took 7.5 GB

# With these, the content of a file is not a solution: the last basis, a ray, or the linear relaxation.
NO_SOLUTION = {*NO_POINT, Termination.ERROR}


@frozen_class
class RawPoint:
    """Content of a solution file.

    `values` is float64 of shape (names,), or None without a point. `names` is None if the file has none: the
    values are then in the order of the model. `n_columns` is the number of variables that the file announces, if it
    does. `termination` is None if the file does not state how the solver ended; with `within_gap`, it calls a solution
    optimal that was proved only within a gap.
    """

    format: str
    names: Words | list[str] | None
    values: np.ndarray | None
    termination: Termination | None = None
    objective: float | None = None
    n_columns: int | None = None
    within_gap: bool = False
    model: str = ""  # the identity that it names, and the content of the model file; "" if it names none
    content: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.names, list):
            object.__setattr__(self, "names", Words.of(self.names))

    def on(self, blocks: Sequence[Block | NamedBlock]) -> np.ndarray | None:
        """Return the point in the order of the columns of these blocks, float64 of shape (columns,); None if
        the file holds none. Raises SolutionError if it speaks of other columns, or of another number."""
        if self.values is None:
            return None
        size = blocks[-1].stop if blocks else 0
        if self.n_columns is not None and self.n_columns != size:
            raise SolutionError(
                f"the solution has {count_of(self.n_columns, 'column', '')}, the model {size}; it is cut off or "
                "belongs to another model"
            )
        return align(blocks, self.names, self.values)

    def expect_nonzero(self, model: Model, x: np.ndarray) -> None:
        """Raise SolutionError if a variable of the model that cannot be 0 is 0 in the point `x`, float64 (columns,),
        because the file has no value of it, as if it was cut off between two lines."""
        size = len(model.col_lower)
        at = np.flatnonzero((x[:size] == 0) & ((model.col_lower > 0) | (model.col_upper < 0)))
        if self.names is None or len(self.names) >= size or not len(at):
            return
        (name,) = name_list(model.columns)[at[0] : at[0] + 1]
        raise SolutionError(
            f"expected a value of {name!r}, which is not 0 in any solution, got values of {len(self.names):,} of "
            f"{size:,} variables without it; the file is cut off or has only some variables: write it again, with all"
        )

    def left_out(self, size: int) -> str:
        """Report how many of the `size` variables of a model have no value in the file; "" if none, or if the format
        leaves zeros out."""
        if self.names is None or self.format in LEAVE_OUT_ZEROS or len(self.names) >= size:
            return ""
        return f"the file has values for {len(self.names):,} of {size:,} variables; the others count as 0"

    def under(self, termination: Termination | None, has_point: bool | None = None) -> "RawPoint":
        """Return the same point with the facts of the log: how the solver ended, and whether there is a point."""
        termination = self.termination or termination
        if termination in NO_SOLUTION or has_point is False:
            return replace(self, names=None, values=None, termination=termination, objective=None)
        return replace(self, termination=termination)


def read_point(path: str | Path) -> RawPoint:
    """Read a solution or start file of any known format, compressed or not.

    Parameters
    ----------
    path : path

    Returns
    -------
    RawPoint

    Raises
    ------
    SolutionError
        If the file cannot be read, has an unknown format, or is damaged.
    ModelError
        If it does not fit into memory.
    """
    data = read_bytes(path)
    require_memory(MEMORY * len(data), f"{path}: a solution of {len(data):,} bytes", "is it of this model?")
    for name in POINTS.names():
        module = POINTS.get(name)
        if module.can(ReadPoints) and module.matches(data[:HEAD]):
            try:
                model, content = identity_in(data)
                point = replace(module.read(MARK.sub(b"", data, 1)).under(None), model=model, content=content)
            except SolutionError as problem:
                raise SolutionError(f"{path}: {problem}") from None
            if point.termination == Termination.OPTIMAL and point.values is None:
                raise SolutionError(
                    f"{path}: expected the values of an optimal solution, got none; the file is damaged, write it again"
                )
            expect_finite(point, path)
            return point
    raise SolutionError(
        f"cannot detect the format of {str(path)!r}; known: {', '.join(POINTS.names())}"
        + (
            kind_by_name(path, ".sol", ".mst", ".start.sol")
            or "; have the solver write one of these (`odtc solve STEM.mps --solver NAME --dry-run` prints a command)"
        )
    )


def expect_finite(point: RawPoint, path: str | Path) -> None:
    """Raise SolutionError for a point with a value that is not finite."""
    if point.values is not None and not np.isfinite(point.values).all():
        at = int((~np.isfinite(point.values)).argmax())
        column = f"column {at + 1}" if point.names is None else f"column {point.names[at]!r}"
        raise SolutionError(
            f"{path}: expected finite numbers, got {point.values[at]} for {column}; the solver has no solution"
        )


def expect_an_end(path: str | Path) -> None:
    """Raise SolutionError for a device, which has no end, unlike a pipe."""
    if Path(path).is_char_device() or Path(path).is_block_device():
        raise SolutionError(f"expected a solution in a file, got the device {str(path)!r}")


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a text file, unpacked, with line ends \\n. Raises SolutionError."""
    expect_settled(path)
    expect_an_end(path)
    try:
        data = unpacked(Path(path).read_bytes())
    except TooLargeError as problem:
        raise SolutionError(f"expected a packed solution file in {str(path)!r}, but {problem}") from None
    except (EOFError, zlib.error) as problem:
        raise SolutionError(
            f"the compressed solution file {str(path)!r} is damaged: {problem}; write it again"
        ) from None
    except OSError as problem:
        raise SolutionError(
            f"cannot read the solution file {str(path)!r}: {problem.strerror}{of_this_stem(path, '.sol')}"
        ) from None
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # the mark of UTF-16, which PowerShell writes by >
            data = data.decode("utf-16").encode("utf-8")
        data = data.removeprefix(b"\xef\xbb\xbf")
        data.isascii() or data.decode("utf-8")
    except UnicodeDecodeError:
        raise SolutionError(
            f"expected a solution file in text, got {str(path)!r}, which is neither UTF-8 nor UTF-16; write it "
            f"again{kind_by_name(path, '.sol')}"
        ) from None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not data or data.isspace():
        raise SolutionError(f"the solution file {str(path)!r} is empty; the solver wrote no solution")
    return data


def write_point(
    model: Model, x: np.ndarray, path: str | Path, format: str, termination: Termination = Termination.UNKNOWN
) -> Path:
    """Write a point of a model, with the same bytes every time.

    Parameters
    ----------
    model : Model
    x : float64 (columns,)
    path : path
    format : str
        A format of odtc.fileformats.solutions that can be written.
    termination : Termination
        How the solver ended, for formats that record it.

    Returns
    -------
    Path

    Raises
    ------
    OutputError
        If the file cannot be written.
    ChoiceError
        If the format is only read.
    """
    module = POINTS.get(format)
    if not module.can(WrittenPoints):
        written = ", ".join(POINTS.able(WrittenPoints))
        raise ChoiceError(f"the point format {format!r} is only read; choose one that solvers read: {written}")
    with new_file(path) as stream:
        module.write(model, x, stream, termination)
    return Path(path)


def number(word: str | bytes) -> float:
    """Return the objective that a file states; raises SolutionError if it is not a finite number."""
    word = word.decode("utf-8", "replace") if isinstance(word, bytes) else word
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise SolutionError(f"expected a finite number as the objective, got {word[:60]!r}; write the solution again")
    return value


def cut_off(wanted: str, got: str = "") -> SolutionError:
    """Return the error of a file that ends too early."""
    return SolutionError(f"expected {wanted}{', got ' + got if got else ''}; the file is cut off, write it again")
