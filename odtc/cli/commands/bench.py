"""`odtc bench …`: studies that continue where they were stopped, and their tables."""

from pathlib import Path
from typing import Annotated

import typer

from odtc.base import interrupts
from odtc.cli import console
from odtc.cli.help_page import CommandHelp, GroupHelp
from odtc.cli.options import READING, ClusterAddress, Depths, Json, Part, names, takes, value_option, whole_numbers
from odtc.errors import ChoiceError
from odtc.workflow.specification import ModelSpec, SolvingSpec

bench = typer.Typer(
    cls=GroupHelp,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Compare formulations on your data or on the data of the papers.",
)

TableFile = Annotated[
    Path | None,
    value_option(
        "-o",
        "TABLE.md|.csv|.tex|.parquet",
        "Output file: Markdown, CSV, LaTeX or Parquet (default: Markdown on stdout).",
    ),
]
DataFiles = Annotated[
    str | None,
    value_option(
        "--data", "A,B", "Data files, or names of files in $ODTC_DATA (default: the ten data sets of the papers)."
    ),
]
Forms = Annotated[
    str | None,
    value_option(
        "--formulations",
        "NAME[:KEY=VALUE…],…",
        "Formulations with parameters; NAME:fit is the method of `odtc fit` (default: all univariate formulations).",
    ),
]
PeerFiles = Annotated[
    str | None,
    value_option(
        "--peer-files", "'GLOB'", "Models of other programs for the same data, named …DATA_dDEPTH.lp (.mps, .gz)."
    ),
]
RESULTS = Path("bench-models.jsonl")


@bench.command(cls=CommandHelp)
@takes(
    Part(
        ModelSpec,
        only=("start", "encoding", "constraints"),
        changed={
            "start": {"help": "See `odtc list starts`; a peer's model gets none."},
            "encoding": {"default": "onehot"},
        },
    ),
    READING,
    Part(
        SolvingSpec,
        only=("time_limit", "threads", "seed", "solver"),
        changed={
            "time_limit": {"default": 60.0, "help": "Wall seconds for each solve."},
            "threads": {"default": 1},
            "solver": {"default": "highs"},
        },
    ),
)
def models(
    spec,
    data: DataFiles = None,
    depths: Depths = "2,3",
    forms: Forms = None,
    peer_files: PeerFiles = None,
    lp_limit: Annotated[float, value_option("--lp-limit", "S", "Wall seconds for each root relaxation (HiGHS).")] = 20,
    results: Annotated[
        Path,
        value_option("--results", "FILE.jsonl", "File with one line for each finished cell; a rerun continues it."),
    ] = RESULTS,
    jobs: Annotated[int, value_option("--jobs", "N", "Number of cells in parallel; -1 for all cores.")] = 1,
    cluster: ClusterAddress = None,
    o: TableFile = None,
    as_json: Json = False,
) -> None:
    """Measure each formulation on each data set and depth: sizes, root bound, time, nodes and gap."""
    from odtc.evaluation import benchmark as study
    from odtc.evaluation.benchmark_formats import render_study
    from odtc.evaluation.studies.cluster import pool_of

    _expect_table(o)
    chosen = forms.split(",") if forms else study.usual_forms(spec.reading.task)
    files = study.find_data(names(data))
    SolvingSpec(time_limit=lp_limit)  # raises for an invalid limit
    settings = study.Settings(spec, lp_limit)
    _expect_known(spec, peer_files)
    peers = study.find_peers(peer_files, files) if peer_files else {}
    cells = study.list_cells(
        files,
        whole_numbers(depths, "--depths (or --depth)"),
        [study.Form.parse(form.strip()) for form in chosen],
        peers,
    )
    try:
        with pool_of(jobs, cluster, console.say) as pool:
            alone = jobs == 1 and cluster is None
            found = study.run(cells, settings, results, console.say, None if alone else pool)
    except KeyboardInterrupt:
        if results.exists():
            cells = study.expect_results(results)
            if as_json:
                console.print_json({"interrupted": True, "cells": cells})
            else:
                _print(render_study(cells, None), None)
            interrupts.leaves(f"the finished cells are in {results}: the same command goes on")
        raise
    written = [results] if o is None else [results, o]
    if o is not None or not as_json:
        _print(render_study(found, o), o)
    if as_json:
        console.print_json({"cells": found, "files": [*map(str, written)]})
    else:
        console.say(
            f"wrote {', '.join(map(str, written))}; `odtc bench table {results}` shows it again, "
            f"`odtc plot profile {results} -o FILE.svg` draws it"
        )


