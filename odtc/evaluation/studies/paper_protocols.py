"""Protocols of the papers' tables as papers.toml describes them: data, splits, grids, limits and printed figures."""

import gzip
import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from odtc.base.text import did_you_mean
from odtc.base.value_class import value_class
from odtc.errors import ChoiceError, DataError

FILE = Path(__file__).with_name("papers.toml")
ENDINGS = (".csv", ".csv.gz")
ABSENT = "-"  # a figure that the paper does not have
GIVEN = "given"  # columns with a parameter of the row instead of a figure
PRESENT, DIFFERS, MISSING, UNCHECKED = "present", "differs", "missing", "present, but its checksum is not known"


@value_class
class DataFile:
    """A data set of a paper: complete rows, columns and classes as printed; the SHA-256 of NAME.csv, unpacked, is None
    if no public file is known."""

    name: str
    rows: int
    columns: int
    classes: int
    sha256: str | None = None

    def path(self, folder: Path) -> Path | None:
        """NAME.csv or NAME.csv.gz in a folder; None if there is neither."""
        return next((path for end in ENDINGS if (path := folder / f"{self.name}{end}").is_file()), None)

    def state(self, folder: Path) -> str:
        """Return whether the folder has the expected file."""
        path = self.path(folder)
        if path is None:
            return MISSING
        if self.sha256 is None:
            return UNCHECKED
        try:
            with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
        except (OSError, EOFError) as problem:
            raise DataError(f"expected a data file, cannot read {str(path)!r}: {problem}") from None
        return PRESENT if found == self.sha256 else DIFFERS


@dataclass(frozen=True)
class Split:
    """Random parts of the rows: `test` is a share of all rows, `validation` one of the others; a sample for each seed.
    Without `test` all rows train."""

    seeds: tuple[int, ...]
    test: float | None = None
    validation: float | None = None


@value_class
class Method:
    """A column of a table: a formulation with parameters, and a grid of which every point is tried.

    Attributes
    ----------
    of : str
        The method whose printed figures it is compared with.
    penalty : str or None
        The parameter that λ of the grid is given as, converted if that is not `lambda`.
    once : bool
        Whether one sample is enough, because no seed changes the result.
    own : bool
        Whether odtc's own search proves the tree, whatever solver is named.
    extra : bool
        Whether the paper does not have it.
    """

    name: str
    model: str
    of: str
    params: dict[str, str] = field(default_factory=dict)
    grid: dict[str, list[float]] = field(default_factory=dict)
    penalty: str | None = None
    select: str | None = None
    refit: str | None = None
    time_limit: float | None = None
    once: bool = False
    own: bool = False
    extra: bool = False

    @property
    def points(self) -> list[dict[str, float]]:
        """All points of the grid; one without values if the grid is empty."""
        return [dict(zip(self.grid, values)) for values in product(*self.grid.values())]


@value_class
class Line:
    """A line of a table: the printed figures by (figure, method), and the parameters that are given for it."""

    data: str
    depth: int
    printed: dict[tuple[str, str], float]
    given: dict[str, float]

    @property
    def name(self) -> str:
        return f"{self.data}@{self.depth}"


@value_class
class Protocol:
    """A table or figure of a paper and how its numbers are computed; the fields are the keys of papers.toml."""

    name: str
    title: str
    source: str
    split: Split
    methods: tuple[Method, ...]
    lines: tuple[Line, ...]
    time_limit: float
    encoding: str
    start: str
    tolerance: float = 2.0
    choose: str | None = None
    folds: int = 0
    refit: str = "rest"
    note: str = ""
    wins: bool = False
    proved: tuple[dict[str, Any], ...] = ()

    def chosen_methods(self, names: Sequence[str]) -> list[Method]:
        """Return these methods, by default the methods of the paper. Raises ChoiceError for an unknown name."""
        if not names:
            return [method for method in self.methods if not method.extra]
        known = {method.name: method for method in self.methods}
        _expect(names, list(known), "--methods")
        return [known[name] for name in names]

    def chosen_lines(self, names: Sequence[str]) -> list[Line]:
        """Return the lines of these data sets, each NAME or NAME@DEPTH, by default all. Raises ChoiceError."""
        if not names:
            return list(self.lines)
        _expect(names, [word for line in self.lines for word in (line.data, line.name)], "--rows")
        return [line for line in self.lines if line.data in names or line.name in names]

    def limit_of(self, method: Method, time_limit: float | None) -> float:
        """Return the seconds of a fit. `time_limit` replaces the paper's limit; other limits of methods are scaled
        with it."""
        printed = method.time_limit or self.time_limit
        return printed if time_limit is None else printed * time_limit / self.time_limit


def _expect(names: Sequence[str], known: Sequence[str], option: str) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ChoiceError(f"{option}: expected some of {', '.join(dict.fromkeys(known))}, got {name!r}{hint}")


@cache
def _described() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def names() -> list[str]:
    """Return the names of all protocols, in the order of the file."""
    return list(_described()["studies"])


def data_files() -> dict[str, DataFile]:
    """Return all data sets of the papers by name."""
    return {name: DataFile(name, **facts) for name, facts in _described()["data"].items()}


def protocol(name: str) -> Protocol:
    """Return the protocol of this name. Raises ChoiceError for an unknown one."""
    if name not in names():
        raise ChoiceError(f"expected one of {', '.join(names())}, got {name!r}{did_you_mean(name, names())}")
    facts = _facts(name)
    columns = [column.partition(" ")[::2] for column in facts.pop("columns")]
    lines = tuple(_line(columns, *row) for row in facts.pop("rows"))
    methods = tuple(Method(**({"of": method["name"]} | method)) for method in facts.pop("methods"))
    split = facts.pop("split")
    split["seeds"] = tuple(split["seeds"])
    proved = tuple(facts.pop("proved", ()))
    return Protocol(name, split=Split(**split), methods=methods, lines=lines, proved=proved, **facts)


def _facts(name: str) -> dict[str, Any]:
    """Return the fields of a protocol, with defaults from the protocol named by `like`."""
    facts = dict(_described()["studies"][name])
    like = facts.pop("like", None)
    facts = facts if like is None else _facts(like) | facts
    return facts | {"split": dict(facts["split"])}


def _line(columns: list[tuple[str, str]], data: str, depth: int, *figures: float | str) -> Line:
    pairs = [(column, float(figure)) for column, figure in zip(columns, figures, strict=True) if figure != ABSENT]
    printed = {column: figure for column, figure in pairs if column[0] != GIVEN}
    return Line(data, depth, printed, {key: figure for (kind, key), figure in pairs if kind == GIVEN})
