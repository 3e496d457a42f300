"""`odtc fit --pool K --within E`, and `odtc show` of what it wrote: the trees that are nearly as good."""

import json
from pathlib import Path
from typing import Annotated

import typer

from odtc.errors import ChoiceError

PoolSize = Annotated[int | None, typer.Option("--pool", metavar="K", help="Write the K best trees to STEM.pool.json (model dpflow).")]
Within = Annotated[float | None, typer.Option("--within", metavar="E", help="Of the pool, only trees whose objective is at most E above the best.")]


def find_pool(problem, most: int | None, within: float | None):
    """The Pool that the options ask for, None where they ask for none."""
    from odtc.pool import near_optimal

    if most is None:
        if within is not None:
            raise ChoiceError("--within bounds the trees of a pool; expected --pool K beside it")
        return None
    return near_optimal(problem, most, within)


def write_pool(pool, stem: str) -> list[str]:
    """Writes STEM.pool.json; the path."""
    from odtc.output import write_text
    from odtc.pool import SUFFIX

    if pool is None:
        return []
    path = Path(f"{stem}{SUFFIX}")
    write_text(path, json.dumps(pool.to_json(), ensure_ascii=False, indent=1) + "\n")
    return [str(path)]


def show_pool(pool, number: int | None) -> str | None:
    """The list of a pool as text; with a number, None and the tree is to be shown."""
    from odtc.pool import asked

    if number is not None:
        if not 1 <= number <= len(pool.trees):
            raise ChoiceError(f"expected --tree from 1 to {len(pool.trees)}, the trees of the pool, got {number}")
        return None
    lines = [f"{len(pool.trees)} trees" + ("" if pool.complete else "; there are more, ask for a larger --pool"), "", "tree  objective  leaves  depth  features"]
    for at, (tree, value) in enumerate(zip(pool.trees, pool.objectives), 1):
        lines.append(f"{at:4}  {value:9.10g}  {tree.n_leaves:6}  {tree.depth:5}  {', '.join(asked(tree))}")
    lines += ["", "feature: trees that ask it"]
    lines += [f"{name}: {count}" for name, count in pool.feature_use().items()]
    return "\n".join(lines) + "\n"
