"""Policies, regression and survival trees beside STreeD, over the same binary tests and in one run.

    python -m benchmarks.tasks [--time-limit 60] [--only regression,survival,policy,all]
    python -m benchmarks.tasks --programs --corrupt 1000
    python -m benchmarks.tasks --in-turn 9

CPU seconds are those of this process and its children: of STreeD its `fit`, of ours from the table to the proved tree.
"of all" is our search over all thresholds of the columns, which STreeD has no counterpart for. Policies are made from
classes: action a costs a row of class k nothing if a = k, else 1 + |a - k| + (row number mod 7) / 10. Compiled kernels
are loaded before. `--in-turn N` fits the two cells whose times are near the goals N times each, ours and STreeD's in
turn, and tells medians. Survival data is that of scikit-survival, without the rows last seen before the first event,
whose hazard STreeD smooths; STreeD's cost is that of its leaves by our formula.
"""

import argparse
import gc
import json
import os
import random
import tempfile
from functools import partial
from pathlib import Path

import highspy
import numpy as np
import polars as pl
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import odtc
from odtc.data.tasks.survival.curves import hazard_at, nelson_aalen
from odtc.errors import CertificateError
from odtc.fileformats.model_files import write_model
from odtc.verification.certificate import check

QUANTILES = (0.2, 0.4, 0.6, 0.8)


def quantile_cuts(X: np.ndarray) -> np.ndarray:
    """float64 (rows, tests): x > q for the QUANTILES of each column, without copies."""
    tests = [X[:, j] > q for j in range(X.shape[1]) for q in np.quantile(X[:, j], QUANTILES)]
    return np.unique(np.stack(tests, axis=1), axis=1).astype(float)


def costs_of(y: np.ndarray, K: int) -> np.ndarray:
    """The costs of the module's docstring, float64 (rows, actions)."""
    apart = np.abs(np.arange(K) - y[:, None])
    return np.where(apart > 0, 1 + apart + (np.arange(len(y)) % 7)[:, None] / 10, 0.0)


def timed(fit, *data):
    """(what it returns, CPU seconds of this process and of those that it has started)."""
    gc.collect()  # what imports have left is not looked through in the midst of a fit
    began = os.times()[:4]
    found = fit(*data)
    return found, sum(os.times()[:4]) - sum(began)


def regression_cells(limit: float):
    """(name, tests, y) of each regression."""
    from pystreed import STreeDRegressor

    diabetes, wine = load_diabetes(), load_wine()
    tables = {"diabetes": (diabetes.data, diabetes.target), "wine alcohol": (wine.data[:, 1:], wine.data[:, 0])}
    for name, (X, y) in tables.items():
        cuts = quantile_cuts(X)
        for depth in (2, 3, 4):
            ours, our = timed(odtc.OptimalTreeRegressor(depth, time_limit=limit).fit, cuts, y)
            model = STreeDRegressor("regression", max_depth=depth, time_limit=limit)
            peer, their = timed(model.fit, cuts.astype(int), y)
            paid = float(((y - peer.predict(cuts.astype(int))) ** 2).sum())
            yield f"regression {name}", cuts.shape[1], depth, ours, our, paid, their


def survival_tables():
    """(name, binary tests, time, event) of tables of scikit-survival: quantile cuts of numbers, and each level."""
    from sksurv.datasets import load_gbsg2, load_veterans_lung_cancer, load_whas500

    for name, load in (("gbsg2", load_gbsg2), ("whas500", load_whas500), ("veterans", load_veterans_lung_cancer)):
        frame, y = load()
        event, time = (np.asarray(y[field]) for field in y.dtype.names)
        numbers = frame.select_dtypes("number")
        levels = [frame[c] == v for c in frame.columns.difference(numbers.columns) for v in sorted(set(frame[c]))]
        tests = np.column_stack([quantile_cuts(numbers.to_numpy(float)), *levels]).astype(float)
        kept = time >= time[event].min()
        yield name, np.unique(tests[kept], axis=1), time[kept].astype(float), event[kept]


def survival_cells(limit: float):
    """The same of each survival table."""
    from benchmarks.streed_survival import survival_thetas

    for name, cuts, time_, event in survival_tables():
        y = np.array(list(zip(event, time_)), dtype=[("event", bool), ("time", float)])
        hazard = hazard_at(nelson_aalen(time_, event, np.ones(len(event))), time_)
        for depth in (2, 3, 4):
            ours, our = timed(odtc.OptimalSurvivalTree(depth, time_limit=limit).fit, cuts, y)
            thetas, their = survival_thetas(cuts.astype(int), time_, event, depth, limit)
            leaves = [(event[thetas == one].sum(), hazard[thetas == one].sum()) for one in np.unique(thetas)]
            paid = float(sum(d - d * np.log(d / h) for d, h in leaves if d))
            yield f"survival {name}", cuts.shape[1], depth, ours, our, paid, their


