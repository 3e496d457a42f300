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
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DATA…", help="Data files; without one, the study in the folder continues."),
    ] = None,
    model: Annotated[
        str,
        value_option(
            "--model",
            "NAME[,NAME…]",
            "Formulations and learners (`odtc list models`), or auto.",
            autocompletion=completing("models"),
        ),
    ] = "auto",
    depths: Depths = "1,2,3",
    p: Annotated[
        list[str], value_option("-p", "KEY=VALUE,VALUE…", "Values of a parameter, for models that have it; repeatable.")
    ] = [],
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
    from odtc.base.cluster import LOCAL
    from odtc.data.task import TASKS
    from odtc.evaluation import cross_validation
    from odtc.evaluation.studies import sweep as study_module
    from odtc.evaluation.studies.cluster import expect_jobs, pool_of
    from odtc.evaluation.studies.engine import Store, run_tasks
    from odtc.evaluation.studies.job_array import expect_kind, part_of, write_script
    from odtc.evaluation.studies.nested import nested_of

    expect_jobs(jobs)
    for known, given in ((cross_validation.SCORES, score), (cross_validation.RULES, rule)):
        if given not in known:
            raise ChoiceError(f"expected one of {', '.join(known)}, got {given!r}")
    which = part_of(part)
    if script:
        expect_kind(script)
    params = param_values(p)
    if data:
        cross_validation.score_of(spec.reading.task, score, params)
        spec = cross_validation.limited(spec, params, console.say)
    other = study_module.version_note(o)
    if data:
        study = study_module.study_of(
            data,
            spec,
            {
                "models": tuple(name.strip() for name in model.split(",")),
                "depths": whole_numbers(depths, "--depths (or --depth)"),
                "params": params,
                "encodings": tuple(encoding),
                "seeds": whole_numbers(seeds, "--seeds"),
                "folds": folds,
                "leaf_rows": whole_numbers(min_leaf_rows, "--min-leaf-rows") or (None,),
                "tries": tuple(try_constraint),
                "nested": nested,
            },
            console.say,
        )
        study_module.keep(study, o)
    else:
        study = study_module.kept(o)
        if other:
            study_module.keep(study, o)
    if other:
        console.say(other)
    task = TASKS.get(study.spec.reading.task)
    score = cross_validation.score_of(study.spec.reading.task, score, study.params)
    if note := cross_validation.standing_note(study.params, score):
        console.say(note)
    if script:
        path, limit = o / ("job-array.sh" if script == "slurm" else "parts.sh"), study.spec.solving.time_limit
        n_tasks = len(study.tasks) + len(study.inner_tasks)
        parts = write_script(script, path, ["sweep", "-o", "."], jobs, n_tasks, limit)
        say_script(script, path, parts, n_tasks, f"odtc sweep -o {o}", as_json)
        return
    own, kept = study.tasks, {}
    tasks = own + study.inner_tasks if which[1] == 1 else study.part(*which)
    before, honest = [], {}
    with pool_of(jobs, cluster, console.say) as pool:
        with console.counted(len(tasks), "fits") as done, _interrupted(study, kept, score, as_json, o):

            def tell(place: int, result: dict, was_there: bool) -> None:
                before.append(was_there)
                kept[place] = result
                task = tasks[place]
                done(f"{Path(task.data).name}, {task.spec.model.model}, depth {task.depth}, fold {task.fold + 1}")

            results = run_tasks(tasks, pool, Store(o / "tasks"), tell)
            if which[1] == 1:
                again = lambda some: run_tasks(some, pool, Store(o / "tasks"))
                honest = nested_of(study, results[len(own) :], score, rule, again)
        if sum(before):
            console.say(f"{sum(before):,} of {count_of(len(tasks), 'fit')} were finished before")
        if which[1] > 1:
            console.say(
                f"part {part} is done: {count_of(len(tasks), 'fit')}; `odtc sweep -o {o}` makes the table when all are"
            )
            return
        near = pool if cluster in (None, LOCAL) else None  # workers elsewhere need not see the folder
        with _interrupted(study, kept, score, as_json, o):
            facts = study_module.conclude(study, results[: len(own)], o, score, rule, console.say, near)
    settings = [setting for setting, _ in study.settings]
    for path, parts in honest.items():
        facts["data"][path]["nested"] = [one if isinstance(one, str) else one.to_json() for one in parts]
    if as_json:
        console.print_json(facts)
        return
    terms = task.terms(asdict(study.spec.reading))
    for path, one in facts["data"].items():
        print(Path(path).name)
        print_results(one["results"], one["best"], score, len(study.seeds) * study.folds, task, terms)
        for seed, made in zip(study.seeds, honest.get(path, ())):
            told = made if isinstance(made, str) else nested_text(made, settings, task, terms)
            print(told if len(study.seeds) == 1 else f"{told} (seed {seed})")
        print()
    print("wrote " + ", ".join(facts["files"]))


@contextlib.contextmanager
def _interrupted(study, kept: dict[int, dict], score: str, as_json: bool, folder: Path):
    """At an interruption, print the settings whose fits are all done; `kept` has results by the place of their fit."""
    from odtc.data.task import TASKS
    from odtc.evaluation.studies.sweep import finished

    try:
        yield
    except KeyboardInterrupt:
        data, task = finished(study, kept, score), TASKS.get(study.spec.reading.task)
        if as_json:
            console.print_json({"interrupted": True, "data": data})
        for path, results in () if as_json else data.items():
            print(Path(path).name)
            terms = task.terms(asdict(study.spec.reading))
            print_results(results, None, score, len(study.seeds) * study.folds, task, terms)
            print()
        interrupts.leaves(f"the finished fits are kept: `odtc sweep -o {folder}` goes on")
        raise
