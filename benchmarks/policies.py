"""Policies learned from treatments and outcomes, where the best policy is known.

    python -m benchmarks.policies --repeats 20 --rows 2000

The design with jumps of Athey & Wager (2021, Policy learning with observational data, section 5): ten normal columns,
an outcome of max(0, x3 + x4) + W τ(x) + ε, with τ(x) = sign(x1 x2) / 2 and ε of variance 1. There a hidden cause
moves the treatment, which is an instrument's; here it does not, as odtc takes no instruments: W is 1 with the chance
1 / (1 + exp(-x3)). The best policy treats where x1 x2 > 0: a tree of depth 2, whose first split gains nothing alone.

For each kind of scores: how much of the best policy's gain over "treat nobody" a tree has (its true value, on 100,000
rows), on how many new rows it does as the best policy does, and how often the interval `value` ± 1.96 standard errors,
told on rows of their own, holds the true value.
"""

import argparse
import time

import numpy as np

import odtc

COLUMNS, LARGE = 10, 100_000


def drawn(rows: int, seed: int) -> tuple[np.ndarray, ...]:
    """(columns, chance of the treatment, treatment, outcome, effect of the treatment) of rows of the design."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS))
    chance = 1 / (1 + np.exp(-X[:, 2]))
    treated = (rng.random(rows) < chance).astype(int)
    effect = np.sign(X[:, 0] * X[:, 1]) / 2
    outcome = np.maximum(0, X[:, 2] + X[:, 3]) + treated * effect + rng.normal(size=rows)
    return X, chance, treated, outcome, effect


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    asked = parser.parse_args()
    X, _, _, _, effect = drawn(LARGE, 10**6)
    base, best = np.maximum(0, X[:, 2] + X[:, 3]).mean(), np.maximum(effect, 0).mean()
    print("| scores | chance | share of the gain | as the best | true value held | proved | CPU s a fit |", flush=True)
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    for scores, known in (("ips", True), ("direct", False), ("doubly-robust", False)):
        gained, same, held, proved, seconds = [], [], 0, 0, []
        for seed in range(asked.repeats):
            rows, other = drawn(asked.rows, seed), drawn(asked.rows, 1000 + seed)
            given = [np.column_stack([1 - part[1], part[1]]) if known else None for part in (rows, other)]
            began = time.process_time()
            tree = odtc.OptimalPolicyTree(2, scores=scores).fit(rows[0], rows[2], rows[3], given[0])
            seconds.append(time.process_time() - began)
            does = tree.predict(X)
            mean, error = tree.value(other[0], other[2], outcome=other[3], propensity=given[1])
            truth = base + (does * effect).mean()
            gained.append((does * effect).mean() / best)
            same.append((does == (effect > 0)).mean())
            held += abs(abs(mean) - truth) <= 1.96 * error
            proved += tree.is_optimal_
        print(
            f"| {scores} | {'known' if known else 'estimated'} | {np.mean(gained):.3f} | {np.mean(same):.3f} | "
            f"{held} of {asked.repeats} | {proved} of {asked.repeats} | {np.mean(seconds):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
