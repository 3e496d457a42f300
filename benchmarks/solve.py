"""FlowOCT at depth 2 on the papers' data to proven optimality: HiGHS, one thread, beside the peer's own files.

    python -m benchmarks.solve [--limit 120] [--data DIR] [--peers DIR] [--only monks-1,…]

One-hot of every column, λ = 0, start from CART; the peer's LP files (odtlearn's model of the same paper,
docs/performance.md) are solved as they are, in the same run. CPU seconds are those of the solver's process.
Data are looked for in $ODTC_DATA or ../shared/data, the peer's files in ../shared/peers.
"""

import argparse
import resource
from pathlib import Path

from benchmarks.data import SHARED, data_folder
from odtc.fileformats.model_files import read_model
from odtc.model.solution import Options
from odtc.solvers.solve import solve
from tests import pipeline

# Data set, optimal training errors (three dynamic programs agree), the peer's file.
CELLS = [
    ("monks-1", 22, "monk1"),
    ("monks-2", 57, "monk2"),
    ("monks-3", 8, "monk3"),
    ("hayes-roth", 52, "hayes-roth"),
    ("house-votes-84", 7, "house-votes-84"),
    ("balance-scale", 199, "balance-scale"),
    ("soybean-small", 0, "soybean-small"),
    ("tic-tac-toe", 282, "tic-tac-toe"),
]
FORMS = {"default": {}, "bottom=flow": {"bottom": "flow"}, "literal": {"literal": True}}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--limit", type=float, default=120)
    words.add_argument("--data", type=Path, default=data_folder())
    words.add_argument("--peers", type=Path, default=SHARED / "peers")
    words.add_argument("--only", default="")
    words.add_argument("--forms", default=",".join(FORMS))
    asked = words.parse_args()
    print("| data | known errors | model | columns | rows | nonzeros | result | objective | bound | nodes | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, errors, peer in CELLS:
        path = asked.data / f"{name}.csv"
        if (asked.only and name not in asked.only.split(",")) or not path.exists():
            continue
        for form in asked.forms.split(","):
            model = pipeline.build(path, "flowoct", 2, encoding="onehot", params=FORMS[form])
            _, point = pipeline.start(model)
            line(name, errors, f"odtc {form}", model, point, asked.limit)
        file = asked.peers / f"odtlearn_flow_{peer}_d2.lp.gz"
        if file.exists():
            line(name, errors, "odtlearn", read_model(file), None, asked.limit)


def line(name, errors, what, model, start, limit) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = solve(model, options=Options(time_limit=limit, threads=1), start=start)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    show = lambda value: "–" if value is None else f"{value:.4g}"  # noqa: E731
    print(
        f"| {name} | {errors} | {what} | {model.n_cols:,} | {model.n_rows:,} | {model.nnz:,} | {found.termination} | "
        f"{show(found.objective)} | {show(found.bound)} | {found.nodes} | {seconds:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
