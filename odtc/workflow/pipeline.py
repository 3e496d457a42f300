"""The whole story on one screen: read, build, solve, decode, verify, and `fit`, which is all of them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from odtc.base import deadline
from odtc.data.cost_matrix import cost_matrix
from odtc.data.dataset import Dataset
from odtc.data.encoding import encode
from odtc.data.reading import read, read_rows
from odtc.errors import ChoiceError, DataError, NoSolutionError, TimeLimitReached, TreeError
from odtc.formulations.auto import choose
from odtc.heuristics.heuristic import HEURISTICS, grow
from odtc.model.feasibility import Check
from odtc.model.milp import Model
from odtc.model.solution import Options, Progress, Solution, Termination
from odtc.problem.constraints import constraint
from odtc.problem.cuts import cut
from odtc.problem.cuts.separation import separated
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.solvers import portfolio, portfolio_members
from odtc.solvers.solve import solve as run_solver
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree, read_tree
from odtc.verification.verify import RowPredictions, floored, proves, verify_filled, verify_tree
from odtc.verification.verify import verify as run_checks
from odtc.workflow import run_facts
from odtc.workflow.rounds import Rounds
from odtc.workflow.row_selection.selection import filled, iterated, rounds_of, selected, taken

COMPILER = "odtc"  # in the place of a solver, where none ran


@dataclass(frozen=True)
class Decoded:
    """A solution turned into a tree: in the model's terms, in words, and every check made of it."""

    heap: HeapTree
    # where its rows were selected, with all of them in its leaves (odtc.workflow.row_selection.selection.filled)
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


def pose(
    data: Dataset | str | Path,
    model: str = "flowoct",
    depth: int = 2,
    *,
    encoding: str = "auto",
    params: dict | None = None,
    reading: dict | None = None,
    fitting: bool = False,
    class_weight=None,
    cost=None,
    constraints: tuple[str, ...] = (),
    select: str | None = None,
    time_limit: float | None = None,
    **keys,
) -> Problem:
    """Data, a formulation and its parameters as a Problem; the words are those of `build`. The model "auto"
    is chosen by the size of the data (odtc.formulations.auto). Searches for hyperplanes to ask, and for a margin, end
    within a part of the time limit."""
    began, topology, choice = time.monotonic(), CompleteTree(depth), None
    constraints = (constraints,) if isinstance(constraints, str) else constraints
    settings = _settings(model, fitting, params, keys) if model != "auto" else None  # a bad one is said before the work
    dataset = data if isinstance(data, Dataset) else read(data, **(reading or {}))
    if select is not None:
        dataset = selected(dataset, select, depth)
    with deadline.within(deadline.after(began, time_limit)):
        encoded = encode(dataset, encoding)
    if model == "auto":
        with deadline.within(deadline.after(began, time_limit)):
            choice = choose(
                encoded.n_tests, depth, tuple(constraint.parse(text, encoded).name for text in constraints), encoded
            )
        model = choice.formulation
        settings = _settings(model, fitting, params, keys)
    if class_weight is not None or cost is not None:
        # "balanced" is of all rows, also where some of them are selected: the leaves will hold all.
        counted = encoded if dataset.selected is None else dataset.selected.whole
        of_class = np.bincount(counted.y, counted.weight, len(encoded.classes))
        encoded = replace(encoded, cost=cost_matrix(encoded.classes, of_class, class_weight, cost))
    problem = constraint.posed(Problem(encoded, topology, model, settings), constraints)
    with deadline.within(deadline.after(began, time_limit)):
        problem = getattr(problem.module, "prepared", lambda problem: problem)(problem)
    if choice is not None:
        problem.memo["choice"] = choice
    return problem


def _settings(model: str, fitting: bool, params: dict | None, keys: dict):
    defaults = getattr(FORMULATIONS.get(model), "FIT_DEFAULTS", {}) if fitting else {}
    return parse_params(model, defaults | (params or {}) | keys)


