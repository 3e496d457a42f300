"""`odtc tune`: a grid by cross-validation, a table, and the best setting fitted on all rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from odtc.base import interrupts
from odtc.cli import console
from odtc.cli.options import (
    READING,
    ArrayPart,
    ArrayScript,
    ClusterAddress,
    DataFile,
    Encodings,
    Folds,
    Jobs,
    Json,
    Part,
    Rule,
    Score,
    Stem,
    completing,
    stem_named,
    takes,
    words_without,
)
from odtc.errors import ChoiceError
from odtc.workflow.specification import ModelSpec, SolvingSpec

EACH_FIT = "Wall seconds of each fit; by default none."
LeafRows = Annotated[
    str | None, typer.Option("--min-leaf-rows", metavar="N,M", help="Least numbers of rows in a leaf.")
]
Tries = Annotated[
    list[str],
    typer.Option(
        "--try-constraint", metavar="TEXT", help="To try beside those of --constraint, one at a time, and none."
    ),
]

NestedParts = Annotated[
    int | None,
    typer.Option(
        "--nested",
        metavar="K",
        help="Also choose without each of K parts of the data, and score on it: what tuning itself costs.",
    ),
]


@takes(
    Part(ModelSpec, only=("start", "class_weight", "cost", "constraints")),
    READING,
    Part(
        SolvingSpec,
        only=("time_limit", "seed", "solver"),
        changed={"time_limit": {"help": EACH_FIT}},
    ),
)
def tune(
    data: DataFile,
    spec,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME[,NAME…]",
            help="Formulations of `odtc list models`, or auto.",
            autocompletion=completing("models"),
        ),
    ] = "auto",
    depths: Annotated[str, typer.Option("--depths", "--depth", metavar="D,E")] = "1,2,3",
    p: Annotated[
        list[str],
        typer.Option(
            "-p", metavar="KEY=VALUE,VALUE…", help="Values of a parameter of the formulations; may be repeated."
        ),
    ] = [],
    min_leaf_rows: LeafRows = None,
    encoding: Encodings = ["auto"],
    try_constraint: Tries = [],
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="N,M",
            help="Cross-validation is repeated for each, by folds of its own; by default that of --seed.",
        ),
    ] = None,
    folds: Folds = 5,
    nested: NestedParts = None,
    score: Score = "accuracy",
    rule: Rule = "best",
    jobs: Jobs = 1,
    cluster: ClusterAddress = None,
    script: ArrayScript = None,
    part: ArrayPart = None,
    o: Stem = None,
    as_json: Json = False,
) -> None:
    """Try a grid of depths and parameters by cross-validation, and fit the best on all rows: STEM.tree.json,
    STEM.tune.json."""
    import contextlib
    import json
    import shlex
    from dataclasses import replace

    from odtc.base.atomic_write import write_text
    from odtc.data.encoding import encode
    from odtc.data.reading import read
    from odtc.data.task import TASKS
    from odtc.evaluation import cross_validation
    from odtc.evaluation.majority import Majority
    from odtc.evaluation.studies.cluster import expect_jobs, pool_of
    from odtc.evaluation.studies.engine import Store, run_tasks
    from odtc.evaluation.studies.engine import part as part_of_tasks
    from odtc.evaluation.studies.job_array import expect_kind, part_of, write_script
    from odtc.problem.constraints import constraint
    from odtc.workflow.messages import read_notes
    from odtc.workflow.run import run
    from odtc.workflow.sinks import FileSink

    expect_jobs(jobs)
    which = part_of(part)
    if script:
        expect_kind(script)
    models, params = [name.strip() for name in model.split(",")], param_values(p)
    settings = cross_validation.grid(
        models,
        whole_numbers(depths, "--depths"),
        params,
        whole_numbers(min_leaf_rows, "--min-leaf-rows") or (None,),
        tuple(encoding) if len(encoding) > 1 else (None,),
        ((), *((text,) for text in try_constraint)),
    )
    spec, seed = spec.with_model(encoding=encoding[0]).with_solving(threads=1), spec.solving.seed
    for key, able in cross_validation.takers(models, params).items():
        if others := [name for name in models if name not in able]:
            console.say(
                f"-p {key}: of {', '.join(able)}; {', '.join(others)} {'has' if len(others) == 1 else 'have'} none"
            )
    with console.live("reading"):
        dataset = read(data, **spec.reading.keywords)
    for note in read_notes(dataset):
        console.say(note)
    stem = stem_named(o, f"{dataset.name}_tuned")
    task = TASKS.get(dataset.task)
    score = cross_validation.score_of(dataset.task, score, params)
    spec = cross_validation.limited(spec, params, console.say)
    if note := cross_validation.standing_note(params, score):
        console.say(note)
    every = whole_numbers(seeds, "--seeds") or (seed,)
    every, seed = tuple(dict.fromkeys(every)), every[0]
    cross_validation.deal_rows(dataset, folds, seed)  # too many are said before the work
    outer = cross_validation.outer_folds(dataset, nested, seed) if nested is not None else None
    (
        cross_validation.summarise([], [], score),
        cross_validation.best_setting([_any(settings[0])], rule),
    )  # a bad word is said before the work
    if try_constraint:
        encoded = encode(dataset, encoding[0])
        for text in try_constraint:
            constraint.parse(text, encoded)
    n_fits = len(settings) * folds * len(every) * (1 + (nested or 0))
    if script:
        path, words = Path(f"{stem}.tune.{script}"), words_without("--script", "--jobs", "--part")
        parts = write_script(script, path, words, jobs, n_fits, spec.solving.time_limit, Path())
        say_script(script, path, parts, n_fits, f"odtc {shlex.join(words)}", as_json)
        return
    # Finished fits lie there until all are done, so that the same command goes on if this one is killed.
    folder = Path(f"{stem}.tune.fits")
    store = Store(folder if cluster is None else folder.absolute())  # workers may run in other folders
    store.make()
    if kept := {path.stem for path in store.folder.glob("*.json")}:
        fold = cross_validation.deal_rows(dataset, folds, seed)
        first = cross_validation.fold_tasks(dataset, settings, fold, spec.with_solving(seed=seed))
        if which[1] == 1 and not any(task.key in kept for task in first):
            console.say(
                f"the fits kept in {str(folder)!r} are of another grid, other data or another version of odtc: all are "
                "run again"
            )
    with contextlib.ExitStack() as stack:
        stack.enter_context(_told_of_interruption(folder))
        pool = stack.enter_context(pool_of(jobs, cluster, console.say))
        tasks = []
        if which[1] > 1:
            for rows in (dataset, *(dataset.taken(outer != k) for k in range(nested or 0))):
                for one in every:
                    fold, own = cross_validation.deal_rows(rows, folds, one), spec.with_solving(seed=one)
                    tasks += cross_validation.fold_tasks(rows, settings, fold, own)
            tasks = part_of_tasks(tasks, *which)
        done = stack.enter_context(console.counted(len(tasks) if which[1] > 1 else n_fits, "fits"))
        tell = lambda fit: done(f"{settings[fit.setting]}, fold {fit.fold + 1}")
        if which[1] > 1:
            run_tasks(tasks, pool, store, lambda place, result, before: tell(cross_validation.Fold(**result)))
            console.say(f"part {part} is done: {len(tasks):,} fits; the command without --part ends the study")
            return

        def choose(rows):
            found = [[] for _ in settings]
            for one in every:
                fold, own = cross_validation.deal_rows(rows, folds, one), spec.with_solving(seed=one)
                for mine, more in zip(found, cross_validation.run(rows, settings, fold, own, pool, tell, store)):
                    mine += [replace(fit, fold=len(mine) + fit.fold) for fit in more]
            results = cross_validation.summarise(settings, found, score)
            return results, cross_validation.best_setting(results, rule)

        results, chosen = choose(dataset)
        honest = cross_validation.run_nested(dataset, outer, choose, spec, score, store) if nested is not None else None
    with _told_of_interruption(folder):
        dealt = [cross_validation.deal_rows(dataset, folds, one) for one in every]
        majority = Majority.of(dataset, dealt, score) if task.CLASSES else None
        sink = FileSink(lambda problem: stem, log=False)
        fitted = run(settings[chosen].of(spec), dataset, sink=sink)
    with interrupts.held(last=True):  # what is found is written and told
        facts = {
            "schema": cross_validation.SCHEMA,
            "data": dataset.name,
            "n_rows": dataset.n_rows,
            "folds": folds,
            "seed": seed,
            "seeds": list(every),
            "score": score if task.CLASSES else task.HEADLINE,
            "rule": rule,
            "best": chosen,
            "results": [result.to_json() for result in results],
        }
        facts |= {} if honest is None else {"nested": honest.to_json()}
        facts |= {} if majority is None else {"majority": majority.to_json()}
        write_text(f"{stem}.tune.json", json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
        store.remove()  # no sooner: if the file could not be written, the next run goes on with it
        written = [*(path for path in sink.files if path != sink.tree), f"{stem}.tune.json", *filter(None, [sink.tree])]
        files = {"tree": sink.tree, "files": [*map(str, written)]}
        if as_json:
            console.print_json(facts | {"fit": fitted.to_json()} | files)
            return
        terms = task.terms(asdict(spec.reading))
        print_results([result.to_json() for result in results], chosen, score, folds * len(every), task, terms)
        if majority is not None:
            print(f"majority  {_shown(majority.mean)} by the most frequent class of the other folds alone")
        if honest is not None:
            print(nested_text(honest, settings, task, terms))
        print()
        console.print_tree_result(fitted, fitted.to_json() | files, False)
        own = spec.model
        if (
            majority is not None
            and own.class_weight is None
            and own.cost is None
            and not settings[chosen].of(spec).model.constraints
        ):
            _say_of_majority(majority, results[chosen])


def _say_of_majority(majority, result) -> None:
    """A warning if the chosen setting does not surely beat the most frequent class."""
    if not majority.is_surely_beaten(result):
        ahead, error = majority.lead(result)
        place = "behind" if ahead < 0 else "ahead of"
        console.say(
            f"warning: no setting surely beats the most frequent class {majority.label!r}: the best is {place} "
            f"it by {_shown(abs(ahead))} of the held-out rows, with a standard error of {_shown(error)}; the tree may "
            "have learnt chance alone"
        )


def say_script(kind: str, path: Path, parts: int, n_fits: int, afterwards: str, as_json: bool) -> None:
    """What was written in the place of a study, and what to do with it; a script of sh ends the study itself."""
    if as_json:
        console.print_json({"script": str(path), "parts": parts, "fits": n_fits})
        return
    how = f"submit it from {path.parent}: sbatch {path.name}" if kind == "slurm" else f"run it: sh {path}"
    print(f"wrote {path}: {parts} jobs for {n_fits:,} fits; {how}")
    if kind == "slurm":
        print(f"afterwards: {afterwards}")


@contextmanager
def _told_of_interruption(folder: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if not (kept := len(list(folder.glob("*.json")))):
            raise
        console.say(f"odtc: interrupted; the finished fits ({kept}) are kept in {folder}: the same command goes on")
        raise typer.Exit(1) from None


def nested_text(honest, settings, task, terms: Mapping) -> str:
    """What nested cross-validation says, in words."""
    times = {place: honest.chosen.count(place) for place in honest.chosen}
    first = max(times, key=times.get)
    score, deviation, said = (
        _shown(value, task, terms) for value in (honest.score, honest.deviation, honest.score + honest.optimism)
    )
    return (
        f"nested    {score} (sd {deviation.lstrip('-').removesuffix(' %')}) on {len(honest.scores)} parts that took "
        f"no part in the choice, of which their folds had said {said}; "
        f"{len(times)} of {len(settings)} settings were chosen, {settings[first]} {times[first]} times"
    )


def _shown(value: float, task=None, terms: Mapping = MappingProxyType({})) -> str:
    """A score: a share, or of a task that is no classification its figure, told as its terms say (`Task.headline`)."""
    if task is None or task.CLASSES:
        return f"{100 * value:.2f} %"
    figure = -value if task.LESS_IS_BETTER else value
    return f"{task.headline({**terms, task.HEADLINE: figure})[1]:.6g}"


def print_results(
    results: list[dict],
    chosen: int | None,
    score: str,
    folds: int,
    task=None,
    terms: Mapping = MappingProxyType({}),
) -> None:
    """A table of settings, as of `Result.to_json`, of which one is chosen; `folds` fits each. `terms` are those of the
    task (`Task.terms`)."""
    from odtc.base.templates.filters import aligned, one_line

    named = score.replace("_", " ") if task is None or task.CLASSES else task.headline(terms)[0]
    lines = [["", "setting", named, "sd", "leaves", "proved", "seconds"]]
    for place, result in enumerate(results):
        known = result["score"] is not None
        lines.append(
            [
                "*" if place == chosen else "",
                one_line(result["name"]),
                _shown(result["score"], task, terms) if known else "no tree",
                _shown(result["deviation"], task, terms).lstrip("-").removesuffix(" %") if known else "",
                f"{result['n_leaves']:.1f}" if known else "",
                f"{result['proved']} of {folds}",
                f"{result['seconds']:.1f}",
            ]
        )
    print(aligned("\n".join("\t".join(line) for line in lines), "llrrrrr"))
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


def whole_numbers(text: str | None, option: str) -> tuple[int, ...]:
    """Whole numbers between commas, none for None; raises ChoiceError that names the option."""
    try:
        return tuple(int(word) for word in text.split(",")) if text is not None else ()
    except ValueError:
        raise ChoiceError(f"{option}: expected whole numbers between commas, as in 1,2,3, got {text!r}") from None


def _any(setting):
    from odtc.evaluation.cross_validation import Result

    return Result(setting, 1.0, 0.0, 1.0, 0, 0.0, (None,))
