"""Formulation x format x solver -> optimum, all equal: `python benchmarks/matrix.py [--rows 40] > benchmarks/MATRIX.md`.

Each file is written, read by the solver itself, and its solution decoded; the number is the cost of
the decoded tree on the rows. Rows of examples/monks/monks-1.csv at equal distances, one-hot, depth 2.
"""

import argparse
import datetime
import platform
import tempfile
from pathlib import Path

import polars as pl

from odtc import files, pipeline
from odtc.format import FORMATS, write_model
from odtc.reader import from_frame
from odtc.solver import SOLVERS, Options, find_solver, solve, version
from tests.laws.problems import COMPILED, FORMS, form_id

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--rows", type=int, default=40)
    words.add_argument("--limit", type=float, default=60)
    words.add_argument("--first", action="store_true", help="only the first form of each formulation")
    asked = words.parse_args()
    frame = pl.read_csv(ROOT / "examples" / "monks" / "monks-1.csv", infer_schema=False)
    frame = frame.gather_every(max(1, frame.height // asked.rows)).head(asked.rows)
    dataset = from_frame(frame, "monks-1")
    found = {name: found for name in SOLVERS.names() if (found := version(find_solver(name)))}
    print(f"# Formulation x format x solver\n\n`python -m benchmarks.matrix --rows {asked.rows}{' --first' if asked.first else ''}`, "
          f"{datetime.date.today()}, {platform.machine()}, {platform.system()}.\n")
    print("Versions: " + ", ".join(f"{name} {text}" for name, text in found.items()) + ".\n")
    print(f"| form | format | {' | '.join(found)} |\n|---|---|{'---|' * len(found)}")
    equal = True
    for name in COMPILED:
        for params in FORMS[name][:1] if asked.first else FORMS[name]:
            model = pipeline.build(dataset, name, 2, encoding="onehot", params=params)
            costs = set()
            for format in FORMATS.names():
                cells = [cell(model, format, solver, asked.limit) for solver in found]
                costs |= {text for text in cells if text[:1].isdigit()}
                print(f"| {form_id((name, params))} | {format} | {' | '.join(cells)} |", flush=True)
            equal &= len(costs) == 1
    print(f"\n{'All solved cells of a form are equal.' if equal else 'NOT ALL EQUAL.'} `–`: the solver does not read the "
          "format (odtc writes it another); `size`: refused without a licence.")


def cell(model, format: str, solver: str, limit: float) -> str:
    module = find_solver(solver)
    if format not in module.DIALECT.reads:
        return "–"
    with tempfile.TemporaryDirectory() as folder:
        path = write_model(model, Path(folder) / f"model{FORMATS.get(format).SUFFIX}", format)
        read = files.open_model(path).model if format == "fixed-mps" or solver == "highs" else model
        solution = solve(read, solver, Options(time_limit=limit, threads=1), path=path)
    if not solution.has_solution:
        return "size" if module.DIALECT.limit and solution.termination == "error" else str(solution.termination)
    decoded = pipeline.decode(model, solution)
    cost = model.problem.module.objective(model.problem, decoded.heap)
    return f"{cost:.6g}" if solution.termination == "optimal" and decoded.verified else f"{solution.termination} {cost:.6g}"


if __name__ == "__main__":
    main()