def compile_model(problem: Problem, cuts: str | tuple[str, ...] | None = None, rounds: Rounds | None = None) -> Model:
    """The Model of a Problem, with the rows of cut families: names, as a tuple or between commas, "all"
    for those that fit, "none"; None for the formulation's own. "paper4:rounds=10" adds the rows that the
    root relaxation breaks, in 10 rounds at most; `rounds` shows them, and solves the relaxations. Raises
    ChoiceError for a learner, which has no model, and for a family that is unknown or does not fit."""
    if not hasattr(problem.module, "build"):
        raise ChoiceError(
            f"{problem.formulation!r} learns its tree without a model: use `odtc fit`, or another --model"
        )
    names = choose_cuts(cuts) if isinstance(cuts, str) else cuts
    built = constraint.built(problem)
    names = cut.choose(problem, built, names)
    model = cut.add(problem, built, names)
    broken = tuple(name for name in names if separates(name))
    if not broken:
        return model
    rounds = rounds or relaxations()
    return separated(model, broken, rounds.solve, rounds.tell)


def pricing(problem: Problem, text: str) -> Model:
    """The pricing problem that "leaf=N" asks for, at the duals of the relaxation over the columns so far. Raises
    ChoiceError
    for a model that has none, and for what is no leaf."""
    if not hasattr(problem.module, "pricing"):
        raise ChoiceError(f"--pricing: {problem.formulation!r} has no pricing problems; use --model cg")
    key, _, number = (part.strip() for part in text.partition("="))
    leaves = problem.topology.leaves
    if key != "leaf" or not number.isdigit() or int(number) not in leaves:
        raise ChoiceError(f"--pricing: expected leaf=N with a leaf from {leaves[0]} to {leaves[-1]}, got {text!r}")
    return problem.module.pricing(problem, int(number))


def relaxations(time_limit: float | None = None, progress=None, log=None, keep=None) -> Rounds:
    """Rounds of separation: by the HiGHS that is in this process, on one thread, so that the same data has
    the same rows."""
    return Rounds(partial(solve, solver="highs", threads=1, log=log), time_limit, progress, log, keep)


def separates(cuts: str | tuple[str, ...] | None) -> bool:
    """Whether a choice of cut families asks for rounds of separation."""
    names = choose_cuts(cuts) if isinstance(cuts, str) else cuts
    return isinstance(names, tuple) and any(cut.family(name)[1] for name in names)


def build(
    data: Dataset | str | Path,
    model: str = "flowoct",
    depth: int = 2,
    *,
    encoding: str = "auto",
    params: dict | None = None,
    reading: dict | None = None,
    cuts: str | tuple[str, ...] | None = None,
    class_weight=None,
    cost=None,
    constraints: tuple[str, ...] = (),
    select: str | None = None,
    **keys,
) -> Model:
    """Data and a formulation to a Model, whose `A` is a scipy.sparse array.

    `data` is a Dataset or the path of a file, read with `reading` (the keywords of `odtc.read`);
    parameters of the formulation are given as `params` or as keywords (`lambda_=0.1`); `cuts` as in
    `compile_model`, `class_weight` and `cost` as in `odtc.data.cost_matrix.cost_matrix`; `constraints` are texts
    such as "leaf_rows >= 5" (odtc.problem.constraints.constraint); `select` names the rows to train on
    (odtc.workflow.row_selection.selection). Raises DataError, ChoiceError or ModelError.
    """
    return compile_model(
        pose(
            data,
            model,
            depth,
            encoding=encoding,
            params=params,
            reading=reading,
            class_weight=class_weight,
            cost=cost,
            constraints=constraints,
            select=select,
            **keys,
        ),
        cuts,
    )


def start(
    model: Model, name: str | Path | None = "cart", heap: HeapTree | None = None
) -> tuple[HeapTree, np.ndarray] | None:
    """A tree and the complete point of the model that it is: of a heuristic by name, or of a
    TREE.json (`heap` where `known_tree` has found it already); None for "none", and where a heuristic's
    tree cannot be made to keep the constraints. Raises ChoiceError, TreeError."""
    problem = model.problem
    heap = known_tree(problem, name) if heap is None else heap
    if heap is not None and not _is_file(name):
        heap = getattr(problem.module, "trimmed", lambda problem, heap: heap)(problem, heap)
        heap = constraint.mended(problem, heap)
    if heap is None:
        return None
    heap = cut.arranged(problem, model, heap)
    return heap, constraint.complete(problem, model, heap)


