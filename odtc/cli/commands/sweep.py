"""`odtc sweep`: a grid over data sets, models and settings, resumable, on this machine, a cluster or a queue."""

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from odtc.base import interrupts
from odtc.base.text import count_of
from odtc.cli import console
from odtc.cli.commands.tune import (
    EACH_FIT,
    LeafRows,
    NestedParts,
    Tries,
    nested_text,
    param_values,
    place_of,
    print_results,
    say_script,
)
from odtc.cli.options import (
    READING,
    ArrayPart,
    ArrayScript,
    ClusterAddress,
    Depths,
    Encodings,
    Folds,
    Jobs,
    Json,
    Part,
    Rule,
    Score,
    completing,
    takes,
    value_option,
    whole_numbers,
)
from odtc.errors import ChoiceError
from odtc.workflow.specification import ModelSpec, SolvingSpec

Models = Annotated[
    str,
    value_option(
        "--model",
        "NAME[,NAME…]",
        "Formulations and learners (`odtc list models`), or auto.",
        autocompletion=completing("models"),
    ),
]
Values = Annotated[
    list[str], value_option("-p", "KEY=VALUE,VALUE…", "Values of a parameter, for models that have it; repeatable.")
]


StudyData = Annotated[
    list[Path] | None,
    typer.Argument(metavar="DATA…", help="Data files; without one, the study in the folder continues."),
]


@takes(
    Part(ModelSpec, only=("class_weight", "cost", "constraints")),
    READING,
    Part(
        SolvingSpec,
        only=("time_limit", "solver"),
        changed={"time_limit": {"help": EACH_FIT}},
    ),
)
def sweep(
    spec,
    data: StudyData = None,
    model: Models = "auto",
    depths: Depths = "1,2,3",
    p: Values = [],
    min_leaf_rows: LeafRows = None,
    encoding: Encodings = ["auto"],
    try_constraint: Tries = [],
    seeds: Annotated[str, value_option("--seeds", "N,M", "Repeat the cross-validation for each seed.")] = "0",
    folds: Folds = 5,
    nested: NestedParts = None,
    score: Score = "accuracy",
    rule: Rule = "best",
    jobs: Jobs = 1,
    cluster: ClusterAddress = None,
    script: ArrayScript = None,
    part: ArrayPart = None,
    o: Annotated[Path, value_option("-o", "FOLDER", "Folder of the study.")] = Path("sweep"),
    as_json: Json = False,
) -> None:
    """Compare settings on several data sets by cross-validation: table, plot and best trees.

    The same command continues an interrupted study, because each finished fit is a file in the folder.
    """
    from odtc.evaluation import cross_validation
    from odtc.evaluation.studies import sweep as study_module

    which = place_of(part, jobs, script)
    _expect_known(score, rule)
    params = param_values(p)
    if data:
        cross_validation.score_of(spec.reading.task, score, params)
        spec = cross_validation.limited(spec, params, console.say)
        grid = {
            "models": tuple(name.strip() for name in model.split(",")),
            "depths": whole_numbers(depths, "--depths (or --depth)"),
            "params": params,
            "encodings": tuple(encoding),
            "seeds": whole_numbers(seeds, "--seeds"),
            "folds": folds,
            "leaf_rows": whole_numbers(min_leaf_rows, "--min-leaf-rows") or (None,),
            "tries": tuple(try_constraint),
            "nested": nested,
        }
    study = _kept_study(o, lambda: study_module.study_of(data, spec, grid, console.say) if data else None)
    score = cross_validation.score_of(study.spec.reading.task, score, study.params)
    if note := cross_validation.standing_note(study.params, score):
        console.say(note)
    if script:
        _write_script(script, study, jobs, o, as_json)
    elif which[1] > 1:
        _run_part(study, which, jobs, cluster, score, as_json, o)
    else:
        facts, honest = _run_all(study, jobs, cluster, score, rule, as_json, o)
        if as_json:
            console.print_json(facts)
        else:
            _print_study(study, facts, honest, score)


def _kept_study(folder: Path, new):
    """Return the study of a folder, which is from now on the one that `new()` returns, unless that is None; print a
    note if another version of odtc made its fits."""
    from odtc.evaluation.studies import sweep as study_module

    other, study = study_module.version_note(folder), new()
    kept = study_module.kept(folder) if study is None else study
    if study is not None or other:
        study_module.keep(kept, folder)
    if other:
        console.say(other)
    return kept


def _expect_known(score: str, rule: str) -> None:
    """Raise ChoiceError for an unknown score or rule."""
    from odtc.evaluation.cross_validation import RULES, SCORES

    for known, given in ((SCORES, score), (RULES, rule)):
        if given not in known:
            raise ChoiceError(f"expected one of {', '.join(known)}, got {given!r}")


def _write_script(kind: str, study, jobs: int, folder: Path, as_json: bool) -> None:
    """Write a job array into the folder of the study, instead of running it."""
    from odtc.evaluation.studies.job_array import write_script

    path, limit = folder / ("job-array.sh" if kind == "slurm" else "parts.sh"), study.spec.solving.time_limit
    n_tasks = len(study.tasks) + len(study.inner_tasks)
    parts = write_script(kind, path, ["sweep", "-o", "."], jobs, n_tasks, limit)
    say_script(kind, path, parts, n_tasks, f"odtc sweep -o {folder}", as_json)


