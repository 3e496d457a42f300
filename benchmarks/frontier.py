"""A frontier of 20 numbers beside one of its points: python -m benchmarks.frontier

The sets of benchmarks.constraints in 8 bins, at most three columns, leaves of 20 rows. Five of the numbers are also
searched alone, and must have the same optimum. CPU seconds, from the encoded table.
"""

import time
from statistics import mean

from benchmarks.constraints import BUDGET, TABLES
from benchmarks.data import data_folder
from odtc.workflow.constrained.frontier import frontier, varied
from tests import pipeline

CELLS = (
    ("german-credit", 2, "recall[2] >= 0.4:0.78:0.02"),
    ("german-credit", 3, "recall[2] >= 0.4:0.78:0.02"),
    ("compas_6172", 3, "recall[1] >= 0.5:0.88:0.02"),
    ("compas_6172", 3, "equal_opportunity[group=race:African-American,positive=0] <= 0.01:0.2:0.01"),
    ("adult", 3, "recall[>50K] >= 0.4:0.78:0.02"),
    # Numbers that change the sums, or what a leaf must hold.
    ("german-credit", 3, "precision[2] >= 0.5:0.69:0.01"),
    ("german-credit", 3, "f1[2] >= 0.4:0.59:0.01"),
    ("compas_6172", 3, "precision[1] >= 0.6:0.79:0.01"),
    ("compas_6172", 3, "f1[1] >= 0.55:0.74:0.01"),
    ("german-credit", 3, "leaf_precision >= 0.5:0.69:0.01"),
)
ALONE = (0, 5, 10, 15, 19)


def posed(table: str, depth: int, *constraints: str):
    """The problem of a table."""
    file, *_, auxiliary = TABLES[table]
    return pipeline.pose(
        data_folder() / file,
        "dpflow",
        depth,
        encoding="auto:levels=3,bins=8",
        reading={"auxiliary": auxiliary},
        constraints=(*BUDGET, *constraints),
        fitting=True,
    )


def main() -> None:
    print("| table, depth | varied | 20 points | one point | ratio | different optima |\n" + "|---" * 6 + "|")
    for table, depth, text in CELLS:
        problem, texts, alone = posed(table, depth), varied(text), []
        began = time.process_time()
        points = frontier(problem, texts)
        together = time.process_time() - began
        for place in ALONE:
            one = posed(table, depth, texts[place])
            began = time.process_time()
            assert pipeline.searches(one)
            found = one.module.search(one, None, lambda *told: None)
            alone.append(time.process_time() - began)
            paid = None if found.heap is None else one.module.objective(one, found.heap)
            assert (paid, found.infeasible) == (points[place].objective, points[place].ended == "infeasible")
        ratio, optima = together / mean(alone), len({point.objective for point in points})
        figures = f"{together:.2f} | {mean(alone):.2f} | {ratio:.1f} | {optima}"
        print(f"| {table}, {depth} | `{text}` | {figures} |", flush=True)


if __name__ == "__main__":
    main()