def known_tree(problem: Problem, name: str | Path | None) -> HeapTree | None:
    """The tree that a start begins from, which needs no model; the words are those of `start`."""
    if name in (None, "none"):
        return None
    if not _is_file(name):
        heap = grow(
            str(name),
            problem.encoded,
            problem.topology,
            problem.module.branch_price(problem),
            **constraint.limits(problem),
        )
        if heap.beyond is not None and not getattr(problem.module, "BEYOND", False):
            raise ChoiceError(
                f"the start {name!r} asks hyperplanes, and {problem.formulation} only the tests of the encoding; "
                f"take --start cart, "
                "or give it hyperplanes to ask (--encoding oblique)"
            )
        return heap
    heap = HeapTree.from_tree(
        read_tree(name), problem.encoded, problem.topology, getattr(problem.module, "BEYOND", False)
    )
    constraint.expect(problem, heap)
    return heap


def _is_file(name: str | Path | None) -> bool:
    return str(name).endswith(".json")


@dataclass(frozen=True)
class Prepared:
    """What is to be solved, and until when; `model` is None where the time limit came before there was one,
    and `known` then the best tree known, if any. `began` is a moment of time.monotonic()."""

    problem: Problem
    model: Model | None
    begun: tuple[HeapTree, np.ndarray] | None
    known: HeapTree | None
    began: float
    time_limit: float | None

    @property
    def point(self) -> np.ndarray | None:
        return self.begun[1] if self.begun else None

    @property
    def left(self) -> float | None:
        """Seconds that the solver may take, a moment at least; None without a limit."""
        return deadline.after(self.began, self.time_limit)


def prepare(
    problem: Problem, cuts=None, start_from="cart", rounds: Rounds | None = None, time_limit: float | None = None
) -> Prepared:
    """The model and the start of a problem within a time limit, which holds for the solver, too: what the
    compiler takes of it is no longer left."""
    began, heap, known = time.monotonic(), None, False
    with deadline.within(time_limit):
        try:
            heap, known = known_tree(problem, start_from), True
            model = compile_model(problem, cuts, rounds)
            begun = start(model, start_from, heap) if heap is not None else None
            deadline.check()
            return Prepared(problem, model, begun, heap, began, time_limit)
        except TimeLimitReached:
            # A heuristic that takes long gives way to the one that takes a moment.
            heap = heap if known else known_tree(problem, "cart")
            return Prepared(problem, None, None, _kept(problem, heap, start_from), began, time_limit)


def _kept(problem: Problem, heap: HeapTree | None, name) -> HeapTree | None:
    """The tree as one of the formulation's, and one that keeps the constraints; None where there is none."""
    if heap is None or _is_file(name):
        return heap
    try:
        heap = getattr(problem.module, "trimmed", lambda problem, heap: heap)(problem, heap)
    except TimeLimitReached:  # the formulation has to compile for that
        pass
    return constraint.mended(problem, heap)


def solve(
    model: Model,
    solver: str = "highs",
    *,
    start=None,
    progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
    logs: Callable[[str, str], None] | None = None,
    path=None,
    program: str | None = None,
    **options,
) -> Solution:
    """Solves a model by any solver of `odtc list solvers`, or one described by a TOML file, or by
    several side by side: "highs,scip,my.toml" (odtc.solvers.portfolio, which also says what `logs` are).

    `options` are those of `Options` (time_limit, threads, seed, gap); `start` is a point of shape
    (columns,); `path` and `program` as in odtc.solvers.solve.solve. The bound is never below what equivalent
    points leave (odtc.verification.verify.floor), where the model's problem is known. Raises SolverError, ChoiceError.
    """
    if not isinstance(model, Model):
        raise ChoiceError(
            f"expected a model, as odtc.build makes it, got {type(model).__name__}; `odtc solve FILE` solves a model "
            f"file"
        )
    found = _solve(
        model, solver, start=start, progress=progress, log=log, logs=logs, path=path, program=program, **options
    )
    return floored(model.problem, found) if model.problem is not None else found