def _expect_known(spec, peer_files: str | None) -> None:
    """Raise ChoiceError for an unknown solver, start or encoding, and for constraints that models of other programs do
    not contain."""
    from odtc.data.encoding import ENCODINGS
    from odtc.heuristics.heuristic import HEURISTICS
    from odtc.solvers.solver import installed
    from odtc.workflow.first_trees import AUTO

    installed(spec.solving.named_solver)
    if spec.model.start not in ("none", AUTO):
        HEURISTICS.get(spec.model.start.partition(":")[0].strip())
    ENCODINGS.parse(spec.model.encoding)
    if peer_files and spec.model.constraints:
        raise ChoiceError(
            "--peer-files: --constraint cannot be combined with models of other programs, because they do not contain "
            "it; leave out one of the two"
        )


@bench.command(cls=CommandHelp)
def table(
    results: Annotated[Path, typer.Argument(metavar="RESULTS.jsonl", help="Results of `odtc bench models`.")] = RESULTS,
    o: TableFile = None,
) -> None:
    """Print the finished cells of a study as Markdown, LaTeX (booktabs), CSV or Parquet."""
    from odtc.evaluation.benchmark import expect_results
    from odtc.evaluation.benchmark_formats import render_study

    _expect_table(o)
    _print(render_study(expect_results(results), o), o)
    if o is not None:
        console.say(f"wrote {o}")


DataFolder = Annotated[
    Path | None, value_option("--data", "FOLDER", "Folder of the data (default: $ODTC_DATA, or ../shared/data).")
]
Methods = Annotated[str | None, value_option("--methods", "A,B", "Columns of the table (default: as in the paper).")]
Samples = Annotated[int | None, value_option("--samples", "N", "Number of samples (default: as in the paper).")]
FitsFolder = Annotated[
    Path, value_option("--results", "FOLDER", "Folder with one file for each finished fit; a rerun continues it.")
]
ListData = Annotated[bool, typer.Option("--list-data", help="Only print the expected files with their SHA-256.")]


