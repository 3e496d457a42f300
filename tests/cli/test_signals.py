"""Ctrl-C and SIGTERM in each phase of a command: a tree or one sentence, whole files, and no fault of odtc itself."""

import importlib
import json
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.command_line import contents, environment
from tests.command_line import odtc as command

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
FIT, SOLVED = ("fit", "t.csv", "--depth", 2, "-o", "m"), ("fit", "t.csv", "--model", "flowoct", "--depth", 1, "-o", "m")
# Phase -> (where the signal comes, the command): each is a name as the module that calls it has it.
PHASES = {
    "read": ("odtc.workflow.posing:read_as", FIT),
    "encode": ("odtc.workflow.posing:encode", FIT),
    "start of the search": ("odtc.workflow.searching:known_tree", FIT),
    "search": ("odtc.formulations.dpflow.threshold_search:ThresholdSearch._phases", FIT),
    "certificate": ("odtc.workflow.provenance.certificates:check", FIT),
    "check of the tree": ("odtc.workflow.decoding:verify_tree", FIT),
    "warm start": ("odtc.workflow.first_trees:grow", SOLVED),
    "compile": ("odtc.workflow.compiling:compile_model", SOLVED),
    "write the model": ("odtc.workflow.files_of_models:write_model", ("build", *SOLVED[1:])),
    "solver": ("odtc.workflow.solving:run_solver", SOLVED),
    "decode": ("odtc.workflow.decoding:tree_of", SOLVED),
    "check of the point": ("odtc.workflow.decoding:verify_point", SOLVED),
    "write the solution": ("odtc.workflow.files_of_models:write_point", SOLVED),
    "write the record": ("odtc.workflow.files_of_models:write_run", SOLVED),
    "a file gets its name": ("odtc.base.commit:_apply", SOLVED),
    "write the tree": ("odtc.workflow.artifacts:write_text", FIT),
    "print the tree": ("odtc.cli.console:_print_tree", FIT),
    "print the figures": ("odtc.workflow.results.lines:figures", SOLVED),
}


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(4)
    rows = [f"{a},{b},{'pq'[int((a > 3) ^ (b > 4) ^ (c > 8))]}" for a, b, c in rng.integers(0, 10, (80, 3))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return tmp_path


def expect_whole(said, folder, number, words=()) -> None:
    """A tree or one sentence, no file that is hidden or half written, and the exit code of the signal."""
    assert said.code == 128 + number, (said.code, said.err)
    for sign in ("a fault in odtc itself", "Traceback", "gnored"):
        assert sign not in said.err
    files = contents(folder)
    assert not [name for name in files if name.startswith(".")], files.keys()
    for name, data in files.items():
        if name.endswith(".json"):
            json.loads(data)
    sentences = [line for line in said.err.splitlines() if line.startswith("odtc: error: ")]
    if sentences:
        assert len(sentences) == 1 and "interrupted" in sentences[0], said.err
        told = re.search(r"what was written by then is whole: (.*)", sentences[0])
        found = {name for name in files if name.startswith("m.") and not name.endswith(".log")}
        assert found == (set(told.group(1).split(", ")) if told else set())
    elif words[:1] == ("fit",):
        assert command("verify", "m.tree.json", folder=folder).code == 0


def signalled_at(place, words, number, folder, monkeypatch):
    """What a command says that gets a signal as a place, a name as the module that calls it has it, is first called."""
    sent = []
    module, _, name = place.partition(":")
    *holder, name = name.split(".")
    owner = importlib.import_module(module)
    for part in holder:
        owner = getattr(owner, part)
    own = getattr(owner, name)

    def signalled(*given, **named):
        if not sent:
            sent.append(number)
            signal.raise_signal(number)
        return own(*given, **named)

    monkeypatch.setattr(owner, name, signalled)
    said = command(*words, folder=folder)
    assert sent, f"{place} is not called any more"
    monkeypatch.undo()
    return said


@SIGNALS
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_each_phase(phase, number, table, monkeypatch):
    place, words = PHASES[phase]
    said = signalled_at(place, words, number, table, monkeypatch)
    expect_whole(said, table, number, words)
    if words[0] == "fit" and phase not in ("read", "encode", "warm start", "start of the search"):
        assert "verified" in said.out, said.err  # a tree is known by then: it is handed in
    again = command(*words, folder=table)  # whatever was left, nothing stands in the way
    assert again.code == 0 and "interrupted" not in again.err, again.err


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_a_library_that_panics_at_a_signal_is_interrupted_and_another_one_is_a_fault(number, table, monkeypatch):
    """polars loses KeyboardInterrupt in a call of Python, and panics, which is no Exception."""

    class Panic(BaseException):
        pass

    def panic(*given, **named):
        if number is not None:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
        raise Panic("Failed to access the API of NumPy")

    monkeypatch.setattr("odtc.workflow.posing.read_as", panic)
    said = command(*FIT, folder=table)
    if number is None:
        assert said.code == 1 and "a fault in odtc itself (Panic: Failed" in said.err
    else:
        assert said.code == 128 + number
        assert said.err == "odtc: error: interrupted before there was a result; no incomplete file was written\n"


# Runs `odtc` in a process of its own, which gets the signal as it loads a module for the first time.
AS_IT_LOADS = """
import os, runpy, signal, sys
name, number = sys.argv[1], int(sys.argv[2])
signal.signal(signal.SIGINT, signal.default_int_handler)
class Finder:
    def find_spec(self, wanted, path=None, target=None):
        if wanted == name:
            sys.meta_path.remove(self)
            os.write(2, b"sent\\n")
            signal.raise_signal(number)
sys.meta_path.insert(0, Finder())
sys.argv = ["odtc", *sys.argv[3:]]
runpy.run_module("odtc", run_name="__main__")
"""


def as_it_loads(name, number, words, folder, **more):
    code = [sys.executable, "-c", AS_IT_LOADS, name, str(int(number)), *map(str, words)]
    done = subprocess.run(code, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=120)
    assert done.stderr.startswith("sent\n"), done.stderr
    return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr.removeprefix("sent\n"))


