"""Laws of survival trees: the optimum is that of trying every tree and STreeD's, a known split is found, figures are
those of scikit-survival."""

import json
import re
import shlex
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import odtc
from benchmarks.streed_survival import survival_thetas
from odtc.data.reading import read
from odtc.data.task import TASKS
from odtc.data.tasks.survival import curves
from odtc.evaluation.cross_validation import score_fold
from odtc.evaluation.leaf_curves import TICKS, leaf_curves, round_times
from odtc.workflow.specification import RunSpec
from tests.command_line import odtc as command
from tests.command_line import refused
from tests.laws.test_tasks import columns_of, corruptions, every_tree_costs, said, table, write

HOW = {"task": "survival", "time": "t", "event": "d", "weights": "w"}
WORDS = ["--task", "survival", "--time", "t", "--event", "d"]


def observed(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Times with ties and events, of which one at least is one."""
    rng = np.random.default_rng(seed)
    time, event = rng.integers(0, 6, n) / 2, rng.integers(0, 2, n)
    event[rng.integers(n)] = 1
    return time, event


def hazards(time, event, weight) -> np.ndarray:
    """The Nelson-Aalen estimate at each row, by its definition."""

    def until(t):
        ended = [u for u in np.unique(time) if u <= t]
        return sum((weight * event)[time == u].sum() / weight[time >= u].sum() for u in ended)

    return np.array([until(t) for t in time])


def cost_of(time, event, weight):
    """D - D log(D/H) of a leaf on some rows."""
    hazard = hazards(time, event, weight)

    def leaf(at):
        D, H = (weight[at] * event[at]).sum(), (weight[at] * hazard[at]).sum()
        return float(D - D * np.log(D / H)) if D else 0.0

    return leaf


def file_of(folder, seed: int, n: int, missing: bool = False):
    """(path, time, event, weight) of a small table with weights."""
    header, rows = table(seed, n, missing)
    time, event = observed(seed + 1, n)
    path = write(folder / "s.csv", [*header, "t", "d"], [a + [t, d] for a, t, d in zip(rows, time, event)])
    return path, time, event, np.array([line[3] for line in rows], float)


@given(
    seed=st.integers(0, 10**6),
    depth=st.integers(1, 3),
    missing=st.booleans(),
    least=st.integers(1, 3),
    price=st.sampled_from(["0", "0.2"]),
)
@settings(max_examples=12)
def test_a_survival_tree_costs_what_the_best_of_all_trees_costs(tmp_path_factory, seed, depth, missing, least, price):
    path, time, event, weight = file_of(tmp_path_factory.mktemp("survival"), seed, 9, missing)
    reading = {"task": "survival", "time": "t", "event": "d", "weights": "w", "missing": "separate"}
    given = [f"leaf_rows >= {least}"] if least > 1 else []
    done = odtc.fit(path, depth=depth, reading=reading, constraints=given, params={"lambda": price})
    X, leaf, lam = columns_of(done.problem, 9), cost_of(time, event, weight), float(price)
    priced = lam / (1 - lam)
    expected = (1 - lam) * (every_tree_costs(X, depth, lambda at: leaf(at) + priced, least) - priced)
    assert done.verified and done.proved
    assert done.proof.objective == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("form", [{}, {"fold": "false"}, {"proof": "true"}, {"lambda": "0.1"}])
def test_the_linear_program_of_survival_has_the_same_optimum(tmp_path, form):
    path, *_ = file_of(tmp_path, 11, 12)
    data = read(path, task="survival", time="t", event="d", weights="w")
    searched = odtc.fit(data, depth=2, params={key: form[key] for key in form if key == "lambda"})
    solved = odtc.fit(data, "dpflow", depth=2, params=form, solver="highs")
    assert solved.verified and solved.proof.objective == pytest.approx(searched.proof.objective, rel=1e-7)
    assert solved.model is not None and not solved.model.integrality.any()


def simulated(n: int, seed: int):
    """(X, time, event, group): three hazards, by x0 <= 0.5 and then x1 <= 0.3; a quarter of the rows is censored."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)).round(2)
    group = np.where(X[:, 0] <= 0.5, 0, np.where(X[:, 1] <= 0.3, 1, 2))
    time, end = rng.exponential(1 / np.array([0.2, 1.0, 5.0])[group]), rng.exponential(4, n)
    return X, np.minimum(time, end), time <= end, group


def test_the_split_of_a_simulation_is_found(tmp_path):
    X, time, event, _ = simulated(500, 3)
    lines = [[*x, t, "dead" if d else "alive"] for x, t, d in zip(X.tolist(), time.tolist(), event)]
    write(tmp_path / "s.csv", ["x0", "x1", "x2", "x3", "t", "d"], lines)
    reading = {"task": "survival", "time": "t", "event": "d=dead"}
    done = odtc.fit(tmp_path / "s.csv", depth=2, reading=reading, params={"lambda": "0.8"})
    assert done.proved and done.tree.n_leaves == 3
    root, below = done.tree.root.split, done.tree.root.right.split
    assert (root.feature, below.feature) == (0, 1)
    assert abs(root.threshold - 0.5) < 0.05 and abs(below.threshold - 0.3) < 0.05
    risks = [done.tree.answer(leaf) for leaf in done.tree.leaves()]
    assert risks[2] > 2.5 * risks[1] > 2.5 * 2.5 * risks[0]


@pytest.mark.parametrize("values", [("dead", "alive"), (1, 2), ("lost to follow-up", "dead", "alive")])
def test_values_of_an_event_are_all_proposed_and_each_proposal_works(values, tmp_path):
    """The first value that is not 0 or 1 was proposed as the event, which may as well mean a censored row."""
    lines = [[i % 5, i + 1, values[i % len(values)]] for i in range(12)]
    write(tmp_path / "s.csv", ["x", "t", "vital status"], lines)
    words = ("fit", "s.csv", "--task", "survival", "--time", "t", "--depth", 1, "-o", "s", "--event")
    said = refused(command(*words, "vital status", folder=tmp_path))
    proposed = re.search(r"such as --event (.*)$", said).group(1).split(" or ")
    assert [shlex.split(one) for one in proposed] == [[f"vital status={value}"] for value in values]
    for one in proposed:
        assert command(*words, *shlex.split(one), folder=tmp_path).code == 0


def test_a_survival_tree_is_that_of_streed_over_the_same_tests(tmp_path):
    """STreeD adds Σ of -1 - log Λ over the events, which is the same for all trees; of rows censored before any event,
    which the data has none of, it smooths the hazard."""
    pytest.importorskip("pystreed", reason="pystreed is not installed")
    X, time, event, _ = simulated(150, 5)
    event |= time <= np.sort(time)[2]
    cuts = np.unique(np.stack([X[:, j] > q for j in range(4) for q in (0.2, 0.4, 0.6, 0.8)], axis=1), axis=1).astype(
        int
    )
    hazard = hazards(time, event, np.ones(150))
    for depth in (2, 3):
        theta, _ = survival_thetas(cuts, time, event, depth)
        theirs = sum(cost_of_group(event, hazard, theta == value) for value in np.unique(theta))
        lines = [[*x, t, int(d)] for x, t, d in zip(cuts.tolist(), time.tolist(), event)]
        header = [f"c{j}" for j in range(cuts.shape[1])]
        path = write(tmp_path / "s.csv", [*header, "t", "d"], lines)
        done = odtc.fit(path, depth=depth, reading={"task": "survival", "time": "t", "event": "d"})
        assert done.proved and done.proof.objective == pytest.approx(theirs, rel=1e-9)


def cost_of_group(event, hazard, held) -> float:
    """The cost of the leaf that these rows are."""
    D, H = event[held].sum(), hazard[held].sum()
    return float(D - D * np.log(D / H)) if D else 0.0


def test_a_survival_tree_from_data_to_risks_in_sql(tmp_path):
    path, time, event, weight = file_of(tmp_path, 13, 40)
    words = [*WORDS, "--weights", "w", "--depth", "2"]
    facts = json.loads(said(tmp_path, "fit", "s.csv", *words, "--test", "s.csv", "-o", "m", "--json"))
    assert facts["metrics"]["test"] == pytest.approx(facts["metrics"]["training"])
    assert facts["termination"] == "optimal" and facts["certified"] is True
    risks = [float(word) for word in said(tmp_path, "predict", "m.tree.json", "s.csv").split()[1:]]
    concordant = curves.concordance(time, event, np.array(risks), weight)
    assert facts["metrics"]["training"]["concordance"] == pytest.approx(concordant)
    assert "events, median" in said(tmp_path, "show", "m.tree.json")
    tree = odtc.read_tree(tmp_path / "m.tree.json")
    assert all(leaf.curve and leaf.curve == tuple(sorted(leaf.curve)) for leaf in tree.leaves())
    lines = path.read_text().splitlines()
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE data (x0 REAL, x1 REAL, colour TEXT)")
        base.executemany("INSERT INTO data VALUES (?, ?, ?)", [line.split(",")[:3] for line in lines[1:]])
        query = base.execute(said(tmp_path, "export", "m.tree.json", "--to", "sql"))
        at = [column[0] for column in query.description].index("prediction")
        assert [line[at] for line in query] == pytest.approx(risks, rel=1e-12)
    said(tmp_path, "report", "m")
    assert "concordance" in (tmp_path / "m.html").read_text()


def test_a_model_of_survival_is_built_solved_and_decoded_by_the_commands(tmp_path):
    file_of(tmp_path, 17, 14)
    words = [*WORDS, "--weights", "w", "--model", "dpflow", "--depth", "2"]
    facts = json.loads(said(tmp_path, "fit", "s.csv", *words, "--json"))
    said(tmp_path, "build", "s.csv", *words, "-o", "b")
    said(tmp_path, "solve", "b.mps")
    decoded = json.loads(said(tmp_path, "decode", "b.sol", "--json"))
    assert decoded["objective"] == pytest.approx(facts["objective"], rel=1e-7)
    tree, data = odtc.read_tree(tmp_path / "b.tree.json"), read(tmp_path / "s.csv", **HOW)
    trained = decoded["metrics"]["training"]
    assert trained == pytest.approx(TASKS.get("survival").figures(data.sums, tree.answers(data.X), ("risk",)))
    assert trained["concordance"] is not None and all(leaf.curve for leaf in tree.leaves())
    for file in ("b.sol", "b.tree.json"):
        assert "all" in said(tmp_path, "verify", file).splitlines()[-1]
    (tmp_path / "s.csv").rename(tmp_path / "moved.csv")
    assert "all" in said(tmp_path, "verify", "b.tree.json").splitlines()[-1]
    without = command("decode", "b.sol", "-o", "c.tree.json", folder=tmp_path)
    assert without.code == 0 and "is not there" in without.err and "log-likelihood" in without.out
    (tmp_path / "s.csv").write_text((tmp_path / "moved.csv").read_text() + "\n")
    changed = command("decode", "b.sol", "-o", "c.tree.json", folder=tmp_path)
    assert changed.code == 0 and "figures that need each row are left out" in changed.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--task", "survival"], "got no --time"),
        (["--task", "survival", "--time", "t"], "got no --event"),
        (["--time", "t"], "an option of --task survival"),
        ([*WORDS, "--target", "x0"], "no --target"),
        (["--task", "survival", "--time", "t", "--event", "t"], "got 't' twice"),
        (["--task", "survival", "--time", "tt", "--event", "d"], "expected --time to name a column"),
        (["--task", "survival", "--time", "colour", "--event", "d"], "expected a finite number in column 'colour'"),
        (["--task", "survival", "--time", "x1", "--event", "t"], "expected 1 for an event"),
        (["--task", "survival", "--time", "t", "--event", "colour=z"], "expected the value 'z'"),
        (["--task", "survival", "--time", "minus", "--event", "d"], "expected times of at least 0"),
        (["--task", "survival", "--time", "t", "--event", "none"], "expected an event in some row"),
        ([*WORDS, "--model", "flowoct"], "use --model dpflow"),
        ([*WORDS, "--constraint", "accuracy >= 0.5"], "about classes"),
    ],
)
def test_what_no_survival_tree_can_take_is_refused_in_a_sentence(tmp_path, words, why):
    path, *_ = file_of(tmp_path, 7, 12)
    lines = path.read_text().splitlines()
    ends = ["none,minus", *["0,-1"] * 12]
    path.write_text("\n".join(f"{end},{line}" for end, line in zip(ends, lines)) + "\n")
    refused = command("fit", "s.csv", *words, folder=tmp_path)
    assert refused.code in (1, 2) and why in refused.err.splitlines()[-1]
    assert not list(tmp_path.glob("*.tree.json"))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12)
