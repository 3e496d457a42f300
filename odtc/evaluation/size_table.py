"""Size of the model of every formulation on some data, before anything is built: `odtc build --estimate`."""

import hashlib
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base.memory import available
from odtc.base.text import count_of, in_notebook
from odtc.base.wording import option
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.errors import ChoiceError, DataError, ModelError
from odtc.fileformats import mps_writer
from odtc.fileformats.models import mps
from odtc.problem.constraints import constraint
from odtc.problem.counts import counts_of
from odtc.problem.estimates import Counts
from odtc.problem.formulation import FORMULATIONS, Compiled
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import CompleteTree
from odtc.workflow.compiling import choose_cuts
from odtc.workflow.pipeline import labelled
from odtc.workflow.posing import choose, default_params, pose_run
from odtc.workflow.specification import RunSpec

HEAD = ("model", "variables", "constraints", "nonzeros", "MPS file", "memory", "CPU s", "")


@dataclass(frozen=True, repr=False)
class SizeTable:
    """The sizes of the models of one problem.

    Attributes
    ----------
    counts : dict of str to odtc.problem.counts.Counts
        The sizes of each formulation; `words` states why one has none.
    auto : str
        The formulation that `--model auto` takes, "" if none is chosen by size.
    why : str
        Why.
    free : int or None
        Bytes of free memory; None if unknown.
    data : str
        The rows and tests, in words.
    pace : float
        CPU seconds that this machine takes now for a second of `counts`, as it was measured for this table.
    """

    counts: dict[str, Counts]
    auto: str
    why: str
    free: int | None
    data: str
    pace: float = 1.0

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<SizeTable of {len(self.counts)} models: {self.data}>"

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON; numbers that are not known are null. Seconds are for this machine at its pace.

        Returns
        -------
        dict
        """
        models = {name: asdict(replace(one, seconds=self._seconds(one))) for name, one in self.counts.items()}
        told = {"data": self.data, "auto": self.auto, "why": self.why, "free_memory": self.free, "models": models}
        return told | {"pace": self.pace}

    def to_text(self) -> str:
        """Return the table in lines, with advice on models that do not fit into memory.

        Returns
        -------
        str
        """
        cells = [HEAD, *(self._cells(name, counts) for name, counts in self.counts.items())]
        widths = [max(len(row[at]) for row in cells) for at in range(len(HEAD) - 1)]
        lines = [self.data]
        for name, *numbers, words in cells:
            right = "  ".join(cell.rjust(width) for cell, width in zip(numbers, widths[1:]))
            lines.append(f"{name.ljust(widths[0])}  {right}  {words}".rstrip())
        if self.auto:
            lines.append(f"* {option('model', 'auto')}: {self.why}")
        lines.append(
            "exact, except ≤ (at most) and ~ (about). Memory is in addition to the data, for building and writing; a "
            "solver needs more. CPU seconds are estimated from a small model on this machine"
        )
        over = [name for name, counts in self.counts.items() if self._too_large(counts)]
        if over and self.free is not None:
            lines.append(
                f"{', '.join(over)}: more than the {_bytes(self.free)} of memory that are free; use a smaller "
                f"{option('depth')}, fewer splits (for instance {option('encoding', 'auto:bins=8')}), or fewer rows "
                f"({option('select', 'balanced')})"
            )
        return "\n".join(lines)

    def _cells(self, name: str, counts: Counts) -> tuple[str, ...]:
        most = "" if counts.exact else "≤ "
        numbers = (counts.columns, counts.rows, counts.nonzeros)
        sizes = [f"{most}{_whole(number)}" if number is not None else "" for number in numbers]
        about = ["" if size is None else f"~ {_bytes(size)}" for size in (counts.file, counts.memory)]
        took = self._seconds(counts)
        seconds = "" if took is None else f"~ {_seconds(took)}"
        words = "; ".join(filter(None, ["does not fit" if self._too_large(counts) else "", counts.words]))
        return (f"{name}{'*' * (name == self.auto)}", *sizes, *about, seconds, words)

    def _seconds(self, counts: Counts) -> float | None:
        return None if counts.seconds is None else counts.seconds * self.pace

    def _too_large(self, counts: Counts) -> bool:
        return counts.exact and None not in (counts.memory, self.free) and counts.memory > self.free


def estimate(data, y=None, model: str = "flowoct", depth: int = 2, *, cuts=None, **keywords) -> SizeTable:
    """Estimate the size of the model of every formulation before anything is built.

    Parameters
    ----------
    data, y, model, depth, cuts, **keywords
        As for `odtc.build`; parameters and `cuts` are for `model`, the others have their defaults.

    Returns
    -------
    SizeTable
        `print` shows it.

    Raises
    ------
    DataError, ChoiceError

    Examples
    --------
    >>> import odtc
    >>> print(odtc.estimate("examples/monks/monks-1.csv", depth=2, encoding="onehot"))  # doctest: +ELLIPSIS
    124 different rows, ...
    """
    data, model, depth = labelled(data, y, model, depth, keywords)
    spec = RunSpec.from_keywords(model, depth, keywords, fitting=False)
    return sizes_of(replace(spec, model=replace(spec.model, cuts=cuts)), data)


def sizes_of(spec: RunSpec, data: Dataset | str | Path) -> SizeTable:
    """Return the table of a specification; the other formulations have their default parameters.

    Parameters
    ----------
    spec : RunSpec
    data : Dataset or path

    Returns
    -------
    SizeTable

    Raises
    ------
    DataError, ChoiceError
        For errors in the data or in the specification.
    """
    cuts = choose_cuts(spec.model.cuts)
    problem = pose_run(replace(spec, fitting=False), data, prepared=False)
    choice = problem.choice
    if choice is None and not problem.module.MOMENTS:
        kinds = tuple(given.name for given in problem.constraints)
        choice = choose(problem.encoded.n_candidate_splits, problem.topology.depth, kinds, problem.encoded)
    counts = {name: _of(problem, name, spec, cuts) for name in FORMULATIONS.names()}
    encoded, dataset = problem.encoded, problem.encoded.dataset
    rows = "" if dataset is None or dataset.n_rows == encoded.n_rows else f" of {dataset.n_rows:,}"
    words = (
        f"{encoded.n_rows:,} different rows{rows}, {count_of(encoded.n_candidate_splits, 'split')}, depth "
        f"{problem.topology.depth}"
    )
    auto, why = (choice.formulation, choice.why) if choice else ("", "")
    return SizeTable(counts, auto, why, available(), words, pace())


def _of(problem: Problem, name: str, spec: RunSpec, cuts: Any) -> Counts:
    module = FORMULATIONS.get(name)
    if not module.can(Compiled):
        return Counts(words="no model: it learns its tree itself")
    try:
        if name != problem.formulation:
            cuts, params = None, parse_params(name, default_params(name, fitting=False))
            bare = replace(problem, module=module, params=params, constraints=(), choice=None)
            problem = constraint.posed(bare, spec.model.constraints)
        return counts_of(problem, cuts, mps_writer.size)
    except (ChoiceError, DataError, ModelError) as refused:
        return Counts(words=str(refused))


def _whole(number: int) -> str:
    return f"{number:,}" if number < 1e12 else f"{number:.2g}"


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f}" if seconds < 1e6 else f"{seconds:.2g}"


MODEL, ROWS, COLUMNS, DEPTH = "flowoct", 1000, 20, 3  # some 120,000 nonzeros
RUNS = 2  # the first loads its modules


class _Nowhere:
    """Stream that hashes its input, as a file of a model is hashed, and stores nothing."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> None:
        self.digest.update(data)


def pace() -> float:
    """CPU seconds that this machine takes now for a second of odtc.problem.counts.

    Returns
    -------
    float
    """
    random = np.random.default_rng(0)
    X, y = random.integers(0, 2, (ROWS, COLUMNS)).astype(float), random.integers(0, 3, ROWS).astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(COLUMNS))
    data = Dataset("pace", X, y, features, ("a", "b", "c"), np.ones(ROWS))
    problem = Problem(encode(data), CompleteTree(DEPTH), FORMULATIONS.get(MODEL), parse_params(MODEL, {}))
    said, took = counts_of(problem).seconds, np.inf
    for _ in range(RUNS):
        began = time.process_time()
        mps.write(problem.module.build(problem), _Nowhere(), False)
        took = min(took, time.process_time() - began)
    return took / said
