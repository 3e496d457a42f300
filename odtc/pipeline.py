"""The whole story on one screen: read, build, solve, decode, verify, and `fit`, which is all of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from odtc import report
from odtc.cut import CUTS
from odtc.dataset import Dataset
from odtc.encoding import encode
from odtc.errors import ManifestError, NoSolutionError
from odtc.format import FORMATS, write_model
from odtc.formulation import FORMULATIONS, Problem, parse_params
from odtc.heap import HeapTree
from odtc.heuristic import HEURISTICS
from odtc.manifest import SUFFIX, Manifest, find_manifest, read_manifest, write_manifest
from odtc.model import Model, align
from odtc.point import RawPoint, read_point, write_point
from odtc.reader import read, read_rows
from odtc.run import read_run, write_run
from odtc.solution import Progress, Solution, Termination
from odtc.solver import SOLVERS, Options, termination_in_log
from odtc.solver import solve as run_solver
from odtc.topology import Topology
from odtc.tree import Tree, read_tree
from odtc.verify import Check, proves
from odtc.verify import verify as run_checks


@dataclass(frozen=True)
class Decoded:
    """A solution turned into a tree: in the model's terms, in words, and every check made of it."""

    heap: HeapTree
    tree: Tree
    checks: list[Check]
    solution: Solution

    @property
    def verified(self) -> bool:
        return all(check.passed for check in self.checks)


@dataclass(frozen=True)
class Fit:
    """What `fit` hands back; `facts` are the keys of `odtc fit --json`."""

    model: Model
    solution: Solution
    decoded: Decoded
    cart: Tree
    facts: dict

    @property
    def tree(self) -> Tree:
        return self.decoded.tree


def build(data: Dataset | str | Path, model: str = "flowoct", depth: int = 2, *, encoding: str = "auto",
          params: dict | None = None, reading: dict | None = None, **keys) -> Model:
    """Data and a formulation to a Model, whose `A` is a scipy.sparse array.

    `data` is a Dataset or the path of a file, read with `reading` (the keywords of `odtc.read`);
    parameters of the formulation are given as `params` or as keywords (`lambda_=0.1`).
    Raises DataError, ChoiceError or ModelError.
    """
    module = FORMULATIONS.get(model)
    settings = parse_params(model, (params or {}) | keys)
    topology = Topology(depth)
    dataset = data if isinstance(data, Dataset) else read(data, **(reading or {}))
    problem = Problem(encode(dataset, encoding), topology, model, settings)
    return replace(module.build(problem), problem=problem)


def start(model: Model, name: str | Path | None = "cart") -> tuple[HeapTree, np.ndarray] | None:
    """A tree and the complete point of the model that it is: of a heuristic by name, or of a
    TREE.json; None for "none". Raises ChoiceError, TreeError."""
    if name in (None, "none"):
        return None
    problem = model.problem
    if str(name).endswith(".json"):
        heap = HeapTree.from_tree(read_tree(name), problem.encoded, problem.topology)
    else:
        heap = HEURISTICS.get(str(name)).tree(problem.encoded, problem.topology, problem.module.branch_price(problem))
    return heap, model.join(problem.module.start(problem, heap))


def solve(model: Model, solver: str = "highs", *, start=None, progress: Callable[[Progress], None] | None = None,
          log: Callable[[str], None] | None = None, **options) -> Solution:
    """Solves a model; options are those of `Options` (time_limit, threads, seed, gap). `start` is a
    point of shape (columns,). Raises SolverError, ChoiceError."""
    return run_solver(model, solver, Options(**options), start, progress, log)


def decode(model: Model, solution: Solution, dataset: Dataset | None = None) -> Decoded:
    """The checked tree of a solution; `dataset` (the file read anew) adds the check against it.

    Raises NoSolutionError where the solver found no point.
    """
    problem = model.problem
    if not solution.has_solution:
        raise NoSolutionError(no_solution_text(solution))
    heap = problem.module.decode(problem, model.split(solution.x))
    tree = heap.to_tree(problem.encoded)
    checks = run_checks(problem, model, solution, heap, tree, dataset or problem.encoded.dataset)
    if solution.termination == Termination.UNKNOWN and proves(solution, problem, heap):
        solution = replace(solution, termination=Termination.OPTIMAL, bound=solution.objective)
    return Decoded(heap, tree, checks, solution)


