"""Models and points that solvers hold in memory: two drawn models are one exactly if they are by definition, what HiGHS
holds is read as it is, and what is claimed is of the model that was solved."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from odtc.errors import SolutionError
from odtc.model.blocks import NamedBlock
from odtc.model.feasibility import check_claim, check_point, is_close
from odtc.model.milp import Model
from odtc.model.solution import EDITED, Solution, Termination
from odtc.workflow.provenance.in_memory import (
    Solved,
    _claimed,
    _infinite,
    _of_gurobi,
    _of_highs,
    _sides,
    in_memory,
    is_same,
    unproved,
)

INF = np.inf


def made(A, c, row_lower, row_upper, upper=2.0, whole=1, offset=0.0, identity="") -> Model:
    """A model of arrays; columns from 0."""
    m, n = np.shape(A)
    return Model(
        "m",
        np.array(c, float),
        offset,
        np.array(row_lower, float),
        np.array(row_upper, float),
        np.zeros(n),
        np.full(n, float(upper)),
        np.full(n, whole, np.uint8),
        (NamedBlock(tuple(f"x{j}" for j in range(n))),),
        (NamedBlock(tuple(f"r{i}" for i in range(m))),),
        identity=identity,
        matrix=sp.csc_array(np.array(A, float).reshape(m, n)),
    )


def drawn(seed: int, whole=1) -> Model:
    """Four rows over three columns, with zeros among the numbers; the first row has two sides, the last has none."""
    random = np.random.default_rng(seed)
    A = random.integers(-1, 3, (4, 3)).astype(float)
    A[:, 0] = np.where((A == 0).all(axis=1), 1, A[:, 0])
    lower = np.array([0.0, -INF, random.integers(-1, 3), -INF])
    upper = np.array([random.integers(1, 4), random.integers(0, 4), INF, INF], float)
    return made(A, random.integers(-2, 3, 3), lower, upper, whole=whole, offset=float(random.integers(-1, 2)))


def of_rows(model: Model, A, lower, upper) -> Model:
    """The model with other rows."""
    rows = (NamedBlock(tuple(f"r{i}" for i in range(len(lower)))),)
    matrix = sp.csc_array(np.asarray(A, float))
    return replace(model, row_lower=np.array(lower), row_upper=np.array(upper), rows=rows, matrix=matrix)


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_the_same_in_any_order_with_either_sign_and_as_two_halves(seed):
    model = drawn(seed)
    A, lower, upper = model.A.toarray(), model.row_lower, model.row_upper
    order = np.random.default_rng(seed).permutation(4)
    assert is_same(model, of_rows(model, A[order], lower[order], upper[order]))
    assert is_same(of_rows(model, -A, -upper, -lower), model)
    halves = np.vstack([A, A[:1]])
    assert is_same(model, of_rows(model, halves, [-INF, *lower[1:], 0.0], [*upper, INF]))
    assert is_same(model, of_rows(model, A[:3], lower[:3], upper[:3]))  # a row without sides says nothing
    mixed = model.A.tocsr()
    for i in range(4):  # the columns of each row in another order
        at = slice(mixed.indptr[i], mixed.indptr[i + 1])
        mixed.indices[at], mixed.data[at] = mixed.indices[at][::-1].copy(), mixed.data[at][::-1].copy()
    mixed.has_sorted_indices = False
    assert _sides(SimpleNamespace(A=mixed, row_lower=lower, row_upper=upper)) == _sides(model)
    zeros = sp.csc_array((np.zeros(1), np.array([0]), np.array([0, 0, 0, 1])), (4, 3)) + sp.csc_array(A)
    assert is_same(model, replace(model, matrix=zeros, row_lower=np.where(lower == 0, -0.0, lower)))


@pytest.mark.parametrize("seed", range(4))
def test_a_model_in_which_any_one_number_is_another_is_another(seed):
    model = drawn(seed)
    A, lower, upper = model.A.toarray(), model.row_lower, model.row_upper

    def changed(array, at):
        other = array.copy()
        other[at] += 1
        return other

    others = [replace(model, offset=model.offset + 1)]
    for name in ("c", "col_lower", "col_upper", "integrality"):
        others += [replace(model, **{name: changed(getattr(model, name), at)}) for at in range(3)]
    others += [of_rows(model, changed(A, at), lower, upper) for at in product(range(3), range(3))]
    others += [of_rows(model, A, changed(lower, at), upper) for at in (0, 2)]
    others += [of_rows(model, A, lower, changed(upper, at)) for at in (0, 1)]
    for at in range(3):
        left, more = np.delete(np.arange(4), at), [*range(4), at]
        others += [of_rows(model, A[rows], lower[rows], upper[rows]) for rows in (left, more)]
    others += [of_rows(model, A[:, [1, 0, 2]], lower, upper)] * (not np.array_equal(A[:, 0], A[:, 1]))
    wider = made(np.hstack([A, np.zeros((4, 1))]), [*model.c, 0], lower, upper, offset=model.offset)
    for other in [*others, wider]:
        assert not is_same(model, other) and not is_same(other, model)


def solved(model: Model, rowwise=False, change=lambda highs: None):
    """HiGHS with a model, after it has run."""
    highspy = pytest.importorskip("highspy")
    lp, A = highspy.HighsLp(), (model.A.tocsr() if rowwise else model.A.tocsc())
    lp.num_row_, lp.num_col_ = A.shape
    lp.col_cost_, lp.offset_ = model.c, model.offset
    lp.col_lower_, lp.col_upper_, lp.row_lower_, lp.row_upper_ = (
        model.col_lower,
        model.col_upper,
        model.row_lower,
        model.row_upper,
    )
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise if rowwise else highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    if model.integrality.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(one)] for one in model.integrality]
    highspy.Highs.resetGlobalScheduler(True)  # it keeps for a whole process the threads that its first run was given
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.passModel(lp)
    change(highs)
    highs.run()
    return highs


@pytest.mark.parametrize("seed", range(6))
def test_what_highs_holds_is_read_as_it_is(seed):
    model, ends = drawn(seed), set()
    for model in (drawn(seed), replace(drawn(seed), integrality=np.array([1, 0, 1], np.uint8)), drawn(seed, 0)):
        found = _of_highs(solved(model, rowwise=seed % 2 == 0))
        assert is_same(found.model, model) and found.beyond == "" and found.solver.startswith("HiGHS 1")
        points = np.array(list(product(range(3), repeat=3)), float)
        activity = points @ model.A.toarray().T
        feasible = ((activity >= model.row_lower) & (activity <= model.row_upper)).all(axis=1)
        ends.add(found.termination)
        if found.x is None:
            assert not feasible.any() and found.termination == Termination.INFEASIBLE and found.bound is None
            continue
        paid = model.objective(found.x)
        assert found.termination == Termination.OPTIMAL and found.objective == pytest.approx(paid)
        assert all(check.passed for check in check_point(model, found.x))
        least = min((model.objective(point) for point in points[feasible]), default=INF)
        assert paid <= least + 1e-6 and (paid == pytest.approx(least) or not model.integrality.all())
        assert found.bound == (pytest.approx(paid) if model.integrality.any() else None)
    assert ends <= {Termination.OPTIMAL, Termination.INFEASIBLE}


def test_what_highs_holds_beside_rows_is_told_and_a_maximisation_is_refused():
    highspy = pytest.importorskip("highspy")
    model = made([[1.0, 1, 1]], [1, 1, 1], [1], [INF])
    for kind, word in (("kSemiContinuous", "kSemiContinuous"), ("kSemiInteger", "kSemiInteger")):
        kinds = getattr(highspy.HighsVarType, kind)
        found = _of_highs(solved(model, change=lambda highs, kinds=kinds: highs.changeColIntegrality(0, kinds)))
        assert found.beyond == f"columns of the kind {word}"
    with pytest.raises(SolutionError, match="got a maximisation from highspy"):
        _of_highs(solved(model, change=lambda highs: highs.changeObjectiveSense(highspy.ObjSense.kMaximize)))

    def squared(highs):
        hessian = highspy.HighsHessian()
        hessian.dim_, hessian.format_ = 3, highspy.HessianFormat.kTriangular
        hessian.start_, hessian.index_, hessian.value_ = np.arange(4), np.arange(3), np.ones(3)
        highs.passHessian(hessian)

    found = _of_highs(solved(made([[1.0, 1, 1]], [1, 1, 1], [1], [INF], whole=0), change=squared))
    assert found.beyond == "a quadratic objective"


def test_a_bound_that_highs_does_not_have_yet_is_none():
    model = made([[1.0, 1, 1]], [1, 1, 1], [1], [INF])
    highs, info = solved(model), SimpleNamespace(primal_solution_status=2, objective_function_value=1.0)
    names = ("getLp", "version", "getModel", "modelStatusToString", "getModelStatus", "getSolution")
    theirs = SimpleNamespace(getInfo=lambda: info, **{name: getattr(highs, name) for name in names})
    for told, bound in ((-INF, None), (INF, None), (0.5, 0.5)):
        info.mip_dual_bound = told
        assert _of_highs(theirs).bound == bound
    info.primal_solution_status = 1  # of a point that is not feasible
    assert _of_highs(theirs).x is None


@pytest.mark.parametrize("side", [1e20, 1e21, INF])
def test_sides_from_1e20_on_are_none(side):
    for given, none in ((side, INF), (-side, -INF)):
        assert _infinite(np.array([given, 9e19, -9e19])).tolist() == [none, 9e19, -9e19]


X = np.array([1.0, 0, 2])


def claim(theirs: Model, x=X, termination=Termination.OPTIMAL, bound: float | None = 1.0, beyond=""):
    """What is claimed of a model of the costs 1, 2, 3 by an object that solved `theirs`."""
    ours = made([[1.0, 1, 1]], [1, 2, 3], [1], [INF], identity="our own")
    return ours, *_claimed(ours, Solved("S", theirs, x, termination, bound, 7.0, beyond))


def test_what_a_solvers_object_claims_is_of_the_model_that_it_solved():
    same = made([[-1.0, -1, -1]], [1, 2, 3], [-INF], [-1])
    for bound in (None, 1.0, 7.0):
        ours, model, found = claim(same, bound=bound)
        assert model is ours and (found.model, found.scope, found.claimed) == ("our own", "", 7.0)
        assert (found.objective, found.termination) == (7.0, Termination.OPTIMAL)
        assert found.bound == (7.0 if bound is None else bound)  # optimal without a bound is its own bound
    ours, model, found = claim(same, bound=None, termination=Termination.TIME_LIMIT)
    assert (found.bound, found.termination, found.model) == (None, Termination.TIME_LIMIT, "our own")
    ours, model, found = claim(same, beyond="cubes")
    assert (found.bound, found.termination, found.model) == (None, Termination.UNKNOWN, "our own") and model is ours
    assert "what S solved holds cubes in addition to rows and columns, so nothing is proved" in found.message
    ours, model, found = claim(same, beyond="cubes", termination=Termination.TIME_LIMIT)
    assert (found.bound, found.termination) == (None, Termination.TIME_LIMIT) and "nothing is proved" in found.message
    ours, model, found = claim(same, beyond="cubes", termination=Termination.TIME_LIMIT, bound=None)
    assert found.termination == Termination.TIME_LIMIT and found.message == ""  # which claims nothing
    ours, model, found = claim(same, x=None, termination=Termination.INFEASIBLE, bound=None)
    assert model is ours and not found.has_solution and found.termination == Termination.INFEASIBLE
    for cells in ((1.0, np.nan, 0), (INF, 0, 0)):
        with pytest.raises(SolutionError, match="finite values from S"):
            claim(same, x=np.array(cells))
    with pytest.raises(SolutionError, match="expected the 3 columns of the model in what S solved, got 2"):
        claim(made([[1.0, 1]], [1, 2], [1], [INF]), x=X[:2])


@pytest.mark.parametrize("name", ["rows", "costs", "offset", "priced columns", "free columns"])
def test_what_was_edited_is_claimed_of_the_edited_model_at_its_own_objective(name):
    more = np.ones((1, 4))
    theirs, x, other = {
        "rows": (made([[1.0, 1, 1]], [1, 2, 3], [2], [INF]), X, None),
        "costs": (made([[1.0, 1, 1]], [1, 2, 4], [1], [INF]), X, 9.0),
        "offset": (made([[1.0, 1, 1]], [1, 2, 3], [1], [INF], offset=1.0), X, 8.0),
        "priced columns": (made(more, [1, 2, 3, 5], [1], [INF]), np.append(X, 1.0), 12.0),
        "free columns": (made(more, [1, 2, 3, 0], [1], [INF]), np.append(X, 1.0), None),
    }[name]
    for bound in (None, 1.0):
        ours, model, found = claim(theirs, x, bound=bound)
        assert (found.scope, found.objective, found.scope_objective) == (EDITED, 7.0, other)
        assert model.edited is theirs and np.array_equal(model.c, ours.c) and found.model != "our own"
        assert found.bound == (bound or (7.0 if other is None else other))


def test_a_point_alone_proves_nothing_and_is_one_of_all_columns():
    ours = made([[1.0, 1, 1]], [1, 2, 3], [1], [INF])
    for given in (X, X.tolist(), {"x2": 2.0, "x0": 1.0}):
        model, found = in_memory(ours, given)
        assert model is ours and found.x.tolist() == X.tolist() and found.objective == 7.0
        assert found.termination == Termination.UNKNOWN and found.bound is None and "nothing is proved" in found.message
    for given, words in (
        (X[:2], r"over the 3 columns of the model, got an array of shape \(2,\)"),
        (X[None], r"shape \(1, 3\)"),
        ([1.0, np.nan, 0], "finite values in a point"),
        ("x", "expected a Solution, a vector over the columns"),
        (object(), "got object"),
        (SimpleNamespace(status=1), "got SimpleNamespace"),
        (SimpleNamespace(x=1), "got SimpleNamespace"),
    ):
        with pytest.raises(SolutionError, match=words):
            in_memory(ours, given)

    class Result:
        status, x = 2, None

    model, found = in_memory(ours, Result)
    assert not found.has_solution and found.termination == Termination.UNKNOWN and found.solver == "scipy"


def test_a_point_is_one_of_a_model_exactly_if_each_number_is_within_its_tolerance():
    """Drawn points at, just within and just beyond their sides, of numbers from 1 to a million."""
    seen = set()
    for seed in range(150):
        random = np.random.default_rng(seed)
        model, size = drawn(seed), 10.0 ** random.integers(0, 7)
        model = replace(model, col_lower=np.full(3, -size), col_upper=np.full(3, size))
        x = random.choice([0.0, 1.0, 1 + 3e-7, 1 + 3e-6, size, -size, size * (1 + 5e-7), -size * (1 + 2e-6)], 3)
        A = model.A.toarray()
        activity = A @ x
        near = activity + random.choice([0.0, 4e-7, 3e-6, -4e-7, -3e-6, 1.0]) * np.maximum(1, abs(A) @ abs(x))
        sides = np.isfinite(model.row_lower), np.isfinite(model.row_upper)
        model = replace(
            model, row_lower=np.where(sides[0], near, -INF), row_upper=np.where(sides[1], np.maximum(near, 0) + 1, INF)
        )
        kept = {"bounds": True, "rows": True, "integrality": True}
        for j in range(3):
            off = max(model.col_lower[j] - x[j], x[j] - model.col_upper[j])
            kept["bounds"] &= off <= 1e-6 * max(1, abs(x[j]))
            kept["integrality"] &= abs(x[j] - round(x[j])) <= 1e-6
        for i in range(4):
            total, reach = sum(A[i] * x), sum(abs(A[i] * x))
            kept["rows"] &= max(model.row_lower[i] - total, total - model.row_upper[i]) <= 1e-6 * max(1, reach)
        told = {check.name: check.passed for check in check_point(model, x)}
        assert told == kept, seed
        seen |= set(told.items())
    assert len(seen) == 6


def test_a_model_without_rows_or_columns_is_kept():
    bare = made(np.zeros((0, 3)), [1, 2, 3], [], [], whole=0)
    assert [(check.passed, check.text) for check in check_point(bare, X)] == [
        (True, "3 kept exactly"),
        (True, "none"),
        (True, "0 kept exactly"),
    ]
    assert [check.passed for check in check_point(bare, X + 1)] == [False, True, True]


def test_two_figures_are_close_by_rounding_of_the_larger_one_or_of_a_unit():
    for a, b, unit, close in (
        (0.0, 9e-7, 1.0, True),
        (0.0, 1.1e-6, 1.0, False),
        (0.0, 9e-7, 1e-3, False),
        (0.0, 9e-10, 1e-3, True),
        (1e9, 1e9 + 900, 1.0, True),
        (-1e9, -1e9 - 1100, 1.0, False),
        (0.0, 4e-6, 5.0, True),
        (INF, INF, 1.0, False),
        (np.nan, 0.0, 1.0, False),
        (0.0, -INF, 1.0, False),
    ):
        assert is_close(a, b, unit=unit) == is_close(b, a, unit=unit) == close
    model = made([[1.0, 1, 1]], [1, 2, 3], [1], [INF])
    assert check_claim(model, X, None) == []
    assert [check_claim(model, X, said)[0].passed for said in (7.0, 7.1, 7 + 6e-6)] == [True, False, True]


def test_the_place_of_the_largest_violation_is_named_by_its_block():
    """Of two blocks of two rows each, by any of the four; of columns, too."""
    rows = (NamedBlock(("first", "second"), 0, "one"), NamedBlock(("third", "fourth"), 2, "two"))
    columns = (NamedBlock(("a",), 0, "one"), NamedBlock(("b", "c"), 1, "two"))
    model = replace(made(np.ones((4, 3)), [1, 2, 3], np.full(4, -INF), np.full(4, 9.0)), rows=rows, columns=columns)
    for at, name in enumerate(("first", "second", "third", "fourth")):
        upper = np.where(np.arange(4) == at, 1.0, 9.0)
        (check,) = [one for one in check_point(replace(model, row_upper=upper), X) if one.name == "rows"]
        assert not check.passed and f" at {name}," in check.text + ",", check.text
    for at, name in enumerate("abc"):
        upper = np.where(np.arange(3) == at, -1.0, 9.0)
        (check,) = [one for one in check_point(replace(model, col_upper=upper), X) if one.name == "bounds"]
        assert not check.passed and f" at {name}," in check.text + ",", check.text


def test_a_matrix_is_read_by_the_lines_that_highs_holds_it_in_and_an_unknown_end_is_none():
    model = made([[1.0, 0, 2], [0, 3, 4]], [1, 1, 1], [1, 1], [INF, INF])
    highs = solved(model)
    real, names = highs.getLp(), ("getInfo", "version", "getModel", "getModelStatus", "getSolution")
    fields = ("sense_", "num_row_", "num_col_", "integrality_", "col_cost_", "offset_")
    sides = ("row_lower_", "row_upper_", "col_lower_", "col_upper_")
    for kind, A in (("kRowwise", model.A.tocsr()), ("kColwise", model.A.tocsc())):
        matrix = SimpleNamespace(value_=A.data, index_=A.indices, start_=A.indptr, format_=kind)
        lp = SimpleNamespace(a_matrix_=matrix, **{name: getattr(real, name) for name in (*fields, *sides)})
        for status, ended in (("Optimal", Termination.OPTIMAL), ("Something new", Termination.UNKNOWN)):
            told = {name: getattr(highs, name) for name in names}
            theirs = SimpleNamespace(getLp=lambda lp=lp: lp, modelStatusToString=lambda _, at=status: at, **told)
            found = _of_highs(theirs)
            assert is_same(found.model, model) and found.termination == ended


def gurobi(**changes):
    """What a gurobipy.Model of x + y >= 1, of whole numbers, holds after it has run, with other attributes."""
    columns = {"VType": ["B", "B"], "Obj": [1.0, 2.0], "LB": [0.0, 0.0], "UB": [1.0, 1.0], "X": [1.0, 0.0]}
    none = ("NumQConstrs", "NumSOS", "NumGenConstrs", "NumPWLObjVars", "IsQP", "NumScenarios")
    own = {
        "getVars": lambda: ["x", "y"],
        "getConstrs": lambda: [SimpleNamespace(Sense=">", RHS=1.0)],
        "getAttr": lambda name, _: columns[name],
        "getA": lambda: sp.csr_array(np.ones((1, 2))),
        "Params": SimpleNamespace(LazyConstraints=0, PreCrush=0),
    }
    told = {"ModelSense": 1, "ObjCon": 0.0, "Status": 2, "SolCount": 1, "IsMIP": 1, "ObjBound": 1.0, "ObjVal": 1.0}
    return SimpleNamespace(**own | dict.fromkeys(none, 0) | {"NumObj": 1} | told | changes)


def test_what_an_object_of_gurobi_holds_is_read_without_gurobi():
    found = _of_gurobi(gurobi())
    assert is_same(found.model, made([[1.0, 1]], [1, 2], [1], [INF], upper=1.0))
    assert (found.x.tolist(), found.termination, found.bound, found.beyond) == ([1, 0], Termination.OPTIMAL, 1.0, "")
    with pytest.raises(SolutionError, match="got a maximisation from gurobipy"):
        _of_gurobi(gurobi(ModelSense=-1))
    none = _of_gurobi(gurobi(SolCount=0, ObjVal=None))
    assert none.x is None and none.bound is None
    assert _of_gurobi(gurobi(IsMIP=0, ObjBound=None)).bound is None
    for words, told in (
        ({"NumObj": 2}, "several objectives"),
        ({"Params": SimpleNamespace(LazyConstraints=1, PreCrush=0)}, "rows or cuts of a callback"),
        ({"Params": SimpleNamespace(LazyConstraints=0, PreCrush=1)}, "rows or cuts of a callback"),
        ({"IsQP": 1}, "a quadratic objective"),
    ):
        assert _of_gurobi(gurobi(**words)).beyond == told


def test_what_was_said_stands_behind_why_nothing_is_proved():
    for said, message in (("", "why"), ("it said so", "why; it said so")):
        assert unproved(Solution(None, Termination.OPTIMAL, 1.0, 1.0, message=said), "why").message == message
