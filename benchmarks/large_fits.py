"""`odtc fit` of large made tables, whole processes: what is proved in a limit, with which bound, time and memory.

    python -m benchmarks.large_fits [--cells regression-5000,wide-200] [--limit 60] [--beside FOLDER]

regression-ROWS   18 columns of numbers, y = 3 sin x0 + 2 max(x1, 0) x2 + x3² + noise; depth 2, all thresholds
wide-COLUMNS      2,000 rows of scikit-learn's make_classification, two classes, 15 of 100 labels by lot; depth 3
kept-COLUMNS      the same with recall[b] >= 0.75 and leaf_rows >= 20
rows-ROWS         10 columns of that kind, without constraints; depth 3
keptrows-ROWS     12 columns of that kind, with the same constraints; depth 3
deeprows-ROWS     the same at depth 4

With --beside each cell is run by the checkout in that folder, too, right after.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import make_classification

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(".venv/made-tables").resolve()
CELLS = "regression-1000,regression-5000,regression-20000,regression-50000,wide-200,kept-200"
KEPT = ["--constraint", "recall[b] >= 0.75", "--constraint", "leaf_rows >= 20"]
WORDS = {
    "regression": ["--depth", "2", "--task", "regression"],
    "wide": ["--depth", "3"],
    "rows": ["--depth", "3"],
    "kept": ["--depth", "3", *KEPT],
    "keptrows": ["--depth", "3", *KEPT],
    "deeprows": ["--depth", "4", *KEPT],
}
FILES = {"kept": "wide", "deeprows": "keptrows"}  # rules whose tables are those of others


def table(rule: str, size: int) -> Path:
    """The CSV file of a cell, written when it is first asked for."""
    rule = FILES.get(rule, rule)
    path = FOLDER / f"{rule}-{size}.csv"
    if not path.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(size)
        if rule == "regression":
            X = random.normal(size=(size, 18)).round(6)
            y = 3 * np.sin(X[:, 0]) + 2 * np.maximum(X[:, 1], 0) * X[:, 2] + X[:, 3] ** 2
            y = (y + 1.5 * random.normal(size=size)).round(4)
        else:
            shape = {"keptrows": (size, 12), "rows": (size, 10)}.get(rule, (2000, size))
            X, y = two_classes(*shape, *((6, 2) if rule == "rows" else (8, 4)))
        write(path, X, y)
    return path


def two_classes(rows: int, columns: int, informative: int, redundant: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of six decimals, and their class "a" or "b": three clusters of each class, 15 of 100 labels by lot."""
    drawn = {"n_informative": informative, "n_redundant": redundant, "n_clusters_per_class": 3}
    X, label = make_classification(rows, columns, **drawn, flip_y=0.15, class_sep=0.6, random_state=0)
    return X.round(6), np.array(["a", "b"])[label]


def write(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """Write a CSV file with the columns x0, x1, … and y."""
    columns = {f"x{number}": column for number, column in enumerate(X.T)}
    pl.DataFrame({**columns, "y": y}).write_csv(path)


def measured(words: list[str], root: Path = ROOT) -> dict:
    """Run `odtc WORDS --json` of a checkout in a process of its own.

    Returns
    -------
    dict
        The facts that the command prints; `clock` and `cpu`, seconds; `gigabytes`, of the largest process so far;
        `error`, the end of what it printed, if that are no facts.
    """
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "odtc", *words, "--json"]
    with tempfile.TemporaryDirectory() as folder:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    took = {"clock": clock, "cpu": cpu, "gigabytes": after.ru_maxrss / 1e6}
    try:
        return json.loads(done.stdout) | took
    except ValueError:
        return took | {"error": f"exit {done.returncode}: {done.stderr[-80:]!r}"}


def run(cell: str, limit: float, root: Path) -> str:
    """A line of the table."""
    rule, size = cell.split("-")
    facts = measured(["fit", str(table(rule, int(size))), *WORDS[rule], "--time-limit", str(limit)], root)
    took = f"{facts['clock']:.1f} | {facts['cpu']:.1f} | {facts['gigabytes']:.2f}"
    if "error" in facts:
        return f"| {cell} | {root.name} | {took} | {facts['error']} |"
    bound = "" if facts.get("bound") is None else f"{facts['bound']:.10g}"
    ended = facts["termination"], f"{facts['objective']:.10g}", bound, str(facts.get("certified"))
    return f"| {cell} | {root.name} | {took} | {' | '.join(ended)} |"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--cells", default=CELLS)
    words.add_argument("--limit", type=float, default=60.0)
    words.add_argument("--beside", type=Path)
    asked = words.parse_args()
    print("| cell | checkout | seconds | CPU s | GB, largest so far | end | objective | bound | certificate accepted |")
    print("|---" * 9 + "|")
    for cell in asked.cells.split(","):
        for root in filter(None, (ROOT, asked.beside and asked.beside.resolve())):
            print(run(cell, asked.limit, root), flush=True)


if __name__ == "__main__":
    main()