def fit(data: Dataset | str | Path, model: str = "flowoct", depth: int = 2, *, encoding: str = "auto",
        params: dict | None = None, reading: dict | None = None, solver: str = "highs", start_from="cart",
        test: str | Path | None = None, progress=None, log=None, time_limit=None, threads=None, seed=0, gap=0.0,
        **keys) -> Fit:
    """Data to a checked tree: build, start, solve, decode, verify. Raises NoSolutionError where the
    solver found none, and whatever its parts raise."""
    options = dict(time_limit=time_limit, threads=threads, seed=seed, gap=gap)
    Options(**options)  # a bad option is said before the work, not after it
    compiled = build(data, model, depth, encoding=encoding, params=params, reading=reading, **keys)
    labelled = test_rows(compiled.problem, test) if test is not None else None
    begun = start(compiled, start_from)
    solution = solve(compiled, solver, start=begun[1] if begun else None, progress=progress, log=log, **options)
    return finish(compiled, solution, labelled)


def finish(model: Model, solution: Solution, labelled: Dataset | None = None, dataset: Dataset | None = None) -> Fit:
    """The last part of `fit`: decode and verify a solution, with CART's figures, and those of the
    rows `labelled`; `dataset` as in `decode`."""
    decoded = decode(model, solution, dataset)
    problem = model.problem
    greedy = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    cart = greedy.to_tree(problem.encoded)
    facts = model_facts(model) | report.solve_facts(decoded.solution) | report.tree_facts(decoded.tree)
    facts |= settled_objective(model, decoded) | report.cart_facts(problem, greedy)
    if labelled is not None:
        facts |= {"test_accuracy": report.score(decoded.tree, labelled)["accuracy"],
                  "cart_test_accuracy": report.score(cart, labelled)["accuracy"], "n_test_rows": labelled.n_rows}
    return Fit(model, solution, decoded, cart, facts | {"verified": decoded.verified})


def settled_objective(model: Model, decoded: Decoded) -> dict:
    """Objective and bound without a solver's rounding: where the tree costs what the point does, the
    exact cost of the tree."""
    paid = model.problem.module.objective(model.problem, decoded.heap)
    solution = decoded.solution
    near = [value is not None and abs(value - paid) <= 1e-6 * max(1.0, abs(paid))
            for value in (solution.objective, solution.bound)]
    if not near[0]:
        return {}
    settled = replace(solution, objective=paid, bound=paid if near[1] else solution.bound)
    return {"objective": settled.objective, "bound": settled.bound, "gap": settled.gap}


def model_facts(model: Model) -> dict:
    dataset = model.problem.encoded.dataset
    return report.model_facts(model.problem, model.n_cols, model.n_rows, model.nnz, dataset.n_dropped if dataset else 0)


def test_rows(problem: Problem, path) -> Dataset:
    """Labelled rows of another file, coded as the training data; raises DataError."""
    encoded = problem.encoded
    return read_rows(path, encoded.features, encoded.classes, encoded.target, require_labels=True)


def write_build(model: Model, stem, format: str | None = "mps", gzip: bool = False, point=None) -> list[Path]:
    """STEM.mps (.lp; none for format None), STEM.odt.json, and the start in every form; the paths."""
    files = []
    if format is not None:
        suffix = FORMATS.get(format).SUFFIX + (".gz" if gzip else "")
        files.append(write_model(model, f"{stem}{suffix}", format))
    files.append(write_manifest(model.problem, model, f"{stem}{SUFFIX}"))
    if point is not None:
        files += [write_point(model, point, f"{stem}{suffix}", name)
                  for name, suffix in (("highs", ".start.sol"), ("name-value", ".mst"))]
    return files


def write_solution(model: Model, solution: Solution, options: Options, path) -> list[Path]:
    """The solution file (in the form of HiGHS) and STEM.run.json beside it; the paths."""
    path = Path(path)
    files = []
    if solution.has_solution:
        files.append(write_point(model, solution.x, path, "highs", solution.termination))
    if path.suffix == ".sol":  # what is written to a pipe or a device has no record beside it
        files.append(write_run(solution, options, files[0] if files else None, path.with_suffix("")))
    return files


@dataclass(frozen=True)
class Opened:
    """A model file read back, with the start beside it, and the facts of its manifest, if any."""

    model: Model
    start: np.ndarray | None
    stem: str
    facts: dict


