"""A grid over data sets, models, depths, parameters, encodings and seeds by cross-validation: `odtc sweep`.

The study is a folder: study.json describes it, tasks/ contains a file for each finished fit, results.parquet is the
tidy table with one row for each fit, and best/ contains the best tree of each data set, fitted on all rows.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from functools import cached_property
from pathlib import Path

from odtc import __version__
from odtc.base.atomic_write import new_file, write_bytes, write_text
from odtc.base.commit import follows_links
from odtc.base.json_schema import TEXT, WHOLE, SchemaError, schema_of, validate
from odtc.base.system import read_file
from odtc.base.text import of_any_bytes
from odtc.base.value_class import value_class
from odtc.data.cells.data_files import data_name
from odtc.data.frames import write_parquet
from odtc.data.reading import fingerprint, read_as
from odtc.data.reading_spec import ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError, OdtcError, OutputError
from odtc.evaluation import plots
from odtc.evaluation.cross_validation import OF_TASK, best_setting, grid, known
from odtc.evaluation.studies.engine import Pool, Store, key_of, local, run_tasks
from odtc.evaluation.studies.study import FileRows, Study
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
class BestTask:
    """The best setting of a data set, fitted on all its rows: its files are written where it runs."""

    rows: FileRows
    spec: RunSpec
    stem: str

    @property
    def key(self) -> str:
        return key_of(asdict(self))

    def run(self) -> dict:
        """Return the files, by their paths; or `error`, why odtc refuses the fit."""
        dataset = self.rows.read(self.spec.reading)
        sink = FileSink(lambda problem: self.stem, log=False)
        try:
            run(self.spec, dataset, sink=sink)
        except OutputError:
            raise
        except OdtcError as problem:
            return {"files": [], "error": str(problem)}
        return {"files": [str(path) for path in sink.files], "error": None}


@value_class
class Sweep:
    """Description of a sweep: the product of all lists, on every data file. `spec` has the settings that all fits have
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

    @cached_property
    def study(self) -> Study:
        """The fits."""
        rows = tuple(FileRows(path, sha256) for path, sha256 in zip(self.data, self.sha256))
        settings = grid(self.models, self.depths, self.params, self.leaf_rows, self.encodings, self.tries)
        spec = self.spec.with_model(encoding=self.encodings[0])
        return Study(rows, settings, spec, self.folds, tuple((seed,) for seed in self.seeds), self.nested)

    def to_json(self, folder: Path) -> dict:
        """Return the sweep as in study.json in this folder: the data are named relative to it, so both can be moved
        together."""
        data = tuple(os.path.relpath(path, folder.resolve()) for path in self.data)
        return {"schema": SCHEMA, "odtc": __version__} | asdict(self) | {"data": data}

    @classmethod
    def from_json(cls, facts: dict, folder: Path) -> "Sweep":
        """Return the sweep of a study.json in this folder. Raises SchemaError for an object that is not a study."""
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


def sweep_of(data: Sequence[Path], spec: RunSpec, lists: dict, say: Callable[[str], object] = len) -> Sweep:
    """Return the sweep of data files; errors of the grid, or of a file, are raised before the work.

    Parameters
    ----------
    data : sequence of path
    spec : RunSpec
        The settings that all fits have in common.
    lists : dict
        `models`, `depths`, `params`, `encodings`, `seeds`, `folds`, `leaf_rows`, `tries`, `nested`, as in Sweep.
    say : callable
        Called with remarks on each file, in words.

    Raises
    ------
    ChoiceError, DataError
    """
    # In full, since jobs of a queue and workers of a cluster run in other folders.
    paths = tuple(str(Path(path).absolute()) for path in data)
    each = ("models", "depths", "encodings", "seeds", "leaf_rows", "tries")
    lists = lists | {name: tuple(dict.fromkeys(lists[name])) for name in each if name in lists}
    sweep = Sweep(paths, tuple(map(fingerprint, paths)), spec=spec, **lists)
    for key in sweep.params:
        if not any(key in known(model, sweep.params) for model in sweep.models):
            raise ChoiceError(
                f"-p: expected a parameter of {', '.join(sweep.models)}, got {key!r}, which none of them has; see "
                "`odtc info MODEL`"
            )
    study, names = sweep.study, set()
    for path in sweep.data:
        dataset = read_as(path, spec.reading)
        if dataset.name in names:
            raise ChoiceError(f"expected data files of different names, got {dataset.name!r} twice; rename one")
        names.add(dataset.name)
        for note in read_notes(dataset):
            say(f"{dataset.name}: {note}")
        study.check(dataset)
    return sweep