def test_the_figures_are_those_of_scikit_survival(seed):
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    from sksurv.nonparametric import kaplan_meier_estimator, nelson_aalen_estimator

    rng = np.random.default_rng(seed)
    n = 30
    time, event, weight = rng.integers(1, 12, n).astype(float), rng.integers(0, 2, n), np.ones(n)
    event[:4], time[:4], risk = 1, [1, 2, 3, 4], rng.choice([0.3, 1.0, 2.5], n)
    event[time == 11] = 0
    expected = metrics.concordance_index_censored(event.astype(bool), time, risk)[0]
    assert curves.concordance(time, event, risk, weight) == pytest.approx(expected)
    at, hazard = nelson_aalen_estimator(event.astype(bool), time)
    steps = curves.nelson_aalen(time, event, weight)
    own = curves.hazard_at(steps, time)
    assert curves.hazard_at(steps, at) == pytest.approx(hazard)
    at, left = kaplan_meier_estimator(event.astype(bool), time)
    found = dict(zip(*curves.kaplan_meier(time, event, weight)))
    assert [value for t, value in zip(at, left) if t in found] == pytest.approx(list(found.values()))
    times = np.unique(time[event > 0])
    times = times[times < time.max()]
    y = np.array(list(zip(event, time)), dtype=[("event", bool), ("time", float)])
    survival = np.exp(-risk[:, None] * curves.hazard_at(steps, times))
    expected = metrics.integrated_brier_score(y, y, survival, times)
    assert curves.integrated_brier(time, event, risk, own, weight) == pytest.approx(expected)


