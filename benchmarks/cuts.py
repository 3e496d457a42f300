"""What each cut family does to the root LP and to the solve of FlowOCT: bound, seconds, nodes.

    python benchmarks/cuts.py [--data monks-1,balance-scale,house-votes-84] [--depth 2] [--time-limit 60]
                              [--solver highs] [--forms default,bottom=flow] [--families a,b+c,none]

One-hot tests, HiGHS on one thread, no start; "LP" is the relaxation without integrality. `paper4
separated` adds the rows that the LP point breaks, round by round, at most 20 times; its seconds hold
the rounds, those of the others the making of the rows. The data is looked for in $ODTC_DATA or
../shared/data.
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from odtc import cut, pipeline, read
from odtc.cut import CUTS

ROOT = Path(__file__).resolve().parents[1]
SEPARATED = "paper4 separated"
ROUNDS = 20


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--data", default="monks-1,balance-scale,house-votes-84")
    words.add_argument("--depth", type=int, default=2)
    words.add_argument("--time-limit", type=float, default=60)
    words.add_argument("--solver", default="highs")
    words.add_argument("--forms", default="default,bottom=flow")
    words.add_argument("--families", default=None, help="names between commas, '+' joins; by default each, and all")
    asked = words.parse_args()
    folder = Path(os.environ.get("ODTC_DATA", ROOT.parent / "shared" / "data"))
    print(f"| data | depth | form | cuts | rows | nonzeros | make s | LP bound | LP s | {asked.solver} s | nodes | objective | bound |")
    print("|---" * 13 + "|")
    for data in asked.data.split(","):
        dataset = read(folder / f"{data}.csv")
        for form in asked.forms.split(","):
            params = dict([form.split("=")]) if "=" in form else {}
            problem = pipeline.pose(dataset, "flowoct", asked.depth, encoding="onehot", params=params)
            plain = pipeline.compile_model(problem, "none")
            fitting = [name for name in CUTS.names() if not cut.misfit(name, problem, plain)]
            tried = ["none", *fitting, *([SEPARATED] if "paper4" in fitting else []), "all"]
            for names in asked.families.split(",") if asked.families else tried:
                line(data, form, names, problem, plain, asked)


def line(data, form, names, problem, plain, asked) -> None:
    began = time.perf_counter()
    model = separated(problem, plain) if names == SEPARATED else pipeline.compile_model(problem, names.replace("+", ","))
    made = time.perf_counter() - began
    lp, seconds, _ = relaxed(model)
    solution = pipeline.solve(model, asked.solver, threads=1, time_limit=asked.time_limit)
    show = lambda value: "-" if value is None else f"{value:.6g}"
    print(f"| {data} | {problem.topology.depth} | {form} | {names} | {model.n_rows:,} | {model.nnz:,} | {made:.2f} | {lp:.2f} | "
          f"{seconds:.2f} | {solution.seconds:.1f} | {show(solution.nodes)} | {show(solution.objective)} | {show(solution.bound)} |", flush=True)


def separated(problem, model):
    """The model with the rows of (4) that the points of its own relaxation break."""
    for _ in range(ROUNDS):
        _, _, x = relaxed(model)
        found = CUTS.get("paper4").rows(problem, model, model.split(x))
        if not found:
            break
        model = cut.append(model, "paper4", found)
    return model


def relaxed(model) -> tuple[float, float, np.ndarray]:
    """(bound, seconds, point) of the relaxation."""
    loose = replace(model, integrality=np.zeros(model.n_cols, np.uint8))
    solution = pipeline.solve(loose, "highs", threads=1)
    return solution.objective, solution.seconds, solution.x


if __name__ == "__main__":
    main()