def _run_part(study, which: tuple[int, int], jobs: int, cluster: str | None, score: str, as_json: bool, folder: Path):
    """Run the fits of one job of an array: `which` is its place, and how many there are.

    An interrupted job prints no setting, because the folds of a setting are in different jobs.
    """
    from odtc.evaluation.studies.cluster import pool_of
    from odtc.evaluation.studies.engine import Store

    tasks = study.part(*which)
    with pool_of(jobs, cluster, console.say) as pool:
        with console.counted(len(tasks), "fits") as done, _interrupted(study, {}, score, as_json, folder):
            _, n_before = _run_fits(tasks, pool, Store(folder / "tasks"), {}, done)
        _say_finished_before(n_before, tasks)
        console.say(
            f"part {which[0]}/{which[1]} is done: {count_of(len(tasks), 'fit')}; `odtc sweep -o {folder}` makes the "
            "table when all are"
        )


def _run_all(study, jobs: int, cluster: str | None, score: str, rule: str, as_json: bool, folder: Path) -> tuple:
    """Run all fits, and write the table and the best trees; return (the facts of the study, for each data file the
    results of nested cross-validation)."""
    from odtc.base.cluster import LOCAL
    from odtc.evaluation.studies.cluster import pool_of
    from odtc.evaluation.studies.engine import Store, run_tasks
    from odtc.evaluation.studies.nested import nested_of
    from odtc.evaluation.studies.sweep import conclude

    own, store, kept = study.tasks, Store(folder / "tasks"), {}
    tasks = own + study.inner_tasks
    with pool_of(jobs, cluster, console.say) as pool:
        with console.counted(len(tasks), "fits") as done, _interrupted(study, kept, score, as_json, folder):
            results, n_before = _run_fits(tasks, pool, store, kept, done)
            again = lambda some: run_tasks(some, pool, store)
            honest = nested_of(study, results[len(own) :], score, rule, again)
        _say_finished_before(n_before, tasks)
        near = pool if cluster in (None, LOCAL) else None  # workers elsewhere need not see the folder
        with _interrupted(study, kept, score, as_json, folder):
            facts = conclude(study, results[: len(own)], folder, score, rule, console.say, near)
    for path, parts in honest.items():
        facts["data"][path]["nested"] = [one if isinstance(one, str) else one.to_json() for one in parts]
    return facts, honest


def _run_fits(tasks: list, pool, store, kept: dict[int, dict], done) -> tuple[list[dict], int]:
    """Return (the results of the tasks, how many were finished before); `kept` receives each result by the place of
    its task as it ends, and `done` its name."""
    from odtc.evaluation.studies.engine import run_tasks

    before = []

    def tell(place: int, result: dict, was_there: bool) -> None:
        before.append(was_there)
        kept[place] = result
        task = tasks[place]
        done(f"{Path(task.data).name}, {task.spec.model.model}, depth {task.depth}, fold {task.fold + 1}")

    return run_tasks(tasks, pool, store, tell), sum(before)


def _say_finished_before(n_before: int, tasks: list) -> None:
    """Print how many fits an earlier run had finished, if any."""
    if n_before:
        console.say(f"{n_before:,} of {count_of(len(tasks), 'fit')} were finished before")


def _print_study(study, facts: dict, honest: dict, score: str) -> None:
    """Print a table for each data file with its results of nested cross-validation, and the written files."""
    from odtc.data.task import TASKS

    task, settings = TASKS.get(study.spec.reading.task), [setting for setting, _ in study.settings]
    terms = task.terms(asdict(study.spec.reading))
    for path, one in facts["data"].items():
        _print_table(study, path, one["results"], one["best"], score)
        for seed, made in zip(study.seeds, honest.get(path, ())):
            told = made if isinstance(made, str) else nested_text(made, settings, task, terms)
            print(told if len(study.seeds) == 1 else f"{told} (seed {seed})")
        print()
    print("wrote " + ", ".join(facts["files"]))


def _print_table(study, path: str, results: list[dict], best: int | None, score: str) -> None:
    """Print the name of a data file and the table of its settings."""
    from odtc.data.task import TASKS

    task = TASKS.get(study.spec.reading.task)
    print(Path(path).name)
    terms = task.terms(asdict(study.spec.reading))
    print_results(results, best, score, len(study.seeds) * study.folds, task, terms)


@contextlib.contextmanager
def _interrupted(study, kept: dict[int, dict], score: str, as_json: bool, folder: Path):
    """At an interruption, print the settings whose fits are all done; `kept` has results by the place of their fit."""
    from odtc.evaluation.studies.sweep import finished

    try:
        yield
    except KeyboardInterrupt:
        data = finished(study, kept, score)
        if as_json:
            console.print_json({"interrupted": True, "data": data})
        for path, results in () if as_json else data.items():
            _print_table(study, path, results, None, score)
            print()
        interrupts.leaves(f"the finished fits are kept: `odtc sweep -o {folder}` goes on")
        raise