def keep(sweep: Sweep, folder: Path) -> None:
    """Write study.json. A study in the folder is replaced if it has some data in common with this one: fits that are
    in both are not run again. Raises ChoiceError for one of other data, OutputError."""
    for place in (folder, folder / "best"):
        if place.is_symlink() and not (place == folder and follows_links()):
            raise OutputError(f"cannot write in {str(place)!r}: it is a link; remove it, or name a folder with -o")
    Store(folder / "tasks").make()
    path = folder / "study.json"
    if path.exists() and not set(kept(folder).sha256) & set(sweep.sha256):
        raise ChoiceError(
            f"expected an empty folder or a study of the same data in {str(folder)!r}, got one of other data; name "
            "another folder with -o"
        )
    write_text(path, json.dumps(sweep.to_json(folder), ensure_ascii=False, indent=1, default=str) + "\n")


def kept(folder: Path) -> Sweep:
    """Return the study in a folder. Raises ChoiceError if there is none."""
    try:
        return Sweep.from_json(json.loads(read_file(folder / "study.json")), folder)
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


def _expect_kept(sweep: Sweep, folder: Path) -> None:
    """Write study.json again if the folder was removed meanwhile; raises DataError if it has another study now."""
    if not (folder / "study.json").exists():
        keep(sweep, folder)
    there, own = ({**one.to_json(folder), "odtc": None} for one in (kept(folder), sweep))
    if json.dumps(there, default=str) != json.dumps(own, default=str):
        raise DataError(
            f"expected the study of this command in {str(folder)!r}, but another run has replaced it meanwhile; the "
            "fits are kept: run the same command again, or with another -o"
        )


def rows_of(sweep: Sweep, results: Sequence[dict]) -> list[dict]:
    """Return the tidy table: one row for each fit, its setting first, in the order of the tasks."""
    rows, of = [], TASKS.get(sweep.spec.reading.task)
    for task, result in zip(sweep.study.tasks, results, strict=True):
        wanted = task.spec.model
        setting = {
            "data": of_any_bytes(Path(task.rows.path).name),
            "model": wanted.model,
            "depth": wanted.depth,
            "params": " ".join(f"{key}={value}" for key, value in wanted.params.items()),
            "encoding": wanted.encoding,
            "constraints": "; ".join(wanted.constraints),
            "seed": task.seed,
            "fold": task.fold,
        }
        rows.append(setting | result | {"figure": _told(result.get("figure"), of), "key": task.key})
    return rows


def _told(figure: float | None, task) -> float | None:
    """Return the figure of a task with its own sign, from a score, for which more is better."""
    return -figure if figure is not None and task.LESS_IS_BETTER else figure


def conclude(
    sweep: Sweep, results: Sequence[dict], folder: Path, score: str, rule: str, say, pool: Pool | None = None
) -> dict:
    """Write the table, the plots, and the best tree of each data set on all its rows.

    Parameters
    ----------
    sweep : Sweep
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
    _expect_kept(sweep, folder)
    with new_file(folder / "results.parquet") as stream:
        write_parquet(rows_of(sweep, results), COLUMNS, stream)
    files, task = [folder / "results.parquet"], TASKS.get(sweep.spec.reading.task)
    brings = task.terms(asdict(sweep.spec.reading)).get("goal") == "max"
    (folder / "best").mkdir(exist_ok=True)
    of_each = dict(zip(sweep.data, sweep.study.results(dict(enumerate(results)), score)))
    data: dict[str, dict] = {path: {"best": None, "results": of_each[path]} for path in sweep.data}
    chosen = _best_tasks(sweep, of_each, folder / "best", rule, say)
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


def _best_tasks(sweep: Sweep, results: dict, folder: Path, rule: str, say) -> dict[str, tuple[int, BestTask]]:
    """Return the position of the best setting of each data file, and the task that fits it on all rows; a data file
    without one is reported."""
    chosen = {}
    for rows in sweep.study.rows:
        name = data_name(Path(rows.path))
        try:
            best = best_setting(results[rows.path], rule)
        except OdtcError as problem:
            say(f"{name}: {problem}")
            continue
        spec = sweep.study.spec_of(sweep.study.settings[best], sweep.seeds[0])
        chosen[rows.path] = best, BestTask(rows, spec, str((folder / name).absolute()))
    return chosen


def _scores_by_leaves(points: list[tuple[str, int, float]], title: str, task, brings: bool) -> bytes:
    """Return the plot of a data set as SVG: the score of each setting by its number of leaves; raises ChoiceError
    without matplotlib."""
    return plots.save(lambda ax: plots.pareto(points, ax, title=title, task=task, brings=brings), "svg")
