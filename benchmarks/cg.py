"""Table 6 of Firat et al. (2020): the paper's figure, our run of the paper's method, and the exact optimum.

    python -m benchmarks.cg [--sets NAME,…] [--depths 2,3,4] [--limit 60] [--journal FILE.jsonl]
                            [--write benchmarks/CG.md] [--quick]

Training accuracy on all rows. The method is `odtc fit --model cg -p search=false`, as the mean of five seeds; the
optimum is from `odtc fit --model dpflow`. Runs that the journal has are not repeated, so that the command can be
interrupted. `--write` writes the table of the complete cells of the journal. `--quick` is for CI: it runs one seed on
examples/monks, without the paper. The data are searched for in $ODTC_DATA or ../shared/data.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

import odtc
from benchmarks.data import data_file, expect_data_folder
from odtc.workflow import pipeline

ROOT = Path(__file__).resolve().parents[1]
SEEDS = (11, 23, 37, 53, 71)
DEPTHS = (2, 3, 4)
POINT = 1.0  # percentage points below the printed accuracy that count as reached
# Table 6: (CART, CG) in % of training rows, at depth 2, 3 and 4, the smallest sets first. Its fourteenth set,
# banknote-authentication, is not among the data sets.
TABLE6 = {
    "monks-3": ((93.4, 93.4), (94.3, 94.3), (95.9, 95.9)),
    "monks-1": ((73.4, 75.0), (91.1, 91.1), (91.1, 96.0)),
    "iris": ((96.0, 96.0), (97.3, 98.0), (99.3, 99.3)),
    "monks-2": ((62.7, 65.1), (66.3, 75.1), (70.4, 76.3)),
    "wine": ((92.1, 96.6), (97.8, 99.4), (98.9, 98.9)),
    "balance-scale": ((70.9, 71.7), (76.2, 77.4), (82.7, 83.8)),
    "ionosphere": ((90.9, 90.9), (92.3, 92.3), (93.4, 94.6)),
    "pima-diabetes": ((77.2, 77.2), (77.6, 79.2), (79.2, 80.5)),
    "car-evaluation_papers": ((77.8, 77.8), (79.2, 79.2), (85.1, 85.1)),
    "qsar-biodegradation": ((79.9, 80.7), (83.4, 84.5), (85.1, 86.5)),
    "seismic-bumps": ((93.4, 93.4), (93.4, 93.7), (93.9, 94.0)),
    "statlog-satellite": ((63.5, 63.7), (78.8, 78.9), (81.7, 82.9)),
    "spambase": ((86.5, 86.7), (88.9, 89.6), (90.8, 90.8)),
}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--sets")
    words.add_argument("--depths", default="2,3,4")
    words.add_argument("--limit", type=float, default=60, help="seconds of a run; the paper allows 600")
    words.add_argument("--journal", type=Path, default=Path(tempfile.gettempdir()) / "odtc-cg-table6.jsonl")
    words.add_argument("--write", type=Path, help="write the table of the journal's complete cells, and run nothing")
    words.add_argument("--quick", action="store_true")
    asked = words.parse_args()
    depths = [int(depth) for depth in asked.depths.split(",")]
    if asked.quick:
        for name in ("monks-1", "monks-2", "monks-3"):
            for depth in depths:
                line = run(odtc.read(ROOT / "examples" / "monks" / f"{name}.csv"), name, depth, SEEDS[0], asked.limit)
                print(line, flush=True)
                if line["train"] < line["cart"] - 1e-9:
                    raise SystemExit(f"the method is below CART, from which it starts: {line}")
        return
    if asked.write:
        asked.write.write_text(page(lines_of(asked.journal)))
        return
    names = (asked.sets or ",".join(TABLE6)).split(",")
    if unknown := sorted(set(names) - set(TABLE6)):
        words.error(f"expected --sets of {', '.join(TABLE6)}, got {', '.join(unknown)}")
    expect_data_folder(words, ", or take --quick")
    done = {key(line) for line in lines_of(asked.journal)}
    for name, depth in ((name, depth) for name in names for depth in depths):
        if (path := data_file(name)) is None:
            print(f"skipped {name}: not found; name the folder with ODTC_DATA", flush=True)
            continue
        for seed in (*SEEDS, None):
            if (name, depth, seed) not in done:
                line = run(odtc.read(path), name, depth, seed, asked.limit)
                with asked.journal.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")
                print(line, flush=True)


def key(line: dict) -> tuple:
    return line["set"], line["depth"], line["seed"]


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(dataset, name: str, depth: int, seed: int | None, limit: float) -> dict:
    """Run the paper's method with a seed, or the exact search without one."""
    model, more = ("dpflow", {}) if seed is None else ("cg", {"search": False, "params": {"seed": seed}})
    facts = (fitted := pipeline.fit(dataset, model, depth, time_limit=limit, threads=1, **more)).facts
    restricted = facts.get("restricted") or {}
    return {
        "set": name,
        "depth": depth,
        "seed": seed,
        "limit": limit,
        "rows": dataset.n_rows,
        "train": 100 * facts["train_accuracy"],
        "cart": 100 * facts["cart_train_accuracy"],
        "proved": facts["termination"] == "optimal",
        "proved_over_splits": "optimal" in (facts["termination"], restricted.get("termination")),
        "objective": facts["objective"],
        "bound": facts["bound"],
        "seconds": round(facts["seconds"], 1),
        "verified": facts["verified"],
        "note": fitted.solution.message,
    }


