"""The functions of `odtc` on one run: `build`, `fit`, `plan`, `decode`, `near_optimal`, `frontier` and `certify`."""

import difflib
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtc.base import deadline
from odtc.base.text import as_remark, did_you_mean
from odtc.base.threads import in_one_thread
from odtc.data.dataset import Dataset
from odtc.data.frames import table_of, table_of_arrays
from odtc.data.reading import read, read_arrays
from odtc.errors import ChoiceError
from odtc.model.milp import Model
from odtc.problem.formulation import FORMULATIONS, Certifies, CountsNearOptimal, SearchesItself
from odtc.trees.heap_tree import HeapTree
from odtc.workflow import decoding
from odtc.workflow.compiling import (
    compile_model,
)
from odtc.workflow.constrained.assured_fit import HELD_OUT, fit_assured, with_rows_to_test
from odtc.workflow.constrained.exact_frontier import Frontier
from odtc.workflow.constrained.frontier import frontier as points_of
from odtc.workflow.constrained.frontier import varied
from odtc.workflow.messages import file_notes
from odtc.workflow.near_optimal_set import NearOptimalSet, near_optimal_set
from odtc.workflow.plan import Plan
from odtc.workflow.posing import pose, pose_run
from odtc.workflow.reporting import CallbackReporter
from odtc.workflow.results.fit import Decoded, Fit
from odtc.workflow.results.lines import simplified_text
from odtc.workflow.run import plan_of, run
from odtc.workflow.specification import RunSpec, take_reading

if TYPE_CHECKING:
    from odtc.workflow.provenance.certifying import Certificate

REMARKING = 1.0  # seconds that remarks on the rows have at least, also after a limit
LIKE_A_MODEL = 0.75  # similarity (difflib) from which on a text next to a path is taken for a model's name


def build(data=None, y=None, model: str = "flowoct", depth: int = 2, *, cuts=None, **keywords) -> Model:
    """Build the mixed-integer program of a formulation for a data set.

    Parameters
    ----------
    data : array or data frame (rows, columns), Dataset or path
        Also as `X=`. A path, or a data frame that contains its labels, is read with the keywords of `odtc.read`
        (`target`, `missing`, `task`, …), which may also be in the dict `reading`.
    y : array (rows,), text or None
        The labels of `data`; None if it contains them. A text is the name of their column, or the model:
        `build("data.csv", "oct", 3)`.
    model : str
        A formulation of `odtc list models`, or "auto".
    depth : int
    cuts : str, tuple of str or None
        Cut families, as of `compile_model`.
    **keywords
        Keywords of `odtc.read`, the other fields of odtc.workflow.specification.ModelSpec (`encoding`, `class_weight`,
        `cost`, `constraints` such as "leaf_rows >= 5", `select`), and parameters of the formulation, by name
        (`lambda_=0.1`) or as the dict `params`.

    Returns
    -------
    Model

    Raises
    ------
    DataError, ChoiceError, ModelError

    Examples
    --------
    >>> import odtc
    >>> model = odtc.build("examples/monks/monks-1.csv", "flowoct", depth=1, encoding="onehot")
    >>> solution = odtc.solve(model)
    >>> odtc.decode(model, solution).verified
    True
    """
    data, model, depth = labelled(data, y, model, depth, keywords)
    return compile_model(pose(data, model, depth, **keywords), cuts)


def labelled(data, y, model, depth, keywords: dict) -> tuple:
    """Return (data, model, depth), whether labels, their column or the model come second; labels are added to the
    data, and the keywords state how they are read. A text next to a path is the target if no model has a name like
    it."""
    if "X" in keywords:
        if data is not None:
            raise ChoiceError("expected the data once, got them as X=, too")
        data = keywords.pop("X")
    if data is None:
        raise ChoiceError("expected data (an array, a data frame, a Dataset or a path) as the first argument, got none")
    whole = isinstance(data, Dataset | str | Path)  # it contains its labels
    columns = [] if whole else [str(name) for name in getattr(data, "columns", ())]
    if isinstance(y, str) and columns and y not in (models := FORMULATIONS.names()) and (y != "auto" or y in columns):
        if y not in columns:
            hint = did_you_mean(y, [*columns, *models])
            raise ChoiceError(
                f"expected labels, the column that holds them or a model behind the data frame, got {y!r:.80}{hint}; "
                f"columns: {', '.join(columns):.300}"
            )
        return read(data, **take_reading(keywords) | {"target": y}), model, depth
    if isinstance(y, int):
        raise ChoiceError(f"expected the labels behind the data, got {y!r}; a depth is named: depth={y}")
    if isinstance(y, str):
        meant = difflib.get_close_matches(y, ("auto", *FORMULATIONS.names()), n=1, cutoff=LIKE_A_MODEL)
        if isinstance(data, str | Path) and not meant and "target" not in keywords:
            keywords["target"] = y
            return data, model, depth
        return data, y, depth if isinstance(model, str) else model
    if y is None:
        return data, model, depth
    how = {} if whole else take_reading(keywords)
    if whole or "target" in how:
        raise ChoiceError(
            "expected labels y only with an array or with a data frame without a target, got them with "
            f"{type(data).__name__ if whole else '`target`'}; leave one of the two out"
        )
    return read_arrays(data, y, **how), model, depth


