"""What is fuzzed: one function of bytes for each reader, which returns, or raises an OdtcError with one sentence."""

import atexit
import functools
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from odtc.base.commit import expect_settled, settle
from odtc.base.compression import pack
from odtc.data.cost_matrix import cost_matrix
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, encode
from odtc.data.reading import read
from odtc.errors import OdtcError
from odtc.evaluation.benchmark import expect_results
from odtc.evaluation.benchmark_formats import profiles
from odtc.evaluation.cross_validation import Setting
from odtc.evaluation.studies.engine import Store
from odtc.evaluation.studies.study import FitTask, TableRows
from odtc.evaluation.studies.sweep import kept as kept_study
from odtc.evaluation.studies.sweep import version_note
from odtc.evaluation.studies.tuning import read_tuned
from odtc.fileformats.model_files import read_model
from odtc.fileformats.solution_files import POINTS, read_point
from odtc.formulations.cg.column_pool import ColumnPool
from odtc.formulations.cg.column_pool import read_pool as read_columns
from odtc.formulations.dpflow.forms.live_cases import Live
from odtc.solvers.protocols import SOLVERS
from odtc.solvers.solve import said_in_log
from odtc.solvers.solver import from_template
from odtc.trees.importing import read_foreign
from odtc.trees.tree import read_tree
from odtc.verification.certificate import check, read_certificate
from odtc.workflow.manifest import read_manifest
from odtc.workflow.near_optimal import read_pool
from odtc.workflow.near_optimal_set import read_near_optimal_set
from odtc.workflow.provenance.frontier_file import read_frontier
from odtc.workflow.run_record import read_run
from odtc.workflow.specification import RunSpec
from tests.command_line import MONKS
from tests.fuzz.second_reader import HIGHS, difference

LONE_RETURN = re.compile(rb"\r(?!\n)")
SENSE_BESIDE = re.compile(rb"^OBJSENSE[ \t]+\S", re.MULTILINE | re.IGNORECASE)
FREE_ROW = re.compile(rb"^[ \t]*N[ \t]", re.MULTILINE)
SOLUTION = b"any"
TINY = "a,b,class\nx,1,0\ny,2,1\nx,3,1\ny,1.5,0\n,2,1\n"
CERTIFIED_ROWS = "a,b,size,class\n" + "".join(
    f"{i % 5},{i * i % 7},{i % 4 + i % 3 + 1},{i % 3 // 2}\n" for i in range(18)
)
CORPUS = Path(__file__).parent / "corpus"
MEMORY = Path("/dev/shm")  # files that are written a million times, on systems that have it


@functools.cache
def folder() -> Path:
    """A folder for the files of this run, which leaves none behind: its processes are forked, and end without exit."""
    path, maker = Path(tempfile.mkdtemp(prefix="odtc-fuzz-", dir=MEMORY if MEMORY.is_dir() else None)), os.getpid()
    atexit.register(lambda: os.getpid() == maker and shutil.rmtree(path, ignore_errors=True))
    return path


@functools.cache
def kept(name: str, process: int) -> tuple[Path, BinaryIO]:
    """A file of this name that a process keeps open, to be written again and again."""
    path = folder() / f"{process}-{name}"
    stream = path.open("wb", buffering=0)
    atexit.register(stream.close)
    return path, stream


@functools.cache
def monks() -> Dataset:
    return read(MONKS / "monks-1.csv")


def by_path(read_file: Callable, name: str) -> Callable[[bytes], None]:
    """A target whose reader takes the path of a file of this name."""

    def target(data: bytes) -> None:
        path, stream = kept(name, os.getpid())
        stream.seek(0)
        stream.write(data)
        stream.truncate()
        read_file(path)

    return target


def _data(path) -> None:
    """With one rule of missing cells or the other, as the file's length says: a table takes milliseconds."""
    read(path, missing=("drop", "separate")[path.stat().st_size % 2])


def _certificate(path) -> None:
    check(read_certificate(path), monks())


