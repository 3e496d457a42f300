"""Studies: formulations compared on the same data by the same solver, one line of JSON for each finished cell.

They run on the engine of all studies (odtc.evaluation.studies.engine), in this process, in several, or on a cluster.

A cell is one data set, one depth and one variant of a formulation, or a model file of another author (a peer) for the
same data and depth. Its solver runs in a process of its own, so CPU seconds are known on a busy machine. Finished
cells are in the results file at once, and a rerun skips them. The key of a cell contains everything on which its
figures depend: the bytes of the data, the variant, solver, limits and the version of odtc.
"""

import errno
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from glob import glob
from pathlib import Path

import scipy.sparse  # noqa: F401  models assemble their rows with it; its import does not count as a part of a build

from odtc import __version__
from odtc.base import commit
from odtc.base.json_schema import FLAG, NUMBER, TEXT, WHOLE, SchemaError, validate
from odtc.base.system import children_cpu_seconds, read_file
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, encode
from odtc.data.reading import fingerprint, read_as
from odtc.data.reading_spec import ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError, OdtcError, OutputError
from odtc.evaluation.studies.engine import Pool, Store, finish, key_of, run_tasks, seal_of
from odtc.fileformats.model_files import read_model
from odtc.model.solution import Solution, Termination
from odtc.problem.constraints.constraint import parse
from odtc.problem.formulation import FORMULATIONS, Compiled, Iterative
from odtc.problem.parameters import parse_params
from odtc.solvers.child_process import quick_output
from odtc.solvers.solver import installed
from odtc.trees.heap_tree import CompleteTree
from odtc.workflow import compiling, decoding
from odtc.workflow.messages import read_notes
from odtc.workflow.posing import pose_run
from odtc.workflow.solving import solve, solve_model, solve_or_loop
from odtc.workflow.specification import ModelSpec, RunSpec, SolvingSpec

SCHEMA = "odtc.evaluation.benchmark.models/1"

# The sets on which the papers compare formulations, and the names that others' files give them.
STUDY = (
    "monks-1",
    "monks-2",
    "monks-3",
    "hayes-roth",
    "house-votes-84",
    "balance-scale",
    "tic-tac-toe",
    "car-evaluation_papers",
    "kr-vs-kp",
    "soybean-small",
)
ALIASES = {"monk1": "monks-1", "monk2": "monks-2", "monk3": "monks-3", "car_evaluation": "car-evaluation_papers"}
FORMS = ("flowoct", "flowoct:literal=true", "bendersoct", "bendersoct:fit", "oct", "binoct", "fair", "dpflow")
PEER_FILE = re.compile(r"(.+)_d(\d+)\.(?:lp|mps)(?:\.gz)?$", re.IGNORECASE)
CHECKOUT = Path(__file__).resolve().parents[2]


MAYBE, COUNT = (NUMBER, None), (WHOLE, None)
# The figures of a cell, in the order of a line, and their shapes; a cell whose model is not built has none of them.
MEASURED = {
    **dict.fromkeys(("columns", "rows", "nonzeros"), COUNT),
    **dict.fromkeys(("build_seconds", "lp_bound"), MAYBE),
    "lp_termination": (TEXT, None),
    "lp_seconds?": MAYBE,
    "termination": TEXT,
    **dict.fromkeys(("objective", "bound", "gap"), MAYBE),
    "nodes": COUNT,
    **dict.fromkeys(("seconds", "cpu_seconds"), MAYBE),
    "verified": (True, False, None),
    "start?": (TEXT, None),
    "message": TEXT,
}
UNMEASURED = {name.removesuffix("?"): None for name in MEASURED} | {"termination": "refused", "message": ""}
SHAPE = {
    "schema": SCHEMA,
    "key": {
        **dict.fromkeys(("data", "formulation", "peer?", "encoding?", "solver", "odtc"), TEXT),
        **dict.fromkeys(("time_limit", "lp_limit", "gap"), NUMBER),
        **dict.fromkeys(("depth", "seed"), WHOLE),
        "reading": {},
        "start?": (TEXT, None),
        "threads": COUNT,
        "constraints?": [TEXT],
    },
    **dict.fromkeys(("data", "formulation"), TEXT),
    "depth": WHOLE,
    "peer": FLAG,
    "n_rows": WHOLE,
    **MEASURED,
    "seal?": TEXT,
}


