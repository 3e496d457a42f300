"""Proofs over all thresholds beside ConTree: CPU seconds of one thread, from arrays in memory to a proved tree.

    python -m benchmarks.numbers [--depths 2,3,4] [--sets NAME,…] [--limit 60] [--results FILE.jsonl]
                                 [--write benchmarks/NUMBERS.md] [--quick]

Ranking and merging are counted for us; imports are not, nor is loading compiled kernels, for both tools. A cell is one
process of its own, so that a limit ends it. Cells that stand in the results file are not run again. `--quick` is for
CI: iris from examples/ at depth 2. Data is looked for in $ODTC_DATA or ../shared/data.
"""

import argparse
import json
import math
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.data import data_file
from odtc.algorithms.thresholds import compiled
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_columns, rank_rows
from odtc.data.reading import read

SETS = (
    "iris wine pima-diabetes ionosphere sonar spambase qsar-biodegradation magic04 htru2 avila letter-recognition "
    "statlog-satellite statlog-shuttle default-credit-card"
).split()
WALL = 10  # times the limit of CPU time that a cell may take on the clock
SHORT = 0.05  # seconds of the peer, below which a ratio says nothing


class Limit(Exception):
    """The limit of a cell."""


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--depths", default="2,3,4")
    words.add_argument("--sets", default=",".join(SETS))
    words.add_argument("--tools", default="odtc,pycontree")
    words.add_argument("--limit", type=float, default=60, help="CPU seconds of a cell")
    words.add_argument("--results", type=Path, default=Path(".venv/bench-numbers.jsonl"))
    words.add_argument("--write", type=Path)
    words.add_argument("--quick", action="store_true")
    words.add_argument("--cell", help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.cell:
        print(json.dumps(cell(*json.loads(asked.cell))))
        return
    if asked.quick:
        asked.sets, asked.depths, asked.results = "iris", "2", Path(os.devnull)
    done = [json.loads(line) for line in asked.results.read_text().splitlines()] if asked.results.is_file() else []
    for depth in map(int, asked.depths.split(",")):
        for name in asked.sets.split(","):
            for tool in asked.tools.split(","):
                known = [at for at in done if (at["set"], at["depth"], at["tool"]) == (name, depth, tool)]
                if known:
                    continue
                given = json.dumps([name, depth, tool, asked.limit])
                said = subprocess.run(
                    [sys.executable, "-m", "benchmarks.numbers", "--cell", given],
                    env=os.environ | {"OMP_NUM_THREADS": "1", compiled.VARIABLE: "always"},
                    capture_output=True,
                    text=True,
                )
                found = json.loads(said.stdout) if said.returncode == 0 else {"missing": said.stderr[-200:]}
                if said.returncode == -signal.SIGXCPU:
                    found = {"seconds": asked.limit, "proved": False}
                done.append({"set": name, "depth": depth, "tool": tool, "day": str(date.today())} | found)
                with asked.results.open("a") as out:
                    out.write(json.dumps(done[-1]) + "\n")
    page = table(done, asked.limit)
    print(page)
    if asked.write:
        asked.write.write_text(page + "\n")


def cell(name: str, depth: int, tool: str, limit: float) -> dict:
    """One measurement: seconds of CPU, errors, the bound, whether it is proved, and the most memory."""
    data = read(data_file(name) if name != "iris" else Path("examples/iris/iris.csv"))
    X, y = np.ascontiguousarray(data.X), data.y.astype(np.int64)
    return (ours if tool == "odtc" else contree)(X, y, depth, limit) | {"megabytes": _peak()}


def ours(X, y, depth, limit) -> dict:
    """The search over ranks, with kernels that are loaded before."""
    warm(depth, int(y.max()) + 1)
    began = time.process_time()

    def check():
        if time.process_time() > began + limit:
            raise Limit

    ranked = rank_rows(rank_columns(X)[0], 1.0 - np.eye(int(y.max()) + 1)[y])
    search = RankSearch(ranked, check)
    try:
        search.solve(depth)
    except Limit:
        pass
    known = search.known(depth)
    return {
        "seconds": time.process_time() - began,
        "errors": ranked.cost(known.upper),
        "bound": ranked.cost(known.lower),
        "proved": known.exact,
    }


def warm(depth: int, labels: int) -> None:
    """Loads the kernels for these types of arguments."""
    random = np.random.default_rng(0)
    y = random.integers(0, labels, 20 + labels)
    search = RankSearch(rank_rows(random.integers(0, 9, (len(y), 3)), 1.0 - np.eye(labels)[y]))
    search.solve(min(depth, 3))
    search.kernels.gini_test(search.ranked.order, search.ranked.label, search.ranked.gain, search.ranked.stride)


def contree(X, y, depth, limit) -> dict:
    """pycontree on the same rows."""
    from pycontree import ConTree

    # Its limit is one of wall time, on a busy machine little CPU time: the system ends it at the limit of CPU time.
    peer = ConTree(max_depth=depth, time_limit=WALL * limit, verbose=False)
    began, wall = time.process_time(), time.monotonic()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began + limit), resource.RLIM_INFINITY))
    peer.fit(X, y)
    seconds, wall = time.process_time() - began, time.monotonic() - wall
    return {"seconds": seconds, "errors": int((peer.predict(X) != y).sum()), "proved": wall < 0.95 * WALL * limit}