@pytest.mark.parametrize("module", ["odtc.cli.app", "typer.main", "polars.datatypes", "odtc.workflow.searching"])
def test_a_signal_in_an_import_at_the_start(module, table):
    """The library is not left half filled: the signal waits for it, and the run may be over before it comes again, or
    the tree proved, and then a note says that its certificate is not checked, or the search at work, and then a note
    says how far it came."""
    number = signal.SIGTERM if "odtc" in module else signal.SIGINT
    said = as_it_loads(module, number, FIT, table)
    proved, begun = "note: the search proved the tree", "would let the search finish"
    notes = [line for line in said.err.splitlines() if line.startswith(proved) or line.endswith(begun)]
    assert said.err.count("\n") == 1 + len(notes), said.err
    expect_whole(said, table, number, FIT)


@SIGNALS
@pytest.mark.parametrize("module", ["odtc.base.interrupts", "odtc.base.system", "odtc.cli"])
def test_a_signal_before_the_command_has_begun(module, number, table):
    """Python would answer Ctrl-C with a traceback. Until odtc handles signals, they kill the process as they kill any
    program; afterwards there is one sentence."""
    said = as_it_loads(module, number, FIT, table)
    sentence = "odtc: error: interrupted before there was a result; no incomplete file was written\n"
    assert (said.code, said.err) in [(-number, ""), (128 + number, sentence)]
    assert not said.out and contents(table).keys() == {"t.csv"}


