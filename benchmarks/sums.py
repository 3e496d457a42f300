"""FlowOCT's sums over tests, written by tests and by features: size, writing, root relaxation and time to optimum.

    python -m benchmarks.sums [--small] [--limit 60] [--depths 2,3] [--only wine,iris:thresholds,…] [--forms
    sums=splits,sums=features]

λ = 0, start from CART, HiGHS on one thread. All seconds are CPU seconds, the limit too, so a busy machine
measures the same; a solve that meets the limit has its bound in the column "optimum or bound". The model is
built and written to MPS inside a running process, the best of three. The data are looked for in $ODTC_DATA
or ../shared/data.
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.data import data_file
from odtc.data.encoding import encode
from odtc.data.reading import read
from odtc.fileformats.model_files import write_model
from odtc.heuristics.heuristic import grow
from odtc.model.solution import Options, Termination
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.solvers.adapters import highs
from odtc.solvers.protocols import Job
from odtc.trees.heap_tree import CompleteTree

CELLS = [
    ("iris", "thresholds"),
    ("iris", "thresholds:bins=8"),
    ("wine", "thresholds"),
    ("wine", "thresholds:bins=16"),
    ("wine", "thresholds:bins=8"),
    ("pima-diabetes", "thresholds"),
    ("pima-diabetes", "thresholds:bins=16"),
    ("pima-diabetes", "thresholds:bins=8"),
    ("ionosphere", "thresholds"),
    ("ionosphere", "thresholds:bins=8"),
    ("german-credit", "auto"),
    ("german-credit", "auto:levels=3,bins=8"),
    ("balance-scale", "thresholds"),
    ("balance-scale", "onehot"),
    ("tic-tac-toe", "onehot"),
    ("car-evaluation_papers", "onehot"),
    ("kr-vs-kp", "onehot"),
]
SMALL = [("iris", "thresholds:bins=8"), ("monks-1", "onehot")]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--small", action="store_true")
    words.add_argument("--limit", type=float, default=60, help="CPU seconds a solve; 0 solves nothing")
    words.add_argument("--depths", default="2,3")
    words.add_argument("--only", default="")
    words.add_argument("--forms", default="sums=splits,sums=features", help="parameters of flowoct, joined by colons")
    asked = words.parse_args()
    print(
        "| data | encoding | depth | form | columns | rows | nonzeros | MPS MB | build + write s | root LP | LP s | "
        "ended | "
        "optimum or bound | nodes | MIP s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for name, scheme in SMALL if asked.small else CELLS:
        if (asked.only and not {name, f"{name}:{scheme}"} & set(asked.only.split(","))) or data_file(name) is None:
            continue
        encoded = encode(read(data_file(name)), scheme)
        for depth in (2,) if asked.small else map(int, asked.depths.split(",")):
            for form in asked.forms.split(","):
                params = parse_params("flowoct", dict(pair.split("=") for pair in form.split(":")))
                line(
                    name,
                    scheme,
                    depth,
                    form,
                    Problem(encoded, CompleteTree(depth), FORMULATIONS.get("flowoct"), params),
                    asked.limit,
                )


def line(name, scheme, depth, form, problem, limit) -> None:
    module, seconds = FORMULATIONS.get("flowoct"), []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            began = time.process_time()
            path = write_model(module.build(problem), Path(folder) / "model.mps")
            seconds.append(time.process_time() - began)
        size = path.stat().st_size / 1e6
    model = module.build(problem)
    start = model.join(module.start(problem, grow("cart", problem.encoded, problem.topology)))
    words = (
        f"| {name} | {scheme} | {depth} | {form} | {model.n_cols:,} | {model.n_rows:,} | {model.nnz:,} | "
        f"{size:.2f} | {min(seconds):.3f} |"
    )
    if not limit:
        print(f"{words} – | – | – | – | – | – |", flush=True)
        return
    bound, lp = solved(model, None, limit)
    if bound.termination != Termination.OPTIMAL:  # then whole numbers are out of reach
        print(f"{words} – | > {limit:g} | limit | – | – | – |", flush=True)
        return
    found, mip = solved(model, start, limit)
    ended = "optimal" if found.termination == Termination.OPTIMAL else "limit"
    print(
        f"{words} {bound.objective + 0.0:.2f} | {lp:.2f} | {ended} | {found.bound:.6g} | {found.nodes} | {mip:.1f} |",
        flush=True,
    )


def solved(model, start, limit):
    """(Outcome, CPU seconds) of HiGHS in a process of its own; without a start, of the relaxation."""
    integrality = model.integrality if start is not None else np.zeros_like(model.integrality)
    job = Job(
        model.c,
        model.offset,
        model.A,
        model.row_lower,
        model.row_upper,
        model.col_lower,
        model.col_upper,
        integrality,
        Options(threads=1),
        start,
    )
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.Process(target=_solve, args=(job, limit, theirs))
    child.start()
    answer = ours.recv()
    child.join()
    return answer


def _solve(job, limit, pipe) -> None:
    began = time.process_time()
    outcome = highs.run(job, lambda event: None, lambda: time.process_time() - began > limit)
    pipe.send((outcome, time.process_time() - began))


if __name__ == "__main__":
    main()
