"""The command line: parse, call the pipeline, print. Results to stdout, words and progress to stderr.

Heavy imports stand inside the commands, so that `odtc --help` is quick.
"""

import errno
import json
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from odtc import __version__
from odtc.cli import bench, certify, compare, console, doctor, import_, near_optimal, report, row_selection, solve, tune
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
    Gap,
    Json,
    ManifestFile,
    MaxBranchNodes,
    MaxFeatures,
    MinLeafRows,
    Missing,
    ModelName,
    MovedData,
    Numeric,
    Params,
    Pricing,
    ProgramFile,
    Seed,
    Select,
    SolverName,
    SolverTemplate,
    Start,
    Stem,
    Target,
    Templates,
    Threads,
    TimeLimit,
    TreeFile,
    Weights,
    completing,
    reading,
    stem_named,
)
from odtc.errors import ChoiceError, OdtcError

app = typer.Typer(
    name="odtc",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    help="The compiler for optimal decision trees: data and a formulation in, a model file for any solver out, "
    "a checked tree back. Exit codes: 0 done, 1 error, 2 usage, 3 the solver found no solution.",
)

INTERRUPTED = 130  # what some versions of typer make of Ctrl-C, without a word
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
USAGE = typer.BadParameter.__mro__[1]  # UsageError, which typer does not name


@app.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(f"odtc {__version__}")
        raise typer.Exit