def open_model(path, start_path=None) -> Opened:
    """A model file as the embedded solver reads it, compared with its manifest where that lies beside.

    `start_path` is a start file, None for STEM.start.sol if it is there, "none" for no start.
    Raises ModelError for a file that cannot be read or that lost nonzeros on the way,
    SolutionError for a start of another model.
    """
    model = SOLVERS.get("highs").read_model(path)
    stem = str(path).removesuffix(".gz").removesuffix(Path(str(path).removesuffix(".gz")).suffix)
    facts = {"model": None, "depth": None, "n_cols": model.n_cols, "n_model_rows": model.n_rows, "nnz": model.nnz}
    if Path(stem + SUFFIX).exists():
        manifest = read_manifest(stem + SUFFIX)
        manifest.expect(model, f"the solver reads from {str(path)!r}")
        facts = report.model_facts(
            manifest.problem, model.n_cols, model.n_rows, model.nnz, manifest.facts["data"]["n_rows_dropped"]
        )
    if start_path is None and Path(stem + ".start.sol").exists():
        start_path = stem + ".start.sol"
    point = None
    if start_path is not None and str(start_path) != "none":
        raw = read_point(start_path)
        if raw.values is not None:
            point = align(model.columns, raw.names, raw.values)
    return Opened(model, point, stem, facts)


def original_data(manifest: Manifest, data_path=None) -> tuple[Dataset | None, str]:
    """The data file that a manifest names, read anew as it was, or None and the reason in words.

    Raises ManifestError where the file is not the one that the model was built from.
    """
    facts = manifest.facts["data"]
    if "sha256" not in facts:
        return None, "the model was built from data in memory: checked against the rows in the manifest"
    path = Path(data_path) if data_path is not None else manifest.path.resolve().parent / facts["path"]
    if data_path is None and not path.exists():
        return None, f"the data file {facts['path']!r} is not there: checked against the rows in the manifest (--data names it)"
    dataset = read(path, facts["target"], tuple(facts["categorical"]), tuple(facts["numeric"]), facts["missing"], facts["weights"])
    if dataset.source["sha256"] != facts["sha256"]:
        raise ManifestError(
            f"the data file {str(path)!r} is not the one the model was built from (its SHA-256 is not the manifest's); "
            "name that one with --data, or build the model again"
        )
    return dataset, ""


def choose_cuts(text: str | None) -> tuple[str, ...]:
    """The cut families that `--cuts` names; raises ChoiceError for an unknown one."""
    if text in (None, "none"):
        return ()
    if text == "all":
        return CUTS.names()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        CUTS.get(name)
    return names


def open_solution(path, manifest_path=None, log_path=None) -> tuple[Model, Solution, Manifest]:
    """A solution file and its manifest, back as the model rebuilt and the solution; `log_path` is the
    solver's log, asked where the file itself holds no status.

    Raises SolutionError, ManifestError.
    """
    raw: RawPoint = read_point(path)
    manifest = read_manifest(manifest_path) if manifest_path else find_manifest(path, raw)
    x = manifest.point(raw)
    model = replace(manifest.problem.module.build(manifest.problem), problem=manifest.problem)
    manifest.expect(model)
    record = read_run(path)
    if record is not None:
        solution = replace(record, x=x, objective=model.objective(x) if x is not None else None)
    else:
        termination = raw.termination
        if termination is None and log_path is not None:
            termination = termination_in_log(log_path)
        solution = Solution(
            x, termination or Termination.UNKNOWN, model.objective(x) if x is not None else None,
            solver=raw.format, claimed=raw.objective,
        )
        if solution.termination == Termination.OPTIMAL and solution.has_solution:
            solution = replace(solution, bound=solution.objective)
    return model, solution, manifest


def no_solution_text(solution: Solution) -> str:
    why = {
        Termination.TIME_LIMIT: "the time limit came first; allow more time (--time-limit) or give a start (--start cart)",
        Termination.INFEASIBLE: "it says the model is infeasible; every model of odtc has a solution, so check the file",
        Termination.INTERRUPTED: "it was interrupted before it had one",
    }.get(solution.termination, f"it ended as {solution.termination}")
    return f"{solution.solver or 'the solver'} found no solution: {why}{': ' + solution.message if solution.message else ''}"