def surv(event, time) -> np.ndarray:
    """y as of scikit-survival."""
    return np.array(list(zip(event.astype(bool), time)), dtype=[("event", bool), ("time", float)])


def test_the_estimator_answers_as_scikit_survival_does():
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    from sklearn.base import clone
    from sksurv.nonparametric import kaplan_meier_estimator

    X, time, event, group = simulated(300, 8)
    time = time.round(2)
    y = surv(event, time)
    fitted = clone(odtc.OptimalSurvivalTree(2, min_samples_leaf=20, params={"lambda": "0.8"})).fit(X, y)
    assert fitted.is_optimal_ and all(check.passed for check in fitted.verify(X, y))
    risk = fitted.predict(X)
    assert fitted.score(X, y) == pytest.approx(metrics.concordance_index_censored(event, time, risk)[0])
    leaf, table = fitted.apply(X), fitted.predict_survival_function(X, return_array=True)
    hazard = fitted.predict_cumulative_hazard_function(X)
    for number in np.unique(leaf):
        held = leaf == number
        at, left = kaplan_meier_estimator(event[held], time[held])
        assert table[held][0][np.searchsorted(fitted.unique_times_, at)] == pytest.approx(left)
        own = hazards(time[held], event[held], np.ones(held.sum()))
        assert hazard[held][0](time[held]) == pytest.approx(own)
    with pytest.raises(ValueError, match="expected times from 0 to"):
        hazard[0](time.max() + 1)
    times = np.quantile(time, [0.2, 0.5, 0.8])
    assert 0 < metrics.integrated_brier_score(
        y, y, np.stack([f(times) for f in fitted.predict_survival_function(X)]), times
    )


