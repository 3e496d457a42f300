"""`odtc tune`: a grid by cross-validation, a table, and the best setting fitted on all rows; `odtc sweep`: a grid over
data sets, models and settings. Both continue after an interruption, on this machine, a cluster or a queue."""

import contextlib
import shlex
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from odtc.base import interrupts
from odtc.base.cluster import LOCAL
from odtc.base.text import count_of, one_line, percent_text, table_text, verb
from odtc.base.value_class import frozen_class
from odtc.cli import console, options
from odtc.errors import ChoiceError
from odtc.workflow.specification import ModelSpec, ReadingSpec, SolvingSpec

EACH_FIT = "Wall seconds for each fit (default: no limit)."
LeafRows = Annotated[
    str | None, options.value_option("--min-leaf-rows", "N,M", "Values of the least number of rows in a leaf.")
]
Tries = Annotated[
    list[str],
    options.value_option(
        "--try-constraint", "TEXT", "Additional constraint to try; repeatable. No additional constraint is tried, too."
    ),
]

NestedParts = Annotated[
    int | None, options.value_option("--nested", "K", "Also estimate the score of the whole tuning by K outer folds.")
]


Models = Annotated[
    str,
    options.value_option(
        "--model",
        "NAME[,NAME…]",
        "Formulations and learners (`odtc list models`), or auto.",
        autocompletion=options.completing("models"),
    ),
]
Values = Annotated[
    list[str],
    options.value_option("-p", "KEY=VALUE,VALUE…", "Values of a parameter, for models that have it; repeatable."),
]
Seeds = Annotated[
    str | None,
    options.value_option(
        "--seeds", "N,M", "Repeat the cross-validation with other folds for each seed (default: --seed)."
    ),
]


@frozen_class
class Grid:
    """The options that `odtc tune` and `odtc sweep` share: the settings to compare, and how their fits are run."""

    model: Models = "auto"
    depths: options.Depths = "1,2,3"
    p: Values = field(default_factory=list)
    min_leaf_rows: LeafRows = None
    encoding: options.Encodings = field(default_factory=lambda: ["auto"])
    try_constraint: Tries = field(default_factory=list)
    folds: options.Folds = 5
    nested: NestedParts = None
    score: options.Score = "accuracy"
    rule: options.Rule = "best"
    jobs: options.Jobs = 1
    cluster: options.ClusterAddress = None
    script: options.ArrayScript = None
    part: options.ArrayPart = None

    @property
    def models(self) -> list[str]:
        """The names of formulations and learners."""
        return [name.strip() for name in self.model.split(",")]

    @property
    def params(self) -> dict[str, list[str]]:
        """The values of each parameter to try."""
        return param_values(self.p)

    @property
    def whole_depths(self) -> tuple[int, ...]:
        """The depths to try."""
        return options.whole_numbers(self.depths, "--depths (or --depth)")

    @property
    def leaf_rows(self) -> tuple[int | None, ...]:
        """The least numbers of rows in a leaf to try; None is no limit."""
        return options.whole_numbers(self.min_leaf_rows, "--min-leaf-rows") or (None,)

    def checked_place(self) -> tuple[int, int]:
        """Return the place of this job of an array, and how many there are. Raises ChoiceError for invalid options of a
        study in parts, and for an unknown score or rule."""
        from odtc.evaluation.cross_validation import expect_known
        from odtc.evaluation.studies.cluster import expect_jobs
        from odtc.evaluation.studies.job_array import expect_kind, part_of

        expect_jobs(self.jobs)
        which = part_of(self.part)
        if self.script:
            expect_kind(self.script)
        expect_known(self.score, self.rule)
        return which


