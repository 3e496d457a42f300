"""The whole story on one screen: read, build, solve, decode, verify, and `fit`, which is all of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from odtc import report
from odtc.cut import CUTS
from odtc.dataset import Dataset
from odtc.encoding import encode
from odtc.errors import DataError, NoSolutionError
from odtc.formulation import FORMULATIONS, Problem, parse_params
from odtc.heap import HeapTree
from odtc.heuristic import HEURISTICS
from odtc.model import Model
from odtc.reader import read, read_rows
from odtc.solution import Options, Progress, Solution, Termination
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
          log: Callable[[str], None] | None = None, path=None, program: str | None = None, **options) -> Solution:
    """Solves a model by any solver of `odtc list solvers`, or one described by a TOML file.

    `options` are those of `Options` (time_limit, threads, seed, gap); `start` is a point of shape
    (columns,); `path` and `program` as in odtc.solver.solve. Raises SolverError, ChoiceError.
    """
    return run_solver(model, solver, Options(**options), start, progress, log, path, program)


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
                  "cart_test_accuracy": report.score(cart, labelled)["accuracy"],
                  "n_test_rows": labelled.n_rows, "n_test_rows_dropped": labelled.n_dropped}
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
    """Labelled rows of another file, coded as the training data and under its policy for missing
    cells; raises DataError."""
    encoded = problem.encoded
    rows = read_rows(path, encoded.features, encoded.classes, encoded.target, require_labels=True)
    incomplete = np.isnan(rows.X).any(axis=1)
    if encoded.missing == "separate" or not incomplete.any():
        return rows
    if encoded.missing == "error" or incomplete.all():
        raise DataError(
            f"expected test rows without missing cells in {str(path)!r}, got {incomplete.sum()} with them among "
            f"{rows.n_rows}, the first in row {incomplete.argmax() + 1}; fill them in, or train with --missing separate"
        )
    keep = ~incomplete
    return replace(rows, X=rows.X[keep], y=rows.y[keep], weight=rows.weight[keep], n_dropped=int(incomplete.sum()))


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


def no_solution_text(solution: Solution) -> str:
    why = {
        Termination.TIME_LIMIT: "the time limit came first; allow more time (--time-limit) or give a start (--start cart)",
        Termination.INFEASIBLE: "it says the model is infeasible; every model of odtc has a solution, so check the file",
        Termination.INTERRUPTED: "it was interrupted before it had one",
    }.get(solution.termination, f"it ended as {solution.termination}")
    return f"{solution.solver or 'the solver'} found no solution: {why}{': ' + solution.message if solution.message else ''}"

