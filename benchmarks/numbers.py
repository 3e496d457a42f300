"""Proofs over all thresholds beside ConTree, and over tests of two answers beside pystreed: CPU seconds of one thread.

    python -m benchmarks.numbers [--kinds memory,process,onehot,limited,anytime] [--depths 2,3,4] [--sets NAME,…]
                                 [--limit 60] [--results FILE.jsonl] [--write FILE.md] [--quick]

memory: from arrays to a proved tree; ranking and merging are counted for us, imports and loading compiled kernels are
not, for both tools. process: `odtc fit FILE` as a process, with the check of its certificate, beside a script with
pycontree. onehot: tables of levels. limited: the best tree after some seconds on the clock. anytime: the same over
thresholds, beside pytrees-rs with more time. A cell is one process of its own, so that a limit ends it. Cells that
stand in the results file, with the commit that they were measured at, are not run again; a cell of a peer whose cell
of one depth less did not end is not run. `--quick` is for CI: iris from examples/ at depth 2. Data is looked for in
$ODTC_DATA or ../shared/data; names as parity-60000x12x3 are made (benchmarks.made_tables).
"""

import argparse
import json
import math
import os
import platform
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

from benchmarks.dpflow import SETS as LEVELS
from benchmarks.number_cells import measure

SETS = (
    "iris wine pima-diabetes ionosphere sonar spambase qsar-biodegradation magic04 htru2 avila letter-recognition "
    "statlog-satellite statlog-shuttle default-credit-card"
).split()
SHORT = 0.05  # seconds of the peer, below which a ratio says nothing
TOOLS = {"onehot": "pystreed", "limited": "pystreed", "anytime": "pytrees-rs"}
# (set, depth, seconds of odtc, seconds of the peer)
LIMITED = [("kr-vs-kp", 6, 20, 20), ("kr-vs-kp", 7, 20, 20), ("adult levels", 4, 60, 60), ("adult 4 bins", 4, 60, 60)]
ANYTIME = [("pima-diabetes", 4, 5, 60), ("magic04", 3, 5, 60)]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--kinds", default="memory,process,onehot,limited,anytime")
    words.add_argument("--depths", default="2,3,4", help="of the sets of numbers")
    words.add_argument("--sets", default=",".join(SETS))
    words.add_argument("--tools", help="only these")
    words.add_argument("--limit", type=float, default=60, help="CPU seconds of a cell")
    words.add_argument("--results", type=Path, default=Path(".venv/bench-numbers.jsonl"))
    words.add_argument("--write", type=Path)
    words.add_argument("--quick", action="store_true")
    words.add_argument("--cell", help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.cell:
        print(json.dumps(measure(*json.loads(asked.cell))))
        return
    if asked.quick:
        asked.sets, asked.depths, asked.kinds, asked.results = "iris", "2", "memory,process", Path(os.devnull)
    done = [json.loads(line) for line in asked.results.read_text().splitlines()] if asked.results.is_file() else []
    for kind, name, depth, tool, limit in cells(asked):
        if asked.tools and tool not in asked.tools.split(","):
            continue
        known = {(at["kind"], at["set"], at["depth"], at["tool"]): at for at in done}
        less = known.get((kind, name, depth - 1, tool), {"proved": True})
        if (kind, name, depth, tool) in known or (tool != "odtc" and not less.get("proved")):
            continue
        found = run(kind, name, depth, tool, limit)
        done.append(
            {"kind": kind, "set": name, "depth": depth, "tool": tool, "limit": limit, "day": str(date.today())} | found
        )
        with asked.results.open("a") as out:
            out.write(json.dumps(done[-1]) + "\n")
    page = "\n".join(table(done))
    print(page)
    if asked.write:
        asked.write.write_text(page + "\n")


def cells(asked):
    """(kind, set, depth, tool, seconds) of all cells that are asked for."""
    for kind in asked.kinds.split(","):
        peer = TOOLS.get(kind, "pycontree")
        if kind in ("limited", "anytime"):
            for name, depth, own, other in LIMITED if kind == "limited" else ANYTIME:
                yield kind, name, depth, "odtc", own
                yield kind, name, depth, peer, other
            continue
        for depth in map(int, (asked.depths if kind != "onehot" else "2,3,4,5").split(",")):
            for name in asked.sets.split(",") if kind != "onehot" else LEVELS:
                for tool in ("odtc", peer):
                    yield kind, name, depth, tool, asked.limit


def run(kind: str, name: str, depth: int, tool: str, limit: float) -> dict:
    """One cell in a process of its own."""
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.numbers", "--cell", json.dumps([kind, name, depth, tool, limit])],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    found = json.loads(said.stdout) if said.returncode == 0 else {"missing": said.stderr[-200:]}
    if said.returncode == -signal.SIGXCPU:
        found = {"seconds": limit, "proved": False}
    return found | {"commit": commit()}


def commit() -> str:
    """The commit that is measured; with a plus if files differ from it."""
    asked = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(asked, capture_output=True, text=True, cwd=Path(__file__).parent).stdout.strip()


def table(done: list[dict]) -> list[str]:
    """The page: a table for each kind, with the geometric means of the ratios."""
    days, commits = sorted({at["day"] for at in done}), list(dict.fromkeys(at["commit"] for at in done))
    place = f"{platform.machine()}, Python {platform.python_version()}"
    lines = [f"{place}, measured {', '.join(days)} at {', '.join(commits)}.", ""]
    for kind in dict.fromkeys(at["kind"] for at in done):
        of_kind = [at for at in done if at["kind"] == kind and "seconds" in at]
        lines += _free(kind, of_kind) if kind in ("limited", "anytime") else _compared(kind, of_kind)
    return lines


def _compared(kind, done):
    """The cells that end with a proof."""
    peer = TOOLS.get(kind, "pycontree")
    lines = [
        f"## {kind}",
        "",
        f"| set | depth | odtc | {peer} | ratio | errors | odtc MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for depth in sorted({at["depth"] for at in done}):
        ratios, proved = [], {"odtc": 0, peer: 0}
        for name in dict.fromkeys(at["set"] for at in done):
            pair = {at["tool"]: at for at in done if (at["set"], at["depth"]) == (name, depth)}
            one, two = pair.get("odtc"), pair.get(peer)
            if one is None:
                continue
            for tool, at in pair.items():
                proved[tool] += at["proved"]
            both = two is not None and one["proved"] and two["proved"]
            if both and one["errors"] != two["errors"]:
                raise SystemExit(f"{name} at depth {depth}: {one['errors']:g} errors, {peer} {two['errors']:g}")
            ratio = one["seconds"] / two["seconds"] if both else None
            ratios += [ratio] if both and two["seconds"] >= SHORT else []
            lines.append(
                f"| {name} | {depth} | {_seconds(one)} | {_seconds(two)} | {'' if ratio is None else f'{ratio:.2f}'} "
                f"| {_errors(one)} | {one.get('megabytes', 0):.0f} |"
            )
        mean = f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else "-"
        lines.append(
            f"| **all** | {depth} | {proved['odtc']} proved | {proved[peer]} proved | {mean} | geometric mean "
            f"where {peer} needs {SHORT} s or more: {len(ratios)} sets | |"
        )
    return [*lines, ""]


def _free(kind, done):
    """The cells that a limit ends."""
    lines = [
        f"## {kind}",
        "",
        "| set | depth | tool | limit | CPU s | errors | proved |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {at['set']} | {at['depth']} | {at['tool']} | {at['limit']:g} | {at['seconds']:.1f} | {_errors(at)} | "
        f"{'yes' if at['proved'] else 'no'} |"
        for at in done
    ]
    return [*lines, ""]


def _errors(at: dict) -> str:
    if "errors" not in at:
        return ""
    return f"{at['errors']:g}" + (f", bound {at['bound']:g}" if "bound" in at and not at["proved"] else "")


def _seconds(at: dict | None) -> str:
    if at is None:
        return ""
    return f"{at['seconds']:.3f}" if at["proved"] else f"> {at['seconds']:.0f}"


if __name__ == "__main__":
    main()
