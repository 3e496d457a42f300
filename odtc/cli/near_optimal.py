"""`odtc fit --pool K --within E`, and `odtc show` of what it wrote: the trees that are nearly as good."""

from typing import Annotated

import typer

from odtc.errors import ChoiceError

PoolSize = Annotated[
    int | None, typer.Option("--pool", metavar="K", help="Write the K best trees to STEM.pool.json (model dpflow).")
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="E",
        help="Count all trees whose objective is at most E above the best (5%: that share of it), and write figures, a "
        "sample and their graph to STEM.near.json; with --pool, only such trees are listed.",
    ),
]
Using = Annotated[
    list[str],
    typer.Option("--using", metavar="COL", help="Of a set of trees, those that test this column; repeatable."),
]
Without = Annotated[
    list[str],
    typer.Option("--without", metavar="COL", help="Of a set of trees, those that do not test this column; repeatable."),
]
Leaves = Annotated[
    int | None, typer.Option("--leaves", metavar="N", help="Of a set of trees, those with at most N leaves.")
]
SHOWN = 12  # lines of a table


def show_set(found, using, without, leaves: int | None) -> str:
    """The trees near the best as text: all of them, or of some columns and leaves."""
    from odtc.workflow.near_optimal import tested_features

    if using or without or leaves is not None:
        return _constrained(found, using, without, leaves)
    facts = found.facts
    lines = [found.words, ""]
    lines += ["leaves  trees", *(f"{value:6}  {trees:,}" for value, trees in facts["leaves"]), ""]
    lines += ["objective  trees", *(f"{value:9.10g}  {trees:,}" for value, trees in facts["objectives"][:SHOWN])]
    if len(facts["objectives"]) > SHOWN:
        lines.append(f"… up to {facts['limit']:.10g}")
    drawn, whole = len(found.trees), facts["sample"]["whole"]
    over = "all trees" if whole else f"{drawn} trees drawn"
    lines += [
        "",
        "column: trees that test it, best objective with and without it, what its tests save (least to greatest of "
        f"all trees), reliance (least to greatest of {over})",
    ]
    lines += [_column_line(column) for column in sorted(facts["columns"], key=lambda one: -(one["share"] or 0))]
    if facts["fewest_columns"]:
        fewest = facts["fewest_columns"]
        lines += ["", f"fewest columns: {fewest['columns']} ({', '.join(fewest['names']) or 'none'})"]
    if not drawn:
        return "\n".join([*lines, "", "no tree was drawn in the time that was left"]) + "\n"
    seed = "" if whole else f" with seed {facts['sample']['seed']}"
    lines += ["", f"{over}{seed}; --tree N shows one"]
    lines.append("tree  objective  leaves  depth  features")
    for at, (tree, value) in enumerate(zip(found.trees[:SHOWN], found.objectives), 1):
        lines.append(f"{at:4}  {value:9.10g}  {tree.n_leaves:6}  {tree.depth:5}  {', '.join(tested_features(tree))}")
    if drawn > SHOWN:
        lines.append("…")
    return "\n".join(lines) + "\n"


def _column_line(column: dict) -> str:
    reliance = column["reliance"]
    spread = f", {100 * reliance['least']:.3g}% to {100 * reliance['greatest']:.3g}%" if reliance else ""
    if saved := column.get("saved"):
        spread = f", {saved['least']:.6g} to {saved['greatest']:.6g}{spread}"
    if column["trees"] is None:
        return f"{column['name']}: not counted{spread}"
    best = ["–" if column[key] is None else f"{column[key]:.10g}" for key in ("best_with", "best_without")]
    return f"{column['name']}: {column['trees']:,} ({100 * column['share']:.3g}%), {best[0]} and {best[1]}{spread}"


def _constrained(found, using, without, leaves):
    cells = found.cells(using, without, leaves)
    trees = sum(many for _, _, many in cells)
    conditions = [f"test {name}" for name in using] + [f"do not test {name}" for name in without]
    conditions += [] if leaves is None else [f"have at most {leaves} leaves"]
    lines = [f"{trees:,} of {found.count:,} trees {' and '.join(conditions)}"]
    by_leaves: dict = {}
    for value, many_leaves, many in cells:
        best, before = by_leaves.get(many_leaves, (value, 0))
        by_leaves[many_leaves] = min(best, value), before + many
    if by_leaves:
        lines += ["", "leaves  best objective  trees"]
        lines += [f"{at:6}  {best:14.10g}  {many:,}" for at, (best, many) in sorted(by_leaves.items())]
    return "\n".join(lines) + "\n"


def show_pool(pool, number: int | None) -> str | None:
    """The list of a pool as text; with a number, None and the tree is to be shown."""
    from odtc.workflow.near_optimal import tested_features

    if number is not None:
        if not 1 <= number <= len(pool.trees):
            raise ChoiceError(f"expected --tree from 1 to {len(pool.trees)}, the trees of the pool, got {number}")
        return None
    lines = [pool.words, "", "tree  objective  leaves  depth  features"]
    for at, (tree, value) in enumerate(zip(pool.trees, pool.objectives), 1):
        lines.append(f"{at:4}  {value:9.10g}  {tree.n_leaves:6}  {tree.depth:5}  {', '.join(tested_features(tree))}")
    lines += ["", "feature: trees that ask it"]
    lines += [f"{name}: {count}" for name, count in pool.feature_use().items()]
    return "\n".join(lines) + "\n"