def policy_cells(limit: float):
    """The same of each policy."""
    from pystreed import STreeDInstanceCostSensitiveClassifier

    cancer, wine = load_breast_cancer(), load_wine()
    for name, data in (("breast cancer", cancer), ("wine", wine)):
        cuts, costs = quantile_cuts(data.data), costs_of(data.target, len(data.target_names))
        for depth in (2, 3):
            ours, our = timed(odtc.OptimalPolicyTree(depth, time_limit=limit).fit, cuts, costs)
            model = STreeDInstanceCostSensitiveClassifier(max_depth=depth, time_limit=limit)
            peer, their = timed(model.fit, cuts.astype(int), costs)
            paid = float(costs[np.arange(len(costs)), np.asarray(peer.predict(cuts.astype(int)), int)].sum())
            yield f"policy {name}", cuts.shape[1], depth, ours, our, paid, their


def in_turn(times: int, limit: float) -> None:
    """Prints the medians of both times, and of their ratio, of the two cells near the goals."""
    from pystreed import STreeDInstanceCostSensitiveClassifier

    from benchmarks.streed_survival import survival_thetas

    cancer = load_breast_cancer()
    cuts, costs = quantile_cuts(cancer.data), costs_of(cancer.target, len(cancer.target_names))
    tests, time_, event = next(rest for name, *rest in survival_tables() if name == "gbsg2")
    y = np.array(list(zip(event, time_)), dtype=[("event", bool), ("time", float)])
    cells = {
        "policy breast cancer, depth 3": (
            lambda: odtc.OptimalPolicyTree(3, time_limit=limit).fit(cuts, costs),
            lambda: STreeDInstanceCostSensitiveClassifier(max_depth=3, time_limit=limit).fit(cuts.astype(int), costs),
        ),
        "survival gbsg2, depth 4": (
            lambda: odtc.OptimalSurvivalTree(4, time_limit=limit).fit(tests, y),
            lambda: survival_thetas(tests.astype(int), time_, event, 4, limit),
        ),
    }
    print("| cell | fits | CPU s | STreeD CPU s | ratio of a pair |\n|---|---:|---:|---:|---:|")
    for name, fits in cells.items():
        for fit in fits:
            fit()
        pairs = np.array([[timed(fit)[1] for fit in fits] for _ in range(times)])
        ours, theirs = np.median(pairs, axis=0)
        ratio = np.median(pairs[:, 0] / np.maximum(pairs[:, 1], 0.01))
        print(f"| {name} | {times} | {ours:.2f} | {theirs:.2f} | {ratio:.2f} |", flush=True)


def over_all_thresholds(limit: float):
    """Ours alone."""
    X, y = load_diabetes(return_X_y=True)
    for depth in (2, 3):
        ours, our = timed(odtc.OptimalTreeRegressor(depth, time_limit=limit).fit, X, y)
        yield "regression diabetes, of all", sum(len(np.unique(c)) - 1 for c in X.T), depth, ours, our, None, None
    from sksurv.datasets import load_whas500

    frame, y = load_whas500()
    X = frame.astype(float).to_numpy()
    for depth in (2, 3):
        ours, our = timed(odtc.OptimalSurvivalTree(depth, time_limit=limit).fit, X, y)
        yield "survival whas500, of all", sum(len(np.unique(c)) - 1 for c in X.T), depth, ours, our, None, None