@options.takes(
    options.Part(ModelSpec, only=("start", "class_weight", "cost", "constraints")),
    options.READING,
    options.Part(
        SolvingSpec,
        only=("time_limit", "seed", "solver"),
        changed={"time_limit": {"help": EACH_FIT}},
    ),
    grid=Grid,
)
def tune(
    data: options.DataFile,
    spec,
    grid,
    seeds: Seeds = None,
    o: Annotated[str | None, options.stem_option("DATA_tuned")] = None,
    as_json: options.Json = False,
) -> None:
    """Choose depth and parameters by cross-validation, and fit the best setting on all rows."""
    from odtc.evaluation import cross_validation
    from odtc.evaluation.studies.study import Study, TableRows
    from odtc.evaluation.studies.tuning import Tuning

    which, models, params = grid.checked_place(), grid.models, grid.params
    settings = cross_validation.grid(
        models, grid.whole_depths, params, grid.leaf_rows, grid.encoding, grid.try_constraint
    )
    spec = spec.with_model(encoding=grid.encoding[0])
    _say_of_parameters(models, params)
    dataset = _read(data, spec.reading)
    stem = options.stem_named(o, f"{dataset.name}_tuned")
    score, spec = _scored_by(grid.score, params, spec)
    every = tuple(dict.fromkeys(options.whole_numbers(seeds, "--seeds") or (spec.solving.seed,)))
    study = Study((TableRows.of(dataset),), settings, spec.with_solving(threads=1), grid.folds, (every,), grid.nested)
    tuning = Tuning(dataset, study, score, grid.rule)
    study.check(dataset)
    if grid.script:
        words = options.words_without("--script", "--jobs", "--part")
        again = f"odtc {shlex.join(words)}"
        write_script(grid.script, Path(f"{stem}.tune.{grid.script}"), words, again, grid.jobs, study, as_json, Path())
    else:
        _run(tuning, stem, which, grid.jobs, grid.cluster, as_json)


def _run(tuning, stem: str, which: tuple[int, int], jobs: int, cluster: str | None, as_json: bool) -> None:
    """Run the fits of a job of an array, or all of them, and write and print the result."""
    from odtc.evaluation.studies.cluster import pool_of
    from odtc.evaluation.studies.engine import run_tasks
    from odtc.evaluation.studies.tuning import write_tuned

    folder, study, kept = Path(f"{stem}.tune.fits"), tuning.study, {}
    store = _open_store(folder, cluster, tuning, which)
    try:
        if which[1] > 1:
            run_part(study, which, jobs, cluster, store, "the command without --part ends the study")
            return
        with pool_of(jobs, cluster, console.say) as pool:
            results, _ = run_fits(study.tasks + study.inner_tasks, pool, store, kept.__setitem__)
            tuned = tuning.choose(results, lambda tasks: run_tasks(tasks, pool, store))
        majority, (fitted, sink) = tuning.majority(), tuning.fit(tuned, stem)
    except KeyboardInterrupt:
        _print_finished(tuning, kept, as_json)
        if left := len(list(folder.glob("*.json"))):
            interrupts.leaves(f"the finished fits ({left}) are kept in {folder}: the same command goes on")
        else:
            with contextlib.suppress(OSError):  # a folder with other files stays
                folder.rmdir()
        raise
    with interrupts.held(last=True):  # the result is written and reported
        facts = tuning.to_json(tuned, majority)
        files = write_tuned(facts, stem, store, sink)
        if as_json:
            console.print_json(facts | {"fit": fitted.to_json()} | files)
        else:
            _print_tuned(tuning, tuned, majority)
            console.print_tree_result(fitted, fitted.to_json() | files, False)
            _say_of_majority(tuning, tuned, majority)


def _scored_by(score: str, params: dict, spec) -> tuple:
    """Return (the score by which settings are compared, the specification with a limit for each fit if it needs one),
    and print remarks on both."""
    from odtc.evaluation import cross_validation

    score = cross_validation.score_of(spec.reading.task, score, params)
    spec = cross_validation.limited(spec, params, console.say)
    if note := cross_validation.score_note(params, score, spec.reading):
        console.say(note)
    return score, spec


def _read(data: Path, reading: ReadingSpec):
    """Return the data set, and print the notes of its reading."""
    from odtc.data.reading import read_as
    from odtc.workflow.messages import read_notes

    with console.live("reading"):
        dataset = read_as(data, reading)
    console.say(*read_notes(dataset))
    return dataset


def _open_store(folder: Path, cluster: str | None, tuning, which: tuple[int, int]):
    """Return the store of the finished fits; print a note if the whole study cannot go on with those in `folder`.

    The fits are there until all are complete, so that the same command continues if this one is killed.
    """
    from odtc.evaluation.studies.engine import Store

    store = Store(folder if cluster is None else folder.absolute())  # workers may run in other folders
    store.make()
    if which[1] == 1 and any(folder.glob("*.json")) and not _goes_on(tuning.study, folder):
        console.say(
            f"the fits kept in {str(folder)!r} were made for another grid, other data or by another version of odtc: "
            "all are run again"
        )
    return store


def _goes_on(study, folder: Path) -> bool:
    """Return whether one of the fits on all rows is finished in a folder."""
    kept = {path.stem for path in folder.glob("*.json")}
    return any(task.key in kept for task in study.tasks)