def _solve(
    model: Model, solver: str, *, start=None, progress=None, log=None, logs=None, path=None, program=None, **options
) -> Solution:
    if portfolio_members.is_race(solver):
        portfolio_members.refuse_program(program)
        return portfolio.run(model, solver, Options(**options), start, progress, log, logs, path)
    return run_solver(model, solver, Options(**options), start, progress, log, path, program)


def decode(model: Model, solution: Solution, dataset: Dataset | None = None) -> Decoded:
    """The checked tree of a solution; `dataset` (the file read anew) adds the check against it.

    Raises NoSolutionError where the solver found no point.
    """
    if getattr(model, "problem", None) is None or not isinstance(solution, Solution):
        raise ChoiceError(
            f"expected a model of odtc.build and its solution, got {type(model).__name__} and "
            f"{type(solution).__name__}; "
            "`odtc decode FILE` reads a solution file"
        )
    problem = model.problem
    if not solution.has_solution:
        raise NoSolutionError(no_solution_text(solution))
    heap = problem.module.decode(problem, model.split(solution.x))
    tree, dataset = heap.to_tree(problem.encoded), _read_anew(problem, dataset)
    checks = run_checks(problem, model, solution, heap, tree, dataset)
    paid = _paid(problem, heap)
    if paid is not None and proves(problem, paid):  # whatever the solver says of its end
        solution = replace(solution, termination=Termination.OPTIMAL, objective=paid, bound=paid)
    return _decoded(problem, heap, tree, checks, floored(problem, solution), dataset)


def _read_anew(problem: Problem, dataset: Dataset | None) -> Dataset | None:
    """The data set that was handed in, with the rows of it that the problem's own were selected from it as; else the
    problem's own."""
    own = problem.encoded.dataset
    if (
        dataset is None
        or own is None
        or own.selected is None
        or dataset.selected is not None
        or dataset.n_rows != own.selected.whole.n_rows
    ):
        return dataset or own
    return taken(dataset, own.selected.rows, own.weight, own.selected.facts)


def _decoded(
    problem: Problem, heap: HeapTree, tree: Tree, checks: list[Check], solution: Solution, dataset: Dataset | None
) -> Decoded:
    """What was checked, and the tree with all rows in its leaves where it was trained on selected ones."""
    if dataset is not None and dataset.selected is not None:
        tree = filled(tree, problem, dataset.selected.whole)
        checks = [*checks, verify_filled(problem, tree, dataset.selected.whole)]
    return Decoded(heap, tree, checks, solution)


def _paid(problem: Problem, heap: HeapTree) -> float | None:
    """What a tree costs; None for one that is none of the model's, which a check says."""
    try:
        return problem.module.objective(problem, heap)
    except TreeError:
        return None


def run(
    model: Model,
    solver: str = "highs",
    *,
    start=None,
    progress=None,
    log=None,
    logs=None,
    path=None,
    program=None,
    time_limit=None,
    keep=None,
    **options,
) -> tuple[Model, Solution]:
    """What `fit` solves: the model once, or the formulation's loop on it, which hands back its last
    model. All words as for `solve`; the time limit holds for the loop as a whole; `keep` is that of
    odtc.workflow.rounds.Rounds."""
    loop = loop_of(model.problem)
    if loop is None:
        return model, _or_start(
            model,
            start,
            solve(
                model,
                solver,
                start=start,
                progress=progress,
                log=log,
                logs=logs,
                path=path,
                program=program,
                time_limit=time_limit,
                **options,
            ),
        )
    # A round's own model may cost less than any tree, so its bound stays as it is.
    rounds = Rounds(
        partial(_solve, solver=solver, program=program, log=log, logs=logs, **options), time_limit, progress, log, keep
    )
    timed = {"left": rounds.remaining} if getattr(model.problem.module, "TIMED", False) else {}
    last, solution = loop(model, rounds.solve, start, rounds.tell, **timed)
    return last, replace(floored(model.problem, solution), seconds=rounds.seconds)