def _run_record(path) -> None:
    """A record names its solution by SHA-256: the first seed is one of this file. Another one is no record of it."""
    solution = path.parent / "m.sol"
    if not solution.exists():
        solution.write_bytes(SOLUTION)
    if read_run(solution) is None:
        raise OdtcError(f"no record of {solution.name}")


def _log(path) -> None:
    """By the solver that recognises it, and by one of them all, as the log's length says."""
    said_in_log(path)
    names = SOLVERS.names()
    said_in_log(path, SOLVERS.get(names[path.stat().st_size % len(names)]))


def _study(path) -> None:
    """A study lies in a folder of its own."""
    place = path.parent / "study"
    place.mkdir(exist_ok=True)
    shutil.copy(path, place / "study.json")
    kept_study(place)
    version_note(place)


@functools.cache
def tiny() -> Encoded:
    """The rows that the columns of a seed are of."""
    path = folder() / "tiny.csv"
    path.write_text(TINY)
    return encode(read(path, missing="separate"))


def _packed(read_text: Callable[[str], object]) -> Callable[[Path], None]:
    """A target whose reader takes a text that was packed: what begins as base64 as it is, else the bytes packed."""

    def read_file(path) -> None:
        data = path.read_bytes()
        as_it_is = re.fullmatch(rb"eJ[A-Za-z0-9+/=\s]*", data)
        read_text(data.decode() if as_it_is else pack(data))

    return read_file


def _columns(text: str) -> None:
    ColumnPool.from_text(text, 2, 1, tiny())


def _journal(path) -> None:
    """Of the stem m, in a folder of its own; a file that is none of the stem's stays."""
    place = path.parent / "journal"
    place.mkdir(exist_ok=True)
    for name in ("m.mps", ".m.mps.abc.part", "stranger"):
        (place / name).touch()
    shutil.copyfile(path, place / ".m.odtc-journal")
    try:
        settle(place / "m.sol")
    finally:
        expect_settled(place / "m.sol")
    assert (place / "stranger").exists()


@functools.cache
def fit_of_tiny() -> tuple[Store, FitTask]:
    """A fit of a study whose finished fits a target reads, and the folder of these."""
    store = Store(folder() / f"{os.getpid()}-tasks")
    store.make()
    return store, tiny_fit()


def tiny_fit() -> FitTask:
    """The fit that the seed is of."""
    return FitTask(TableRows.of(tiny().dataset), Setting("cart", 2).of(RunSpec()), 0, 0, 2)


def _finished(path) -> None:
    """As it is, and sealed anew, which anyone can."""
    data, (store, task) = path.read_bytes(), fit_of_tiny()
    (store.folder / f"{task.key}.json").write_bytes(data)
    store.get(task.key)
    try:
        facts = json.loads(data)
    except (ValueError, RecursionError):
        facts = None
    result = isinstance(facts, dict) and {name: value for name, value in facts.items() if name not in ("task", "seal")}
    if not (result and task.agrees(result)):
        raise OdtcError("no result of this fit")


CERTIFIED = {
    "thresholds": {},
    "constrained": {},
    "squares": {"task": "regression", "target": "size"},
    "likelihood": {"task": "survival", "time": "size", "event": "class"},
}


@functools.cache
def certified(kind: str) -> Dataset:
    """The rows of the certificate of a kind."""
    path = folder() / f"{kind}.csv"
    path.write_text(CERTIFIED_ROWS)
    return read(path, **CERTIFIED[kind])


def _certificate_of(kind: str) -> Callable[[Path], None]:
    """Reads and checks a certificate, by what its schema asks for."""

    def read_file(path) -> None:
        check(read_certificate(path), certified(kind))

    return read_file


def _results(path) -> None:
    """The cells of `odtc bench models`, and the profiles of them."""
    profiles(expect_results(path))