@value_class
class Form:
    """A formulation with its parameters; with `fit` its loop is run, as by `odtc fit`, instead of the one model that
    `odtc build` writes."""

    model: str
    params: tuple[tuple[str, str], ...] = ()
    fit: bool = False

    @classmethod
    def parse(cls, text: str) -> "Form":
        """Parse NAME[:KEY=VALUE…][:fit]; raises ChoiceError for unknown names, and for a formulation without a
        model."""
        name, *words = text.split(":")
        module, pairs = FORMULATIONS.get(name), []
        for word in words:
            key, equals, value = word.partition("=")
            if equals:
                pairs.append((key, value))
            elif word != "fit" or not module.can(Iterative):
                raise ChoiceError(f"--formulations: expected NAME:KEY=VALUE (or NAME:fit for a loop), got {text!r}")
        form = cls(name, tuple(pairs), "fit" in words)
        parse_params(name, dict(pairs))
        if not module.can(Compiled):
            raise ChoiceError(
                f"--formulations: expected formulations with a model, got {name!r}, which learns its tree without one"
            )
        return form

    def __str__(self) -> str:
        return ":".join([self.model, *(f"{key}={value}" for key, value in self.params), *(["fit"] if self.fit else [])])


@value_class
class Cell:
    data: Path
    depth: int
    form: Form | None  # None for a peer's model
    peer: Path | None = None

    @property
    def what(self) -> str:
        return str(self.form) if self.form else f"peer {self.peer.name}"


@value_class
class Settings:
    """Settings for every cell of a study: the run that its cells have in common, and `lp_limit`, the wall seconds in
    which HiGHS solves the relaxation, for any solver."""

    spec: RunSpec = RunSpec(
        model=ModelSpec(encoding="onehot"), solving=SolvingSpec(time_limit=60, threads=1), fitting=False
    )
    lp_limit: float = 20.0

    def of(self, cell: Cell) -> RunSpec:
        """Return the run of a cell that is not a peer's."""
        form = cell.form
        spec = self.spec.with_model(model=form.model, depth=cell.depth, params=dict(form.params))
        return replace(spec, fitting=form.fit)


def usual_forms(task: str) -> list[str]:
    """Return the FORMS that are available and can count the costs of leaves of the task."""
    known = [form for form in FORMS if form.partition(":")[0] in FORMULATIONS.names()]
    return [form for form in known if not TASKS.get(task).MOMENTS or FORMULATIONS.get(form.partition(":")[0]).MOMENTS]


def data_folder() -> Path:
    """Return the folder of the public data sets: $ODTC_DATA, otherwise ../shared/data."""
    return Path(os.environ.get("ODTC_DATA") or "../shared/data")


def find_data(wanted: tuple[str, ...] = ()) -> list[Path]:
    """Find data files by path, or by name in $ODTC_DATA (otherwise ../shared/data); by default the available ones of
    the ten sets. Raises ChoiceError for a name that is not found, or if none is available."""
    folder = data_folder()
    if not wanted:
        files = [path for name in STUDY if (path := folder / f"{name}.csv").is_file()]
        if not files:
            raise ChoiceError(
                f"expected data sets, found none of {', '.join(STUDY)} (.csv) in {str(folder)!r}; "
                "name your own with --data FILE,…, or set ODTC_DATA to their folder"
            )
        return files
    files = []
    for name in wanted:
        path = next((p for p in (Path(name), folder / name, folder / f"{name}.csv") if p.is_file()), None)
        if path is None:
            raise ChoiceError(f"--data: expected a data file, or the name of one in {str(folder)!r}, got {name!r}")
        files.append(path)
    return files