def programs(limit: float) -> None:
    """Prints the size of the linear program of some cells, and the CPU seconds of building it, of HiGHS on the arrays,
    and of HiGHS on a written file; and whether all find the optimum of the search."""
    head = (
        "program",
        "depth",
        "columns",
        "rows",
        "nonzeros",
        "MPS bytes",
        "build CPU s",
        "HiGHS CPU s",
        "by file CPU s",
    )
    print(f"\n| {' | '.join(head)} | optimum |\n|{'---|' * (len(head) + 1)}")
    X, y = load_diabetes(return_X_y=True)
    wine = load_wine()
    tables = (
        ("regression diabetes", "regression", quantile_cuts(X), {"y": y}, {}, (2, 3)),
        (
            "policy wine",
            "policy",
            quantile_cuts(wine.data),
            {f"c{k}": column for k, column in enumerate(costs_of(wine.target, 3).T)},
            {"actions": ("c0", "c1", "c2")},
            (2, 3),
        ),
        *(
            (f"survival {name}", "survival", cuts, {"t": time_, "e": event}, {"time": "t", "event": "e"}, (2, 3))
            for name, cuts, time_, event in survival_tables()
            if name == "veterans"
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, task, cuts, target, options, depths in tables:
            columns = {f"x{j}": column.astype(int) for j, column in enumerate(cuts.T)} | target
            data = Path(folder) / f"{task}.csv"
            pl.DataFrame(columns).write_csv(data)
            for depth in depths:
                built, build = timed(partial(odtc.build, data, "dpflow", depth=depth, task=task, **options))
                solved, arrays = timed(partial(odtc.solve, built, time_limit=limit))
                file = Path(folder) / f"{task}{depth}.mps"
                written, through = timed(by_file, built, file)
                best = odtc.fit(data, "dpflow", depth=depth, task=task, **options).proof.objective
                same = np.allclose([solved.objective, written], best, rtol=1e-7)
                sizes = (built.n_cols, built.n_rows, built.A.nnz, file.stat().st_size)
                print(
                    f"| {name} | {depth} | {' | '.join(f'{size:,}' for size in sizes)} | {build:.2f} | {arrays:.2f} | "
                    f"{through:.2f} | {'the same' if same else f'{solved.objective}, {written}, {best}'} |",
                    flush=True,
                )


def by_file(built, file: Path) -> float:
    """The optimum of a model, written and read again by HiGHS."""
    write_model(built, file)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.readModel(str(file))
    highs.run()
    return highs.getInfo().objective_function_value


def corrupted(value, rng: random.Random):
    """A JSON value with one number, text or entry changed."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        if rng.random() < 0.02:
            return {name: one for name, one in value.items() if name != key}
        return value | {key: corrupted(value[key], rng)}
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        if rng.random() < 0.05:
            return value[:at] + value[at + 1 :]
        return [*value[:at], corrupted(value[at], rng), *value[at + 1 :]]
    if isinstance(value, bool) or value is None:
        return rng.choice((True, False, None, 0))
    if isinstance(value, (int, float)):
        return rng.choice((value + 1, value - 1, -value, 2 * value, 0, value * 1.001))
    digits = [at for at, sign in enumerate(value) if sign.isdigit()] if isinstance(value, str) else []
    if digits:
        at = rng.choice(digits)
        return value[:at] + str((int(value[at]) + rng.randrange(1, 10)) % 10) + value[at + 1 :]
    return f"{value}x"


def corruptions(number: int) -> None:
    """Prints what the checker makes of certificates of which one thing is changed: refused, or accepted for the same
    claim or a weaker one; what claims more than is true survives."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (60, 3)).astype(float), np.round(rng.normal(size=60), 2)
    time_, event = np.round(rng.exponential(size=60) + 0.1, 2), rng.random(60) < 0.7
    print(f"\n| corruptions | refused | the same claim | a weaker one | survive |\n|{'---|' * 5}")
    with tempfile.TemporaryDirectory() as folder:
        columns = {f"x{j}": column for j, column in enumerate(X.T)}
        for task, target, options in (
            ("regression", {"y": y}, {}),
            ("survival", {"t": time_, "e": event.astype(int)}, {"time": "t", "event": "e"}),
        ):
            data = Path(folder) / f"{task}.csv"
            pl.DataFrame(columns | target).write_csv(data)
            dataset = odtc.read(data, task=task, **options)
            problem = odtc.fit(data, "dpflow", depth=3, task=task, **options).problem
            facts = json.loads(json.dumps(problem.module.certificate(problem)))
            true, draw = check(facts, dataset), random.Random(0)
            told = dict.fromkeys(("refused", "the same claim", "a weaker one", "survive"), 0)
            for _ in range(number):
                forged = corrupted(facts, draw)
                try:
                    found = check(forged, dataset)
                except (CertificateError, KeyError):
                    told["refused"] += 1
                    continue
                more = found.bound > true.bound or found.objective < true.objective or found.depth > true.depth
                same = (found.bound, found.objective, found.depth) == (true.bound, true.objective, true.depth)
                told["survive" if more else "the same claim" if same else "a weaker one"] += 1
            print(f"| {task}, {number:,} | {' | '.join(map(str, told.values()))} |", flush=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", default="regression,survival,policy,all")
    parser.add_argument("--corrupt", type=int, default=0, help="corruptions of certificates of numbers, instead")
    parser.add_argument("--programs", action="store_true", help="linear programs, instead")
    parser.add_argument("--in-turn", type=int, default=0, help="fits of the cells near the goals, instead")
    given = parser.parse_args()
    if given.corrupt or given.programs:
        if given.programs:
            programs(given.time_limit)
        if given.corrupt:
            corruptions(given.corrupt)
        return
    parts = {
        "regression": regression_cells,
        "survival": survival_cells,
        "policy": policy_cells,
        "all": over_all_thresholds,
    }
    diabetes = load_diabetes()
    odtc.OptimalTreeRegressor(3).fit(diabetes.data, diabetes.target)  # kernels are compiled or loaded
    odtc.OptimalTreeRegressor(4).fit(quantile_cuts(diabetes.data), diabetes.target)
    wine = load_wine()
    odtc.OptimalPolicyTree(3).fit(quantile_cuts(wine.data), costs_of(wine.target, len(wine.target_names)))
    if given.in_turn:
        return in_turn(given.in_turn, given.time_limit)
    print("| data | tests | depth | ours | proved | CPU s | STreeD | CPU s |\n|---|---:|---:|---:|---|---:|---:|---:|")
    for part in given.only.split(","):
        for name, n_candidate_splits, depth, ours, our, paid, their in parts[part](given.time_limit):
            cost = getattr(ours, "cost_", ours.objective_)
            peer = "– | –" if paid is None else f"{paid:.10g} | {their:.2f}"
            proved = "yes" if ours.is_optimal_ else f"gap {100 * ours.gap_:.1f} %"
            print(
                f"| {name} | {n_candidate_splits} | {depth} | {cost:.10g} | {proved} | {our:.2f} | {peer} |", flush=True
            )


if __name__ == "__main__":
    main()
