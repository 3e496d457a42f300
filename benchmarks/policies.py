"""Policies learned from treatments and outcomes, where the best policy is known.

    python -m benchmarks.policies --repeats 20 --rows 2000 [--scores ips,direct,doubly-robust] [--encoding auto:bins=8]
    python -m benchmarks.policies --coverage 200 --rows 1000

The design with jumps of Athey & Wager (2021, Policy learning with observational data, section 5): ten normal columns,
an outcome of max(0, x3 + x4) + W τ(x) + ε, with τ(x) = sign(x1 x2) / 2 and ε of variance 1. There a hidden cause
moves the treatment, which is an instrument's; here it does not, as odtc takes no instruments: W is 1 with the chance
1 / (1 + exp(-x3)). The best policy treats where x1 x2 > 0: a tree of depth 2, whose first split gains nothing alone.

For each kind of scores: how much of the best policy's gain over "treat nobody" a tree has (its true value, on 100,000
rows), on how many new rows it does as the best policy does, and how often the interval `value` ± 1.96 standard errors,
told on rows of their own, holds the true value.

`--coverage N` asks the last of these alone, N times: of one policy, the best of depth 2 by the true effects, the value
that doubly robust scores tell on new rows, with estimated chances. It prints after each 20 draws, so that a run that is
ended says how far it came; it takes some 3 CPU seconds a draw.
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


def coverage(draws: int, rows: int) -> None:
    """Prints how often the interval holds the true value, how far the values are off it, and what they say of that."""
    X, _, _, _, effect = drawn(LARGE, 10**6)
    base, first = np.maximum(0, X[:, 2] + X[:, 3]).mean(), slice(0, 2000)
    costs = np.column_stack([np.zeros(LARGE), -effect])[first]
    tree = odtc.OptimalPolicyTree(2, encoding="auto:bins=8").fit(X[first], costs)
    truth = base + (tree.predict(X) * effect).mean()
    head = ("draws", "held", "mean off", "sd of values", "mean standard error")
    print(f"true value {truth:.4f}\n| {' | '.join(head)} |\n|{'---:|' * len(head)}")
    off, errors = [], []
    for seed in range(draws):
        X, _, treated, outcome, _ = drawn(rows, 2000 + seed)
        mean, error = tree.value(X, treated, outcome=outcome)
        off.append(abs(mean) - truth)  # outcomes of which more is better are told as costs
        errors.append(error)
        if (seed + 1) % 20 == 0 or seed + 1 == draws:
            held = int((np.abs(off) <= 1.96 * np.array(errors)).sum())
            print(
                f"| {seed + 1} | {held} | {np.mean(off):+.4f} | {np.std(off):.4f} | {np.mean(errors):.4f} |", flush=True
            )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--scores", default="ips,direct,doubly-robust")
    parser.add_argument("--encoding", default="auto")
    parser.add_argument("--coverage", type=int, default=0, help="draws of the value of one policy, instead")
    asked = parser.parse_args()
    if asked.coverage:
        return coverage(asked.coverage, asked.rows)
    X, _, _, _, effect = drawn(LARGE, 10**6)
    base, best = np.maximum(0, X[:, 2] + X[:, 3]).mean(), np.maximum(effect, 0).mean()
    print("| scores | chance | share of the gain | as the best | true value held | proved | CPU s a fit |", flush=True)
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    for scores in asked.scores.split(","):
        known = scores == "ips"
        gained, same, held, proved, seconds = [], [], 0, 0, []
        for seed in range(asked.repeats):
            rows, other = drawn(asked.rows, seed), drawn(asked.rows, 1000 + seed)
            given = [np.column_stack([1 - part[1], part[1]]) if known else None for part in (rows, other)]
            began = time.process_time()
            tree = odtc.OptimalPolicyTree(2, scores=scores, encoding=asked.encoding).fit(
                rows[0], rows[2], rows[3], given[0]
            )
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