def _say_of_parameters(models: list[str], params: dict[str, list[str]]) -> None:
    """Print a line for each parameter that some of the models do not have."""
    from odtc.evaluation import cross_validation

    for key, able in cross_validation.takers(models, params).items():
        if others := [name for name in models if name not in able]:
            console.say(
                f"-p {key}: of {', '.join(able)}; {', '.join(others)} {'has' if len(others) == 1 else 'have'} none"
            )


def write_script(
    kind: str, path: Path, words: list[str], again: str, jobs: int, study, as_json: bool, folder: Path | None = None
) -> None:
    """Write a job array instead of running a study, and report it; `words` run the study in `folder` (by default the
    folder of the script), `again` is the command that completes it. A script of sh completes the study itself."""
    from odtc.evaluation.studies import job_array

    n_fits = len(study.tasks) + len(study.inner_tasks)
    parts = job_array.write_script(kind, path, words, jobs, n_fits, study.spec.solving.time_limit, folder)
    if as_json:
        console.print_json({"script": str(path), "parts": parts, "fits": n_fits})
        return
    how = f"submit it from {path.parent}: sbatch {path.name}" if kind == "slurm" else f"run it: sh {path}"
    print(f"wrote {path}: {parts} jobs for {count_of(n_fits, 'fit')}; {how}")
    if kind == "slurm":
        print(f"afterwards: {again}")


def run_part(study, which: tuple[int, int], jobs: int, cluster: str | None, store, ends: str) -> None:
    """Run the fits of one job of an array: `which` is its number and the number of jobs; `ends` is a message on how to
    complete the study."""
    from odtc.evaluation.studies.cluster import pool_of

    with pool_of(jobs, cluster, console.say) as pool:
        tasks = study.part(*which)
        _, n_before = run_fits(tasks, pool, store)
        say_finished_before(n_before, tasks)
        console.say(f"part {which[0]}/{which[1]} is done: {count_of(len(tasks), 'fit')}; {ends}")


def run_fits(tasks: list, pool, store, keep=lambda place, result: None) -> tuple[list[dict], int]:
    """Return (the results of tasks, how many were finished before); `keep` is called with the place and the result of
    each task as it ends."""
    from odtc.evaluation.studies.engine import run_tasks

    before = []

    def tell(place: int, result: dict, was_there: bool) -> None:
        before.append(was_there)
        keep(place, result)
        done(tasks[place].title)

    with console.counted(len(tasks), "fits") as done:
        return run_tasks(tasks, pool, store, tell), sum(before)


def say_finished_before(n_before: int, tasks: list) -> None:
    """Print how many fits an earlier run had finished, if any."""
    if n_before:
        console.say(f"{n_before:,} of {count_of(len(tasks), 'fit')} {verb(n_before, 'was', 'were')} finished before")


def _print_finished(tuning, kept: dict[int, dict], as_json: bool) -> None:
    """Print the settings of an interrupted study whose folds are all done; `kept` has results by the place of their
    fit."""
    (results,) = tuning.study.results(kept, tuning.score)
    told = [result.to_json() for result in results]
    if as_json:
        console.print_json({"interrupted": True, "results": told})
    elif told:
        print_results(told, None, tuning.score, tuning.study)


def _print_tuned(tuning, tuned, majority) -> None:
    """Print the table of the settings, the score of the most frequent class, and the result of nested
    cross-validation."""
    print_results([result.to_json() for result in tuned.results], tuned.chosen, tuning.score, tuning.study)
    if majority is not None:
        print(f"majority  {_shown(majority.mean)} by always predicting the most frequent class of the other folds")
    if tuned.nested is not None:
        print(nested_text(tuned.nested, tuning.study.settings, *terms_of(tuning.study)))
    print()


def _say_of_majority(tuning, tuned, majority) -> None:
    """Print a warning if the chosen setting does not surely beat the most frequent class. With costs, weights or
    constraints a tree may be worse on purpose, and a single leaf is the most frequent class itself."""
    own = tuning.study.spec.model
    if majority is None or own.class_weight is not None or own.cost is not None:
        return
    result = tuned.results[tuned.chosen]
    is_free = result.setting.depth > 0 and not result.setting.of(tuning.study.spec).model.constraints
    if is_free and not majority.is_surely_beaten(result):
        ahead, error = majority.lead(result)
        place = "behind" if ahead < 0 else "ahead of"
        console.say(
            f"warning: no setting surely beats the most frequent class {majority.label!r}: the best is {place} it by "
            f"{_shown(abs(ahead))} of the held-out rows, with a standard error of {_shown(error)}; the tree may have "
            "learned only noise"
        )