@app.command()
def fit(
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
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", help="Labelled rows to test the tree on.")
    ] = None,
    solver: SolverName = "highs",
    solver_template: SolverTemplate = None,
    program: ProgramFile = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    seed: Seed = 0,
    gap: Gap = 0.0,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="Write the model file too: mps, lp or fixed-mps.", autocompletion=completing("formats")
        ),
    ] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the model file.")] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the model and the solution of every round, as STEM.round01.mps and .sol."),
    ] = False,
    pool: near_optimal.PoolSize = None,
    within: near_optimal.Within = None,
    o: Stem = None,
    as_json: Json = False,
) -> None:
    """Build, solve, decode and verify: data to a checked tree, in one go."""
    from odtc.base import deadline
    from odtc.fileformats.model_files import FORMATS
    from odtc.model.solution import Options
    from odtc.workflow import artifacts, pipeline
    from odtc.workflow.rounds import Keeper

    options = Options(time_limit, threads, seed, gap)
    solver, label, racers = solve.who_solves(solver, solver_template, program, threads)
    if format:
        FORMATS.get(format)
    how = reading(target, categorical, numeric, missing, weights, aside)
    posed = partial(
        _pose,
        model=model,
        depth=depth,
        how=how,
        p=p,
        encoding=encoding,
        cuts=cuts,
        class_weight=class_weight,
        cost=cost,
        constraints=_constraints(constraint, min_leaf_rows, max_branch_nodes, max_features),
        fitting=True,
    )

    def pose(data, limit, select=None):
        """The problem, its time limit, and when that began: what it takes to pose is taken of it."""
        began = time.monotonic()
        return posed(data, select=select, time_limit=limit), limit, began

    def once(given, mark="", quiet=False):
        """The Fit of a problem, its stem with the mark, and the files written; `quiet` where another result is there
        to print."""
        problem, limit, began = given
        labelled = pipeline.test_rows(problem, test) if test else None
        stem = _stem(problem, o) + mark
        near_optimal.expect_pool(problem, pool, within)
        if hasattr(problem.module, "tree"):
            for option, stands in (("--cuts", cuts not in (None, "none")), ("--format", format), ("--keep", keep)):
                if stands:
                    raise ChoiceError(
                        f"{option}: {problem.formulation!r} learns its tree without a solver, so there is no model; "
                        f"leave the option out"
                    )
            learnt = pipeline.learn(problem, labelled, deadline.after(began, limit))
            artifacts.forget_solution(stem)
            return learnt, stem, []
        loops, rounds = pipeline.loop_of(problem), pipeline.separates(cuts)
        if keep and not (loops or rounds):
            raise ChoiceError(
                f"--keep keeps the rounds of a loop, and {model} is solved once; --format {format or 'mps'} keeps "
                f"its model"
            )
        grows = getattr(problem.module, "GROWS", False)
        if keep and grows:
            raise ChoiceError(
                f"--keep keeps the models of rounds that a solver solves; fit --model {model} keeps its columns in "
                f"STEM.columns.json, "
                "and --format mps its last master"
            )
        if format and loops and not keep and not grows:
            raise ChoiceError(
                f"--format: fit --model {model} solves one model a round; --keep keeps them all, "
                f"and `odtc build --model {model}` writes the one that needs no rounds"
            )
        keeper, written = Keeper(stem, format or "mps", gzip) if keep else None, []
        with (
            console.live(label, stem, written, racers) as (progress, log),
            console.race_logs(stem, racers, written) as logs,
        ):
            left = deadline.after(began, limit)
            ready = pipeline.prepare(problem, cuts, start, pipeline.relaxations(left, progress, log, keeper), left)
            if ready.model is not None:
                _say_start(problem, ready.begun, start)
                built = artifacts.write_build(ready.model, stem, None if loops else format, gzip)
                last, solution = pipeline.run(
                    ready.model,
                    solver,
                    start=ready.point,
                    progress=progress,
                    log=log,
                    logs=logs,
                    path=built[0] if format and not loops else None,
                    program=program,
                    keep=keeper,
                    time_limit=ready.left,
                    threads=threads,
                    seed=seed,
                    gap=gap,
                )
        if ready.model is None:
            artifacts.forget_solution(stem)
            if ready.known is None:
                console.refuse_no_solution(
                    pipeline.model_facts(problem), pipeline.out_of_time(ready), written, as_json, quiet
                )
            return (
                pipeline.unfinished(ready, labelled),
                stem,
                written + near_optimal.write_pool(problem, pool, within, 0, stem),
            )
        if last.problem is not ready.model.problem:  # the loop has made columns, which the first manifest has not
            built = artifacts.write_build(last, stem, format, gzip, solution.x if format else None)
        written = built + artifacts.write_beside(last.problem, stem) + written
        written += [
            *(keeper.files if keeper else ()),
            *artifacts.write_solution(last, solution, options, f"{stem}.sol"),
        ]
        if not solution.has_solution:
            console.refuse_no_solution(pipeline.model_facts(problem, last), solution, written, as_json, quiet)
        done = pipeline.finish(last, solution, labelled)
        return done, stem, written + near_optimal.write_pool(problem, pool, within, ready.left, stem)

    if row_selection.again(select):
        _finish_fit(*row_selection.iterated(pose, data, how, select, depth, once, time_limit), as_json)
    else:
        _finish_fit(*once(pose(data, time_limit, select)), as_json)


def _finish_fit(done, stem: str, written: list, as_json: bool) -> None:
    tree_files = _write_tree(done.decoded, Path(f"{stem}.tree.json"))
    facts = done.facts | {"tree": tree_files[0] if tree_files else None, "files": [*map(str, written), *tree_files]}
    console.print_tree_result(done.tree, done.decoded, facts, as_json)


@app.command()
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
    problem = _pose(
        data,
        model,
        depth,
        reading(target, categorical, numeric, missing, weights, aside),
        p,
        encoding,
        cuts,
        class_weight,
        cost,
        _constraints(constraint, min_leaf_rows, max_branch_nodes, max_features),
        select,
    )
    stem = _stem(problem, o, FORMATS.get(format).SUFFIX)
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


app.command()(solve.solve)


