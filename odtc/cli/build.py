"""`odtc build`: the model file, its manifest and the start files; and what `odtc fit` shares with it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import (
    Aside,
    Categorical,
    ClassWeight,
    Constraints,
    Cost,
    Cuts,
    DataFile,
    Depth,
    DialectName,
    Encoding,
    Json,
    MaxBranchNodes,
    MaxFeatures,
    MinLeafRows,
    Missing,
    ModelName,
    Numeric,
    Params,
    Pricing,
    Select,
    Start,
    Stem,
    Target,
    Weights,
    completing,
    reading,
    stem_named,
)
from odtc.errors import ChoiceError


def build(
    data: DataFile,
    model: ModelName = "flowoct",
    depth: Depth = 2,
    target: Target = None,
    p: Params = [],
    encoding: Encoding = "auto",
    cuts: Cuts = None,
    start: Start = "cart",
    categorical: Categorical = None,
    numeric: Numeric = None,
    missing: Missing = "drop",
    weights: Weights = None,
    aside: Aside = None,
    class_weight: ClassWeight = None,
    cost: Cost = None,
    constraint: Constraints = [],
    min_leaf_rows: MinLeafRows = None,
    max_branch_nodes: MaxBranchNodes = None,
    max_features: MaxFeatures = None,
    select: Select = None,
    format: Annotated[
        str, typer.Option("--format", help="mps, lp or fixed-mps.", autocompletion=completing("formats"))
    ] = "mps",
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the model file.")] = False,
    dialect: DialectName = None,
    pricing: Pricing = None,
    o: Stem = None,
    as_json: Json = False,
) -> None:
    """Write the model file, its manifest (STEM.odt.json) and the start files."""
    from odtc.fileformats.model_files import FORMATS
    from odtc.solvers.solver import find_solver
    from odtc.workflow import artifacts, pipeline

    FORMATS.get(format)
    if dialect not in (None, "all"):
        reads = find_solver(dialect).DIALECT.reads
        if format not in reads:
            raise ChoiceError(f"{dialect} does not read the format {format!r}; it reads {', '.join(reads)}")
    if gzip and (words := artifacts.gzip_words(dialect)):
        console.say(words)
    problem = pose(
        data,
        model,
        depth,
        reading(target, categorical, numeric, missing, weights, aside),
        p,
        encoding,
        cuts,
        class_weight,
        cost,
        constraints_of(constraint, min_leaf_rows, max_branch_nodes, max_features),
        select,
    )
    stem = stem_of(problem, o, FORMATS.get(format).SUFFIX)
    if pipeline.separates(cuts):
        with console.live("HiGHS", None, []) as (progress, _):
            compiled = pipeline.compile_model(problem, cuts, pipeline.relaxations(progress=progress))
    else:
        compiled = pipeline.compile_model(problem, cuts)
    begun = _start(compiled, start)
    priced = pipeline.pricing(problem, pricing) if pricing else None
    written = artifacts.write_build(compiled, stem, format, gzip, begun[1] if begun else None, dialect)
    written += artifacts.write_pricing(priced, stem, format, gzip) if priced else []
    facts = pipeline.model_facts(problem, compiled) | {"files": [str(f) for f in written]}
    if words := artifacts.cut_words(compiled, dialect):
        console.say(words)
    if as_json:
        console.print_json(facts)
        return
    print(
        f"{facts['model']} of depth {depth} for {facts['n_rows']} rows ({facts['n_rows_merged']} after merging) and "
        f"{facts['n_features_encoded']} tests: {facts['n_cols']:,} columns, {facts['n_model_rows']:,} rows, "
        f"{facts['nnz']:,} nonzeros"
    )
    for path in written:
        print(f"{path}  {Path(path).stat().st_size:,} bytes")


def constraints_of(texts, min_leaf_rows, max_branch_nodes, max_features) -> tuple[str, ...]:
    short = {"leaf_rows >=": min_leaf_rows, "branch_nodes <=": max_branch_nodes, "features <=": max_features}
    return (*texts, *(f"{words} {number}" for words, number in short.items() if number is not None))


def _start(compiled, name: str):
    """The start, as of the pipeline; says where there is none."""
    from odtc.workflow import pipeline

    begun = pipeline.start(compiled, name)
    say_start(compiled.problem, begun, name)
    return begun


def say_start(problem, begun, name: str) -> None:
    if begun is None and name != "none":
        console.say(
            f"no start is given: the tree of {name!r} breaks a constraint ({'; '.join(map(str, problem.constraints))})"
        )


def pose(
    data,
    model,
    depth,
    how,
    p,
    encoding,
    cuts,
    class_weight,
    cost,
    constraints,
    select=None,
    fitting=False,
    time_limit=None,
):
    """The Problem that the options pose, from a data file that is read so; says how many rows went."""
    from odtc.data.column_types import numbers_of
    from odtc.data.dataset import Dataset
    from odtc.workflow import pipeline

    params = {}
    for pair in p:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ChoiceError(f"-p: expected KEY=VALUE, got {pair!r}")
        params[key] = value
    pipeline.choose_cuts(cuts)  # a family that is not known is said before the data is read
    problem = pipeline.pose(
        data,
        model,
        depth,
        encoding=encoding,
        params=params,
        reading=how,
        fitting=fitting,
        class_weight=class_weight,
        cost=cost,
        constraints=constraints,
        select=select,
        time_limit=time_limit,
    )
    if choice := problem.memo.get("choice"):
        console.say(f"--model auto: {choice.why}")
    for words in getattr(problem.module, "advice", lambda problem: ())(problem):
        console.say(words)
    dataset = problem.encoded.dataset
    measured = numbers_of(dataset.classes) if len(dataset.classes) > 10 else None
    if measured and any(value != int(value) for value in measured):
        console.say(
            f"the target {dataset.target!r} has {len(measured)} different numbers, and each is a class of its own; "
            "for few classes put them into ranges, or name another column with --target"
        )
    if not isinstance(data, Dataset):
        whole = dataset if dataset.selected is None else dataset.selected.whole
        console.say_dropped(whole)
        if whole is not dataset:
            console.say(f"--select {select}: {dataset.n_rows:,} of {whole.n_rows:,} rows")
    return problem


def stem_of(problem, o: str | None, suffix: str = "") -> str:
    """The stem that -o names, without the model file's own suffix; in a folder, or without -o, the
    data's name with model and depth."""
    return stem_named(o, f"{problem.encoded.name}_{problem.formulation}_d{problem.topology.depth}", suffix)


def write_tree(decoded, path) -> list[str]:
    """Writes the tree, unless a check failed: such a one replaces no file. The path, if it was written."""
    from odtc.base.atomic_write import write_text

    if not decoded.verified:
        return []
    write_text(path, json.dumps(decoded.tree.to_json(), ensure_ascii=False, indent=1) + "\n")
    return [str(path)]
