"""What each solver says of a MIP start: `python -m benchmarks.starts`, the line of its log quoted.

The start is CART's tree on examples/monks/monks-1.csv, one-hot, FlowOCT at depth 2: objective 34.
"""

from pathlib import Path

from odtc.model.solution import Options
from odtc.solvers.solve import solve
from odtc.solvers.solver import SOLVERS, find_solver, version
from tests import pipeline

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    model = pipeline.build(ROOT / "examples" / "monks" / "monks-1.csv", "flowoct", 2, encoding="onehot")
    _, point = pipeline.start(model)
    print(
        f"Start with objective {model.objective(point):g}.\n\n| solver | version | form | start | line of its log "
        f"|\n|---|---|---|---|---|"
    )
    for name in SOLVERS.names():
        module = find_solver(name)
        if (found := version(module)) is None:
            continue
        if module.DIALECT.start is None:
            print(f"| {name} | {found} | – | takes none | |")
            continue
        log = []
        solution = solve(model, name, Options(time_limit=60, threads=1), start=point, log=log.append)
        pattern = getattr(module, "STARTED", None) or SOLVERS.get("highs-cli").STARTED
        line = next((line.strip() for line in "".join(log).splitlines() if pattern.search(line)), "")
        print(f"| {name} | {found} | {module.DIALECT.start} | {solution.start} | `{line}` |", flush=True)


if __name__ == "__main__":
    main()