def find_peers(pattern: str, data: list[Path]) -> dict[tuple[Path, int], list[Path]]:
    """Return model files …NAME_dDEPTH.lp (.mps, .gz) by the data set and depth in their names, without files of other
    data sets. Raises ChoiceError if no file matches the pattern, or a name does not state them."""
    files = sorted(map(Path, glob(os.path.expanduser(pattern))))
    if not files:
        raise ChoiceError(f"--peer-files: expected model files, found none for {pattern!r}")
    plain = {path.name.split(".")[0].lower(): path for path in data}
    plain |= {alias: plain[name] for alias, name in ALIASES.items() if name in plain}
    peers = {}
    for file in files:
        said = PEER_FILE.match(file.name)
        if said is None:
            raise ChoiceError(
                f"--peer-files: expected names that end in DATA_dDEPTH.lp (or .mps, .gz), got {str(file)!r}"
            )
        names = [name for name in plain if re.search(rf"(^|_){re.escape(name)}$", said[1].lower())]
        if names:
            peers.setdefault((plain[max(names, key=len)], int(said[2])), []).append(file)
    return peers


def list_cells(data: list[Path], depths: list[int], forms: list[Form], peers: dict) -> list[Cell]:
    """Return the cells in the order in which they are worth having: depth by depth, the first form on all data,
    the peers' models, then the other forms."""
    cells = []
    for depth in depths:
        CompleteTree(depth)  # an impossible one is reported before the work
        for place, form in enumerate(forms):
            cells += [Cell(path, depth, form) for path in data]
            if place == 0:
                cells += [Cell(path, depth, None, file) for path in data for file in peers.get((path, depth), ())]
    return cells


def key(cell: Cell, settings: Settings) -> dict:
    """Return everything on which the figures of a cell depend."""
    module, found = installed(settings.spec.solving.named_solver)
    spec, solving = settings.spec, settings.spec.solving
    own = {"encoding": spec.model.encoding, "start": spec.model.start}
    return {
        "data": fingerprint(cell.data),
        "reading": {name: value for name, value in spec.reading.keywords.items() if value},
        "depth": cell.depth,
        "formulation": cell.what,
        **({"peer": fingerprint(cell.peer)} if cell.peer else own),
        "solver": f"{module.NAME} {found}",
        "time_limit": solving.time_limit,
        "lp_limit": settings.lp_limit,
        "threads": solving.threads,
        "seed": solving.seed,
        "gap": solving.gap,
        "odtc": code_version(),
        **({"constraints": list(spec.model.constraints)} if spec.model.constraints else {}),
    }


@lru_cache
def code_version() -> str:
    """Return the version of odtc, with the commit if it runs from a checkout."""
    said = (
        quick_output(["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty"], None)
        if (CHECKOUT / ".git").exists()
        else ""
    )
    return f"{__version__} {said.strip()}" if re.fullmatch(r"[\w.-]+\s*", said) else __version__


def expect_results(path) -> list[dict]:
    """Read the finished cells of a results file; raises DataError if the file is missing or has none, and as
    `read_results`."""
    if not Path(path).is_file():
        raise DataError(f"expected the results of `odtc bench models`, got {str(path)!r}, which is not a file")
    if not (results := read_results(path)):
        raise DataError(f"expected finished cells of `odtc bench models` in {str(path)!r}, got none")
    return results


def read_results(path) -> list[dict]:
    """Read the finished cells of a results file, none if it is missing. A last line that was cut off is ignored.
    Raises DataError for a file of other content, and for a line that was changed after it was written."""
    return [result for result, _ in _lines_of(Path(path))]