def page(lines: list[dict]) -> str:
    """The page with the cells whose seeds are all in the journal."""
    known, rows, reached, above = {key(line): line for line in lines}, [], 0, 0
    for name, printed in TABLE6.items():
        for depth, (cart, theirs) in zip(DEPTHS, printed):
            runs = [known.get((name, depth, seed)) for seed in SEEDS]
            if None in runs:
                continue
            ours, exact = [line["train"] for line in runs], known.get((name, depth, None))
            optimum = "-" if exact is None else f"{'' if exact['proved'] else '≥ '}{exact['train']:.1f}"
            mean = float(np.mean(ours))
            reached += round(mean, 1) >= theirs - POINT
            above += round(mean, 1) >= theirs
            rows.append(
                f"| {name} | {depth} | {cart} | {runs[0]['cart']:.1f} | {theirs} | {mean:.1f} | "
                f"{min(ours):.1f}–{max(ours):.1f} | {optimum} | {sum(line['proved_over_splits'] for line in runs)} | "
                f"{np.mean([line['seconds'] for line in runs]):.1f} |"
            )
    limits = ", ".join(f"{limit:g}" for limit in sorted({line["limit"] for line in lines}))
    return f"""# Column generation compared with its paper

Training accuracy in %, Table 6 of Firat, Crognier, Gabor, Hurkens & Zhang (2020). *CG, paper* is the printed figure;
*CG, ours* is the mean of five seeds of the same method (`odtc fit --model cg -p search=false`), with the lowest and
highest seed; *optimum* is the best tree over all splits (`odtc fit --model dpflow`), with ≥ if it was not proved within
the limit. *Proved* is the number of seeds whose tree is proved the best over its sampled splits, which is what the
paper proves. The default of `--model cg` is not in this table, because it searches over all splits first.

The table has {len(rows)} of the {3 * len(TABLE6)} cells of the available data sets: those whose five seeds were run, in
one process and one thread, with a limit of {limits} s per run (paper: 600 s). Within one point of the printed
accuracy or above it: {reached} of {len(rows)} cells; at least the printed accuracy: {above}.

Run all cells by `python -m benchmarks.cg --limit 600`, and write this page by
`python -m benchmarks.cg --write benchmarks/CG.md`.

| set | depth | CART, paper | CART | CG, paper | CG, ours | seeds | optimum | proved | s |
|---|---|---|---|---|---|---|---|---|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    main()