def same_as_highs(path) -> None:
    """A model file that both readers take is one model. Raises AssertionError if it is two.

    A carriage return within a line is to HiGHS part of a word, or hides the line, and the right side of any row N it
    takes for the constant of the objective. A sense on the line of OBJSENSE it takes before ROWS alone, and as MAX
    alone. Such files, and those with two rows N, are only read.
    """
    ours, data = read_model(path), path.read_bytes()
    alike = not LONE_RETURN.search(data) and not SENSE_BESIDE.search(data) and len(FREE_ROW.findall(data)) < 2
    theirs = HIGHS.read(path) if alike else None
    if theirs is not None:
        said = difference(ours, theirs)
        assert not said, said


# Which seeds a target begins with, in tests/fuzz/corpus, and what it does with bytes.
TARGETS: dict[str, tuple[str, Callable[[bytes], None]]] = {
    "csv": ("csv", by_path(_data, "d.csv")),
    "arff": ("arff", by_path(_data, "d.arff")),
    "parquet": ("parquet", by_path(_data, "d.parquet")),
    "mps": ("mps", by_path(read_model, "m.mps")),
    "lp": ("lp", by_path(read_model, "m.lp")),
    "mps-highs": ("mps", by_path(same_as_highs, "h.mps")),
    "lp-highs": ("lp", by_path(same_as_highs, "h.lp")),
    "manifest": ("manifest", by_path(read_manifest, "m.odt.json")),
    "tree": ("tree", by_path(read_tree, "m.tree.json")),
    "pool": ("pool", by_path(read_pool, "m.pool.json")),
    "near": ("near", by_path(read_near_optimal_set, "m.near-optimal.json")),
    "frontier": ("frontier", by_path(read_frontier, "m.frontier.json")),
    "columns": ("columns", by_path(lambda path: read_columns(path, tiny(), 2, 1), "m.columns.json")),
    "log": ("log", by_path(_log, "m.log")),
    "results": ("results", by_path(_results, "results.jsonl")),
    "study": ("study", by_path(_study, "study.json")),
    "certificate": ("certificate", by_path(_certificate, "c.json")),
    **{f"certificate-{kind}": (f"certificate-{kind}", by_path(_certificate_of(kind), "c.json")) for kind in CERTIFIED},
    "tune": ("tune", by_path(read_tuned, "m.tune.json")),
    "finished": ("finished", by_path(_finished, "f.json")),
    "journal": ("journal", by_path(_journal, "journal.json")),
    "packed-columns": (
        "packed-columns",
        by_path(_packed(lambda text: ColumnPool.from_text(text, 2, 1, tiny())), "p.txt"),
    ),
    "packed-cases": (
        "packed-cases",
        by_path(_packed(lambda text: Live.read(text, 2, tiny().n_candidate_splits, 2)), "p.txt"),
    ),
    "run-record": ("run-record", by_path(_run_record, "m.run.json")),
    "cost": ("cost", by_path(lambda path: cost_matrix(("0", "1"), np.ones(2), cost=path), "cost.csv")),
    "toml-solver": ("toml-solver", by_path(from_template, "solver.toml")),
    "import": ("import", by_path(read_foreign, "tree.txt")),
    **{f"point-{name}": (f"point-{name}", by_path(read_point, "m.sol")) for name in POINTS.names()},
}


def seeds(target: str) -> list[bytes]:
    """The corpus of a target, in the order of the names of its files."""
    return [path.read_bytes() for path in sorted((CORPUS / TARGETS[target][0]).iterdir())]


def attempt(target: str, data: bytes) -> bool:
    """Whether the bytes were taken; False if they were refused in a sentence. Any other exception is a find."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            TARGETS[target][1](data)
        except OdtcError as problem:
            said = str(problem)
            if not said.strip() or "\n" in said.strip() or len(said) > 4000:
                raise AssertionError(f"no sentence: {said[:300]!r}") from None
            return False
    return True


def make_corpus() -> None:
    """Writes the first seeds anew: what odtc itself writes of small problems, and the texts of all solvers."""
    from tests.fuzz.first_seeds import made

    for name, texts in made().items():
        place = CORPUS / name
        place.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(texts):
            (place / f"seed{number}").write_bytes(data)


def show(data: bytes) -> str:
    return json.dumps(data.decode("latin-1"))[:2000]
