"""A grid over data sets, models, depths, parameters, encodings and seeds by cross-validation: `odtc sweep`.

The study is a folder: study.json describes it, tasks/ contains a file for each finished fit, results.parquet is the
tidy table with one row for each fit, and best/ contains the best tree of each data set, fitted on all rows.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from functools import lru_cache
from itertools import product
from pathlib import Path

from odtc import __version__
from odtc.base.atomic_write import new_file, write_bytes, write_text
from odtc.base.commit import follows_links
from odtc.base.json_schema import TEXT, WHOLE, SchemaError, schema_of, validate
from odtc.base.system import read_file
from odtc.base.text import of_any_bytes
from odtc.base.value_class import value_class
from odtc.data.cells.data_files import data_name
from odtc.data.dataset import Dataset
from odtc.data.encoding import encode
from odtc.data.frames import write_parquet
from odtc.data.reading import fingerprint, read_as
from odtc.data.reading_spec import ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError, OdtcError, OutputError
from odtc.evaluation import plots
from odtc.evaluation.cross_validation import (
    LEAF_MODEL,
    NO_NODE,
    OF_TASK,
    Fold,
    Result,
    Setting,
    best_setting,
    deal_rows,
    expect_valid,
    known,
    outer_folds,
    points,
    score_fold,
    summarise,
)
from odtc.evaluation.studies.engine import Pool, Step, Store, key_of, local, part, run_tasks
from odtc.evaluation.studies.fold_scores import agrees
from odtc.evaluation.studies.price_path import beside_price, price_of, turns
from odtc.problem.constraints.constraint import parse
from odtc.workflow.messages import read_notes
from odtc.workflow.run import run
from odtc.workflow.sinks import FileSink
from odtc.workflow.specification import ModelSpec, RunSpec, SolvingSpec

SCHEMA = "odtc.sweep/1"
# The columns of the tidy table.
COLUMNS = {
    **dict.fromkeys(("data", "model"), str),
    "depth": int,
    **dict.fromkeys(("params", "encoding", "constraints"), str),
    **dict.fromkeys(("seed", "fold", "n_train", "n_test"), int),
    **dict.fromkeys(("accuracy", "balanced_accuracy", "figure", "robust_accuracy"), float),
    "n_leaves": int,
    "proved": bool,
    **dict.fromkeys(("seconds", "cpu_seconds"), float),
    **dict.fromkeys(("error", "key"), str),
}


NEEDED = ("data", "models", "depths", "encodings", "seeds")  # lists of which none is empty
SHAPE = {
    "schema": SCHEMA,
    **dict.fromkeys(("data", "sha256", "models", "encodings"), [TEXT]),
    **dict.fromkeys(("depths", "seeds"), [WHOLE]),
    "params": lambda value, place: dict.fromkeys(value, [TEXT]) if isinstance(value, dict) else {},
    "folds": WHOLE,
    "spec": {
        "reading": schema_of(ReadingSpec),
        "model": schema_of(ModelSpec) | dict.fromkeys(("class_weight", "cost"), (TEXT, None)),
        "solving": schema_of(SolvingSpec),
    },
    "leaf_rows?": [(WHOLE, None)],
    "tries?": [TEXT],
    "nested?": (WHOLE, None),
}


@value_class
class FitTask:
    """A setting, fitted without one part of a data set and scored on it: a task of odtc.evaluation.studies.engine.

    `data` is a path, `sha256` the digest of its bytes; `seed` deals the folds and is the solver's. `turn` is the order
    among the depths and penalties on the same rows (odtc.evaluation.studies.price_path). With `outer` all of it is
    without one part of the rows, (place, parts), as in Study.nested.
    """

    data: str
    sha256: str
    spec: RunSpec
    seed: int
    fold: int
    folds: int
    turn: int = 0
    outer: tuple[int, int] | None = None

    @property
    def facts(self) -> dict:
        """All that the result depends on."""
        return {
            "odtc": __version__,
            "sha256": self.sha256,
            "reading": asdict(self.spec.reading),
            "model": asdict(self.spec.model),
            "solving": asdict(self.spec.solving),
            "seed": self.seed,
            "fold": self.fold,
            "folds": self.folds,
        } | ({} if self.outer is None else {"outer": self.outer})

    @property
    def key(self) -> str:
        return key_of(self.facts)

    @property
    def depth(self) -> int:
        """The requested depth: 0 is a single leaf."""
        return 0 if NO_NODE in self.spec.model.constraints else self.spec.model.depth

    @property
    def step(self) -> Step:
        """The step of the path of fits on the same rows at other depths and penalties."""
        path = key_of(self.facts | {"model": beside_price(self.spec.model)})
        return Step(path, str(self.spec.model.depth), self.turn)

    def run(self) -> dict:
        """The scores of the fit. A fit that odtc refuses is a result, too: its `error` says why."""
        train, test = self._parts
        began, error = time.process_time(), None
        try:
            done = score_fold(train, test, self.spec, 0, self.fold, self.step.path)
        except OdtcError as problem:
            done, error = Fold(0, self.fold, None, None, None, False, None), str(problem)
        if error is None and done.n_leaves is None:
            error = done.error or "no tree within the limits"
        scores = {name: value for name, value in asdict(done).items() if name not in ("setting", "fold")}
        cpu = time.process_time() - began
        return {"n_train": train.n_rows, "n_test": test.n_rows} | scores | {"cpu_seconds": cpu, "error": error}

    def agrees(self, result: dict) -> bool:
        """Return whether a stored result can be its own (odtc.evaluation.studies.fold_scores)."""
        train, test = self._parts
        sizes = (result.get("n_train"), result.get("n_test")) == (train.n_rows, test.n_rows)
        seconds = isinstance(result.get("cpu_seconds"), float)
        return sizes and seconds and agrees(result, train, test, self.spec)

    @property
    def _parts(self) -> tuple[Dataset, Dataset]:
        """The rows of the fit, and those that it is scored on."""
        dataset = _read(self.data, self.sha256, json.dumps(asdict(self.spec.reading), default=str))
        if self.outer is not None:
            dataset = dataset.taken(outer_folds(dataset, self.outer[1], self.seed) != self.outer[0])
        fold = deal_rows(dataset, self.folds, self.seed)
        return dataset.taken(fold != self.fold), dataset.taken(fold == self.fold)


@value_class
class BestTask:
    """The best setting of a data set, fitted on all its rows: its files are written where it runs."""

    data: str
    sha256: str
    spec: RunSpec
    stem: str

    @property
    def key(self) -> str:
        return key_of(asdict(self))

    def run(self) -> dict:
        """The files, by their paths; or `error`, why odtc refuses the fit."""
        dataset = _read(self.data, self.sha256, json.dumps(asdict(self.spec.reading), default=str))
        sink = FileSink(lambda problem: self.stem, log=False)
        try:
            run(self.spec, dataset, sink=sink)
        except OutputError:
            raise
        except OdtcError as problem:
            return {"files": [], "error": str(problem)}
        return {"files": [str(path) for path in sink.files], "error": None}


@lru_cache(1)
def _read(path: str, sha256: str, reading: str) -> Dataset:
    """The data of a task; a worker reads a file once for all tasks on it that follow one another."""
    dataset = read_as(path, ReadingSpec(**json.loads(reading)))
    if dataset.source["sha256"] != sha256:
        raise DataError(f"expected the data of the study in {path!r}, but the file was changed since it began")
    return dataset


@value_class
class Study:
    """Description of a study: the product of all lists, on every data file. `spec` has the settings that all fits have
    in common."""

    data: tuple[str, ...]
    sha256: tuple[str, ...]
    models: tuple[str, ...]
    depths: tuple[int, ...]
    params: dict[str, list[str]] = field(default_factory=dict)
    encodings: tuple[str, ...] = ("auto",)
    seeds: tuple[int, ...] = (0,)
    folds: int = 5
    spec: RunSpec = RunSpec()
    leaf_rows: tuple[int | None, ...] = (None,)  # least rows of a leaf
    tries: tuple[str, ...] = ()  # constraints, each tried in addition to those of all fits, and none
    nested: int | None = None  # parts of the rows, without each of which the choice is made again and scored on it

    @property
    def settings(self) -> list[tuple[Setting, str]]:
        """All (setting, encoding), in order. A model is tried with the values of the parameters that it has; depth 0
        is one setting, first, as in odtc.evaluation.cross_validation.grid."""
        found = [(Setting(LEAF_MODEL, 0), self.encodings[0])] * (0 in self.depths)
        depths = [depth for depth in self.depths if depth]
        for model in self.models:
            beside = ((), *((text,) for text in self.tries))
            for depth, encoding, given, least, chosen in product(
                depths, self.encodings, beside, self.leaf_rows, points(model, self.params)
            ):
                found.append((Setting(model, depth, chosen, least, constraints=given), encoding))
        return found

    def spec_of(self, setting: Setting, encoding: str, seed: int) -> RunSpec:
        """Return the run of a setting."""
        return setting.of(self.spec).with_model(encoding=encoding).with_solving(seed=seed, threads=1)

    @property
    def tasks(self) -> list[FitTask]:
        """All fits on all rows: the folds of one data set and seed side by side, so that a worker reads a file once."""
        return self._tasks([None])

    @property
    def inner_tasks(self) -> list[FitTask]:
        """The same fits without each part of `nested`; those of one data set and part follow each other."""
        return self._tasks([(k, self.nested) for k in range(self.nested)]) if self.nested else []

    def _tasks(self, outer: Sequence[tuple[int, int] | None]) -> list[FitTask]:
        settings = self.settings
        turn = turns(setting.of(self.spec).model for setting, _ in settings)
        return [
            FitTask(path, sha256, spec, seed, fold, self.folds, turn[spec.model.depth, price_of(spec.model)], without)
            for path, sha256 in zip(self.data, self.sha256)
            for without in outer
            for setting, encoding in settings
            for seed in self.seeds
            for spec in (self.spec_of(setting, encoding, seed),)
            for fold in range(self.folds)
        ]

    def part(self, which: int, parts: int) -> list[FitTask]:
        """Return the fits of one of some parts (odtc.evaluation.studies.engine.part)."""
        return part(self.tasks + self.inner_tasks, which, parts)

    def to_json(self, folder: Path) -> dict:
        """Return the study as in study.json in this folder: the data are named relative to it, so both can be moved
        together."""
        data = tuple(os.path.relpath(path, folder.resolve()) for path in self.data)
        return {"schema": SCHEMA, "odtc": __version__} | asdict(self) | {"data": data}

    @classmethod
    def from_json(cls, facts: dict, folder: Path) -> "Study":
        """Return the study of a study.json in this folder. Raises SchemaError for an object that is not a study."""
        validate(facts, SHAPE)
        if empty := [name for name in NEEDED if not facts[name]]:
            raise SchemaError(f"{empty[0]!r} is empty")
        spec = facts["spec"]
        parts = ReadingSpec(**spec["reading"]), ModelSpec(**spec["model"]), SolvingSpec(**spec["solving"])
        lists = {name: tuple(facts[name]) for name in ("data", "sha256", "models", "depths", "encodings", "seeds")}
        lists |= {name: tuple(facts[name]) for name in ("leaf_rows", "tries") if name in facts}
        lists["data"] = tuple(os.path.normpath(folder.resolve() / path) for path in lists["data"])
        return cls(
            **lists, params=facts["params"], folds=facts["folds"], spec=RunSpec(*parts), nested=facts.get("nested")
        )


def study_of(data: Sequence[Path], spec: RunSpec, grid: dict, say: Callable[[str], object] = len) -> Study:
    """Return the study of data files; errors of the grid, or of a file, are raised before the work.

    Parameters
    ----------
    data : sequence of path
    spec : RunSpec
        The settings that all fits have in common.
    grid : dict
        `models`, `depths`, `params`, `encodings`, `seeds`, `folds`, `leaf_rows`, `tries`, `nested`, as in Study.
    say : callable
        Called with remarks on each file, in words.

    Raises
    ------
    ChoiceError, DataError
    """
    # In full, since jobs of a queue and workers of a cluster run in other folders.
    paths = tuple(str(Path(path).absolute()) for path in data)
    each = ("models", "depths", "encodings", "seeds", "leaf_rows", "tries")
    lists = {name: tuple(dict.fromkeys(grid[name])) for name in each if name in grid}
    study = Study(paths, tuple(map(fingerprint, paths)), spec=spec, **(grid | lists))
    expect_valid(study.models, study.depths, study.params, study.leaf_rows, study.encodings)
    for key in study.params:
        if not any(key in known(model, study.params) for model in study.models):
            raise ChoiceError(
                f"-p: expected a parameter of {', '.join(study.models)}, got {key!r}, which none of them has; see "
                "`odtc info MODEL`"
            )
    names = set()
    for path in study.data:
        dataset = read_as(path, spec.reading)
        if dataset.name in names:
            raise ChoiceError(f"expected data files of different names, got {dataset.name!r} twice; rename one")
        names.add(dataset.name)
        for note in read_notes(dataset):
            say(f"{dataset.name}: {note}")
        for seed in study.seeds:
            deal_rows(dataset, study.folds, seed)
            outer = outer_folds(dataset, study.nested, seed) if study.nested is not None else None
            for k in range(study.nested or 0):
                deal_rows(dataset.taken(outer != k), study.folds, seed)
        if study.tries:
            encoded = encode(dataset, study.encodings[0])
            for text in study.tries:
                parse(text, encoded)
    return study


def keep(study: Study, folder: Path) -> None:
    """Write study.json. A study in the folder is replaced if it has some data in common with this one: fits that are
    in both are not run again. Raises ChoiceError for one of other data, OutputError."""
    for place in (folder, folder / "best"):
        if place.is_symlink() and not (place == folder and follows_links()):
            raise OutputError(f"cannot write in {str(place)!r}: it is a link; remove it, or name a folder with -o")
    Store(folder / "tasks").make()
    path = folder / "study.json"
    if path.exists() and not set(kept(folder).sha256) & set(study.sha256):
        raise ChoiceError(
            f"expected an empty folder or a study of the same data in {str(folder)!r}, got one of other data; name "
            "another folder with -o"
        )
    write_text(path, json.dumps(study.to_json(folder), ensure_ascii=False, indent=1, default=str) + "\n")


def kept(folder: Path) -> Study:
    """Return the study in a folder. Raises ChoiceError if there is none."""
    try:
        return Study.from_json(json.loads(read_file(folder / "study.json")), folder)
    except (OSError, ValueError, SchemaError, TypeError, RecursionError):
        raise ChoiceError(
            f"expected data files, or with -o the folder of a study to go on with, got {str(folder)!r}, which holds "
            "none"
        ) from None


def version_note(folder: Path) -> str | None:
    """Return a remark if the finished fits of a folder were made by another version of odtc; None if not."""
    try:
        made = json.loads(read_file(folder / "study.json")).get("odtc")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    if made == __version__ or not any((folder / "tasks").glob("*.json")):
        return None
    return f"the study in {str(folder)!r} was made by odtc {made}, this is odtc {__version__}: its fits are run again"


def _expect_kept(study: Study, folder: Path) -> None:
    """Write study.json again if the folder was removed meanwhile; raises DataError if it has another study now."""
    if not (folder / "study.json").exists():
        keep(study, folder)
    there, own = ({**one.to_json(folder), "odtc": None} for one in (kept(folder), study))
    if json.dumps(there, default=str) != json.dumps(own, default=str):
        raise DataError(
            f"expected the study of this command in {str(folder)!r}, but another run has replaced it meanwhile; the "
            "fits are kept: run the same command again, or with another -o"
        )


def rows_of(study: Study, results: Sequence[dict]) -> list[dict]:
    """Return the tidy table: one row for each fit, its setting first, in the order of the tasks."""
    rows, of = [], TASKS.get(study.spec.reading.task)
    for task, result in zip(study.tasks, results, strict=True):
        wanted = task.spec.model
        setting = {
            "data": of_any_bytes(Path(task.data).name),
            "model": wanted.model,
            "depth": task.depth,
            "params": " ".join(f"{key}={value}" for key, value in wanted.params.items()),
            "encoding": wanted.encoding,
            "constraints": "; ".join(text for text in wanted.constraints if text != NO_NODE),
            "seed": task.seed,
            "fold": task.fold,
        }
        rows.append(setting | result | {"figure": _told(result.get("figure"), of), "key": task.key})
    return rows


def _told(figure: float | None, task) -> float | None:
    """Return the figure of a task with its own sign, from a score, for which more is better."""
    return -figure if figure is not None and task.LESS_IS_BETTER else figure


def results_of(study: Study, results: Sequence[dict], score: str) -> dict[str, list[Result]]:
    """Return for each data file the results of all settings, over folds and seeds, as in
    odtc.evaluation.cross_validation."""
    return _results(study, dict(enumerate(results)), score)


def finished(study: Study, results: Mapping[int, dict], score: str) -> dict[str, list[dict]]:
    """Return for each data file, as JSON, the results of the settings whose fits are all among `results`, which are by
    the place of the task."""
    found = _results(study, results, score)
    return {path: [result.to_json() for result in mine] for path, mine in found.items() if mine}


def _results(study: Study, results: Mapping[int, dict], score: str) -> dict[str, list[Result]]:
    each, n = len(study.seeds) * study.folds, len(study.settings)
    names = Fold.__dataclass_fields__

    def fold(at: int) -> Fold:
        kept = {key: value for key, value in results[at].items() if key in names}
        return Fold(**({"setting": at // each, "fold": at % each} | kept))

    found = {}
    for number, path in enumerate(study.data):
        settings, folds = [], []
        for place, (setting, encoding) in enumerate(study.settings):
            own = range((number * n + place) * each, (number * n + place + 1) * each)
            if all(at in results for at in own):
                named = f"{setting.model}, {encoding}" if len(study.encodings) > 1 else setting.model
                settings.append(replace(setting, model=named))
                folds.append([fold(at) for at in own])
        found[path] = summarise(settings, folds, score)
    return found


def conclude(
    study: Study, results: Sequence[dict], folder: Path, score: str, rule: str, say, pool: Pool | None = None
) -> dict:
    """Write the table, the plots, and the best tree of each data set on all its rows.

    Parameters
    ----------
    study : Study
    results : sequence of dict
        Results of all its tasks.
    folder : path
    score, rule : str
        As in odtc.evaluation.cross_validation.
    say : function
        Called with messages, such as on a data set without a tree.
    pool : Pool or None
        Where the best trees are found in parallel: processes that write into the folder. None for this process.

    Returns
    -------
    dict
        `files`, and for each data file `best` (the position of a setting, None without a tree) and `results`.

    Raises
    ------
    ChoiceError
        If another study is in the folder by now.
    OutputError
    """
    _expect_kept(study, folder)
    with new_file(folder / "results.parquet") as stream:
        write_parquet(rows_of(study, results), COLUMNS, stream)
    files, task = [folder / "results.parquet"], TASKS.get(study.spec.reading.task)
    brings = task.terms(asdict(study.spec.reading)).get("goal") == "max"
    (folder / "best").mkdir(exist_ok=True)
    of_each = results_of(study, results, score)
    data: dict[str, dict] = {path: {"best": None, "results": of_each[path]} for path in study.data}
    chosen = _best_tasks(study, of_each, folder / "best", rule, say)
    fits = run_tasks([task for _, task in chosen.values()], pool or local(1))
    for (path, (best, _)), made in zip(chosen.items(), fits, strict=True):
        name, found = data_name(Path(path)), of_each[path]
        if made["error"]:
            say(f"{name}: {made['error']}")
            continue
        files += [folder / "best" / Path(one).name for one in made["files"]]
        data[path]["best"] = best
        points = [(str(one.setting), one.n_leaves, one.score) for one in found if one.score is not None]
        try:
            picture = _scores_by_leaves(points, name, task, brings)
        except ChoiceError as problem:
            say(f"no plot: {problem}")
            continue
        files.append(folder / f"{name}.svg")
        write_bytes(files[-1], picture)
    for one in data.values():
        one["results"] = [result.to_json() for result in one["results"]]
    told = score if score != OF_TASK else task.HEADLINE
    return {"schema": SCHEMA, "score": told, "rule": rule, "data": data, "files": [str(path) for path in files]}


def _best_tasks(study: Study, results: dict, folder: Path, rule: str, say) -> dict[str, tuple[int, BestTask]]:
    """Return the position of the best setting of each data file, and the task that fits it on all rows; a data file
    without one is reported."""
    chosen = {}
    for path, sha256 in zip(study.data, study.sha256):
        name = data_name(Path(path))
        try:
            best = best_setting(results[path], rule)
        except OdtcError as problem:
            say(f"{name}: {problem}")
            continue
        spec = study.spec_of(*study.settings[best], study.seeds[0])
        chosen[path] = best, BestTask(path, sha256, spec, str((folder / name).absolute()))
    return chosen


def _scores_by_leaves(points: list[tuple[str, int, float]], title: str, task, brings: bool) -> bytes:
    """Return the plot of a data set as SVG: the score of each setting by its number of leaves; raises ChoiceError
    without matplotlib."""
    return plots.save(lambda ax: plots.pareto(points, ax, title=title, task=task, brings=brings), "svg")
