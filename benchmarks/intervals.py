"""dpflow over all midpoints of numbers, by intervals of thresholds: size of the linear program, and seconds.

    python -m benchmarks.intervals [--cells iris:3,wine:3,…]

CPU seconds of this process on one thread: `compile` from encoded rows to the model, `LP` for the embedded HiGHS;
`pycontree` is the fit of that package (extra `peers`) on the same numbers, in this process too. The errors of both
are compared.
"""

import argparse
import time

import numpy as np

from benchmarks.data import data_folder
from odtc import read
from tests import pipeline

CELLS = "iris:3,iris:4,wine:3,pima-diabetes:2,pima-diabetes:3,ionosphere:3"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--cells", default=CELLS)
    asked = words.parse_args()
    pipeline.solve(
        pipeline.build(data_folder() / "iris.csv", "dpflow", 2), threads=1
    )  # what is loaded at first is not measured
    print("| set | depth | thresholds | errors | rows | columns | nonzeros | compile s | LP s | pycontree s |")
    print("|---" * 10 + "|")
    for word in asked.cells.split(","):
        name, _, depth = word.partition(":")
        dataset = read(data_folder() / f"{name}.csv")
        problem = pipeline.pose(dataset, "dpflow", int(depth), encoding="thresholds", params={"intervals": "true"})
        began = time.process_time()
        model = pipeline.compile_model(problem)
        compiled = time.process_time() - began
        solution = pipeline.solve(model, threads=1)
        solved = time.process_time() - began - compiled
        heap = pipeline.decode(model, solution).heap
        theirs = peer(dataset, int(depth), int(heap.errors(problem.encoded)))
        print(
            f"| {name} | {depth} | {problem.encoded.n_candidate_splits:,} | {heap.errors(problem.encoded):g} | "
            f"{model.n_rows:,} | {model.n_cols:,} | {model.nnz:,} | "
            f"{compiled:.2f} | {solved:.2f} | {theirs} |",
            flush=True,
        )


def peer(dataset, depth: int, errors: int) -> str:
    try:
        import pandas as pd
        from pycontree import ConTree
    except ImportError:
        return "not installed"
    model = ConTree(max_depth=depth, max_gap=0, time_limit=600)
    frame = pd.DataFrame(np.ascontiguousarray(dataset.X))
    began = time.process_time()
    model.fit(frame, dataset.y)
    seconds = time.process_time() - began
    found = int((np.asarray(model.predict(frame)) != dataset.y).sum())
    if found != errors:
        raise SystemExit(f"ERRORS DIFFER: {errors} and {found} of pycontree")
    return f"{seconds:.3f}"


if __name__ == "__main__":
    main()
