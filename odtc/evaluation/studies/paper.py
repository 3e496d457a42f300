"""The fits of a paper's table: `odtc bench paper`.

For each line of the table, method and sample every point of the grid is fitted and judged by the validation part or by
folds; the best point is fitted again and judged by the test rows. Each fit is a task of odtc.evaluation.studies.engine,
so a study that was stopped goes on, and two tables with the same fits share them.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from odtc import __version__
from odtc.base.system import children_cpu_seconds
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.data.reading import fingerprint
from odtc.errors import DataError, OdtcError
from odtc.evaluation.cross_validation import deal_folds
from odtc.evaluation.studies.engine import Store, kept, key_of
from odtc.evaluation.studies.paper_protocols import DataFile, Line, Method, Protocol, Split
from odtc.evaluation.studies.study import FileRows
from odtc.problem.parameters import has_parameter
from odtc.workflow.run import run
from odtc.workflow.specification import ModelSpec, RunSpec, SolvingSpec

VALIDATION, TRAIN, REST = "validation", "train", "rest"


@value_class
class PaperFit:
    """A model fitted on a part of a sample and judged on others; a task of odtc.evaluation.studies.engine.

    Attributes
    ----------
    path, sha256 : str
        The data file.
    spec : RunSpec
    split : Split
        With one seed, the seed of the sample.
    part : str
        The rows that train: validation (the training part, judged by the validation part), train, rest, or "fold K/N"
        of the rest.
    penalty : tuple of str and float, or None
        A parameter, and λ of (1 - λ) loss + λ branch nodes from which it is computed.
    """

    path: str
    sha256: str
    spec: RunSpec
    split: Split
    part: str
    penalty: tuple[str, float] | None = None

    @property
    def key(self) -> str:
        facts = {name: value for name, value in asdict(self).items() if name != "path"}
        return key_of(facts | {"odtc": __version__})

    @property
    def title(self) -> str:
        """The fit in messages."""
        return f"{Path(self.path).name}, {self.spec.model.model}, depth {self.spec.model.depth}, {self.part}"

    def run(self) -> dict[str, Any]:
        """Return the figures of the fit. A fit without a tree is a result, too: its `error` is the reason."""
        began, cpu = time.monotonic(), _cpu_seconds()
        try:
            train, judged = self._parts
            done = run(self._spec_for(train), train)
        except OdtcError as problem:
            return {"seconds": time.monotonic() - began, "error": " ".join(str(problem).split())}
        if done.was_interrupted:
            raise KeyboardInterrupt
        facts: dict[str, Any] = {"n_train": train.n_rows, "error": None}
        facts |= {"seconds": time.monotonic() - began, "cpu_seconds": _cpu_seconds() - cpu}
        facts |= {"proved": done.claimed.proved, "scope": done.claimed.scope, "verified": done.verified}
        facts |= {name: getattr(done.proof, name) for name in ("termination", "objective", "bound", "gap")}
        facts |= {"n_leaves": done.tree.n_leaves, "kept": done.problem.encoded.copies.sum() / train.n_rows}
        facts |= {name: float((done.tree.predict(rows.X) == rows.y).mean()) for name, rows in judged.items()}
        return facts | {"kept": float(facts["kept"])}

    @property
    def _parts(self) -> tuple[Dataset, dict[str, Dataset]]:
        """Return the rows of the fit, and those that it is judged on by the name of the figure."""
        dataset = FileRows(self.path, self.sha256).read(self.spec.reading)
        train, validation, test = parts(dataset.n_rows, self.split)
        if self.part == VALIDATION:
            return dataset.taken(train), {VALIDATION: dataset.taken(validation)}
        rest = np.sort(np.concatenate([train, validation]))
        if self.part.startswith("fold "):
            number, many = map(int, self.part.removeprefix("fold ").split("/"))
            fold = deal_folds(dataset.y[rest], many, self.split.seeds[0])
            return dataset.taken(rest[fold != number]), {VALIDATION: dataset.taken(rest[fold == number])}
        rows = dataset.taken(train if self.part == TRAIN else rest)
        return rows, {"train": rows} | ({"test": dataset.taken(test)} if len(test) else {})

    def _spec_for(self, train: Dataset) -> RunSpec:
        if self.penalty is None:
            return self.spec
        name, lam = self.penalty
        if name != "lambda":  # min loss + α L̂ branch nodes, with L̂ the loss of the most frequent class
            loss = train.n_rows - np.bincount(train.y).max()
            lam = lam / (1 - lam) / loss if loss else 0.0
        return self.spec.with_model(params=self.spec.model.params | {name: repr(float(lam))})


def _cpu_seconds() -> float:
    return time.process_time() + (children_cpu_seconds() or 0.0)


def parts(n_rows: int, split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the positions of the rows that train, validate and test, int64 in rising order, for the first seed of a
    split.

    They are the results of two calls of scikit-learn's train_test_split with this seed as `random_state`: first the
    test rows, then the validation rows of the others in their new order. The code of the FlowOCT paper splits in this
    way.
    """
    seed, none = split.seeds[0], np.zeros(0, np.int64)
    rows, test, validation = np.arange(n_rows), none, none
    if split.test:
        rows, test = _cut(rows, split.test, seed)
    if split.validation:
        rows, validation = _cut(rows, split.validation, seed)
    return np.sort(rows), np.sort(validation), np.sort(test)


