"""Errors of trees of depth 5, 6 and 8 at a limit, over all thresholds, of odtc and of packages that find deep trees.

    python -m benchmarks.deep [--tables development|kept|all|NAME,…] [--depths 5,6,8] [--limit 30] [--tools NAME,…]
                              [--name NAME] [-o benchmarks/results/deep.csv] [--quick]
    python -m benchmarks.deep --compare NAME,NAME [-o FILE]

The rule, fixed before the first run:

tables   All files of $ODTC_DATA except *_test with 200 to 40,000 complete rows and at least three columns of numbers
         with more than ten values: twenty tables (`TABLES`). Incomplete rows are left out. The search is changed by
         what is found on the `development` tables, every second one of the alphabet, only; `kept` are the others.
limit    CPU seconds of one thread, from the arrays in memory to the tree. Reading, imports and the loading of compiled
         kernels do not count, for any tool. For odtc and rollotree the clock that ends the search is the CPU clock.
         A tool that reports its trees as it finds them counts with the last one within the limit; the others with
         their tree if it took at most LONGER times the limit.
peers    pytrees-rs   ConTreeClassifier.fit_anytime (limited discrepancy search), sort_by_heuristic, names as indicators
         licketysplit no penalty of leaves; look-ahead 1 over 8 quantiles of each column, look-ahead 1 over the
                      thresholds of 40 boosted trees of depth 2, look-ahead 2 over both; the best of them within the
                      limit
         rollotree    RollingOCT, misclassification, HiGHS, over 4 quantiles of each column
         pystreed     STreeDClassifier over n_thresholds=5
         cart         scikit-learn's greedy tree, for comparison only: it is not among the peers that are compared
compare  e = errors + 1. For each cell the ratio of odtc's e to the least e of the peers; the geometric mean over all
         cells, and a sign test over the cells that are not ties (two-sided). The requirement is met if the mean is at
         most 1 and not fewer cells are better than worse.
primal   The primal integral over the limit: the mean over time of (errors - best) / max(errors, 1), where best is the
integral least of the cell over all tools, and the value is 1 before the first tree.

Each cell is a process of its own, and cells that are in the file are not run again; `--name` is what a cell of odtc is
called there, so that versions are compared. `--compare before,after` prints the same comparison of two of them.
`--quick` is one small table with 2 s.
"""

import argparse
import csv
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.data import data_file, expect_data_files