def table(done: list[dict], limit: float) -> str:
    """The page: a line for each set, and the geometric means of the ratios."""
    lines = [
        "# Proofs over all thresholds",
        "",
        f"`python -m benchmarks.numbers --limit {limit:g}`, {platform.machine()}, Python {platform.python_version()},"
        f" measured {', '.join(sorted({at['day'] for at in done}))}. CPU seconds of one thread, from arrays in "
        "memory to a proved tree, ranking included; imports and loading of kernels not. The bound is that of the "
        "search; no certificate is written. `>` if the limit came first, with the errors of the best tree and the "
        "bound; pycontree is ended then, so that its tree is not known.",
        "",
        "| set | depth | odtc | pycontree | ratio | errors | odtc MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for depth in sorted({at["depth"] for at in done}):
        ratios, proved = [], {"odtc": 0, "pycontree": 0}
        for name in dict.fromkeys(at["set"] for at in done):
            pair = {at["tool"]: at for at in done if (at["set"], at["depth"]) == (name, depth) and "seconds" in at}
            one, two = pair.get("odtc"), pair.get("pycontree")
            if one is None:
                continue
            for tool, at in pair.items():
                proved[tool] += at["proved"]
            both = two is not None and one["proved"] and two["proved"]
            if both and one["errors"] != two["errors"]:
                raise SystemExit(f"{name} at depth {depth}: {one['errors']:g} errors, pycontree {two['errors']:g}")
            ratio = one["seconds"] / two["seconds"] if both else None
            ratios += [ratio] if both and two["seconds"] >= SHORT else []
            errors = f"{one['errors']:g}" if one["proved"] else f"{one['errors']:g}, bound {one['bound']:g}"
            lines.append(
                f"| {name} | {depth} | {_seconds(one)} | {_seconds(two)} | {'' if ratio is None else f'{ratio:.2f}'} "
                f"| {errors} | {one['megabytes']:.0f} |"
            )
        mean = f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else "-"
        lines.append(
            f"| **all** | {depth} | {proved['odtc']} proved | {proved['pycontree']} proved | {mean} | geometric mean "
            f"where pycontree needs {SHORT} s or more: {len(ratios)} sets | |"
        )
    return "\n".join(lines)


def _seconds(at: dict | None) -> str:
    if at is None:
        return ""
    return f"{at['seconds']:.3f}" if at["proved"] else f"> {at['seconds']:.0f}"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