def fit(
    data=None, y=None, model: str = "auto", depth: int = 2, *, start_from="auto", test=None, progress=None, **keywords
) -> Fit:
    """Find the best tree for a data set and check it: read, encode, search or solve, decode, verify.

    Parameters
    ----------
    data, y, model, depth
        As of `build`, but by default the model is "auto". Without a `solver`, a formulation that proves its trees
        itself does so, and HiGHS solves the others; a solver that is named always runs.
    start_from : str, path or None
        The MIP start: a heuristic of `odtc list starts`, a TREE.json, or "none".
    test : path, data frame, (rows, labels) or None
        Labelled rows to test the tree on, in one of the forms of `data`.
    progress : callable or None
        Takes Progress records.
    **keywords
        `confidence`: new rows must satisfy the constraints with this confidence, such as 0.95. The search then requires
        more, and `Fit.assured(confidence)` reports the constraints that a test on unseen rows assures; without `test`
        and without `hold_out`, three of ten rows are set aside.
        `log`, a callable that takes pieces of the solver's log. Keywords of `build`, such as `cuts`, and the fields of
        odtc.workflow.specification.SolvingSpec (`solver`, `time_limit` in wall seconds for the compiler and the solver
        together, `threads`, `seed`, `gap`). With
        `simplify=False` the tree keeps branch nodes that no row needs.

    Returns
    -------
    Fit

    Raises
    ------
    NoSolutionError
        If the solver found no tree.
    DataError, ChoiceError, ModelError, SolverError

    Examples
    --------
    >>> import odtc
    >>> fitted = odtc.fit("examples/monks/monks-1.csv", depth=3, encoding="onehot")
    >>> fitted.facts["objective"], fitted.facts["bound"]
    (11.0, 11.0)
    """
    confidence = keywords.pop("confidence", None)
    if confidence is not None and test is None and not isinstance(data, Dataset):
        how = take_reading(keywords)  # a data frame may be read before `fit_assured` sees it
        keywords["reading"] = how if how.get("hold_out") else how | {"hold_out": HELD_OUT}
    data, model, depth = labelled(data, y, model, depth, keywords)
    reporter = CallbackReporter(progress, keywords.pop("log", None))
    test = _table_to_test(test)
    spec = RunSpec.from_keywords(model, depth, {**keywords, "start": start_from})
    began = time.monotonic()
    if confidence is not None:
        done = fit_assured(spec, data, confidence, test, reporter=reporter)
    else:
        done = run(spec, data, test, reporter=reporter)
    notes = _notes(done, spec, isinstance(data, Dataset), reporter.said, began)
    return replace(done, notes=notes)


def _table_to_test(test):
    """Return rows to test the tree on as a table if they are arrays or a data frame; a path and None are unchanged."""
    if isinstance(test, tuple):
        return table_of_arrays(*test)[0]
    return table_of(test) if hasattr(test, "columns") and hasattr(test, "shape") else test


def plan(data=None, y=None, model: str = "auto", depth: int = 2, *, start_from="auto", test=None, **keywords) -> Plan:
    """Return what `odtc.fit` does with the same arguments, with reasons; nothing is searched or solved.

    Parameters
    ----------
    data, y, model, depth, start_from, test, **keywords
        As of `fit`. The data is read and encoded.

    Returns
    -------
    Plan
        `print` shows it; `engine` is "search", "model", "loop" or "learner", and `decisions` are records of `of`,
        `choice` and `why`.

    Raises
    ------
    DataError, ChoiceError, SolverError

    Examples
    --------
    >>> import odtc
    >>> odtc.plan("examples/monks/monks-1.csv", depth=2).engine
    'search'
    >>> odtc.plan("examples/monks/monks-1.csv", depth=2, solver="highs").engine
    'model'
    """
    confidence = keywords.pop("confidence", None)
    data, model, depth = labelled(data, y, model, depth, keywords)
    spec = RunSpec.from_keywords(model, depth, {**keywords, "start": start_from})
    return plan_of(with_rows_to_test(replace(spec, confidence=confidence), test), data)


