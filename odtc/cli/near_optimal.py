"""`odtc fit --pool K --within E`, and `odtc show` of what it wrote: the trees that are nearly as good."""

import json
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.errors import ChoiceError

PoolSize = Annotated[
    int | None, typer.Option("--pool", metavar="K", help="Write the K best trees to STEM.pool.json (model dpflow).")
]
Within = Annotated[
    float | None,
    typer.Option("--within", metavar="E", help="Of the pool, only trees whose objective is at most E above the best."),
]


def expect_pool(problem, most: int | None, within: float | None) -> None:
    """Raises ChoiceError where the options ask for a pool that there cannot be."""
    from odtc.workflow import near_optimal

    if most is not None:
        near_optimal.expect_pool(problem, most, within)
    elif within is not None:
        raise ChoiceError("--within bounds the trees of a pool; expected --pool K beside it")


def write_pool(problem, most: int | None, within: float | None, left: float | None, stem: str) -> list[str]:
    """Finds the trees that the options ask for in the seconds that are left, and writes STEM.pool.json; the path."""
    from odtc.base.atomic_write import write_text
    from odtc.workflow.near_optimal import SUFFIX, near_optimal

    if most is None:
        return []
    path = Path(f"{stem}{SUFFIX}")
    found = near_optimal(problem, most, within, left)
    if not found.complete:
        console.say(f"the pool has {found.words}")
    if not found.trees:
        path.unlink(missing_ok=True)  # an older one would pass for it
        return []
    write_text(path, json.dumps(found.to_json(), ensure_ascii=False, indent=1) + "\n")
    return [str(path)]


def show_pool(pool, number: int | None) -> str | None:
    """The list of a pool as text; with a number, None and the tree is to be shown."""
    from odtc.workflow.near_optimal import asked

    if number is not None:
        if not 1 <= number <= len(pool.trees):
            raise ChoiceError(f"expected --tree from 1 to {len(pool.trees)}, the trees of the pool, got {number}")
        return None
    lines = [pool.words, "", "tree  objective  leaves  depth  features"]
    for at, (tree, value) in enumerate(zip(pool.trees, pool.objectives), 1):
        lines.append(f"{at:4}  {value:9.10g}  {tree.n_leaves:6}  {tree.depth:5}  {', '.join(asked(tree))}")
    lines += ["", "feature: trees that ask it"]
    lines += [f"{name}: {count}" for name, count in pool.feature_use().items()]
    return "\n".join(lines) + "\n"
