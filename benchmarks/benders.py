"""BendersOCT compared with FlowOCT: CPU seconds to the proof, with the same solver.

    python -m benchmarks.benders [--sets 2:monks-1,monks-3 3:monks-1] [--solvers highs,scip] [--limit 60]
                                 [--variants strengthened,literal] [--write benchmarks/results/benders.csv]

The paper (Aghaei, Gomez & Vayanos 2020) reports that Benders decomposition is the faster of the two. Each cell is a
process of its own on one thread, with columns in one-hot encoding and CART's tree as the start. Its seconds are CPU
seconds of this process and its solvers for the model, its solution and the check of the tree, without the start of
Python and the reading of the data. The limit is in CPU seconds, too, because the machine may have other work. SCIP
adds the cuts of BendersOCT inside its tree; HiGHS, which cannot, gets the loop. The last lines are the geometric means
of the ratios of seconds, with a timeout counted as twice the limit; cells in which both time out are left out, because
their ratio of 1 means nothing.
"""

import argparse
import csv
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ODTC_DATA") or ROOT.parent / "shared" / "data")
SETS = (
    "2:monks-1,monks-2,monks-3,house-votes-84,balance-scale,tic-tac-toe,car-evaluation_papers,kr-vs-kp",
    "3:monks-1,monks-2,monks-3,house-votes-84",
)
MODELS, VARIANTS = ("flowoct", "bendersoct"), ("strengthened", "literal")
FIELDS = ("set", "depth", "solver", "variant", "model", "seconds", "ended", "objective")
TIMEOUT = 2  # times the limit: the seconds of a cell that was not proved
ENDED = 0.9  # share of the limit after which a solver without a solution was ended by the limit


def cpu() -> float:
    """CPU seconds of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(name: str, depth: str, solver: str, variant: str, model: str, limit: str) -> None:
    """Print the seconds, the end and the objective of one cell; the system ends this process at its limit."""
    from odtc.errors import NoSolutionError
    from tests import pipeline

    params = {"literal": True} if variant == "literal" else {}
    if model == "bendersoct":
        params["cuts"] = "none"
    problem = pipeline.pose(DATA / f"{name}.csv", model, int(depth), encoding="onehot", params=params)
    began = cpu()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began + float(limit)),) * 2)
    compiled = pipeline.compile_model(problem)
    _, begun = pipeline.start(compiled)
    last, found = pipeline.solve_or_loop(compiled, pipeline.SolvingSpec(solver=solver, threads=1), begun)
    try:
        decoded = pipeline.decode(last, found)
    except NoSolutionError:
        if cpu() - began < ENDED * float(limit):
            raise
        return print(f"{cpu() - began:.2f} limit -")  # the system ended the solver, which is a process of its own
    ended = str(found.termination) if decoded.verified else "not verified"
    print(f"{cpu() - began:.2f} {ended} {found.objective:.10g}")


def cell(words: tuple[str, ...], limit: float) -> list[str]:
    """The last three fields of one cell."""
    argv = [sys.executable, "-m", "benchmarks.benders", "--cell", *words, str(limit)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    said = done.stdout.split()
    if len(said) >= 3 and said[-2] == "optimal" and float(said[-3]) <= limit:
        return said[-3:]
    if done.returncode not in (0, -signal.SIGKILL, -signal.SIGXCPU):
        sys.exit(f"{' '.join(words)} failed: {done.stderr[-500:]}")
    return [f"{TIMEOUT * limit:g}", "limit", ""]


def ratios(lines: list[dict[str, str]]) -> list[str]:
    """A sentence for each solver and variant: the geometric mean of the ratios of seconds."""
    found = []
    for solver, variant in sorted({(line["solver"], line["variant"]) for line in lines}):
        seconds: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
        for line in lines:
            if (line["solver"], line["variant"]) == (solver, variant):
                seconds.setdefault((line["set"], line["depth"]), {})[line["model"]] = line
        pairs = [each for each in seconds.values() if len(each) == 2]
        some = [each for each in pairs if any(line["ended"] == "optimal" for line in each.values())]
        logs = [math.log(float(each["bendersoct"]["seconds"]) / float(each["flowoct"]["seconds"])) for each in some]
        proved = {model: sum(each[model]["ended"] == "optimal" for each in pairs) for model in MODELS}
        if logs:
            mean = math.exp(sum(logs) / len(logs))
            counts = ", ".join(f"{model} proves {number} of {len(pairs)}" for model, number in proved.items())
            found.append(f"{solver}, {variant}: {mean:.2f} times FlowOCT over {len(logs)} cells; {counts}")
    return found


def main() -> None:
    if sys.argv[1:2] == ["--cell"]:
        return measure(*sys.argv[2:])
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--sets", nargs="+", default=SETS, metavar="DEPTH:SET,SET")
    words.add_argument("--solvers", default="highs,scip")
    words.add_argument("--variants", default=",".join(VARIANTS))
    words.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a cell")
    words.add_argument("--write", type=Path, help="CSV file; cells that it has are not run again")
    asked = words.parse_args()
    lines: list[dict[str, str]] = []
    if asked.write and asked.write.exists():
        with open(asked.write, newline="", encoding="utf-8") as stream:
            lines = list(csv.DictReader(stream))
    known = {tuple(line[field] for field in FIELDS[:5]) for line in lines}
    for variant in asked.variants.split(","):
        for depth, names in (text.split(":") for text in asked.sets):
            for name in names.split(","):
                for key in (
                    (name, depth, solver, variant, model) for solver in asked.solvers.split(",") for model in MODELS
                ):
                    if key in known:
                        continue
                    began = time.monotonic()
                    lines.append(dict(zip(FIELDS, (*key, *cell(key, asked.limit)))))
                    print(*lines[-1].values(), f"({time.monotonic() - began:.0f} s on the clock)", flush=True)
                    if asked.write:
                        with open(asked.write, "w", newline="", encoding="utf-8") as stream:
                            writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
                            writer.writeheader()
                            writer.writerows(lines)
    print(*ratios(lines), sep="\n")


if __name__ == "__main__":
    main()