def decode(
    model: Any,
    solution: Any = None,
    dataset: Dataset | None = None,
    known: Sequence[tuple[str, HeapTree]] = (),
    simplify: bool = True,
    *,
    manifest: str | Path | None = None,
    log: str | Path | None = None,
) -> Decoded:
    """Turn a solution into a checked tree: `decode(model, solution)`, or `decode("model.sol")` with its manifest.

    Parameters
    ----------
    model : Model or path
        A model of `odtc.build`; or the path of a solution file, whose manifest (STEM.odt.json) describes the model.
    solution : Solution, path, array (columns,), dict, OptimizeResult, highspy.Highs or gurobipy.Model
        A solution of `odtc.solve`, the solution file of any solver, a point as a vector or {name of a column: value},
        or the result of scipy.optimize.milp, highspy or gurobipy.
    dataset, known : as of odtc.workflow.decoding.decode
    simplify : bool
        Whether branch nodes that no row needs are removed, as by `odtc.fit`; the tree of a model with rows of your own
        keeps them.
    manifest, log : path or None
        For a solution file: its manifest if that is not next to it, and the log of the solver.

    Returns
    -------
    Decoded

    Raises
    ------
    NoSolutionError
        If the solver found no point.
    SolutionError
        If the solution belongs to another model, or its file cannot be read.
    ManifestError
        If the manifest of the solution file is missing.
    ChoiceError
        If the arguments are not a model of `odtc.build` and its solution.

    Examples
    --------
    >>> import odtc
    >>> model = odtc.build("examples/monks/monks-1.csv", "flowoct", depth=1, encoding="onehot")
    >>> decoded = odtc.decode(model, odtc.solve(model))
    >>> decoded.tree.n_leaves, decoded.verified
    (2, True)
    """
    from odtc.workflow import files_of_models  # with the readers of models, which other runs do not need

    if solution is None and isinstance(model, str | Path):
        model, solution = None, model
    if (manifest or log) and not isinstance(solution, str | Path):
        raise ChoiceError("manifest= and log= are for solution files: name the file as the solution")
    own = model is not None and getattr(model, "problem", None) is not None and model.as_built is not model
    if isinstance(solution, str | Path) and (model is None or getattr(model, "problem", None) is not None):
        path, alone = Path(solution), model is None
        model, solution, opened = files_of_models.open_solution(path, manifest, log, of=model)
        own = own or "own" in opened.facts
        if alone and dataset is None:
            dataset, note = files_of_models.selected_data(opened)
            if note:
                warnings.warn(note, UserWarning, stacklevel=2)
        known = [*known, *files_of_models.known_trees(model, path, opened)]
    return decoding.decode(model, solution, dataset, known, simplify and not own)


def _notes(done: Fit, spec: RunSpec, of_rows: bool, said: list[str], began: float) -> tuple[str, ...]:
    """Return the remarks of the command line on a run that began at this moment; with `of_rows` also the remarks on
    its rows, which a run makes only for files."""
    found = list(said)
    if of_rows and done.problem.encoded.dataset is not None:
        left = deadline.limit_left(began, spec.solving.time_limit)
        with deadline.within(None if left is None else max(left, REMARKING)):
            found += file_notes(done.problem, spec)
    found += [as_remark(text) for text in (simplified_text(done), done.solution.message) if text]
    return tuple(dict.fromkeys(found))


@in_one_thread()
def near_optimal(
    data: Any = None,
    y: Any = None,
    within: float | str = 0.0,
    depth: int = 2,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    **keywords,
) -> NearOptimalSet:
    """Count all trees whose objective is close to the best, without listing them.

    Parameters
    ----------
    data : Dataset, path, array or data frame
        As of `build`.
    y : labels next to an array or a data frame, or the column that holds them
    within : float or str
        Largest distance from the best objective: a number, or a share of it such as "5%".
    depth : int
    time_limit : float or None
        Wall seconds; if they end the count, it is reported as "at least".
    seed : int
        Of the sample.
    **keywords
        Keywords of `build` except for `model`: the formulation is one that counts such trees (dpflow).

    Returns
    -------
    NearOptimalSet
        `count`, `facts` (the content of STEM.near-optimal.json), `trees` of the sample, and
        `cells(using, without, leaves)`.

    Raises
    ------
    DataError, ChoiceError

    Examples
    --------
    >>> import odtc
    >>> near = odtc.near_optimal("examples/monks/monks-1.csv", within=2, depth=3, encoding="onehot")
    >>> near.count
    32
    """
    data, model, depth = labelled(data, y, FORMULATIONS.able(CountsNearOptimal)[0], depth, keywords)
    return near_optimal_set(pose(data, model, depth, **keywords), within, time_limit, seed=seed)