@app.command()
def decode(
    solution_file: Annotated[Path, typer.Argument(metavar="FILE.sol", help="Any solver's solution file.")],
    manifest: ManifestFile = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="The solver's log, for formats without a status.")
    ] = None,
    data: MovedData = None,
    o: Annotated[
        Path | None, typer.Option("-o", metavar="TREE.json", help="By default STEM.tree.json beside the solution.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn a solution file into a tree, checked."""
    from odtc.base.atomic_write import require_writable
    from odtc.workflow import artifacts, pipeline

    model, solution, opened = artifacts.open_solution(solution_file, manifest, log)
    target = o or Path(f"{artifacts.stem_of(solution_file)}.tree.json")
    require_writable(target, solution_file, opened.path, log)
    if not solution.has_solution:
        console.refuse_no_solution(pipeline.model_facts(model.problem, model), solution, [], as_json)
    dataset, note = artifacts.selected_data(opened, data)
    if note:
        console.say(f"note: {note}")
    done = pipeline.finish(model, solution, dataset=dataset)
    written = _write_tree(done.decoded, target)
    facts = (
        artifacts.selection_facts(opened)
        | done.facts
        | {
            "n_rows_dropped": opened.facts["data"]["n_rows_dropped"],
            "tree": written[0] if written else None,
            "files": written,
        }
    )
    console.print_tree_result(done.tree, done.decoded, facts, as_json)


@app.command()
def verify(
    solution_file: Annotated[Path | None, typer.Argument(metavar="FILE.sol")] = None,
    manifest: ManifestFile = None,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="The solver's log.")] = None,
    data: MovedData = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Check a certificate of `odtc certify` instead."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute everything anew: point against model, tree against data. Exit 1 if anything disagrees."""
    from odtc.workflow import artifacts, pipeline

    if (solution_file is None) == (certificate is None):
        raise ChoiceError(
            "expected a solution file, or --certificate with the file of one, "
            + ("got neither" if certificate is None else "not both")
        )
    if certificate is not None:
        certify.verify_certificate(certificate, data, as_json)
        return
    model, solution, opened = artifacts.open_solution(solution_file, manifest, log)
    if not solution.has_solution:
        console.refuse_no_solution(pipeline.model_facts(model.problem, model), solution, [], as_json)
    dataset, note = artifacts.original_data(opened, data)
    done = pipeline.finish(model, solution, dataset=dataset)
    decoded = done.decoded
    if as_json:
        console.print_json(
            done.facts
            | {
                "n_rows_dropped": opened.facts["data"]["n_rows_dropped"],
                "tree": None,
                "files": [],
                "checks": [check.to_json() for check in decoded.checks],
                "verified": decoded.verified,
            }
        )
    else:
        console.print_checks(decoded.checks)
    if note:
        console.say(note)
    console.refuse_failed(decoded)


@app.command()
def show(
    tree: TreeFile,
    to: Annotated[
        str, typer.Option("--to", help="See `odtc list exporters`.", autocompletion=completing("exporters"))
    ] = "text",
    number: Annotated[int | None, typer.Option("--tree", metavar="N", help="Of a pool, the N-th tree.")] = None,
    templates: Templates = None,
) -> None:
    """Print a tree, or the list of a pool (STEM.pool.json)."""
    from odtc.trees.exporting import EXPORTERS
    from odtc.trees.rendering import render_tree
    from odtc.trees.tree import read_tree
    from odtc.workflow.near_optimal import read_pool

    pool = read_pool(tree)
    if pool is None and number is not None:
        raise ChoiceError(f"--tree picks one of a pool (STEM.pool.json of `odtc fit --pool`); {str(tree)!r} is none")
    text = near_optimal.show_pool(pool, number) if pool is not None else None
    if to in EXPORTERS.names():
        raise ChoiceError(f"--to {to} makes no text; use `odtc export`")
    if text is None:
        text = render_tree(pool.trees[number - 1] if pool is not None else read_tree(tree), to, templates)
    sys.stdout.write(text)


@app.command()
def export(
    tree: TreeFile,
    to: Annotated[str, typer.Option("--to", help="See `odtc list exporters`.", autocompletion=completing("exporters"))],
    o: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="By default stdout.")] = None,
    templates: Templates = None,
) -> None:
    """Write a tree as code or text for another program."""
    from odtc.base.atomic_write import require_writable, write_bytes, write_text
    from odtc.trees.exporting import export as exported
    from odtc.trees.tree import read_tree

    if o is not None:
        require_writable(o, tree)
    made = exported(read_tree(tree), to, templates)
    if o is not None:
        write_text(o, made) if isinstance(made, str) else write_bytes(o, made)
    elif isinstance(made, str):
        sys.stdout.write(made)
    elif sys.stdout.isatty():
        raise ChoiceError(f"--to {to} makes no text for a terminal; name a file with -o")
    else:
        sys.stdout.buffer.write(made)