def terms_of(study) -> tuple:
    """Return the task of a study, and its terms (`Task.terms`)."""
    from odtc.data.task import TASKS

    task = TASKS.get(study.spec.reading.task)
    return task, task.terms(asdict(study.spec.reading))


def nested_text(honest, settings, task, terms: Mapping) -> str:
    """Return the result of nested cross-validation, in words."""
    times = {place: honest.chosen.count(place) for place in honest.chosen}
    first = max(times, key=times.get)
    score, deviation, said = (
        _shown(value, task, terms) for value in (honest.score, honest.deviation, honest.score + honest.optimism)
    )
    return (
        f"nested    {score} (sd {deviation.lstrip('-').removesuffix(' %')}) on {len(honest.scores)} parts that took "
        f"no part in the choice, where the cross-validation that chose said {said}; "
        f"{len(times)} of {len(settings)} settings {'was' if len(times) == 1 else 'were'} chosen, "
        + (
            "each once"
            if times[first] == 1
            else f"most often {settings[first]}, {times[first]} of {len(honest.chosen)} times"
        )
    )


def _shown(value: float, task=None, terms: Mapping = MappingProxyType({})) -> str:
    """Return a score as text: a share, or the figure of a task other than classification, according to its terms
    (`Task.headline`)."""
    if task is None or task.CLASSES:
        return f"{percent_text(value)}"
    figure = -value if task.LESS_IS_BETTER else value
    return f"{task.headline({**terms, task.HEADLINE: figure})[1]:.6g}"


def print_results(results: list[dict], chosen: int | None, score: str, study) -> None:
    """Print a table of settings, as in `Result.to_json`, with the chosen one."""
    task, terms = terms_of(study)
    named = score.replace("_", " ") if task.CLASSES else task.headline(terms)[0]
    lines = [["", "setting", named, "sd", "leaves", "proved", "seconds"]]
    for place, result in enumerate(results):
        known = result["score"] is not None
        lines.append(
            [
                "*" if place == chosen else "",
                result["name"],
                _shown(result["score"], task, terms) if known else "no tree",
                _shown(result["deviation"], task, terms).lstrip("-").removesuffix(" %") if known else "",
                f"{result['n_leaves']:.1f}" if known else "",
                f"{result['proved']} of {study.n_folds}",
                f"{result['seconds']:.1f}",
            ]
        )
    print(table_text(lines, "llrrrrr"))
    for result in results:
        why = (
            next((fold["error"] for fold in result["folds"] if fold["error"]), None)
            if result["score"] is None
            else None
        )
        if why:
            print(f"no tree   {one_line(result['name'])}: {one_line(why)}")


def param_values(given: list[str]) -> dict[str, list[str]]:
    """The values of each KEY=VALUE,VALUE…, of a key that comes again all of them; raises ChoiceError."""
    if not given:
        return {}
    from odtc.problem.parameters import grid_values

    found = {}
    for pair in given:
        key, equals, values = pair.partition("=")
        if not equals or not values.strip():
            raise ChoiceError(f"-p: expected KEY=VALUE,VALUE…, got {pair!r}")
        found.setdefault(key.strip(), []).extend(grid_values(key.strip(), values))
    return {key: list(dict.fromkeys(values)) for key, values in found.items()}


StudyData = Annotated[
    list[Path] | None,
    typer.Argument(metavar="DATA…", help="Data files; without one, the study in the folder continues."),
]