@in_one_thread()
def frontier(
    data: Any = None,
    y: Any = None,
    vary: str | None = None,
    depth: int = 2,
    *,
    time_limit: float | None = None,
    **keywords,
) -> Frontier:
    """Find the best tree for each value of a constraint, each with its proof.

    Parameters
    ----------
    data : Dataset, path, array or data frame
        As of `build`.
    y : labels next to an array or a data frame, or the column that holds them
    vary : str
        A constraint with FIRST:LAST:STEP instead of its number, such as "recall[yes] >= 0.5:0.9:0.05". If the data
        contain their labels, it may be the second argument.
    depth : int
    time_limit : float or None
        Wall seconds for all numbers together; an open number then has its best tree and its bound.
    **keywords
        Keywords of `build` except for `model`: `constraints` are satisfied at every number.

    Returns
    -------
    Frontier
        A sequence of its points, the loosest number first, each with `requested`, `reached`, `objective`, `bound`,
        `price`, `ended` and `tree`; `print` shows the table, and `write("curve")` makes curve.frontier.json.

    Raises
    ------
    DataError, ChoiceError

    Examples
    --------
    >>> import odtc
    >>> curve = odtc.frontier("examples/monks/monks-2.csv", "recall[1] >= 0.5:0.9:0.2", depth=2, encoding="onehot")
    >>> len(curve)
    3
    """
    if vary is None and isinstance(y, str) and any(sign in y for sign in ("<=", ">=")):  # data that contains its labels
        vary, y = y, None
    if not isinstance(vary, str):
        raise ChoiceError(f'expected vary="CONSTRAINT OP FIRST:LAST:STEP", as "leaves <= 2:8:1", got {vary!r}')
    began, texts = time.monotonic(), varied(vary)
    data, model, depth = labelled(data, y, FORMULATIONS.able(SearchesItself)[0], depth, keywords)
    spec = replace(RunSpec.from_keywords(model, depth, {**keywords, "time_limit": time_limit}), fitting=True)
    problem = pose_run(spec, data, later=texts[:1])
    return Frontier(problem, vary, points_of(problem, texts, deadline.limit_left(began, time_limit)), spec.model)


@in_one_thread()
def certify(
    data: Any = None,
    y: Any = None,
    depth: int = 2,
    *,
    lambda_: float = 0.0,
    time_limit: float | None = None,
    **keywords,
) -> "Certificate":
    """Find the best tree, with a certificate by which anyone can check that no tree is better.

    Parameters
    ----------
    data : Dataset, path, array or data frame
        As of `build`.
    y : labels next to an array or a data frame, or the column that holds them
    depth : int
    lambda_ : float
        Penalty of a branch node: (1-λ) loss + λ branch nodes, so a node must save λ/(1-λ) units of loss.
    time_limit : float or None
        Wall seconds to read, search and make the certificate, which proves the bound reached by then. Its check
        follows, and may take as long.
    **keywords
        Keywords of `build` except for `model`, such as `constraints` and `encoding`.

    Returns
    -------
    Certificate
        `tree`, `objective`, `bound`, `optimal`, `infeasible`; `print` states the proof, and `write("stem")` makes
        stem.certificate.json, which `odtc verify --certificate` checks, with stem.tree.json.

    Raises
    ------
    DataError, ChoiceError, CertificateError

    Examples
    --------
    >>> import odtc
    >>> certificate = odtc.certify("examples/monks/monks-1.csv", depth=2, encoding="onehot")
    >>> certificate.objective, certificate.bound, certificate.optimal
    (27.0, 27.0, True)
    """
    from odtc.workflow.provenance import certifying  # with the checkers, which other runs do not need

    began, source = time.monotonic(), Path(data) if isinstance(data, str | Path) else None
    data, model, depth = labelled(data, y, FORMULATIONS.able(Certifies)[0], depth, keywords)
    given = {**keywords, "params": {**(keywords.get("params") or {}), "lambda": lambda_}}
    spec = replace(RunSpec.from_keywords(model, depth, {**given, "time_limit": time_limit}), fitting=True)
    problem = pose_run(spec, data)
    return certifying.certify(problem, deadline.limit_left(began, time_limit), source)