@bench.command(cls=CommandHelp)
@takes(
    Part(
        SolvingSpec,
        only=("time_limit", "solver"),
        changed={
            "time_limit": {"help": "Seconds of a fit in place of the paper's limit; limits of other methods scale."},
            "solver": {"default": "highs"},
        },
    ),
)
def paper(
    spec,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Table or figure of a paper (default: list the names).")
    ] = None,
    data: DataFolder = None,
    list_data: ListData = False,
    methods: Methods = None,
    rows: Annotated[str | None, value_option("--rows", "SET[@DEPTH],…", "Rows of the table (default: all).")] = None,
    samples: Samples = None,
    finished: Annotated[bool, typer.Option("--finished", help="Only print the finished cells.")] = False,
    results: FitsFolder = Path("bench-paper"),
    jobs: Annotated[int, value_option("--jobs", "N", "Number of fits in parallel; -1 for all cores.")] = 1,
    cluster: ClusterAddress = None,
    o: Annotated[Path | None, value_option("-o", "TABLE.md|.csv", "Output file (default: Markdown on stdout).")] = None,
    as_json: Json = False,
) -> None:
    """Run the protocol of a table or figure of a paper, and print our figures next to the printed ones.

    Without a name the tables are listed. The same command continues an interrupted study.
    """
    from odtc.base.atomic_write import require_writable
    from odtc.evaluation.benchmark import data_folder
    from odtc.evaluation.studies import paper_protocols as protocols
    from odtc.evaluation.studies.paper import cells_of
    from odtc.evaluation.studies.paper_table import data_table, facts_of, render

    if name is None:
        _list_protocols(as_json)
        return
    protocol, files, folder = protocols.protocol(name), protocols.data_files(), data or data_folder()
    expected = data_table(protocol.chosen_lines(names(rows)), files, folder)
    if list_data:
        _list_files(expected, as_json)
        return
    if not folder.is_dir():
        raise ChoiceError(f"--data: expected a folder with data files, got {str(folder)!r}; see --list-data")
    if samples is not None and samples < 1:
        raise ChoiceError(f"--samples: expected 1 or more, got {samples}")
    if o is not None:
        render(protocol, [], {}, o)
        require_writable(o)
    cells = cells_of(protocol, files, folder, (names(rows), names(methods)), spec.solving, samples)
    for row in expected:
        if row[-1] in (protocols.DIFFERS, protocols.MISSING):
            console.say(f"note: {row[0]}: the data file {'is missing' if row[-1] == protocols.MISSING else row[-1]}")
    found = _fits_of(protocol, cells, results, None if finished else (jobs, cluster))
    if as_json:
        console.print_json(facts_of(protocol, cells, found))
    if o is not None or not as_json:
        _print(render(protocol, cells, found, o), o)
    if o is not None:
        console.say(f"wrote {o}; the fits are in {results}")


def _list_protocols(as_json: bool) -> None:
    """Print the tables and figures of papers that have a protocol."""
    from odtc.evaluation.studies import paper_protocols as protocols

    listed = {one: protocols.protocol(one) for one in protocols.names()}
    if as_json:
        console.print_json({one: {"title": found.title, "source": found.source} for one, found in listed.items()})
    for one, found in () if as_json else listed.items():
        print(f"{one:10}  {found.title}\n{'':10}  {found.source}")


def _fits_of(protocol, cells: list, results: Path, workers: tuple[int, str | None] | None) -> dict:
    """Return the fits of cells; `workers` are the processes and the cluster that run those that are not in the folder,
    None to run none. At an interruption, the table of the finished ones is printed."""
    from odtc.cli.commands.studies import run_fits
    from odtc.evaluation.studies.cluster import pool_of
    from odtc.evaluation.studies.engine import Store
    from odtc.evaluation.studies.paper import stages, stored
    from odtc.evaluation.studies.paper_table import render

    store, found = Store(results, "--results"), {}
    try:
        if workers is None:
            return stored(cells, store)
        store.make()
        with pool_of(*workers, console.say) as pool:
            for fits in stages(cells, found):
                run_fits(fits, pool, store, lambda place, result, fits=fits: found.update({fits[place].key: result}))
    except KeyboardInterrupt:
        _print(render(protocol, cells, found, None), None)
        interrupts.leaves(f"the finished fits are in {results}: the same command continues")
        raise
    return found


def _list_files(expected: list, as_json: bool) -> None:
    """Print the expected data files and their state."""
    head = ["set", "rows", "columns", "classes", "sha256", "state"]
    if as_json:
        console.print_json([dict(zip(head, row)) for row in expected])
    for row in () if as_json else [head, *expected]:
        print(f"{row[0]:24}{row[1]:>7}{row[2]:>8}{row[3]:>8}  {row[4]:64}  {row[5]}")


def _expect_table(path: Path | None) -> None:
    """Raise errors that would prevent writing a table before the work."""
    from odtc.base.atomic_write import require_writable
    from odtc.evaluation.benchmark_formats import render_study

    if path is not None:
        render_study([], path)
        require_writable(path)


def _print(table: str | bytes, path: Path | None) -> None:
    from odtc.base.atomic_write import write_bytes, write_text

    if isinstance(table, bytes):
        write_bytes(path, table)
    elif path is None:
        print(table, end="")
    else:
        write_text(path, table)
