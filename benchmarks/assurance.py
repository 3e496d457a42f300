"""How often a constraint that is called assured is violated by the population, over many draws of rows.

    python -m benchmarks.assurance [--draws 500] [--confidence 0.95] [--given] [-o assurance.jsonl]

A population of 24 sorts of rows with known shares, two groups and two classes. Each draw is one table of 450 rows,
of which `odtc.fit(…, confidence=…)` sets some aside, asks the search for more than the constraints, recall and equal
opportunity, at depth 2, and tests both; with --given it is the tree of 150 rows under the constraints as they are,
tested on 300 others. A draw is wrong if a constraint is called assured that the tree does not satisfy in the
population.
The share of wrong draws may be at most 1 - confidence.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl

import odtc
from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.errors import NoSolutionError
from odtc.workflow.constrained.assurance import assurances

FEATURES = (Feature("x", NUMERIC), Feature("z", NUMERIC))
SIDE = Feature("side", CATEGORICAL, ("p", "q"))
SORTS = np.array([(x, z, side) for x in range(4) for z in range(3) for side in range(2)], float)
TRAIN, TEST = 150, 300


def drawn(rng, mass: np.ndarray, n: int) -> Dataset:
    """Rows of the population; mass float64 (sorts, classes) sums to 1."""
    which = rng.choice(mass.size, n, p=mass.reshape(-1))
    sort, y = which // 2, (which % 2).astype(np.int32)
    cells = SORTS[sort]
    return Dataset(
        "drawn", cells[:, :2], y, FEATURES, ("no", "yes"), np.ones(n), auxiliary=(SIDE,), auxiliary_X=cells[:, 2:]
    )


def frame_of(drawn: Dataset) -> pl.DataFrame:
    """The rows as a table, the class last."""
    cells = {
        "x": drawn.X[:, 0],
        "z": drawn.X[:, 1],
        "side": [SIDE.levels[int(code)] for code in drawn.auxiliary_X[:, 0]],
    }
    return pl.DataFrame(cells | {"class": [drawn.classes[k] for k in drawn.y]})


def simulated(seed: int, confidence: float = 0.95, given: bool = False) -> dict:
    """One draw, of one table or (`given`) of rows to train on and rows to test on: whether a tree was found, how many
    constraints were called assured, and whether one of these is violated."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(len(SORTS)))
    risk = np.clip(0.15 + 0.22 * SORTS[:, 0] + 0.08 * SORTS[:, 1] + rng.normal(0, 0.08, len(SORTS)), 0.02, 0.98)
    mass = np.stack([share * (1 - risk), share * risk], axis=1)
    train, test = drawn(rng, mass, TRAIN), drawn(rng, mass, TEST)
    table = drawn(rng, mass, TRAIN + TEST)
    recall = round(float(rng.uniform(0.55, 0.9)), 2)
    gap = round(float(rng.uniform(0.1, 0.4)), 2)
    texts = (f"recall[yes] >= {recall}", f"equal_opportunity[group=side,positive=yes] <= {gap}")
    try:
        if given:
            fitted = odtc.fit(train, "dpflow", 2, constraints=texts)
            found = assurances(fitted.problem, fitted.tree, test, confidence)
        else:
            reading = {"auxiliary": ("side",)}
            fitted = odtc.fit(frame_of(table), "dpflow", 2, constraints=texts, confidence=confidence, reading=reading)
            found = fitted.assured(confidence)
    except NoSolutionError:
        return {"seed": seed, "found": False, "assured": 0, "wrong": 0}
    said = fitted.tree.predict(SORTS[:, :2]) == 1
    yes = mass[:, 1]
    of_side = [
        yes[(SORTS[:, 2] == side)] @ said[SORTS[:, 2] == side] / yes[SORTS[:, 2] == side].sum() for side in (0, 1)
    ]
    kept = (yes @ said / yes.sum() >= recall, abs(of_side[0] - of_side[1]) <= gap)
    wrong = any(entry.holds and not true for entry, true in zip(found, kept))
    return {"seed": seed, "found": True, "assured": sum(entry.holds for entry in found), "wrong": int(wrong)}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--draws", type=int, default=500)
    words.add_argument("--confidence", type=float, default=0.95)
    words.add_argument("--given", action="store_true")
    words.add_argument("-o", "--out", type=Path, default=None)
    asked = words.parse_args()
    draws = [simulated(seed, asked.confidence, asked.given) for seed in range(asked.draws)]
    if asked.out is not None:
        asked.out.write_text("".join(json.dumps(one) + "\n" for one in draws))
    wrong, trees = sum(one["wrong"] for one in draws), sum(one["found"] for one in draws)
    assured = sum(one["assured"] for one in draws)
    print(f"{len(draws)} draws, {trees} with a tree: {assured} of {2 * trees} constraints called assured")
    print(f"{wrong} draws wrong, {100 * wrong / len(draws):.2f} %; at most {100 * (1 - asked.confidence):.0f} % may be")


if __name__ == "__main__":
    main()