def test_the_estimator_refuses_what_it_cannot_learn_from():
    X, time, event, _ = simulated(20, 9)
    tree = odtc.OptimalSurvivalTree(1)
    for y, why in (
        (time, r"structured array of two fields.*got ndarray; .*dtype=\[\(\"event\", bool\), \(\"time\", float\)\]"),
        (surv(event, -time), "finite times of at least 0"),
        (surv(event & False, time), "expected an event in some row"),
        (surv(event, time)[:-1], "a time for each row"),
    ):
        with pytest.raises(ValueError, match=why):
            tree.fit(X, y)
    alone = odtc.OptimalSurvivalTree(0).fit(X, surv(event, time))
    assert alone.predict(X) == pytest.approx(1.0) and alone.objective_ == pytest.approx(event.sum())
    assert all(check.passed for check in alone.verify(X, surv(event, time)))


def test_rows_to_test_on_may_have_no_event(tmp_path):
    path, *_ = file_of(tmp_path, 19, 20)
    header, *lines = path.read_text().splitlines()
    (tmp_path / "t.csv").write_text("\n".join([header, *(line[:-1] + "0" for line in lines)]) + "\n")
    facts = json.loads(said(tmp_path, "fit", "s.csv", *WORDS, "--depth", "1", "--test", "t.csv", "-o", "m", "--json"))
    told = facts["metrics"]["test"]
    assert told["events"] == 0 and told["concordance"] is None and told["log_likelihood"] < 0