def _or_start(model: Model, start: np.ndarray | None, found: Solution) -> Solution:
    """The solution; the start, where a solver was stopped before it had a point of its own, as one of an LP
    is that takes no start."""
    if (
        found.has_solution
        or start is None
        or found.termination not in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    ):
        return found
    note = "the solver had no point of its own yet: the tree is that of the start"
    return floored(
        model.problem,
        replace(
            found,
            x=start,
            objective=model.objective(start),
            claimed=None,
            message=f"{note}{': ' * bool(found.message)}{found.message}",
        ),
    )


def loop_of(problem: Problem):
    """The `fit` of a formulation that solves round after round, with these parameters; else None."""
    module = problem.module
    return module.fit if hasattr(module, "fit") and module.loops(problem) else None


def learn(problem: Problem, labelled: Dataset | None = None, time_limit: float | None = None) -> "Fit":
    """The tree of a formulation that has no model (CART): checked, and compared with nothing proven. A search ends with
    the time limit."""
    began = time.monotonic()
    with deadline.within(time_limit):
        heap = problem.module.tree(problem)
    paid = problem.module.objective(problem, heap)
    solution = Solution(None, Termination.UNKNOWN, paid, None, time.monotonic() - began, problem.module.NAME)
    return _without_model(problem, heap, solution, labelled)


def unfinished(ready: Prepared, labelled: Dataset | None = None) -> "Fit":
    """The tree that was known when the time limit came before there was a model; bounded by what
    equivalent points leave. Raises NoSolutionError where there was none."""
    solution = out_of_time(ready)
    if ready.known is None:
        raise NoSolutionError(no_solution_text(solution))
    paid = ready.problem.module.objective(ready.problem, ready.known)
    note = "the time limit came in the compile, so no solver ran: the tree is that of the start"
    return _without_model(
        ready.problem, ready.known, floored(ready.problem, replace(solution, objective=paid, message=note)), labelled
    )


def out_of_time(ready: Prepared) -> Solution:
    """How a run has ended that came to no model in time."""
    return Solution(None, Termination.TIME_LIMIT, seconds=time.monotonic() - ready.began, solver=COMPILER)


def settled(problem: Problem, heap: HeapTree, bound: float, seconds: float) -> "Fit":
    """A tree that the compiler has found, with the bound that it has proved."""
    paid = problem.module.objective(problem, heap)
    solution = Solution(
        None,
        Termination.OPTIMAL if bound >= paid - 1e-9 * max(1.0, abs(paid)) else Termination.UNKNOWN,
        paid,
        bound,
        seconds,
        COMPILER,
    )
    return _without_model(problem, heap, solution, None)


def _without_model(problem: Problem, heap: HeapTree, solution: Solution, labelled: Dataset | None) -> "Fit":
    if proves(problem, solution.objective):
        solution = replace(solution, termination=Termination.OPTIMAL, bound=solution.objective)
    tree, dataset = heap.to_tree(problem.encoded), problem.encoded.dataset
    decoded = _decoded(problem, heap, tree, verify_tree(problem, heap, tree, dataset), solution, dataset)
    facts = model_facts(problem) | run_facts.solve_facts(solution) | {"has_solution": True}
    return _with_figures(None, problem, decoded, facts, labelled)


