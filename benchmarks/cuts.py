"""What each cut family does to the root relaxation and to the solve: bound, CPU seconds, nodes.

    python -m benchmarks.cuts [--data monks-1,balance-scale,house-votes-84] [--model flowoct] [--depth 2]
                              [--time-limit 60] [--forms default,bottom=flow] [--families a,b+c,none]

One-hot tests, HiGHS on one thread, CART as the start; "LP" is the relaxation without integrality.
`paper4:rounds=20` adds the rows that its points break, 20 rounds at most; "make s" holds the rounds, and
for subtree_value the search for the values. All seconds are of the processor, so that another program
beside it counts little. The data is looked for in $ODTC_DATA or ../shared/data.
"""

import argparse
import resource
from dataclasses import replace

import numpy as np

from benchmarks.data import data_folder
from odtc import read
from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import CUTS, ROUNDS
from tests import pipeline

SEPARATED = f"paper4:{ROUNDS}=20"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--data", default="monks-1,balance-scale,house-votes-84")
    words.add_argument("--model", default="flowoct")
    words.add_argument("--depth", type=int, default=2)
    words.add_argument("--time-limit", type=float, default=60)
    words.add_argument("--forms", default="default,bottom=flow")
    words.add_argument("--families", default=None, help="names between commas, '+' joins; by default each, and all")
    asked = words.parse_args()
    folder = data_folder()
    warm(folder / f"{asked.data.split(',')[0]}.csv")
    print(
        "| data | depth | form | cuts | rows | nonzeros | make s | LP bound | LP s | solve s | nodes | objective | "
        "bound |"
    )
    print("|---" * 13 + "|")
    for data in asked.data.split(","):
        dataset = read(folder / f"{data}.csv")
        for form in asked.forms.split(","):
            params = dict([form.split("=")]) if "=" in form else {}
            problem = pipeline.pose(dataset, asked.model, asked.depth, encoding="onehot", params=params)
            plain = pipeline.compile_model(problem, "none")
            fitting = [name for name in CUTS.names() if not cut.why_unfit(name, problem, plain)]
            tried = ["none", *fitting, *([SEPARATED] if "paper4" in fitting else []), "all"]
            for names in asked.families.split(",") if asked.families else tried:
                if not any(
                    cut.why_unfit(name, problem, plain) for name in names.split("+") if name not in ("none", "all")
                ):
                    line(data, form, names, problem, asked)


def warm(path) -> None:
    """What is loaded at the first solve is not measured."""
    pipeline.fit(path, "flowoct", 1, threads=1)


def line(data, form, names, problem, asked) -> None:
    began = seconds()
    model = pipeline.compile_model(problem, names.replace("+", ","))
    made = seconds() - began
    began = seconds()
    root = pipeline.solve(replace(model, integrality=np.zeros(model.n_cols, np.uint8)), threads=1)
    relaxed = seconds() - began
    start = pipeline.start(model, "cart")[1]
    began = seconds()
    solution = pipeline.solve(model, start=start, threads=1, time_limit=asked.time_limit)
    solved = seconds() - began
    show = lambda value: "-" if value is None else f"{value:.6g}"
    print(
        f"| {data} | {problem.topology.depth} | {form} | {names} | {model.n_rows:,} | {model.nnz:,} | {made:.2f} | "
        f"{root.objective:.2f} | "
        f"{relaxed:.2f} | {solved:.1f} | {show(solution.nodes)} | {show(solution.objective)} | "
        f"{show(solution.bound)} |",
        flush=True,
    )


def seconds() -> float:
    """Of the processor, for this process and those that it waited for."""
    return sum(sum(resource.getrusage(whose)[:2]) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


if __name__ == "__main__":
    main()