ROOT = Path(__file__).resolve().parents[1]
TABLES = (
    "adult avila compas_all default-credit-card german-credit haberman heart-cleveland htru2 image-segmentation "
    "ionosphere letter-recognition magic04 pendigits pima-diabetes qsar-biodegradation seismic-bumps sonar spambase "
    "statlog-satellite thyroid-ann"
).split()
SETS = {"all": TABLES, "development": TABLES[::2], "kept": TABLES[1::2]}
PEERS = ("pytrees-rs", "licketysplit", "rollotree", "pystreed")
LONGER = 1.5  # times the limit, for tools that report one tree at the end
PATIENCE = 60  # times the limit that a process may take on the clock of a busy machine
FIELDS = ("table", "depth", "limit", "tool", "errors", "bound", "seconds", "changes", "missing")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--tables", default="all")
    words.add_argument("--depths", default="5,6,8")
    words.add_argument("--limit", type=float, default=30.0, help="CPU seconds")
    words.add_argument("--tools", default=",".join(("odtc", *PEERS, "cart")))
    words.add_argument("--name", default="odtc", help="of the cells of odtc in the file")
    words.add_argument("--compare", default="", help="two tools")
    words.add_argument("-o", "--out", type=Path, default=ROOT / "benchmarks/results/deep.csv")
    words.add_argument("--quick", action="store_true")
    words.add_argument("--cell", help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.cell:
        measure(*json.loads(asked.cell))
        return
    if asked.quick:
        asked.tables, asked.depths, asked.limit, asked.out = "haberman", "5", 2.0, Path(os.devnull)
    tables = SETS.get(asked.tables) or asked.tables.split(",")
    found = read_cells(asked.out) if asked.out.is_file() else []
    if not asked.compare:
        expect_data_files(words, tables)
        depths, tools = [int(depth) for depth in asked.depths.split(",")], asked.tools.split(",")
        found += run_all(asked, found, [(table, depth, tool) for table in tables for depth in depths for tool in tools])
    print("\n".join(report([cell for cell in found if cell["table"] in tables], asked.limit, asked.compare)))


def read_cells(path: Path) -> list[dict]:
    with path.open(newline="") as lines:
        cells = list(csv.DictReader(lines))
    for cell in cells:
        cell["depth"], cell["limit"] = int(cell["depth"]), float(cell["limit"])
        cell["changes"] = [tuple(map(float, change.split(":"))) for change in cell["changes"].split()]
        for field in ("errors", "bound", "seconds"):
            cell[field] = float(cell[field]) if cell[field] else None
    return cells


def run_all(asked, before: list[dict], wanted: list[tuple[str, int, str]]) -> list[dict]:
    """Run the cells that are not in the file, and write each when it ends."""
    done, new = {(cell["table"], cell["depth"], cell["limit"], cell["tool"]) for cell in before}, []
    for table, depth, tool in wanted:
        name = asked.name if tool == "odtc" else tool
        if (table, depth, asked.limit, name) in done:
            continue
        cell = {"table": table, "depth": depth, "limit": asked.limit, "tool": name}
        new.append(cell | run(table, depth, tool, asked.limit))
        begin = not asked.out.exists()
        with asked.out.open("a", newline="") as out:
            writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
            if begin:
                writer.writeheader()
            changes = " ".join(f"{seconds:.2f}:{errors:g}" for seconds, errors in new[-1]["changes"])
            writer.writerow(
                {key: "" if value is None else value for key, value in new[-1].items()} | {"changes": changes}
            )
        print({key: value for key, value in new[-1].items() if key != "changes"}, flush=True)
    return new


def run(table: str, depth: int, tool: str, limit: float) -> dict:
    """One cell in a process of its own: what it printed until it ended, or was ended, counts."""
    words = [sys.executable, "-m", "benchmarks.deep", "--cell", json.dumps([table, depth, tool, limit])]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=PATIENCE * LONGER * limit, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        return dict.fromkeys(FIELDS[4:]) | {"changes": [], "missing": "ended by the clock"}
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    changes = [(line["seconds"], line["errors"]) for line in lines if line["seconds"] <= limit or "last" in line]
    last = next((line for line in lines if "last" in line), {})
    missing = "" if last or changes or ended.returncode == -signal.SIGXCPU else ended.stderr[-100:].replace("\n", " ")
    errors = min((errors for _, errors in changes), default=None)
    return {
        "errors": errors,
        "bound": last.get("bound"),
        "seconds": last.get("seconds", limit if changes else None),
        "changes": changes,
        "missing": missing or ("" if changes else "no tree within the limit"),
    }


class Clock:
    """CPU seconds since the search began; each tree is printed as a line."""

    def __init__(self, limit: float):
        self.began = time.process_time()
        most = math.ceil(self.began + LONGER * limit + 1)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        self.best = math.inf

    @property
    def seconds(self) -> float:
        return time.process_time() - self.began

    def tell(self, errors: float, **more) -> None:
        if errors < self.best or more:
            self.best = min(errors, self.best)
            print(json.dumps({"seconds": round(self.seconds, 3), "errors": float(errors)} | more), flush=True)


def measure(table: str, depth: int, tool: str, limit: float) -> None:
    """Print the trees of one cell as they are found, with the seconds; the last line has `last`."""
    from odtc.data.reading import read

    data = read(data_file(table), missing="drop")
    if tool == "odtc":
        _own(data, depth, limit)
        return
    X = np.ascontiguousarray(np.column_stack([_numbers(data, place) for place in range(data.X.shape[1])]), float)
    PEER[tool](X, data.y.astype(np.int64), depth, limit)


def _numbers(data, place):
    """A column of numbers, or indicators of its names."""
    column, levels = data.X[:, place], data.features[place].levels
    return column if not levels else (column[:, None] == np.arange(len(levels))).astype(float)


def _own(data, depth, limit) -> None:
    from benchmarks.number_cells import _warm
    from odtc.algorithms.thresholds import node_moves
    from odtc.base import deadline
    from odtc.problem.branch_penalty import objective
    from odtc.workflow import searching
    from tests import pipeline

    for ranks in (9, 2):
        _warm(depth, int(data.y.max()) + 1, ranks)
    node_moves.compile_now()
    time.monotonic = time.process_time
    clock = Clock(limit)
    with deadline.within(limit):
        problem = pipeline.pose(data, "dpflow", depth)
        start = searching.start_of(problem, "cart")
        clock.tell(objective(problem, start))
        found = problem.module.search(problem, start, lambda bound, upper, phase="": clock.tell(upper))
    clock.tell(objective(problem, found.heap), bound=found.bound, last=True)


def _pytrees(X, y, depth, limit) -> None:
    from pytrees import ConTreeClassifier

    model = ConTreeClassifier(max_depth=depth, max_time=PATIENCE * limit, sort_by_heuristic=True)
    clock = Clock(limit)
    model.fit_anytime(X, y, lambda errors, *_: clock.tell(int(errors)))
    clock.tell(clock.best, last=True)


def _quantiles(X, many):
    """Indicators of X <= each of so many quantiles of each column, uint8 (rows, splits)."""
    found = []
    for column in X.T:
        values = np.unique(column)
        cuts = np.unique(np.quantile(column, np.arange(1, many + 1) / (many + 1), method="lower"))
        cuts = values[:-1] if len(values) <= many + 1 else cuts[cuts < values[-1]]
        found += [column <= cut for cut in cuts]
    return np.ascontiguousarray(np.column_stack(found), np.uint8)


def _licketysplit(X, y, depth, limit) -> None:
    from licketysplit import LicketySPLITClassifier, ThresholdGuessBinarizer

    clock = Clock(limit)

    def fit(splits, ahead):
        model = LicketySPLITClassifier(lambda_leaf=0.0, depth_budget=depth, lookahead_k=ahead).fit(splits, y)
        clock.tell(int((model.predict(splits) != y).sum()))

    few = _quantiles(X, 8)
    fit(few, 1)
    guess = ThresholdGuessBinarizer(n_estimators=40, max_depth=2, random_state=0, column_elimination=False)
    guessed = np.ascontiguousarray(guess.fit_transform(X, y), np.uint8)
    fit(guessed, 1)
    fit(few, 2)
    fit(guessed, 2)


def _rollotree(X, y, depth, limit) -> None:
    from rollotree import RollingOCT

    splits = _quantiles(X, 4)
    time.perf_counter = time.monotonic = time.time = time.process_time
    clock = Clock(limit)
    model = RollingOCT(depth=depth, criterion="misclassification", time_limit=limit, total_time_limit=limit)
    model.fit(splits, y)
    clock.tell(int((model.predict(splits) != y).sum()), last=True)


def _pystreed(X, y, depth, limit) -> None:
    from pystreed import STreeDClassifier

    clock = Clock(limit)
    model = STreeDClassifier(
        "accuracy", max_depth=depth, max_num_nodes=2**depth - 1, time_limit=limit, n_thresholds=5
    ).fit(X, y)
    clock.tell(int((model.predict(X) != y).sum()), last=True)


def _cart(X, y, depth, limit) -> None:
    from sklearn.tree import DecisionTreeClassifier

    clock = Clock(limit)
    model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
    clock.tell(int((model.predict(X) != y).sum()), last=True)


PEER = {
    "pytrees-rs": _pytrees,
    "licketysplit": _licketysplit,
    "rollotree": _rollotree,
    "pystreed": _pystreed,
    "cart": _cart,
}


def primal_integral(changes: list[tuple[float, float]], best: float, limit: float) -> float:
    """Return the mean over time of (errors - best) / max(errors, 1), 1 before the first tree."""
    total, since, gap = 0.0, 0.0, 1.0
    for seconds, errors in changes:
        upto = min(seconds, limit)
        total += gap * (upto - since)
        since, gap = upto, min(gap, (errors - best) / max(errors, 1.0))
    return (total + gap * (limit - since)) / limit


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided probability of so uneven a number of better and worse cells by chance."""
    n, least = better + worse, min(better, worse)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(least + 1)) / 2**n)


def report(found: list[dict], limit: float, compare: str) -> list[str]:
    """A line for each cell, and the comparisons of the docstring."""
    cells: dict[tuple[str, int], dict[str, dict]] = {}
    for cell in found:
        if cell["limit"] == limit and cell["errors"] is not None:
            cells.setdefault((cell["table"], cell["depth"]), {})[cell["tool"]] = cell
    tools = list(dict.fromkeys(cell["tool"] for cell in found if cell["limit"] == limit))
    lines = [f"| table | depth | {' | '.join(tools)} |", "|---" * (2 + len(tools)) + "|"]
    for (table, depth), there in sorted(cells.items(), key=lambda item: (item[0][1], item[0][0])):
        lines.append(f"| {table} | {depth} | {' | '.join(_shown(there.get(tool)) for tool in tools)} |")
    for tool in tools:
        integrals = [
            primal_integral(there[tool]["changes"], min(cell["errors"] for cell in there.values()), limit)
            for there in cells.values()
            if tool in there
        ]
        if integrals:
            lines.append(f"primal integral of {tool}: {np.mean(integrals):.3f} over {len(integrals)} cells")
    own = [tool for tool in tools if tool not in (*PEERS, "cart")]
    pairs = [tuple(compare.split(","))] if compare else [(None, tool) for tool in own]
    for before, after in pairs:
        logs = []
        for there in cells.values():
            others = [there[tool]["errors"] for tool in ((before,) if before else PEERS) if tool in there]
            if after in there and others:
                logs.append(math.log((there[after]["errors"] + 1) / (min(others) + 1)))
        better, worse = sum(log < 0 for log in logs), sum(log > 0 for log in logs)
        if logs:
            equal = len(logs) - better - worse
            lines.append(
                f"{after} against {before or 'the best peer'}: geometric mean {math.exp(np.mean(logs)):.3f} over "
                f"{len(logs)} cells, {better} better, {equal} equal, {worse} worse "
                f"(sign test p = {sign_test(better, worse):.3g})"
            )
    return lines


def _shown(cell: dict | None) -> str:
    if cell is None:
        return ""
    return f"{cell['errors']:g}" + (f" (bound {cell['bound']:g})" if cell["bound"] else "")


if __name__ == "__main__":
    main()