def fit(
    data: Dataset | str | Path,
    model: str = "flowoct",
    depth: int = 2,
    *,
    encoding: str = "auto",
    params: dict | None = None,
    reading: dict | None = None,
    solver: str = "highs",
    start_from="cart",
    test: str | Path | None = None,
    progress=None,
    log=None,
    time_limit=None,
    threads=None,
    seed=0,
    gap=0.0,
    cuts: str | tuple[str, ...] | None = None,
    class_weight=None,
    cost=None,
    constraints: tuple[str, ...] = (),
    select: str | None = None,
    **keys,
) -> "Fit":
    """Data to a checked tree: build, start, solve, decode, verify; the words are those of `build`. The time
    limit, in seconds, is for the compiler and the solver together. Raises NoSolutionError where the
    solver found none, and whatever its parts raise."""
    options = dict(time_limit=time_limit, threads=threads, seed=seed, gap=gap)
    Options(**options)  # a bad option is said before the work, not after it
    words = dict(
        encoding=encoding, params=params, class_weight=class_weight, cost=cost, constraints=constraints, **keys
    )
    began = time.monotonic()
    if rounds_of(select) > 1:

        def again(part, seconds):
            return fit(
                part,
                model,
                depth,
                solver=solver,
                start_from=start_from,
                test=test,
                progress=progress,
                log=log,
                cuts=cuts,
                **options | {"time_limit": seconds},
                **words,
            )

        whole = data if isinstance(data, Dataset) else read(data, **(reading or {}))
        return iterated(whole, select, depth, again, log or (lambda text: None), deadline.after(began, time_limit))
    problem = pose(data, model, depth, reading=reading, fitting=True, select=select, time_limit=time_limit, **words)
    labelled = test_rows(problem, test) if test is not None else None
    left = deadline.after(began, time_limit)
    if hasattr(problem.module, "tree"):
        return learn(problem, labelled, left)
    ready = prepare(problem, cuts, start_from, relaxations(left, progress, log), left)
    if ready.model is None:
        return unfinished(ready, labelled)
    last, solution = run(
        ready.model, solver, start=ready.point, progress=progress, log=log, **options | {"time_limit": ready.left}
    )
    return finish(last, solution, labelled)


def finish(model: Model, solution: Solution, labelled: Dataset | None = None, dataset: Dataset | None = None) -> "Fit":
    """The last part of `fit`: decode and verify a solution, with CART's figures, and those of the
    rows `labelled`; `dataset` as in `decode`."""
    dataset = _read_anew(model.problem, dataset)
    decoded = decode(model, solution, dataset)
    facts = (
        model_facts(model.problem, model) | run_facts.solve_facts(decoded.solution) | settled_objective(model, decoded)
    )
    return _with_figures(model, model.problem, decoded, facts, labelled, dataset)


def _with_figures(
    model, problem: Problem, decoded: Decoded, facts: dict, labelled: Dataset | None, dataset: Dataset | None = None
) -> "Fit":
    greedy = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    cart = greedy.to_tree(problem.encoded)
    dataset = dataset or problem.encoded.dataset
    chosen = dataset.selected if dataset is not None else None
    trained = decoded.tree if chosen is None else decoded.heap.to_tree(problem.encoded)
    facts = facts | run_facts.tree_facts(trained, problem.encoded.cost) | run_facts.cart_facts(problem, greedy)
    if chosen is not None:
        whole = chosen.whole
        cart = filled(cart, problem, whole)
        facts |= {
            "selection": chosen.facts,
            "all_rows": _of_all(decoded.tree, problem),
            "cart_all_rows": _of_all(cart, problem),
        }
        rows = RowPredictions(problem.encoded, whole, decoded.tree.predict(whole.X))
        facts["all_rows"]["breaks"] = [
            f"{given}: {rows.told(given)}"
            for given in constraint.on_answers(problem)
            if not given.holds(rows.value(given))
        ]
        facts["all_rows"]["relabelled"] = sum(
            one.label != other.label for one, other in zip(trained.leaves(), decoded.tree.leaves())
        )
    if labelled is not None:
        facts |= {
            "test_accuracy": run_facts.score(decoded.tree, labelled)["accuracy"],
            "cart_test_accuracy": run_facts.score(cart, labelled)["accuracy"],
            "n_test_rows": labelled.n_rows,
            "n_test_rows_dropped": labelled.n_dropped,
        }
    return Fit(model, decoded.solution, decoded, cart, facts | {"verified": decoded.verified})