def test_a_signal_as_numba_fills_its_tables_hands_in_the_tree(table, tmp_path):
    """It was a KeyError of numba, once a table of its was half filled."""
    more = {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    said = as_it_loads("numba.np.npyfuncs", signal.SIGINT, FIT, table, **more)
    assert said.code == 130, said.err
    assert command("verify", "m.tree.json", folder=table).code == 0


FITTED = ("fit", "t.csv", "--depth", 2, "-o", "m")
CERTIFY = ("certify", "t.csv", "--depth", 2, "-o", "m")
VARY = ("frontier", "t.csv", "--depth", 1, "--vary", "recall[p] >= 0.5:0.7:0.1", "-o", "m")
TUNE = ("tune", "t.csv", "--depth", 1, "--folds", 2, "-o", "m")
# Phase -> (where the signal comes, the command, what it leaves all the same: files, by their endings).
LATER = {
    "check of states": ("odtc.verification.labels:IntervalBound", CERTIFY, ".certificate.json .tree.json"),
    "check of cases": (
        "odtc.verification.constrained.constrained_certificate:surviving",
        (*CERTIFY, "--constraint", "recall[p] >= 0.6"),
        ".certificate.json .tree.json",
    ),
    "check of sums": (
        "odtc.verification.leaf_sums:LeafSumsBound",
        (*CERTIFY, "--target", "a", "--task", "regression"),
        ".certificate.json .tree.json",
    ),
    "check of curves": (
        "odtc.verification.leaf_sums:LeafSumsBound",
        ("certify", "s.csv", "--depth", 2, "-o", "m", "--task", "survival", "--time", "t", "--event", "e"),
        ".certificate.json .tree.json",
    ),
    "a certificate is written": (
        "odtc.workflow.artifacts:write_certificate",
        CERTIFY,
        ".certificate.json .tree.json",
    ),
    "a frontier is summed up": ("odtc.workflow.constrained.exact_frontier:frontier_facts", VARY, ".frontier.json"),
    "a frontier is written": ("odtc.workflow.constrained.exact_frontier:write_frontier", VARY, ".frontier.json"),
    "a page is drawn": ("odtc.evaluation.html_report:render", ("report", "m"), None),
    "a page is written": ("odtc.base.atomic_write:write_text", ("report", "m"), None),
    "a search again for a page": ("odtc.workflow.provenance.without_model:search_again", ("report", "m"), None),
    "a search again": ("odtc.workflow.provenance.without_model:search_again", ("verify", "m"), None),
    "amid a search again": (
        "odtc.formulations.dpflow.threshold_search:ThresholdSearch._phases",
        ("verify", "m", "--time-limit", 30),
        "",
    ),
    "amid a search again for a page": (
        "odtc.formulations.dpflow.threshold_search:ThresholdSearch._phases",
        ("report", "m", "--time-limit", 30),
        "",
    ),
    "a search again of a frontier": (
        "odtc.workflow.provenance.frontier_file:frontier",
        ("verify", "m.frontier.json"),
        "",
    ),
    "amid a certificate made again": ("odtc.workflow.provenance.certificates:check", ("verify", "m"), ""),
    "rows are counted again": ("odtc.workflow.decoding:verify_tree", ("verify", "m"), None),
    "checks are printed": ("odtc.cli.console:print_checks", ("verify", "m"), None),
    "the last fit of a grid": ("odtc.evaluation.studies.tuning:best_setting", TUNE, None),
    "the last fit of a grid begins": ("odtc.evaluation.studies.tuning:FileSink", TUNE, None),
    "a grid is told": ("odtc.cli.commands.studies:print_results", TUNE, ".tune.json .tree.json .run.json"),
}


@SIGNALS
@pytest.mark.parametrize("phase", LATER)
def test_a_signal_after_the_search(phase, number, table, monkeypatch):
    """What is in hand is kept: a certificate is written as one that was not checked; nothing is half written."""
    place, words, kept = LATER[phase]
    rows = [f"{a},{b},{1 + (a * b + a) % 7},{(a + b) % 2}" for a in range(6) for b in range(5)]
    (table / "s.csv").write_text("\n".join(["a,b,t,e", *rows]) + "\n")
    if words[0] in ("report", "verify"):
        assert command(*(VARY if "m.frontier.json" in words else FITTED), folder=table).code == 0
    before = set(contents(table))
    said = signalled_at(place, words, number, table, monkeypatch)
    left = set(contents(table)) - before
    assert said.code == 128 + number and "Traceback" not in said.err and "a fault in odtc" not in said.err, said.err
    assert not [name for name in left if name.startswith(".")]
    if kept is None:
        assert said.out or said.err.count("interrupted") == 1, said.err
    elif not kept:  # there is nothing to hand in
        assert said.err.count("interrupted") == 1 and not left, said.err
    else:
        assert "odtc: error" not in said.err and left == {f"m{ending}" for ending in kept.split()}, (left, said.err)
    if phase.startswith("check of"):
        assert "not checked here, as an interruption or the limit came first" in said.out
        assert command("verify", "--certificate", "m.certificate.json", folder=table).code == 0
    again = command(*words, folder=table)
    assert again.code == 0 and "interrupted" not in again.err, again.err
