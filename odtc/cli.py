"""The command line: parse, call the pipeline, print. Results to stdout, words and progress to stderr.

Heavy imports stand inside the commands, so that `odtc --help` is quick.
"""

import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from odtc import __version__
from odtc.errors import ChoiceError, OdtcError

app = typer.Typer(
    name="odtc", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]}, rich_markup_mode=None,
    help="The compiler for optimal decision trees: data and a formulation in, a model file for any solver out, "
         "a checked tree back. Exit codes: 0 done, 1 error, 2 usage, 3 the solver found no solution.",
)

# Options that stand on several commands, defined once.
DataFile = Annotated[Path, typer.Argument(metavar="DATA", help="CSV, TSV (also .gz), Parquet or ARFF.")]
ModelName = Annotated[str, typer.Option("--model", help="Formulation; see `odtc list models`.")]
Depth = Annotated[int, typer.Option("--depth", help="Depth of the tree.")]
Target = Annotated[str | None, typer.Option("--target", help="Column to predict; by default the last one.")]
Params = Annotated[list[str], typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the formulation; see `odtc info MODEL`.")]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME[:KEY=VALUE,…]", help="See `odtc list encodings`.")]
Cuts = Annotated[str | None, typer.Option("--cuts", metavar="A,B|all|none", help="Cut families; see `odtc list cuts`.")]
Start = Annotated[str, typer.Option("--start", metavar="cart|none|TREE.json", help="MIP start.")]
Categorical = Annotated[str | None, typer.Option("--categorical", metavar="A,B", help="Columns to take as categories.")]
Numeric = Annotated[str | None, typer.Option("--numeric", metavar="A,B", help="Columns to take as numbers.")]
Missing = Annotated[str, typer.Option("--missing", metavar="drop|error|separate", help="What to do with missing cells.")]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COL", help="Column of row weights.")]
Stem = Annotated[str | None, typer.Option("-o", metavar="STEM", help="Stem of the files; by default data, model and depth.")]
SolverName = Annotated[str, typer.Option("--solver", help="See `odtc list solvers`.")]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="S", help="Wall seconds; by default none.")]
Threads = Annotated[int | None, typer.Option("--threads", help="By default the solver's choice.")]
Seed = Annotated[int, typer.Option("--seed")]
Gap = Annotated[float, typer.Option("--gap", help="Absolute and relative gap at which to stop.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
ManifestFile = Annotated[Path | None, typer.Option("--manifest", metavar="STEM.odt.json", help="By default found beside the solution.")]
Templates = Annotated[Path | None, typer.Option("--templates", metavar="DIR", help="Folder with templates of your own.")]
TreeFile = Annotated[Path, typer.Argument(metavar="TREE.json")]


@app.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(f"odtc {__version__}")
        raise typer.Exit


@app.command()
def fit(
    data: DataFile, model: ModelName = "flowoct", depth: Depth = 2, target: Target = None, p: Params = [],
    encoding: Encoding = "auto", cuts: Cuts = None, start: Start = "cart", categorical: Categorical = None,
    numeric: Numeric = None, missing: Missing = "drop", weights: Weights = None,
    test: Annotated[Path | None, typer.Option("--test", metavar="FILE", help="Labelled rows to test the tree on.")] = None,
    solver: SolverName = "highs", time_limit: TimeLimit = None, threads: Threads = None, seed: Seed = 0, gap: Gap = 0.0,
    format: Annotated[str | None, typer.Option("--format", help="Write the model file too: mps, lp or fixed-mps.")] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the model file.")] = False,
    o: Stem = None, as_json: Json = False,
) -> None:
    """Build, solve, decode and verify: data to a checked tree, in one go."""
    from odtc import pipeline
    from odtc.format import FORMATS
    from odtc.solver import SOLVERS, Options

    options = Options(time_limit, threads, seed, gap)
    SOLVERS.get(solver)
    if format:
        FORMATS.get(format)
    compiled, begun = _compile(data, model, depth, target, p, encoding, cuts, start, categorical, numeric, missing, weights)
    labelled = pipeline.test_rows(compiled.problem, test) if test else None
    stem = o or _stem(compiled)
    files = pipeline.write_build(compiled, stem, format, gzip)
    with _live(f"{SOLVERS.get(solver).NAME}", stem, files) as (progress, log):
        solution = pipeline.solve(compiled, solver, start=begun[1] if begun else None, progress=progress, log=log,
                                  time_limit=time_limit, threads=threads, seed=seed, gap=gap)
    files += pipeline.write_solution(compiled, solution, options, f"{stem}.sol")
    if not solution.has_solution:
        _no_solution(pipeline.model_facts(compiled), solution, files, as_json)
    done = pipeline.finish(compiled, solution, labelled)
    tree_path = Path(f"{stem}.tree.json")
    _write_tree(done.tree, tree_path)
    facts = done.facts | {"tree": str(tree_path), "files": [str(f) for f in [*files, tree_path]]}
    _print_tree_result(done.tree, done.decoded, facts, as_json, done.cart)


@app.command()
def build(
    data: DataFile, model: ModelName = "flowoct", depth: Depth = 2, target: Target = None, p: Params = [],
    encoding: Encoding = "auto", cuts: Cuts = None, start: Start = "cart", categorical: Categorical = None,
    numeric: Numeric = None, missing: Missing = "drop", weights: Weights = None,
    format: Annotated[str, typer.Option("--format", help="mps, lp or fixed-mps.")] = "mps",
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the model file.")] = False,
    o: Stem = None, as_json: Json = False,
) -> None:
    """Write the model file, its manifest (STEM.odt.json) and the start files."""
    from odtc import pipeline
    from odtc.format import FORMATS

    FORMATS.get(format)
    compiled, begun = _compile(data, model, depth, target, p, encoding, cuts, start, categorical, numeric, missing, weights)
    files = pipeline.write_build(compiled, o or _stem(compiled), format, gzip, begun[1] if begun else None)
    facts = pipeline.model_facts(compiled) | {"files": [str(f) for f in files]}
    if as_json:
        _print_json(facts)
        return
    print(f"{facts['model']} of depth {depth} for {facts['n_rows']} rows ({facts['n_rows_merged']} after merging) and "
          f"{facts['n_features_encoded']} tests: {facts['n_cols']:,} columns, {facts['n_model_rows']:,} rows, "
          f"{facts['nnz']:,} nonzeros")
    for path in files:
        print(f"{path}  {Path(path).stat().st_size:,} bytes")


@app.command()
def solve(
    model_file: Annotated[Path, typer.Argument(metavar="STEM.mps", help="A model file: MPS or LP, also .gz.")],
    solver: SolverName = "highs", time_limit: TimeLimit = None, threads: Threads = None, seed: Seed = 0, gap: Gap = 0.0,
    start: Annotated[Path | None, typer.Option("--start", metavar="FILE", help="Start file; by default STEM.start.sol where it is.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    o: Annotated[Path | None, typer.Option("-o", metavar="FILE.sol", help="By default STEM.sol.")] = None,
    as_json: Json = False,
) -> None:
    """Solve a model file; the solution goes to STEM.sol in the form of HiGHS."""
    from odtc import pipeline, report
    from odtc.solver import SOLVERS, Options

    options = Options(time_limit, threads, seed, gap)
    opened = pipeline.open_model(model_file, start)
    stem = opened.stem
    target = o or Path(f"{stem}.sol")
    if dry_run:
        print(f"{SOLVERS.get(solver).NAME} {SOLVERS.get(solver).version()}, embedded: {model_file} -> {target}, {options}")
        return
    files: list[Path] = []
    with _live(SOLVERS.get(solver).NAME, target.with_suffix("") if target.suffix == ".sol" else None, files) as (progress, log):
        solution = pipeline.solve(opened.model, solver, start=opened.start, progress=progress, log=log,
                                  time_limit=time_limit, threads=threads, seed=seed, gap=gap)
    files += pipeline.write_solution(opened.model, solution, options, target)
    facts = opened.facts | report.solve_facts(solution)
    if not solution.has_solution:
        _no_solution(opened.facts, solution, files, as_json)
    facts |= {"files": [str(f) for f in files]}
    if as_json:
        _print_json(facts)
        return
    print(f"{solution.termination}: objective {solution.objective:.10g}{_proof(solution)}, {solution.seconds:.2f} s, {solution.solver}")
    print(f"{target}  (odtc decode {target})")


@app.command()
def decode(
    solution_file: Annotated[Path, typer.Argument(metavar="FILE.sol", help="Any solver's solution file.")],
    manifest: ManifestFile = None,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="The solver's log, for formats without a status.")] = None,
    o: Annotated[Path | None, typer.Option("-o", metavar="TREE.json", help="By default STEM.tree.json beside the solution.")] = None,
    as_json: Json = False,
) -> None:
    """Turn a solution file into a tree, checked."""
    from odtc import pipeline

    model, solution, opened = pipeline.open_solution(solution_file, manifest, log)
    if not solution.has_solution:
        _no_solution(pipeline.model_facts(model), solution, [], as_json)
    done = pipeline.finish(model, solution)
    path = o or solution_file.with_name(_bare(solution_file) + ".tree.json")
    _write_tree(done.tree, path)
    facts = done.facts | {"n_rows_dropped": opened.facts["data"]["n_rows_dropped"], "tree": str(path), "files": [str(path)]}
    _print_tree_result(done.tree, done.decoded, facts, as_json, done.cart)


@app.command()
def verify(
    solution_file: Annotated[Path, typer.Argument(metavar="FILE.sol")], manifest: ManifestFile = None,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="The solver's log.")] = None,
    data: Annotated[Path | None, typer.Option("--data", metavar="DATA", help="The data file, where it is no longer where the manifest says.")] = None,
    as_json: Json = False,
) -> None:
    """Compute everything anew: point against model, tree against data. Exit 1 if anything disagrees."""
    from odtc import pipeline

    model, solution, opened = pipeline.open_solution(solution_file, manifest, log)
    if not solution.has_solution:
        _no_solution(pipeline.model_facts(model), solution, [], as_json)
    dataset, note = pipeline.original_data(opened, data)
    done = pipeline.finish(model, solution, dataset=dataset)
    decoded = done.decoded
    if as_json:
        _print_json(done.facts | {"files": [], "checks": [check.to_json() for check in decoded.checks], "verified": decoded.verified})
    else:
        _print_checks(decoded.checks)
    if note:
        _say(note)
    if not decoded.verified:
        raise typer.Exit(1)