def _of_all(tree: Tree, problem: Problem) -> dict:
    """The figures of a tree that holds all rows that its own were selected from."""
    facts = run_facts.tree_facts(tree, problem.encoded.cost)
    told = {
        "correct": "train_correct",
        "accuracy": "train_accuracy",
        "weighted_accuracy": "train_weighted_accuracy",
        "balanced_accuracy": "train_balanced_accuracy",
        "loss": "loss",
    }
    return {"n_rows": sum(sum(leaf.rows) for leaf in tree.leaves())} | {
        name: facts.get(key) for name, key in told.items()
    }


def settled_objective(model: Model, decoded: Decoded) -> dict:
    """Objective and bound without a solver's rounding: where the tree costs what the point does, the
    exact cost of the tree."""
    paid, solution = _paid(model.problem, decoded.heap), decoded.solution
    if paid is None:
        return {}
    near = [
        value is not None and abs(value - paid) <= 1e-6 * max(1.0, abs(paid))
        for value in (solution.objective, solution.bound)
    ]
    if not near[0]:
        return {}
    settled = replace(solution, objective=paid, bound=paid if near[1] else solution.bound)
    return {"objective": settled.objective, "bound": settled.bound, "gap": settled.gap}


def model_facts(problem: Problem, model: Model | None = None) -> dict:
    dataset = problem.encoded.dataset
    size = (model.n_cols, model.n_rows, model.nnz) if model is not None else (None, None, None)
    facts = run_facts.model_facts(problem, *size, dataset.n_dropped if dataset else 0)
    if dataset is not None and dataset.selected is not None:
        facts["selection"] = dataset.selected.facts
    if model is None:
        return facts | {"cuts": []}
    made = dict(model.separated)
    return facts | {
        "cuts": list(model.cuts),
        "n_rows_separated": sum(block.size for block in model.rows if block.name in made),
    }


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


def choose_cuts(text: str | None) -> tuple[str, ...] | str | None:
    """The cut families that `--cuts` names, None (the formulation's own) and "all" as they are; raises
    ChoiceError for an unknown one."""
    if text is None or text == "all":
        return text
    if text == "none":
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        cut.family(name)
    return names


def no_solution_text(
    solution: Solution, ours: bool = True, constraints: Sequence[str] = (), selected: bool = False
) -> str:
    """Why there is no tree, and what to do; `ours` is False for a model file that odtc did not make, `constraints`
    are those of the model, and whether they are of `selected` rows alone."""
    if solution.termination == Termination.INFEASIBLE and constraints:
        return (
            f"{solution.solver or 'the solver'} found no solution: it says the model is infeasible, so no tree of "
            f"this depth over these tests keeps "
            f"{'the constraint' if len(constraints) == 1 else 'all the constraints'} "
            f"{'; '.join(constraints)}{' on the selected rows' if selected else ''}: relax one, allow a greater "
            f"--depth or more tests, "
            "or look at the rows that were added to the file, if any were (docs/files.md)"
        )
    if solution.solver == COMPILER:
        return (
            "the time limit came in the compile, before there was a model, and there is no start; allow more time "
            "(--time-limit), "
            "give a start (--start cart), or make it smaller: fewer tests (--encoding auto:bins=8), a smaller --depth"
        )
    more = "the time limit came first; allow more time (--time-limit)"
    why = {
        Termination.TIME_LIMIT: {
            "none": f"{more}, or give a start (--start cart) to a solver that takes one (odtc list solvers)",
            "accepted": more,
        }.get(solution.start, f"{more}; it did not take the start that it was given"),
        Termination.INFEASIBLE: "it says the model is infeasible"
        + (
            "; every model of odtc has a solution, unless no tree keeps the constraints, or rows were added to a "
            "file from which the compiler left columns out (docs/files.md), so check these and the file"
            if ours
            else ""
        ),
        Termination.INTERRUPTED: "it was interrupted before it had one",
    }.get(solution.termination, f"it ended as {solution.termination}")
    return (
        f"{solution.solver or 'the solver'} found no solution: "
        f"{why}{': ' + solution.message if solution.message else ''}"
    )