@options.takes(
    options.Part(ModelSpec, only=("class_weight", "cost", "constraints")),
    options.READING,
    options.Part(
        SolvingSpec,
        only=("time_limit", "solver"),
        changed={"time_limit": {"help": EACH_FIT}},
    ),
    grid=Grid,
)
def sweep(
    spec,
    grid,
    data: StudyData = None,
    seeds: Annotated[str, options.value_option("--seeds", "N,M", "Repeat the cross-validation for each seed.")] = "0",
    o: Annotated[Path, options.value_option("-o", "FOLDER", "Folder of the study.")] = Path("sweep"),
    as_json: options.Json = False,
) -> None:
    """Compare settings on several data sets by cross-validation: table, plot and best trees.

    The same command continues an interrupted study, because each finished fit is a file in the folder.
    """
    from odtc.evaluation import cross_validation
    from odtc.evaluation.studies import sweep as sweeps
    from odtc.evaluation.studies.engine import Store

    which, params, lists = grid.checked_place(), grid.params, None
    if data:
        cross_validation.score_of(spec.reading.task, grid.score, params)
        spec = cross_validation.limited(spec, params, console.say)
        lists = {
            "models": tuple(grid.models),
            "depths": grid.whole_depths,
            "params": params,
            "encodings": tuple(grid.encoding),
            "seeds": options.whole_numbers(seeds, "--seeds"),
            "folds": grid.folds,
            "leaf_rows": grid.leaf_rows,
            "tries": tuple(grid.try_constraint),
            "nested": grid.nested,
        }
    described = _kept_sweep(o, lambda: sweeps.sweep_of(data, spec, lists, console.say) if data else None)
    study, again = described.study, f"odtc sweep -o {o}"
    score = cross_validation.score_of(study.spec.reading.task, grid.score, described.params)
    if note := cross_validation.score_note(described.params, score, study.spec.reading):
        console.say(note)
    if grid.script:
        path = o / ("job-array.sh" if grid.script == "slurm" else "parts.sh")
        write_script(grid.script, path, ["sweep", "-o", "."], again, grid.jobs, study, as_json)
    elif which[1] > 1:
        # An interrupted job prints no setting, because the folds of a setting are in different jobs.
        with _interrupted(described, {}, score, as_json, o):
            store, ends = Store(o / "tasks"), f"`{again}` makes the table when all are"
            run_part(study, which, grid.jobs, grid.cluster, store, ends)
    else:
        facts, honest = _run_all(described, grid.jobs, grid.cluster, score, grid.rule, as_json, o)
        if as_json:
            console.print_json(facts)
        else:
            _print_study(study, facts, honest, score)


def _kept_sweep(folder: Path, new):
    """Return the sweep of a folder, which is from now on the one that `new()` returns, unless that is None; print a
    note if another version of odtc made its fits."""
    from odtc.evaluation.studies import sweep as sweeps

    other, sweep = sweeps.version_note(folder), new()
    kept = sweeps.kept(folder) if sweep is None else sweep
    if sweep is not None or other:
        sweeps.keep(kept, folder)
    if other:
        console.say(other)
    return kept


def _run_all(described, jobs: int, cluster: str | None, score: str, rule: str, as_json: bool, folder: Path) -> tuple:
    """Run all fits, and write the table and the best trees; return (the facts of the sweep, for each data file the
    results of nested cross-validation)."""
    from odtc.evaluation.studies.cluster import pool_of
    from odtc.evaluation.studies.engine import Store, run_tasks
    from odtc.evaluation.studies.sweep import conclude

    study, store, kept = described.study, Store(folder / "tasks"), {}
    tasks, n = study.tasks + study.inner_tasks, len(study.tasks)
    with pool_of(jobs, cluster, console.say) as pool, _interrupted(described, kept, score, as_json, folder):
        results, n_before = run_fits(tasks, pool, store, kept.__setitem__)
        honest = study.nested_choices(results[n:], score, rule, lambda some: run_tasks(some, pool, store))
        say_finished_before(n_before, tasks)
        near = pool if cluster in (None, LOCAL) else None  # workers elsewhere need not see the folder
        facts = conclude(described, results[:n], folder, score, rule, console.say, near)
    for path, choices in zip(described.data, honest):
        facts["data"][path]["nested"] = [str(one) if isinstance(one, Exception) else one.to_json() for one in choices]
    return facts, dict(zip(described.data, honest))


def _print_study(study, facts: dict, honest: dict, score: str) -> None:
    """Print a table for each data file with its results of nested cross-validation, and the written files."""
    for path, one in facts["data"].items():
        print(Path(path).name)
        print_results(one["results"], one["best"], score, study)
        for seed, made in zip(study.seeds, honest.get(path, ())):
            told = str(made) if isinstance(made, Exception) else nested_text(made, study.settings, *terms_of(study))
            print(told if len(study.seeds) == 1 else f"{told} (seed {seed})")
        print()
    print("wrote " + ", ".join(facts["files"]))


@contextlib.contextmanager
def _interrupted(described, kept: dict[int, dict], score: str, as_json: bool, folder: Path):
    """At an interruption, print the settings whose fits are all done; `kept` has results by the place of their fit."""
    try:
        yield
    except KeyboardInterrupt:
        study = described.study
        found = dict(zip(described.data, study.results(kept, score)))
        data = {path: [result.to_json() for result in mine] for path, mine in found.items() if mine}
        if as_json:
            console.print_json({"interrupted": True, "data": data})
        for path, results in () if as_json else data.items():
            print(Path(path).name)
            print_results(results, None, score, study)
            print()
        interrupts.leaves(f"the finished fits are kept: `odtc sweep -o {folder}` goes on")
        raise