def _cut(rows: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (the others, a share of the rows), drawn."""
    n = int(np.ceil(share * len(rows)))
    if not 0 < n < len(rows):
        raise DataError(f"expected enough rows for parts of {share:g} and the others, got {len(rows)}")
    drawn = np.random.RandomState(seed).permutation(len(rows))
    return rows[drawn[n:]], rows[drawn[:n]]


@value_class
class Cell:
    """A method on a line of a table and one sample: its fits."""

    protocol: Protocol
    line: Line
    method: Method
    split: Split
    spec: RunSpec
    path: str
    sha256: str

    def fit(self, point: dict[str, float], part: str) -> PaperFit:
        """Return the fit of a point of the grid on a part of the rows."""
        given = {key: f"{value:g}" for key, value in self.line.given.items()}
        params = {key: value.format(**given) for key, value in self.method.params.items()}
        params |= {key: repr(value) for key, value in point.items() if key != "lambda"}
        spec = self.spec.with_model(params=self.spec.model.params | params)
        penalty = (self.method.penalty, point["lambda"]) if self.method.penalty and "lambda" in point else None
        return PaperFit(self.path, self.sha256, spec, self.split, part, penalty)

    @property
    def choosing(self) -> list[list[PaperFit]]:
        """The fits by which a point is chosen, for each point of the grid; none if there is nothing to choose. A table
        of proofs needs them in any case."""
        points = self.method.points
        if len(points) < 2 and not self.protocol.proved:
            return []
        if self.protocol.choose == VALIDATION:
            return [[self.fit(point, VALIDATION)] for point in points]
        many = self.protocol.folds
        return [[self.fit(point, f"fold {k}/{many}") for k in range(many)] for point in points]

    def last(self, found: dict[str, dict]) -> PaperFit | None:
        """Return the fit of the best point; None until all fits by which it is chosen are among those found."""
        place, choosing = 0, self.choosing
        if choosing:
            results = [[found.get(fit.key) for fit in fits] for fits in choosing]
            if any(result is None for one in results for result in one):
                return None
            place = int(np.argmax([np.mean([result.get(VALIDATION, -1.0) for result in one]) for one in results]))
        return self.fit(self.method.points[place], self.method.refit or self.protocol.refit)


def cells_of(
    protocol: Protocol,
    files: dict[str, DataFile],
    folder: Path,
    chosen: tuple[Sequence[str], Sequence[str]],
    solving: SolvingSpec,
    samples: int | None = None,
) -> list[Cell]:
    """Return the cells of a table whose data are in the folder, line by line.

    Parameters
    ----------
    protocol : Protocol
    files : dict
        The data sets of all papers by name.
    folder : Path
    chosen : tuple
        Names of lines and of methods; none for all.
    solving : SolvingSpec
        The solver; its time limit replaces the paper's if there is one.
    samples : int or None
        The number of seeds, if not all.

    Raises
    ------
    ChoiceError
        For unknown names.
    """
    found, sums = [], {}
    methods = protocol.chosen_methods(chosen[1])
    for line in protocol.chosen_lines(chosen[0]):
        path = files[line.data].path(folder)
        if path is None:
            continue
        sums.setdefault(path, fingerprint(path))
        for method in methods:
            for seed in protocol.split.seeds[: 1 if method.once else samples]:
                params = {"seed": str(seed)} if has_parameter(method.model, "seed") else {}
                given = {key: f"{value:g}" for key, value in line.given.items()}
                select = None if method.select is None else method.select.format(**given)
                model = ModelSpec(
                    method.model, line.depth, params, protocol.encoding, start=protocol.start, select=select
                )
                limit = protocol.limit_of(method, solving.time_limit)
                solver = None if method.own else solving.named_solver
                own = replace(solving, solver=solver, seed=seed, threads=1, time_limit=limit)
                spec = RunSpec(model=model, solving=own)
                split = replace(protocol.split, seeds=(seed,))
                found.append(Cell(protocol, line, method, split, spec, str(path.absolute()), sums[path]))
    return found


def stages(cells: Sequence[Cell], found: dict[str, dict]) -> Iterator[list[PaperFit]]:
    """Yield the fits that choose, then, when their results are among those `found` by key, the last fits; a table of
    proofs has only the former."""
    yield _each_once(fit for cell in cells for fits in cell.choosing for fit in fits)
    if not any(cell.protocol.proved for cell in cells):
        yield _each_once(fit for cell in cells if (fit := cell.last(found)) is not None)


def _each_once(fits: Iterable[PaperFit]) -> list[PaperFit]:
    return list({fit.key: fit for fit in fits}.values())


def stored(cells: Sequence[Cell], store: Store) -> dict[str, dict]:
    """Return the finished results of cells by the key of their fit."""
    found: dict[str, dict] = {}
    for fits in stages(cells, found):
        found |= {fit.key: result for fit in fits if (result := kept(fit, store)) is not None}
    return found
