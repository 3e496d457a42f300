"""`odtc fit`: from data to a checked tree, in one command."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console, options
from odtc.cli.help_page import DATA
from odtc.errors import NoSolutionError, OutputError

Confidence = Annotated[
    float | None,
    options.value_option(
        "--confidence",
        "P",
        "Find a tree that satisfies --constraint on new rows with this confidence, for example 0.95. An exact "
        "test uses rows that the search does not see (--test or --hold-out; default: 30 % of the rows).",
        parser=options.share,
        rich_help_panel=DATA,
    ),
]
Price = Annotated[
    bool, typer.Option("--price", help="Print how much one more percent of each --constraint on a share would cost.")
]
AlsoModel = Annotated[
    str | None,
    options.value_option(
        "--format",
        "NAME",
        "Also write the model file, as mps, lp or fixed-mps.",
        autocompletion=options.completing("formats"),
    ),
]
Keep = Annotated[
    bool,
    typer.Option("--keep", help="Keep model and solution of every round of the solver: STEM.round01.mps and .sol."),
]
WithCertificate = Annotated[
    bool,
    typer.Option(
        "--certificate", help="Write the proof to STEM.certificate.json, which `odtc verify --certificate` checks."
    ),
]


@options.takes(replace(options.MODEL, changed={"model": {"default": "auto"}}), options.SPLITTING, options.SOLVING)
def fit(
    data: options.DataFile,
    spec,
    test: options.TestFile = None,
    confidence: Confidence = None,
    price: Price = False,
    format: AlsoModel = None,
    gzip: options.Gzip = False,
    keep: Keep = False,
    certificate: WithCertificate = False,
    pool: options.PoolSize = None,
    within: options.Within = None,
    no_simplify: options.NoSimplify = False,
    explain_plan: options.ExplainPlan = False,
    o: options.Stem = None,
    as_json: options.Json = False,
) -> None:
    """Find the best tree for a data file, prove it and check it.

    \b
      odtc fit DATA                               the best tree of depth 2, proved
      odtc fit DATA --depth 3 --hold-out 0.2      deeper, and tested on 20 % of the rows
      odtc fit DATA --constraint 'recall[CLASS] >= 0.8' --time-limit 60
      odtc fit DATA --constraint 'recall[CLASS] >= 0.8' --confidence 0.95
      odtc fit DATA --model flowoct --solver cbc  a formulation and a solver by name
    """
    from odtc.workflow.sinks import FileSink

    if format:
        from odtc.fileformats.model_files import FORMATS

        FORMATS.get(format)
    spec, sinks = replace(spec, simplify=not no_simplify, confidence=confidence), []

    def new_sink() -> FileSink:
        sinks.append(
            FileSink(
                lambda problem: options.stem_of(problem, o), format, gzip, keep, pool, within, certificate=certificate
            )
        )
        return sinks[-1]

    if explain_plan:
        from odtc.workflow.constrained.assured_fit import with_rows_to_test
        from odtc.workflow.run import plan_of

        console.print_plan(plan_of(with_rows_to_test(spec, test), data, new_sink()), as_json)
        return
    try:
        done = _fitted(spec, data, test, new_sink)
    except NoSolutionError as problem:
        console.print_no_solution(problem, sinks[-1].files if sinks else [], as_json)
        if certificate and problem.outcome.certified:
            console.say("note: `odtc certify` writes a certificate that no tree satisfies the constraints")
        raise
    except OutputError as problem:
        if (found := problem.result) is not None:  # hours of search are not lost with a disk that is full
            console.print_tree_result(found, found.to_json() | {"tree": None, "files": []}, as_json)
        raise
    _report(done, sinks[-1], spec, price, as_json)


def _fitted(spec, data: Path, test: Path | None, new_sink):
    """Return the result of the run, in which new rows satisfy the constraints if it has a confidence."""
    from odtc.workflow.run import run

    reporter = console.ConsoleReporter(spec.solving.time_limit)
    if spec.confidence is None:
        return run(spec, data, test, new_sink(), reporter)
    from odtc.workflow.constrained.assured_fit import fit_assured

    return fit_assured(spec, data, spec.confidence, test, new_sink, reporter)


def _report(done, sink, spec, price: bool, as_json: bool) -> None:
    """Print the result and its files, with the price of the constraints and which of them new rows satisfy, if these
    were requested."""
    from odtc.workflow.results.lines import assured_facts, simplified_text
    from odtc.workflow.run_record import add_to_run, write_settings

    if words := simplified_text(done):
        console.say(f"note: {words}")
    if sink.uncertified:
        console.say(f"note: {sink.uncertified}")
    facts = done.to_json() | {"tree": sink.tree, "files": [*map(str, sink.files)]}
    if spec.confidence is not None:
        facts["assured"] = assured_facts(done)
        add_to_run(sink.stem, {"assured": facts["assured"]})
        if sink.tree is not None:  # the constraints as requested, not as the search had them
            write_settings(sink.stem, spec, sink.tree)
    priced = console.priced(done, spec.solving.time_limit) if price else []
    if price:
        facts["prices"] = [entry.to_json() for entry in priced]
    console.print_tree_result(done, facts, as_json)
    if priced and not as_json:
        console.print_prices(priced)
    if spec.confidence is not None and not as_json:
        console.print_assured(done)