@given(seed=st.integers(0, 10**6))
@example(seed=4030)  # the nearest scale, taken for one test after the other, needs four
@settings(max_examples=12)
def test_nested_tests_are_the_cuts_of_one_scale(seed):
    from types import SimpleNamespace

    from odtc.data.threshold_scales import Scales

    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, (12, 2))
    X = np.column_stack([x[:, j] > cut for j in range(2) for cut in rng.permutation(4)] + [rng.random(12) > 0.5])
    tests = [SimpleNamespace() for _ in range(9)]
    scales = Scales.of(SimpleNamespace(X=X, splits=tests, ones_left=np.zeros(9, bool), n_candidate_splits=9, n_rows=12))
    nested = scales.nested()
    assert scales.n == 9 and nested.n <= 3
    for j in range(9):
        assert ((nested.rank[:, nested.scale[j]] > nested.place[j]) == X[:, j]).all()
        assert nested.split(nested.scale[j], nested.place[j]) == j


def certified(folder, depth: int, lam: str = "0"):
    """(the certificate of a survival tree on a small table, its data)."""
    from odtc.workflow.posing import pose_run
    from odtc.workflow.specification import ModelSpec, RunSpec

    path, *_ = file_of(folder, 23, 22)
    data = read(path, task="survival", time="t", event="d", weights="w")
    problem = pose_run(RunSpec(model=ModelSpec("dpflow", depth, params={"lambda": lam})), data)
    return problem.module.certificate(problem), data


@pytest.mark.parametrize(("depth", "lam"), [(1, "0"), (2, "0.1"), (3, "0"), (3, "0.1")])
def test_the_certificate_of_a_survival_tree_proves_it_between_two_ends(tmp_path, depth, lam):
    from odtc.verification.certificate import check

    facts, data = certified(tmp_path, depth, lam)
    proof = check(json.loads(json.dumps(facts)), data)
    fitted = odtc.fit(data, depth=depth, params={"lambda": lam})
    assert proof.optimal and "the tree costs" in proof.terms
    assert proof.bound <= proof.objective == pytest.approx(fitted.proof.objective, rel=1e-11)
    assert proof.bound == pytest.approx(proof.objective, rel=1e-10)


