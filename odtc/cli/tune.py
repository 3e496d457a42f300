"""`odtc tune`: a grid by cross-validation, a table, and the best setting fitted on all rows."""

from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import (
    Aside,
    Categorical,
    ClassWeight,
    Constraints,
    Cost,
    DataFile,
    Encoding,
    Json,
    Missing,
    Numeric,
    Seed,
    SolverName,
    Stem,
    Target,
    Weights,
    among,
    completing,
    reading,
    stem_named,
)
from odtc.errors import ChoiceError


def tune(
    data: DataFile,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME[,NAME…]",
            help="Formulations; see `odtc list models`, or auto.",
            autocompletion=completing("models"),
        ),
    ] = "auto",
    depths: Annotated[str, typer.Option("--depths", metavar="D,E")] = "1,2,3",
    p: Annotated[
        list[str], typer.Option("-p", metavar="KEY=VALUE,VALUE…", help="Values of a parameter of the formulations.")
    ] = [],
    min_leaf_rows: Annotated[
        str | None, typer.Option("--min-leaf-rows", metavar="N,M", help="Least numbers of rows in a leaf.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Parts of the data, each left out once.")] = 5,
    score: Annotated[
        str,
        typer.Option(
            "--score", metavar="accuracy|balanced_accuracy", autocompletion=among("accuracy", "balanced_accuracy")
        ),
    ] = "accuracy",
    rule: Annotated[
        str,
        typer.Option(
            "--rule",
            metavar="best|1se",
            help="1se: the smallest trees within one standard error of the best.",
            autocompletion=among("best", "1se"),
        ),
    ] = "best",
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Fits at once; -1 for all cores.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="S", help="Wall seconds of each fit; by default none.")
    ] = None,
    solver: SolverName = "highs",
    seed: Seed = 0,
    encoding: Encoding = "auto",
    target: Target = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    missing: Missing = "drop",
    weights: Weights = None,
    aside: Aside = None,
    class_weight: ClassWeight = None,
    cost: Cost = None,
    constraint: Constraints = [],
    o: Stem = None,
    as_json: Json = False,
) -> None:
    """Try a grid of depths and parameters by cross-validation, and fit the best on all rows: STEM.tree.json,
    STEM.tune.json."""
    import json

    from odtc.base.atomic_write import write_text
    from odtc.data.reading import read
    from odtc.evaluation import cross_validation
    from odtc.model.solution import Options
    from odtc.workflow import artifacts

    if not jobs:
        raise ChoiceError("expected --jobs as a number of fits at once, or -1 for all cores, got 0")
    settings = cross_validation.grid(
        [name.strip() for name in model.split(",")],
        _whole(depths, "--depths"),
        _params(p),
        _whole(min_leaf_rows, "--min-leaf-rows") or (None,),
    )
    Options(time_limit, 1, seed)
    options = {
        "solver": solver,
        "time_limit": time_limit,
        "threads": 1,
        "seed": seed,
        "class_weight": class_weight,
        "cost": cost,
        "constraints": tuple(constraint),
    }
    dataset = read(data, **reading(target, categorical, numeric, missing, weights, aside))
    if dataset.n_dropped:
        console.say(
            f"dropped {dataset.n_dropped} of {dataset.n_dropped + dataset.n_rows} rows: {console.why_dropped(dataset)}"
        )
    stem = stem_named(o, f"{dataset.name}_tuned")
    fold = cross_validation.deal(dataset.y, folds, seed)
    (
        cross_validation.summed([], [], score),
        cross_validation.best([_any(settings[0])], rule),
    )  # a bad word is said before the work
    with console.counted(len(settings) * folds, "fits") as done:
        found = cross_validation.run(
            dataset,
            settings,
            fold,
            jobs,
            encoding,
            lambda fit: done(f"{settings[fit.setting]}, fold {fit.fold + 1}"),
            **options,
        )
    results = cross_validation.summed(settings, found, score)
    chosen = cross_validation.best(results, rule)
    fitted = cross_validation.fit_all(dataset, settings[chosen], encoding, **options)
    written = []
    if fitted.model is not None:
        written += [
            *artifacts.write_build(fitted.model, stem, None),
            *artifacts.write_solution(fitted.model, fitted.solution, Options(time_limit, 1, seed), f"{stem}.sol"),
        ]
    else:
        artifacts.forget_solution(stem)
    facts = {
        "schema": cross_validation.SCHEMA,
        "data": dataset.name,
        "n_rows": dataset.n_rows,
        "folds": folds,
        "seed": seed,
        "score": score,
        "rule": rule,
        "best": chosen,
        "results": [result.to_json() for result in results],
    }
    write_text(f"{stem}.tune.json", json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    write_text(f"{stem}.tree.json", json.dumps(fitted.tree.to_json(), ensure_ascii=False, indent=1) + "\n")
    written += [f"{stem}.tune.json", f"{stem}.tree.json"]
    if as_json:
        console.print_json(facts | {"fit": fitted.facts, "tree": f"{stem}.tree.json", "files": [*map(str, written)]})
        return
    _print(results, chosen, score, folds)
    print()
    console.print_tree_result(fitted.tree, fitted.decoded, fitted.facts | {"files": [*map(str, written)]}, False)


def _print(results, chosen: int, score: str, folds: int) -> None:
    from odtc.base.template_filters import aligned, one_line

    lines = [["", "setting", score.replace("_", " "), "±", "leaves", "proved", "seconds"]]
    for place, result in enumerate(results):
        known = result.score is not None
        lines.append(
            [
                "*" if place == chosen else "",
                one_line(str(result.setting)),
                f"{100 * result.score:.2f} %" if known else "no tree",
                f"{100 * result.deviation:.2f}" if known else "",
                f"{result.n_leaves:.1f}" if known else "",
                f"{result.proved} of {folds}",
                f"{result.seconds:.1f}",
            ]
        )
    print(aligned("\n".join("\t".join(line) for line in lines), "llrrrrr"))


def _params(given: list[str]) -> dict[str, list[str]]:
    found = {}
    for pair in given:
        key, equals, values = pair.partition("=")
        if not equals or not values.strip():
            raise ChoiceError(f"-p: expected KEY=VALUE,VALUE…, got {pair!r}")
        found[key.strip()] = [value.strip() for value in values.split(",")]
    return found


def _whole(text: str | None, option: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(",")) if text is not None else ()
    except ValueError:
        raise ChoiceError(f"{option}: expected whole numbers between commas, got {text!r}") from None


def _any(setting):
    from odtc.evaluation.cross_validation import Result

    return Result(setting, 1.0, 0.0, 1.0, 0, 0.0, (None,))