def _lines_of(path: Path) -> list[tuple[dict, bool]]:
    """Return the finished cells of a results file, each with whether its seal shows that it is unchanged; a line
    without a seal was written by an older odtc, or by another program. Raises DataError as `read_results`."""
    if not path.exists():
        return []
    results = []
    try:
        lines = read_file(path).decode("utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"expected the results of odtc bench, cannot read {str(path)!r}: {problem}") from None
    for number, line in enumerate(lines, 1):
        try:
            result = json.loads(line)
            validate(result, SHAPE)
        except (ValueError, RecursionError, SchemaError):
            if number == len(lines) and not line.endswith("\n"):
                break
            raise DataError(
                f"expected the results of odtc bench models, one JSON object a line, in {str(path)!r}, but line "
                f"{number} is not one; name another file"
            ) from None
        seal = result.pop("seal", None)
        if seal not in (None, seal_of(key_of(result["key"]), result)):
            raise DataError(
                f"expected the cell of line {number} of {str(path)!r} as it was written, but its seal does not fit: "
                "it was changed; take the line out, and `odtc bench models` measures the cell again"
            )
        results.append((result, seal is not None))
    return results


def append_result(path, result: dict) -> None:
    """Append a line with its seal; it is on the disk when this returns. A line that was cut off before is removed."""
    result = result | {"seal": seal_of(key_of(result["key"]), result)}
    try:
        if Path(path).is_symlink() and not commit.follows_links():
            raise OSError(errno.ELOOP, "it is a link that has the default name")
        with open(path, "a+b") as stream:
            stream.seek(0)
            stream.truncate(stream.read().rfind(b"\n") + 1)
            stream.write(json.dumps(result, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as problem:
        raise OutputError(
            f"cannot write {str(path)!r}: {problem.strerror}; choose another place with --results"
        ) from None


@value_class
class CellTask:
    """A cell as a task of odtc.evaluation.studies.engine; `facts` is its key in the results file, `number` and `many`
    are its position in the study and the number of cells."""

    cell: Cell
    settings: Settings
    facts: dict
    number: int
    many: int

    @property
    def key(self) -> str:
        return key_of(self.facts)

    @property
    def title(self) -> str:
        """The cell in messages."""
        cell = self.cell
        return f"[{self.number}/{self.many}] {cell.data.name.split('.')[0]} depth {cell.depth} {cell.what}"

    def run(self) -> dict:
        """Return a line of the results file."""
        return {"schema": SCHEMA, "key": self.facts, **measure(self.cell, self.settings)}


def run(
    cells: list[Cell],
    settings: Settings,
    path,
    say: Callable[[str], None] = lambda text: None,
    pool: Pool | None = None,
) -> list[dict]:
    """Return the results of these cells; results in the file are not computed again if their seal shows that they are
    unchanged.

    A cell that ends is stored in a folder next to the file at once, by the process that has run it, and then added to
    the file, so that the next run finds it after any interruption. The folder is removed when all cells are in the
    file.

    Parameters
    ----------
    cells : list of Cell
    settings : Settings
    path : path, of the results file
    say : function, called with a message for each cell
    pool : Pool or None
        Where cells are run (odtc.evaluation.studies.engine); None for one after the other in this process.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C; finished cells are in the file.
    """
    tables = list(dict.fromkeys(cell.data for cell in cells))
    for data in tables:  # a missing file is reported before hours of work
        encoded = _encoded(data, settings.spec.reading, settings.spec.model.encoding)
        for text in settings.spec.model.constraints:
            parse(text, encoded)
    known = {json.dumps(one["key"], sort_keys=True): one for one, sealed in _lines_of(Path(path)) if sealed}
    for data in tables:
        for note in _notes(data, settings.spec.reading):
            say(note)
    tasks, wanted = [], []
    for number, cell in enumerate(cells, 1):
        # In full, since workers of a cluster run in other folders.
        cell = replace(cell, data=cell.data.absolute(), peer=cell.peer and cell.peer.absolute())
        tasks.append(CellTask(cell, settings, key(cell, settings), number, len(cells)))
        wanted.append(json.dumps(tasks[-1].facts, sort_keys=True))
    left = [task for one, task in dict(zip(wanted, tasks)).items() if one not in known]
    if not left:
        return [known[one] for one in wanted]
    store = Store(Path(f"{path}.tasks"), "--results")
    store.make()

    def tell(place: int, result: dict, was_there: bool) -> None:
        append_result(path, result)
        say(f"{left[place].title}: {_said(result)}" if pool else f"    {_said(result)}")
        known[json.dumps(result["key"], sort_keys=True)] = result

    run_tasks(left, pool or _one_by_one(say), store, tell)
    store.remove()
    return [known[one] for one in wanted]


def _one_by_one(say: Callable[[str], None]) -> Pool:
    """Return a pool that runs cells in this process, with a message before each."""

    def pool(tasks, store):
        for at, task in enumerate(tasks):
            say(f"{task.title} …")
            yield at, finish(task, store)

    return pool


def _said(result: dict) -> str:
    objective, bound, cpu, seconds = (
        "-" if (value := result[name]) is None else f"{value:.6g}"
        for name in ("objective", "bound", "cpu_seconds", "seconds")
    )
    message = f"; {result['message']}" if result["message"] else ""
    return f"{result['termination']}: objective {objective}, bound {bound}, {cpu} CPU s, {seconds} s{message}"


def measure(cell: Cell, settings: Settings) -> dict:
    """Return the figures of one cell. A model that cannot be built, or a solver that fails, is a result too."""
    encoded = _encoded(cell.data, settings.spec.reading, settings.spec.model.encoding)
    facts = {
        "data": encoded.name,
        "depth": cell.depth,
        "formulation": cell.what,
        "peer": cell.peer is not None,
        "n_rows": int(encoded.copies.sum()),
        "n_rows_merged": encoded.n_rows,
        "n_candidate_splits": encoded.n_candidate_splits,
        **UNMEASURED,
    }
    try:
        if cell.peer:
            model, start = read_model(cell.peer), None
        else:
            spec = settings.of(cell)
            problem = pose_run(spec, _dataset(cell.data, spec.reading))
            facts["n_rows_merged"] = problem.encoded.n_rows  # a printed model merges none
            began = time.process_time()
            model = compiling.compile_model(problem, spec.model.cuts)
            model.A  # noqa: B018  assembled here, not in the solver's time
            facts["build_seconds"] = round(time.process_time() - began, 4)
            begun = compiling.start(model, spec.model.start)
            start = begun[1] if begun else None
        model, solution, cpu = _solved(cell, model, settings, start)
        if solution.termination == Termination.INTERRUPTED:
            raise KeyboardInterrupt
        facts |= {"columns": model.n_cols, "rows": model.n_rows, "nonzeros": model.nnz, **_outcome(solution, cpu)}
        if model.problem is not None and solution.has_solution:
            done = decoding.finish(model, solution)
            proof = {key: getattr(done.proof, key) for key in ("termination", "objective", "bound", "gap")}
            facts |= {"verified": done.verified, **proof}
        return facts | _relaxed(model, settings)
    except OdtcError as problem:
        return facts | {"message": " ".join(str(problem).split())}
    except MemoryError:
        return facts | {"message": "not enough memory"}


@lru_cache(maxsize=16)
def _dataset(path: Path, reading: ReadingSpec) -> Dataset:
    return read_as(path, reading)


@lru_cache(maxsize=16)
def _notes(path: Path, reading: ReadingSpec) -> list[str]:
    """Return the remarks on the lines of a data file, each with the name of its data."""
    dataset = _dataset(path, reading)
    return [f"{dataset.name}: {note}" for note in read_notes(dataset)]


def _encoded(path: Path, reading: ReadingSpec, scheme: str) -> Encoded:
    return encode(_dataset(path, reading), scheme)


def _solved(cell, model, settings: Settings, start):
    """Return (last model, solution, CPU seconds): the seconds of the solver itself if it states them, otherwise of all
    its processes; for a loop, of its own work too; None if the system does not count them."""
    solving = settings.spec.solving
    before, own = children_cpu_seconds(), time.process_time()
    if cell.form is not None and cell.form.fit:
        model, solution = solve_or_loop(model, solving, start)
        used = None if before is None else children_cpu_seconds() - before + time.process_time() - own
        return model, solution, used
    solution = solve_model(model, solving, start)
    if solution.cpu_seconds is not None or before is None:
        return model, solution, solution.cpu_seconds
    return model, solution, children_cpu_seconds() - before


def _outcome(solution: Solution, cpu: float | None) -> dict:
    facts = {name: getattr(solution, name) for name in ("objective", "bound", "gap", "nodes", "start", "message")}
    cpu = None if cpu is None else round(cpu, 3)
    more = {"termination": str(solution.termination), "seconds": round(solution.seconds, 3), "cpu_seconds": cpu}
    return facts | more


def _relaxed(model, settings: Settings) -> dict:
    """Return the bound of the root relaxation: integrality dropped, HiGHS, its own limit."""
    found = solve(model.relaxed(), "highs", threads=1, time_limit=settings.lp_limit)
    if found.termination == Termination.INTERRUPTED:
        raise KeyboardInterrupt
    done = found.termination == Termination.OPTIMAL
    return {
        "lp_bound": found.objective if done else None,
        "lp_termination": str(found.termination),
        "lp_seconds": round(found.seconds, 3),
    }