def test_no_corrupted_certificate_of_a_survival_tree_proves_more_than_is_true(tmp_path):
    """Whatever digit is changed, it is refused, or states no bound above the optimum and no tree below it."""
    from odtc.errors import CertificateError
    from odtc.verification.certificate import check

    facts, data = certified(tmp_path, 3)
    best = check(facts, data)
    refused = 0
    for changed, corrupted in corruptions(facts, 6, 30):
        try:
            proof = check(corrupted, data)
        except CertificateError:
            refused += 1
            continue
        assert corrupted["penalty"] != facts["penalty"] or proof.bound <= best.objective, changed
        assert corrupted["penalty"] != facts["penalty"] or proof.objective >= best.bound, changed
    assert refused > 5


def test_a_certificate_of_a_survival_tree_is_written_and_checked_by_the_commands(tmp_path):
    path, *_ = file_of(tmp_path, 23, 22)
    said(tmp_path, "certify", "s.csv", *WORDS, "--weights", "w", "--depth", "3", "-o", "c.json")
    told = said(tmp_path, "verify", "--certificate", "c.json")
    assert "proved: no tree of depth 3" in told and "the tree costs" in told and "the bound is proved, not" not in told
    lines = path.read_text().splitlines()
    turned = lines[-1][:-1] + str(1 - int(lines[-1][-1]))
    path.write_text("\n".join([*lines[:-1], turned]) + "\n")
    assert command("verify", "--certificate", "c.json", folder=tmp_path).code == 1


def test_the_ends_of_a_cost_hold_the_exact_one(tmp_path):
    """Against 60 digits of sums of fractions."""
    from decimal import Context, Decimal
    from fractions import Fraction

    from odtc.verification.leaf_sums.likelihood import Likelihood

    path, time, event, weight = file_of(tmp_path, 29, 15)
    data = read(path, task="survival", time="t", event="d", weights="w")
    measure, context = Likelihood({"weight_scale": 1}, data), Context(prec=60)
    whole = [Fraction(int(w)) for w in weight]

    def hazard(t):
        steps = np.unique(time[(time <= t) & (event > 0)])
        at_risk = [sum(w for w, u in zip(whole, time) if u >= step) for step in steps]
        died = [sum(w for w, u, d in zip(whole, time, event) if u == step and d) for step in steps]
        return sum((d / n for d, n in zip(died, at_risk)), Fraction(0))

    rng = np.random.default_rng(0)
    for _ in range(10):
        at = np.flatnonzero(rng.random(15) < 0.5)
        D = sum((whole[i] for i in at if event[i]), Fraction(0))
        H = sum((whole[i] * hazard(time[i]) for i in at), Fraction(0))
        low, high = (end(measure.moments[:, at].sum(axis=1)) for end in (measure.low, measure.high))
        if not D:
            assert low == high == 0
            continue
        ratio = context.divide(Decimal((D / H).numerator), Decimal((D / H).denominator))
        exact = Fraction(D - D * Fraction(context.ln(ratio)))
        assert low <= exact <= high and high - low < Fraction(1, 10**10)


@pytest.mark.parametrize("law", [0, 1])
@pytest.mark.parametrize(("least", "leaves"), [(1.0, 4.0), (4.0, 4.0), (1.0, 3.0), (4.0, 3.0)])
def test_compiled_kernels_find_what_plain_ones_do(law, least, leaves):
    from odtc.algorithms.moments import kernels, laws

    rng = np.random.default_rng(law)
    code = rng.integers(0, 4, (5, 30)).astype(np.int32)
    told = rng.normal(size=30) if law == laws.SQUARE else rng.integers(0, 2, 30).astype(float)
    moments = np.stack([rng.random(30) + 0.1, told, np.ones(30)])
    given = code, np.full(5, 4, np.int64), moments, np.arange(0, 30, 2), (least, leaves, np.zeros((0, 0))), 0.01, law
    tiny = laws.smallest(law, moments)
    plain, compiled = kernels.depth_two.function(*given, tiny), kernels.depth_two(*given, tiny)
    assert plain[0] == pytest.approx(compiled[0], rel=1e-12) and plain[1:] == compiled[1:]