@app.command()
def predict(
    tree: TreeFile,
    data: DataFile,
    o: Annotated[Path | None, typer.Option("-o", metavar="FILE.csv", help="By default stdout.")] = None,
    score: Annotated[
        bool, typer.Option("--score", help="Print accuracy and confusion matrix of a labelled file.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict the rows of a file; the columns that the tree asks for are found by name, an unseen category is in no
    set."""
    from odtc.base.atomic_write import require_writable, write_text
    from odtc.data.reading import read_rows
    from odtc.trees.tree import read_tree
    from odtc.workflow import run_facts

    if o is not None:
        require_writable(o, tree, data)
    loaded = read_tree(tree)
    rows = read_rows(data, loaded.features, loaded.classes, loaded.target, require_labels=score, used=loaded.used)
    predicted = loaded.predict(rows.X)
    if o is not None or not (score or as_json):
        text = console.csv_column("prediction", [loaded.classes[k] for k in predicted])
        if o is None:
            sys.stdout.write(text)
        else:
            write_text(o, text)
    if score:
        facts = run_facts.score(loaded, rows)
        console.print_json(facts) if as_json else console.print_score(facts)
    elif as_json:
        console.print_json(
            {
                "n_rows": rows.n_rows,
                "predictions": [loaded.classes[k] for k in predicted],
                "files": [str(o)] if o else [],
            }
        )


def _kinds(incomplete: str) -> list[str]:
    from odtc.cli.catalogue import REGISTRIES

    return [kind for kind in REGISTRIES if kind.startswith(incomplete)]


def _members(incomplete: str) -> list[str]:
    return [name for kind in _kinds("") for name in completing(kind)(incomplete)]


@app.command("list")
def list_(
    kind: Annotated[
        str,
        typer.Argument(metavar="models|cuts|encodings|solvers|formats|exporters|selections|…", autocompletion=_kinds),
    ],
    as_json: Json = False,
) -> None:
    """List what there is of a kind, one a line."""
    from odtc.cli.catalogue import members

    entries = members(kind)
    if as_json:
        console.print_json({kind: [{"name": name, "summary": summary} for name, summary in entries]})
        return
    if not entries:
        console.say(f"there are no {kind} in this version")
    width = max((len(name) for name, _ in entries), default=0)
    for name, summary in entries:
        print(f"{name:<{width}}  {summary}")


@app.command()
def info(name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=_members)]) -> None:
    """Describe a model, encoding, solver, format or exporter, with its parameters."""
    from odtc.cli.catalogue import describe

    print(describe(name))


app.command()(certify.certify)
app.command("import")(import_.import_)
app.command()(row_selection.select)
app.command()(report.report)
app.command()(report.explain)
app.command()(compare.compare)
app.add_typer(compare.plot, name="plot")
app.command()(tune.tune)
app.command()(doctor.doctor)
app.add_typer(bench.bench, name="bench")


def main() -> None:
    """Runs the command line: errors of odtc are one sentence on stderr and their exit code."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the incumbent is kept
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")  # a shell's >&- leaves none
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign gets it escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            raise KeyboardInterrupt
    except OdtcError as problem:
        console.say(f"odtc: error: {_one_line(problem)}")
        code = problem.exit_code
    except USAGE as problem:
        code = 2
        if type(problem).__name__ == "NoArgsIsHelpError":
            problem.show()
        else:
            command = problem.ctx.command_path if problem.ctx else "odtc"
            console.say(f"odtc: error: {_one_line(_usage(problem)).rstrip('.')}; see `{command} --help`")
    except BrokenPipeError:  # the reader of our output has had enough
        _silence_stdout()
        code = 1
    except (KeyboardInterrupt, typer.Abort):
        console.say("odtc: error: interrupted before there was a result; nothing was written that is not whole")
        code = 1
    except MemoryError:
        console.say(
            "odtc: error: not enough memory; use a smaller --depth, or fewer tests with --encoding thresholds:bins=8"
        )
        code = 1
    except Exception as problem:
        if (
            isinstance(problem, OSError) and problem.errno in FULL and problem.filename is None
        ):  # files of ours raise OutputError
            _silence_stdout()
            console.say(
                f"odtc: error: cannot write to the standard output: {problem.strerror}; make room, or send it elsewhere"
            )
            sys.exit(1)
        if os.environ.get("ODTC_TRACEBACK"):
            raise
        console.say(
            f"odtc: error: a fault in odtc itself ({type(problem).__name__}: {_one_line(problem)}); please report it, "
            "with what ODTC_TRACEBACK=1 in the environment makes it print"
        )
        code = 1
    if "odtc.solvers.solve" in sys.modules and any(
        thread.is_alive() for thread in sys.modules["odtc.solvers.solve"].LEFT
    ):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    sys.exit(code or 0)


def _usage(problem) -> str:
    """The words of a usage error; of a number that is none, with what was expected and what came, which
    newer versions of typer leave out."""
    wrong = problem.__cause__.errors()[0] if hasattr(problem.__cause__, "errors") else {}
    wanted = {"int_parsing": "a whole number", "float_parsing": "a number"}.get(wrong.get("type"))
    if wanted is None or problem.param is None:
        return problem.format_message()
    return f"Invalid value for {problem.param.opts[0]!r}: expected {wanted}, got {wrong['input']!r}"


def _silence_stdout() -> None:
    """What is still to be flushed goes nowhere, so that Python's own flush at the end is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _constraints(texts, min_leaf_rows, max_branch_nodes, max_features) -> tuple[str, ...]:
    short = {"leaf_rows >=": min_leaf_rows, "branch_nodes <=": max_branch_nodes, "features <=": max_features}
    return (*texts, *(f"{words} {number}" for words, number in short.items() if number is not None))


def _start(compiled, name: str):
    """The start, as of the pipeline; says where there is none."""
    from odtc.workflow import pipeline

    begun = pipeline.start(compiled, name)
    _say_start(compiled.problem, begun, name)
    return begun


def _say_start(problem, begun, name: str) -> None:
    if begun is None and name != "none":
        console.say(
            f"no start is given: the tree of {name!r} breaks a constraint ({'; '.join(map(str, problem.constraints))})"
        )


def _pose(
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


def _stem(problem, o: str | None, suffix: str = "") -> str:
    """The stem that -o names, without the model file's own suffix; in a folder, or without -o, the
    data's name with model and depth."""
    return stem_named(o, f"{problem.encoded.name}_{problem.formulation}_d{problem.topology.depth}", suffix)


def _one_line(problem) -> str:
    return " ".join(str(problem).split())


def _write_tree(decoded, path) -> list[str]:
    """Writes the tree, unless a check failed: such a one replaces no file. The path, if it was written."""
    from odtc.base.atomic_write import write_text

    if not decoded.verified:
        return []
    write_text(path, json.dumps(decoded.tree.to_json(), ensure_ascii=False, indent=1) + "\n")
    return [str(path)]
