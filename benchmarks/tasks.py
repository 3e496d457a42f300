"""Policies, regression and survival trees beside STreeD, over the same binary tests and in one run.

    python -m benchmarks.tasks [--time-limit 60] [--only regression,survival,policy,all]

CPU seconds are those of this process: of STreeD its `fit`, of ours from the table to the proved tree. "of all" is our
search over all thresholds of the columns, which STreeD has no counterpart for. Policies are made from classes: action a
costs a row of class k nothing if a = k, else 1 + |a - k| + (row number mod 7) / 10. Compiled kernels are loaded before.
Survival data is that of scikit-survival, without the rows last seen before the first event, whose hazard STreeD
smooths; STreeD's cost is that of its leaves by our formula.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import odtc
from odtc.data.tasks.survival.curves import hazard_at, nelson_aalen

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
    """(what it returns, CPU seconds)."""
    began = time.process_time()
    found = fit(*data)
    return found, time.process_time() - began


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


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", default="regression,survival,policy,all")
    given = parser.parse_args()
    parts = {
        "regression": regression_cells,
        "survival": survival_cells,
        "policy": policy_cells,
        "all": over_all_thresholds,
    }
    odtc.OptimalTreeRegressor(3).fit(*load_diabetes(return_X_y=True))  # kernels are compiled or loaded
    print("| data | tests | depth | ours | proved | CPU s | STreeD | CPU s |\n|---|---:|---:|---:|---|---:|---:|---:|")
    for part in given.only.split(","):
        for name, n_tests, depth, ours, our, paid, their in parts[part](given.time_limit):
            cost = getattr(ours, "cost_", ours.objective_)
            peer = "– | –" if paid is None else f"{paid:.10g} | {their:.2f}"
            proved = "yes" if ours.is_optimal_ else f"gap {100 * ours.gap_:.1f} %"
            print(f"| {name} | {n_tests} | {depth} | {cost:.10g} | {proved} | {our:.2f} | {peer} |", flush=True)


if __name__ == "__main__":
    main()
