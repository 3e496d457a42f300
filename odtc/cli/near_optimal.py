"""`odtc fit --pool K --within E`, and `odtc show` of its files: the trees that are nearly as good."""

from typing import Annotated

from odtc.cli.options import value_option
from odtc.errors import ChoiceError

PoolSize = Annotated[
    int | None, value_option("--pool", "K", "Write the K best trees to STEM.pool.json (model dpflow).")
]
Within = Annotated[
    str | None,
    value_option(
        "--within",
        "E",
        "Count all trees whose objective is at most E (or 5%) above the best, and write the near-optimal set to "
        "STEM.near-optimal.json. With --pool, list at most K of them. With constraints other than leaf_rows, up to "
        "1,000 are listed.",
    ),
]
Using = Annotated[
    list[str], value_option("--using", "COL", "Near-optimal set: only trees that split on this column; repeatable.")
]
Without = Annotated[
    list[str],
    value_option("--without", "COL", "Near-optimal set: only trees that do not split on this column; repeatable."),
]
Leaves = Annotated[int | None, value_option("--leaves", "N", "Near-optimal set: only trees with at most N leaves.")]


def show_pool(pool, number: int | None) -> str | None:
    """The list of a pool as text; with a number, None and the tree is to be shown."""
    from odtc.workflow.near_optimal_set import NearOptimalSet

    if number is not None:
        if not 1 <= number <= len(pool.trees):
            listed = "sample" if isinstance(pool, NearOptimalSet) else "pool"
            raise ChoiceError(f"expected --tree from 1 to {len(pool.trees)}, the trees of the {listed}, got {number}")
        return None
    alike = "trees whose splits divide the training rows in the same way are listed once"
    lines = [pool.words, alike, "", "tree  objective  leaves  depth  features"]
    for at, (tree, value) in enumerate(zip(pool.trees, pool.objectives), 1):
        lines.append(f"{at:4}  {value:9.10g}  {tree.n_leaves:6}  {tree.depth:5}  {', '.join(tree.used_names)}")
    lines += ["", "number of trees that split on each feature:"]
    lines += [f"{name}: {count}" for name, count in pool.feature_use().items()]
    return "\n".join(lines) + "\n"