def test_two_levels_over_many_cuts_are_those_of_the_kernel(monkeypatch):
    from odtc.algorithms.moments import search

    X, time, event, _ = simulated(80, 4)
    y = surv(event, time)
    at_once = [odtc.OptimalSurvivalTree(2, min_samples_leaf=least).fit(X, y) for least in (1, 8)]
    monkeypatch.setattr(search, "WIDEST", 10)
    by_intervals = [odtc.OptimalSurvivalTree(2, min_samples_leaf=least).fit(X, y) for least in (1, 8)]
    for one, other in zip(at_once, by_intervals):
        assert one.is_optimal_ and other.is_optimal_ and one.objective_ == pytest.approx(other.objective_, rel=1e-12)


def test_the_fits_of_folds_know_the_hazards_of_their_own_rows_alone(tmp_path):
    path, time, event, weight = file_of(tmp_path, 7, 30)
    data = read(path, task="survival", time="t", event="d", weights="w")
    part = np.arange(data.n_rows) % 3 > 0
    spec = RunSpec().with_model(model="dpflow", depth=1)
    found = score_fold(data.taken(part), data.taken(~part), spec, 0, 0)
    header, *lines = path.read_text().splitlines()
    kept = [line for line, row in zip(lines, data.copies) if row]
    assert len(kept) == data.n_rows  # so the rows of the file can be told apart below
    write(tmp_path / "part.csv", header.split(","), [line.split(",") for line, keep in zip(kept, part) if keep])
    alone = odtc.fit(
        tmp_path / "part.csv",
        "dpflow",
        depth=1,
        reading={"task": "survival", "time": "t", "event": "d", "weights": "w"},
    )
    assert found.proved and alone.proved
    answers = alone.tree.answers(data.taken(~part).X)
    own = data.taken(~part).sums
    expected = curves.concordance(own[:, 4], own[:, 3] / own[:, 1], answers, own[:, 1])
    assert found.figure == pytest.approx(expected)


def test_the_page_of_a_run_draws_the_curve_of_each_leaf_and_who_is_still_watched(tmp_path):
    path, time, event, weight = file_of(tmp_path, 7, 30)
    done = odtc.fit(path, "dpflow", depth=1, reading={"task": "survival", "time": "t", "event": "d"})
    tree, data = done.tree, done.dataset
    found = leaf_curves(tree.places(), tree, data)
    ends = tree.apply(data.X)
    for number, (line, leaf) in enumerate(zip(found["lines"], tree.leaves(), strict=True)):
        times = data.sums[ends == number, 4]
        assert line["watched"] == [int((times >= float(text)).sum()) for _, text in found["ticks"]]
        assert line["watched"][0] == leaf.sums[0] and f"{leaf.sums[3]:.10g} event" in line["words"]
        # Every corner of the path is a point of the curve, up to a tenth of a pixel; the last is its end.
        corners = [(float(x), float(y)) for x, y in re.findall(r"H([\d.]+)V([\d.]+)", line["path"])]
        scale = (found["ticks"][1][0] - found["ticks"][0][0]) / float(found["ticks"][1][1])
        fall = found["shares"][0][0] - found["shares"][-1][0]
        points = [(found["left"] + t * scale, found["shares"][0][0] - s * fall) for t, s in leaf.curve]
        assert corners and all(min(np.hypot(x - a, y - b) for a, b in points) < 0.2 for x, y in corners)
        assert float(re.findall(r"H([\d.]+)", line["path"])[-1]) == pytest.approx(points[-1][0], abs=0.06)
    assert leaf_curves(tree.places(), tree, None)["lines"][0]["watched"] is None
    said(tmp_path, "fit", path, *WORDS, "--depth", "1", "-o", "run")
    said(tmp_path, "report", "run")
    page = (tmp_path / "run.html").read_text()
    assert page.count('<path class="curve"') == 2 and "Who is still without the event?" in page


@given(last=st.floats(1e-9, 1e12))
@settings(max_examples=12)
def test_the_times_under_the_curves_are_few_and_reach_the_end(last):
    times = round_times(last)
    assert times[0] == 0 and 3 <= len(times) <= TICKS and times == sorted(set(times))
    assert times[-1] <= last * (1 + 1e-6) and last - times[-1] < times[1] * (1 + 1e-6)
