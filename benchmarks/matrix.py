"""Formulation x format x solver -> optimum, all equal.

    python -m benchmarks.matrix [--rows 20] [--first] [--form flowoct …] [--solver cbc,scip …]

prints one section a formulation, so that a long run can be made in parts and put together; each
file is written, read by the solver itself, and its solution decoded; the number is the cost of the
decoded tree on the rows. Rows of examples/monks/monks-1.csv at equal distances, one-hot, depth 2.
"""

import argparse
import datetime
import platform
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from odtc.data.reading import from_frame
from odtc.fileformats.model_files import FORMATS, write_model
from odtc.model.solution import Options
from odtc.solvers.solve import solve
from odtc.solvers.solver import SOLVERS, find_solver, version
from odtc.testing.problems import COMPILED, VARIANTS, form_id
from odtc.workflow import files_of_models
from tests import pipeline

ROOT = Path(__file__).resolve().parents[1]
LEGEND = (
    "`–`: the solver does not read the format (odtc writes it another); `size`: refused without a licence; what "
    "stopped at "
    "its time limit says so, with the cost of its tree."
)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--rows", type=int, default=40)
    words.add_argument("--limit", type=float, default=60)
    words.add_argument("--first", action="store_true", help="only the first form of each formulation")
    words.add_argument("--form", action="append", choices=COMPILED, help="only this formulation; may be repeated")
    words.add_argument("--solver", help="only these, between commas")
    asked = words.parse_args()
    frame = pl.read_csv(ROOT / "examples" / "monks" / "monks-1.csv", infer_schema=False)
    frame = frame.gather_every(max(1, frame.height // asked.rows)).head(asked.rows)
    dataset = from_frame(frame, "monks-1")
    names = asked.solver.split(",") if asked.solver else SOLVERS.names()
    found = {name: found for name in names if (found := version(find_solver(name)))}
    command = "python -m benchmarks.matrix " + " ".join(sys.argv[1:])
    failed = False
    for name in asked.form or COMPILED:
        began, unequal = time.monotonic(), []
        print(
            f"## {name}\n\n`{command}`, {datetime.date.today()}, {platform.machine()}, {platform.system()}; "
            + ", ".join(f"{solver} {text}" for solver, text in found.items())
            + ".\n"
        )
        print(f"| form | format | {' | '.join(found)} |\n|---|---|{'---|' * len(found)}")
        for params in VARIANTS[name][:1] if asked.first else VARIANTS[name]:
            # The protected column of the laws' own data is another one here.
            posed = params | {"group": dataset.features[0].name} if "group" in params else params
            model = pipeline.build(dataset, name, 2, encoding="onehot", params=posed)
            costs = set()
            for format in FORMATS.names():
                cells = [cell(model, format, solver, asked.limit) for solver in found]
                costs |= {text for text in cells if text[:1].isdigit()}
                print(f"| {form_id((name, posed))} | {format} | {' | '.join(cells)} |", flush=True)
            unequal += [form_id((name, posed))] if len(costs) != 1 else []
        failed |= bool(unequal)
        print(
            f"\n{'All solved cells of a form are equal' if not unequal else 'NOT EQUAL: ' + ', '.join(unequal)}, "
            f"after {time.monotonic() - began:.0f} s. {LEGEND}\n",
            flush=True,
        )
    sys.exit(failed)


def cell(model, format: str, solver: str, limit: float) -> str:
    module = find_solver(solver)
    if format not in module.DIALECT.reads:
        return "–"
    with tempfile.TemporaryDirectory() as folder:
        path = write_model(model, Path(folder) / f"model{FORMATS.get(format).SUFFIX}", format)
        read = files_of_models.open_model(path).model if format == "fixed-mps" or solver == "highs" else model
        solution = solve(read, solver, Options(time_limit=limit, threads=1), path=path)
    if not solution.has_solution:
        return "size" if module.DIALECT.limit and solution.termination == "error" else str(solution.termination)
    decoded = pipeline.decode(model, solution)
    cost = model.problem.module.objective(model.problem, decoded.heap)
    if not decoded.verified:
        return f"not verified {cost:.6g}"
    return f"{cost:.6g}" if solution.termination == "optimal" else f"{solution.termination} {cost:.6g}"


if __name__ == "__main__":
    main()