@app.command()
def show(tree: TreeFile, to: Annotated[str, typer.Option("--to", help="See `odtc list exporters`.")] = "text",
         templates: Templates = None) -> None:
    """Print a tree."""
    from odtc.render import render_tree
    from odtc.tree import read_tree

    sys.stdout.write(render_tree(read_tree(tree), to, templates))


@app.command()
def export(
    tree: TreeFile, to: Annotated[str, typer.Option("--to", help="See `odtc list exporters`.")],
    o: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="By default stdout.")] = None,
    templates: Templates = None,
) -> None:
    """Write a tree as code or text for another program."""
    from odtc.output import write_text
    from odtc.render import render_tree
    from odtc.tree import read_tree

    text = render_tree(read_tree(tree), to, templates)
    if o is None:
        sys.stdout.write(text)
    else:
        write_text(o, text)


@app.command()
def predict(
    tree: TreeFile, data: DataFile,
    o: Annotated[Path | None, typer.Option("-o", metavar="FILE.csv", help="By default stdout.")] = None,
    score: Annotated[bool, typer.Option("--score", help="Print accuracy and confusion matrix of a labelled file.")] = False,
    as_json: Json = False,
) -> None:
    """Predict the rows of a file; columns are found by name, an unseen category is in no set."""
    from odtc import report
    from odtc.output import write_text
    from odtc.reader import read_rows
    from odtc.tree import read_tree

    loaded = read_tree(tree)
    rows = read_rows(data, loaded.features, loaded.classes, loaded.target, require_labels=score)
    predicted = loaded.predict(rows.X)
    if o is not None or not (score or as_json):
        text = _csv_column("prediction", [loaded.classes[k] for k in predicted])
        if o is None:
            sys.stdout.write(text)
        else:
            write_text(o, text)
    if score:
        facts = report.score(loaded, rows)
        _print_json(facts) if as_json else _print_score(facts)
    elif as_json:
        _print_json({"n_rows": rows.n_rows, "predictions": [loaded.classes[k] for k in predicted], "files": [str(o)] if o else []})


