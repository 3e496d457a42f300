"""The best tree and the bound of the search over thresholds at a limit of CPU seconds, on drawn noisy tables.

python -m benchmarks.early_bounds DEPTH SECONDS lin-5000x20x2 mc-1000x40x2 …

lin-ROWSxCOLUMNSxCLASSES: slices of a noisy sum of half of the normal columns; mc-…: sklearn's make_classification. The
sizes are the seed. Set ODTC_COMPILED=always, so that kernels are loaded before, and OMP_NUM_THREADS=1.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.number_cells import _warm
from odtc.base import deadline
from odtc.data.reading import read
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.problem.branch_penalty import objective
from odtc.workflow import pipeline


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    kind, size = name.split("-")
    n, columns, classes = map(int, size.split("x"))
    seed = n + columns + classes
    if kind == "mc":
        return make_classification(
            n,
            columns,
            n_informative=max(4, columns // 3),
            n_redundant=columns // 5,
            n_classes=classes,
            flip_y=0.1,
            class_sep=0.7,
            random_state=seed,
        )
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, columns)).round(3)
    score = X[:, : columns // 2].sum(1)
    score = score + random.normal(size=n) * score.std()
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def main() -> None:
    """Prints a line for each table."""
    depth, seconds, names = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    time.monotonic = time.process_time  # a limit of CPU time, whatever else the machine does
    for name in names:
        X, y = _table(name)
        with tempfile.TemporaryDirectory() as folder:
            file, form = Path(folder, f"{name}.csv"), ["%.6g"] * X.shape[1] + ["%d"]
            header = ",".join([*(f"x{i}" for i in range(X.shape[1])), "class"])
            np.savetxt(file, np.column_stack([X, y]), delimiter=",", fmt=form, header=header, comments="")
            problem = pipeline.pose(read(file), "dpflow", depth)
        _warm(depth, int(y.max()) + 1)
        with deadline.within(seconds):
            found = ThresholdSearch(problem).run()
        print(f"{name} d{depth} {seconds:g} s: {objective(problem, found.heap):g}, bound {found.bound:g}", flush=True)


if __name__ == "__main__":
    main()
