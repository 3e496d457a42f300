"""The options that stand on several commands of the command line, defined once, and what their words mean."""

import os
from pathlib import Path
from typing import Annotated

import typer


def completing(kind: str):
    """What a shell completes a name of this kind to; after a comma, the last name."""

    def complete(incomplete: str) -> list[str]:
        from odtc.cli.catalogue import names_of

        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in names_of(kind) if name.startswith(last)]

    return complete


def among(*words: str):
    """What a shell completes to, where only these words can stand."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


DataFile = Annotated[Path, typer.Argument(metavar="DATA", help="CSV, TSV (also .gz), Parquet or ARFF.")]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME|auto",
        help="Formulation; see `odtc list models`. auto: by the size of the data.",
        autocompletion=completing("models"),
    ),
]
Depth = Annotated[int, typer.Option("--depth", help="Depth of the tree.")]
Target = Annotated[str | None, typer.Option("--target", help="Column to predict; by default the last one.")]
Params = Annotated[
    list[str], typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the formulation; see `odtc info MODEL`.")
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME[:KEY=VALUE,…]",
        help="See `odtc list encodings`.",
        autocompletion=completing("encodings"),
    ),
]
Cuts = Annotated[
    str | None,
    typer.Option(
        "--cuts",
        metavar="A,B|all|none",
        help="Cut families; see `odtc list cuts`. A:rounds=N separates at the root relaxation.",
        autocompletion=completing("cuts"),
    ),
]
Pricing = Annotated[
    str | None,
    typer.Option(
        "--pricing",
        metavar="leaf=N",
        help="Write the pricing problem of a leaf, too, at the duals of the columns so far (--model cg).",
    ),
]
Start = Annotated[
    str,
    typer.Option(
        "--start",
        metavar="NAME|none|TREE.json",
        help="MIP start; see `odtc list starts`.",
        autocompletion=completing("starts"),
    ),
]
Categorical = Annotated[str | None, typer.Option("--categorical", metavar="A,B", help="Columns to take as categories.")]
Numeric = Annotated[str | None, typer.Option("--numeric", metavar="A,B", help="Columns to take as numbers.")]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="drop|error|separate",
        help="What to do with missing cells.",
        autocompletion=among("drop", "error", "separate"),
    ),
]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COL", help="Column of row weights.")]
Aside = Annotated[
    str | None, typer.Option("--aside", metavar="A,B", help="Columns that no test asks, but constraints may name.")
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        "--class-weight",
        metavar="balanced|CLASS=W,…",
        help="What an error on a row of each class costs.",
        autocompletion=among("balanced"),
    ),
]
Constraints = Annotated[
    list[str],
    typer.Option(
        "--constraint",
        metavar="'NAME[…] OP NUMBER'",
        help="What the tree must keep, as 'leaf_rows >= 5'; see `odtc list constraints`.",
        autocompletion=completing("constraints"),
    ),
]
MinLeafRows = Annotated[int | None, typer.Option("--min-leaf-rows", metavar="N", help="Short for 'leaf_rows >= N'.")]
MaxBranchNodes = Annotated[
    int | None, typer.Option("--max-branch-nodes", metavar="N", help="Short for 'branch_nodes <= N'.")
]
MaxFeatures = Annotated[int | None, typer.Option("--max-features", metavar="N", help="Short for 'features <= N'.")]
Cost = Annotated[
    str | None,
    typer.Option("--cost", metavar="FILE.csv|TRUE:PREDICTED=PRICE,…", help="What each wrong prediction costs."),
]
Select = Annotated[
    str | None,
    typer.Option(
        "--select",
        metavar="NAME[:KEY=VALUE,…]",
        help="Train on selected rows; see `odtc list selections`.",
        autocompletion=completing("selections"),
    ),
]
Stem = Annotated[
    str | None, typer.Option("-o", metavar="STEM", help="Stem of the files; by default data, model and depth.")
]
SolverName = Annotated[
    str,
    typer.Option(
        "--solver",
        metavar="NAME[,NAME…]",
        help="See `odtc list solvers`; several run side by side, and the first proof ends it.",
        autocompletion=completing("solvers"),
    ),
]
SolverTemplate = Annotated[
    Path | None,
    typer.Option(
        "--solver-template", metavar="FILE.toml", help="A solver that odtc does not know; see examples/my-solver."
    ),
]
ProgramFile = Annotated[
    str | None, typer.Option("--program", metavar="FILE", help="The solver's executable, where it is not on PATH.")
]
DialectName = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        metavar="SOLVER|all",
        help="Write starts, and cuts if any, in this solver's form.",
        autocompletion=completing("solvers"),
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="S", help="Wall seconds, what the compiler takes among them; by default none."
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", help="By default the solver's choice.")]
Seed = Annotated[int, typer.Option("--seed")]
Gap = Annotated[float, typer.Option("--gap", help="Absolute and relative gap at which to stop.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
ManifestFile = Annotated[
    Path | None, typer.Option("--manifest", metavar="STEM.odt.json", help="By default found beside the solution.")
]
MovedData = Annotated[
    Path | None,
    typer.Option("--data", metavar="DATA", help="The data file, where it is no longer where the manifest says."),
]
Templates = Annotated[
    Path | None, typer.Option("--templates", metavar="DIR", help="Folder with templates of your own.")
]
TreeFile = Annotated[Path, typer.Argument(metavar="TREE.json")]


def names(text: str | None) -> tuple[str, ...]:
    """Names between commas; one that holds a comma itself stands in double quotes, as in CSV."""
    import csv

    cells = next(csv.reader([text], skipinitialspace=True), []) if text else []
    return tuple(name.strip() for name in cells if name.strip())


def reading(target, categorical, numeric, missing, weights, aside=None) -> dict:
    """The options that say how a data file is read, as the keywords of `odtc.read`."""
    return {
        "target": target,
        "categorical": names(categorical),
        "numeric": names(numeric),
        "missing": missing,
        "weights": weights,
        "aside": names(aside),
    }


def stem_named(o: str | None, usual: str, suffix: str = "") -> str:
    """The stem that -o names, without the suffix of a model file; in a folder, or without -o, the usual one.
    Raises OutputError where its folder is not there."""
    from odtc.base.atomic_write import require_writable

    inside = o and (o.endswith(("/", os.sep)) or Path(o).is_dir())
    stem = (
        str(Path(o, usual))
        if inside
        else (o or usual).removesuffix(".gz" if suffix and o else "").removesuffix(suffix) or usual
    )
    require_writable(f"{stem}.odt.json")
    return stem