@app.command("list")
def list_(kind: Annotated[str, typer.Argument(metavar="models|cuts|encodings|solvers|formats|exporters|selections|…")],
          as_json: Json = False) -> None:
    """List what there is of a kind, one a line."""
    from odtc.catalogue import members

    entries = members(kind)
    if as_json:
        _print_json({kind: [{"name": name, "summary": summary} for name, summary in entries]})
        return
    if not entries:
        _say(f"there are no {kind} in this version")
    width = max((len(name) for name, _ in entries), default=0)
    for name, summary in entries:
        print(f"{name:<{width}}  {summary}")


@app.command()
def info(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Describe a model, encoding, solver, format or exporter, with its parameters."""
    from odtc.catalogue import describe

    print(describe(name))


def main() -> None:
    """Runs the command line: errors of odtc are one sentence on stderr and their exit code."""
    try:
        app()
    except OdtcError as problem:
        _say(f"odtc: error: {problem}")
        sys.exit(problem.exit_code)
    except BrokenPipeError:  # the reader of our output has had enough
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        _say("odtc: interrupted")
        sys.exit(1)
    except MemoryError:
        _say("odtc: error: not enough memory; use a smaller --depth, or fewer tests with --encoding thresholds:bins=8")
        sys.exit(1)


def _compile(data, model, depth, target, p, encoding, cuts, start, categorical, numeric, missing, weights):
    from odtc import pipeline

    params = {}
    for pair in p:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ChoiceError(f"-p: expected KEY=VALUE, got {pair!r}")
        params[key] = value
    pipeline.choose_cuts(cuts)
    reading = dict(target=target, categorical=_names(categorical), numeric=_names(numeric), missing=missing, weights=weights)
    compiled = pipeline.build(data, model, depth, encoding=encoding, params=params, reading=reading)
    dropped = compiled.problem.encoded.dataset.n_dropped
    if dropped:
        _say(f"dropped {dropped} rows with missing cells of {dropped + compiled.problem.encoded.dataset.n_rows} "
             "(--missing separate keeps them)")
    return compiled, pipeline.start(compiled, start)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


def _stem(model) -> str:
    problem = model.problem
    return f"{problem.encoded.name}_{problem.formulation}_d{problem.topology.depth}"


def _bare(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(path.suffix if path.suffix != ".gz" else "")


def _write_tree(tree, path) -> None:
    from odtc.output import write_text

    write_text(path, json.dumps(tree.to_json(), ensure_ascii=False, indent=1) + "\n")


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _print_json(facts: dict) -> None:
    print(json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False))


def _csv_column(title: str, cells: list[str]) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([[title], *([cell] for cell in cells)])
    return text.getvalue()


def _proof(solution) -> str:
    if solution.bound is None:
        return ""
    return f", bound {solution.bound:.10g}, gap {100 * solution.gap:.2f} %"


def _no_solution(facts, solution, files, as_json) -> None:
    from odtc import pipeline, report
    from odtc.errors import NoSolutionError

    if as_json:
        _print_json(facts | report.solve_facts(solution) | {"files": [str(f) for f in files]})
    raise NoSolutionError(pipeline.no_solution_text(solution))


def _print_tree_result(tree, decoded, facts, as_json, cart) -> None:
    from odtc.render import render_tree

    if as_json:
        _print_json(facts)
    else:
        sys.stdout.write(render_tree(tree))
        print()
        proved = {"optimal": "proved optimal"}.get(facts["termination"], facts["termination"].replace("_", " "))
        bound = f", bound {facts['bound']:.10g}, gap {100 * facts['gap']:.2f} %" if facts["bound"] is not None else ""
        seconds = f", {facts['seconds']:.2f} s" if facts["seconds"] is not None else ""
        nodes = f", {facts['nodes']} nodes" if facts["nodes"] is not None else ""
        print(f"{proved}: objective {facts['objective']:.10g}{bound}{nodes}{seconds}, {facts['solver']}")
        print(f"training  {facts['train_correct']} of {facts['n_rows']} right ({100 * facts['train_accuracy']:.2f} %), "
              f"CART {facts['cart_train_correct']} ({100 * facts['cart_train_accuracy']:.2f} %)")
        if facts.get("test_accuracy") is not None:
            print(f"test      {100 * facts['test_accuracy']:.2f} % of {facts['n_test_rows']} rows right, "
                  f"CART {100 * facts['cart_test_accuracy']:.2f} %")
        print(f"verified  {sum(c.passed for c in decoded.checks)} of {len(decoded.checks)} checks passed")
        _say(f"wrote {', '.join(facts['files'])}")
    if not decoded.verified:
        for check in decoded.checks:
            if not check.passed:
                _say(f"odtc: error: the check of the {check.name} failed: {check.text}")
        raise typer.Exit(1)


def _print_checks(checks) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{'ok  ' if check.passed else 'FAIL'}  {check.name:<{width}}  {check.text}")
    failed = sum(not check.passed for check in checks)
    print(f"{failed} of {len(checks)} checks failed" if failed else f"all {len(checks)} checks passed")


def _print_score(facts: dict) -> None:
    accuracy = "no row has a known label" if facts["accuracy"] is None else f"{100 * facts['accuracy']:.2f} %"
    print(f"accuracy  {accuracy}  ({facts['correct']} of {facts['n_rows']} rows right)")
    if facts["n_rows_without_known_label"]:
        print(f"left out  {facts['n_rows_without_known_label']} rows whose label is missing or unknown")
    cells = [["true \\ predicted", *facts["classes"]]]
    cells += [[name, *map(str, row)] for name, row in zip(facts["classes"], facts["confusion"])]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for row in cells:
        print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]))


@contextmanager
def _live(solver: str, stem, files: list):
    """(progress, log): a live line on stderr where it is a terminal, and the log in STEM.log."""
    from contextlib import ExitStack

    from odtc.output import new_file

    with ExitStack() as stack:
        log = None
        if stem is not None:
            path = Path(f"{stem}.log")
            stream = stack.enter_context(new_file(path))
            files.append(path)
            log = lambda text: stream.write(text.encode("utf-8"))  # noqa: E731
        if not sys.stderr.isatty():
            yield None, log
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        began, last = time.monotonic(), [None]

        def line() -> Text:
            said = last[0]
            words = [solver, f"{time.monotonic() - began:.1f} s"]
            if said is not None:
                show = lambda value: "-" if value is None else f"{value:.6g}"  # noqa: E731
                words += [f"incumbent {show(said.incumbent)}", f"bound {show(said.bound)}",
                          f"gap {'-' if said.gap is None else f'{100 * said.gap:.2f} %'}", f"nodes {show(said.nodes)}"]
            return Text("  ".join(words))

        console = Console(stderr=True)
        stack.enter_context(Live(get_renderable=line, console=console, refresh_per_second=4, transient=True))
        yield (lambda progress: last.__setitem__(0, progress)), log
