"""dpflow beside pystreed: CPU seconds from encoded rows to a proved tree, to its certificate, and through files.

    python -m benchmarks.dpflow [--depths 2,3,4,5] [--sets NAME,…] [--rounds 3]

Columns: `pystreed` is its fit on the same 0/1 rows; `proof` is ours with the certificate written as text;
`LP` builds the linear program, has the embedded HiGHS solve it and decodes the tree; `file` writes the MPS
file, reads it back with HiGHS and solves it there. All in one process on one thread; the best of the rounds.
"""

import argparse
import json
import math
import time

import numpy as np

import odtc
from benchmarks import highs
from benchmarks.data import data_folder
from odtc.formulations.dpflow.threshold_search import certify
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import CompleteTree
from odtc.verification.certificate import check
from tests import pipeline

SETS = (
    "monks-1",
    "monks-2",
    "monks-3",
    "hayes-roth",
    "house-votes-84",
    "balance-scale",
    "tic-tac-toe",
    "car-evaluation_papers",
    "kr-vs-kp",
    "soybean-small",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", default="2,3,4,5")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    folder = data_folder()
    print(
        "| set | depth | errors | pystreed s | proof s | LP s | file s | proof / pystreed | LP / pystreed | file / "
        "pystreed | bytes | check s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    ratios = {}
    for depth in map(int, chosen.depths.split(",")):
        for name in chosen.sets.split(","):
            path = folder / f"{name}.csv"
            if not path.exists():
                print(f"skipped {name}: no {path}; name the folder with ODTC_DATA")
                continue
            dataset = odtc.read(path)
            row = cell(dataset, depth, chosen.rounds)
            for key in ("proof", "lp", "file"):
                ratios.setdefault((depth, key), []).append(row[key] / row["peer"])
            print(
                f"| {name} | {depth} | {row['errors']:g} | {row['peer']:.4f} | {row['proof']:.4f} | {row['lp']:.4f} "
                f"| {row['file']:.4f} | "
                + " | ".join(f"{row[key] / row['peer']:.2f}" for key in ("proof", "lp", "file"))
                + f" | {row['bytes']:,} | {row['check']:.2f} |",
                flush=True,
            )
    for (depth, key), values in ratios.items():
        print(
            f"geometric mean at depth {depth}, {key} / pystreed: "
            f"{math.exp(sum(map(math.log, values)) / len(values)):.2f}"
        )


def cell(dataset, depth, rounds) -> dict:
    """CPU seconds of each way to the same optimum, which is compared."""
    encoded = pipeline.pose(dataset, "dpflow", depth, encoding="onehot").encoded
    X, y = np.repeat(encoded.X, encoded.copies, axis=0).astype(np.int32), np.repeat(encoded.y, encoded.copies)
    found = {}

    def timed(key, work):
        for _ in range(rounds):
            began = time.process_time()
            value = work()
            spent = time.process_time() - began
            found[key] = min(spent, found.get(key, spent))
        return value

    def fresh():
        return Problem(encoded, CompleteTree(depth), FORMULATIONS.get("dpflow"), parse_params("dpflow", {}))

    errors = timed("peer", lambda: streed(X, y, depth))
    facts = timed("proof", lambda: written(fresh()))
    solution = timed("lp", lambda: solved(fresh()))
    objective = timed("file", lambda: through_file(fresh()))
    text = json.dumps(facts)
    proof = timed("check", lambda: check(json.loads(text), dataset))
    if not errors == proof.objective == round(solution, 6) == round(objective, 6):
        raise SystemExit(f"OPTIMA DIFFER: {errors}, {proof.objective}, {solution}, {objective}")
    return found | {"errors": errors, "bytes": len(text)}


def streed(X, y, depth) -> int:
    from pystreed import STreeDClassifier

    model = STreeDClassifier("accuracy", max_depth=depth, max_num_nodes=2**depth - 1, time_limit=600)
    model.fit(X, y)
    return int((model.predict(X) != y).sum())


def written(problem) -> dict:
    facts = certify(problem)
    json.dumps(facts)
    return facts


def solved(problem) -> float:
    model = pipeline.compile_model(problem)
    solution = pipeline.solve(model, threads=1)
    return problem.module.objective(problem, problem.module.decode(problem, model.split(solution.x)))


def through_file(problem) -> float:
    solver = highs.through_file(pipeline.compile_model(problem))
    solver.run()
    return solver.getInfo().objective_function_value


if __name__ == "__main__":
    main()
