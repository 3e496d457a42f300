"""`odtc sweep`: a grid over data sets, models and settings, resumable, on this machine, a cluster or a queue."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from odtc.base import interrupts
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
    run_fits,
    run_part,
    say_finished_before,
    terms_of,
    write_script,
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
    from odtc.evaluation.studies import sweep as sweeps
    from odtc.evaluation.studies.engine import Store

    which = place_of(part, jobs, script)
    cross_validation.expect_known(score, rule)
    params, lists = param_values(p), None
    if data:
        cross_validation.score_of(spec.reading.task, score, params)
        spec = cross_validation.limited(spec, params, console.say)
        lists = {
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
    described = _kept_sweep(o, lambda: sweeps.sweep_of(data, spec, lists, console.say) if data else None)
    study, again = described.study, f"odtc sweep -o {o}"
    score = cross_validation.score_of(study.spec.reading.task, score, described.params)
    if note := cross_validation.standing_note(described.params, score):
        console.say(note)
    if script:
        path = o / ("job-array.sh" if script == "slurm" else "parts.sh")
        write_script(script, path, ["sweep", "-o", "."], again, jobs, study, as_json)
    elif which[1] > 1:
        # An interrupted job prints no setting, because the folds of a setting are in different jobs.
        with _interrupted(described, {}, score, as_json, o):
            run_part(study, which, jobs, cluster, Store(o / "tasks"), f"`{again}` makes the table when all are")
    else:
        facts, honest = _run_all(described, jobs, cluster, score, rule, as_json, o)
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
    from odtc.base.cluster import LOCAL
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
