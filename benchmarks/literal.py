"""FlowOCT as printed beside dpflow: the same data and solver, to the proven optimum.

    python -m benchmarks.literal [--sets NAME,…] [--depths 2,3] [--time-limit 60]

One-hot tests, λ = 0, the embedded HiGHS on one thread. CPU seconds of this process from encoded rows to the
solver's proof, so both include the compiler, and neither the file between; FlowOCT is solved once, dpflow three
times, the best of which
counts (it takes milliseconds, where a clock tick shows). FlowOCT has CART as its MIP start. "ratio" is
FlowOCT's time by dpflow's; where the limit came first it is what the ratio is above.
"""

import argparse
import math
import time

import highspy
import numpy as np

from benchmarks.data import data_folder
from benchmarks.dpflow import SETS
from benchmarks.highs import through_file
from odtc import read
from tests import pipeline


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--sets", default=",".join(SETS))
    words.add_argument("--depths", default="2,3")
    words.add_argument("--time-limit", type=float, default=60)
    asked = words.parse_args()
    pipeline.fit(data_folder() / "hayes-roth.csv", "flowoct", 1, threads=1)  # what is loaded at first is not measured
    print("| set | depth | optimum | dpflow s | FlowOCT printed s | its incumbent | its bound | ratio |")
    print("|---" * 8 + "|")
    ratios = []
    for depth in map(int, asked.depths.split(",")):
        for name in asked.sets.split(","):
            dataset = read(data_folder() / f"{name}.csv")
            ours = min(
                (run(dataset, "dpflow", depth, {}, asked.time_limit) for _ in range(3)), key=lambda found: found[0]
            )
            theirs = run(dataset, "flowoct", depth, {"literal": True}, asked.time_limit)
            ended = theirs[2] is not None and abs(theirs[1] - theirs[2]) < 1e-6
            if ended and abs(theirs[1] - ours[1]) > 1e-6:
                raise SystemExit(f"{name} depth {depth}: optima differ, {theirs[1]} and {ours[1]}")
            ratio = theirs[0] / ours[0]
            ratios += [ratio] if ended else []
            print(
                f"| {name} | {depth} | {ours[1]:g} | {ours[0]:.4f} | "
                f"{f'{theirs[0]:.2f}' if ended else f'not in {asked.time_limit:g}'} | {show(theirs[1])} | "
                f"{show(theirs[2])} | {'' if ended else '> '}{ratio:,.0f} |",
                flush=True,
            )
    if ratios:
        print(
            f"\ngeometric mean of the {len(ratios)} cells where it ends: "
            f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):,.0f}; "
            f"least {min(ratios):,.0f}"
        )


def run(dataset, model: str, depth: int, params: dict, limit: float) -> tuple[float, float | None, float | None]:
    """(CPU seconds, objective, bound) from encoded rows; the file between compiler and solver is not counted."""
    problem = pipeline.pose(dataset, model, depth, encoding="onehot", params=params)
    began = time.process_time()
    compiled = pipeline.compile_model(problem)
    begun = pipeline.start(compiled, "cart") if model != "dpflow" else None
    seconds = time.process_time() - began
    highs = through_file(compiled, time_limit=limit, mip_rel_gap=0.0)
    if begun:
        solution = highspy.HighsSolution()
        solution.col_value = list(begun[1])
        highs.setSolution(solution)
    began = time.process_time()
    highs.run()
    seconds += time.process_time() - began
    info = highs.getInfo()
    x = np.array(highs.getSolution().col_value) if info.primal_solution_status == 2 else None
    if x is not None:
        problem.module.decode(problem, compiled.split(x))
    bound = info.mip_dual_bound if compiled.integrality.any() else info.objective_function_value
    return seconds, info.objective_function_value if x is not None else None, bound


def show(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


if __name__ == "__main__":
    main()
