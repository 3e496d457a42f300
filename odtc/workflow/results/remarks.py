"""Remarks on a tree: better trees outside of its search, and nodes, splits and rows that need a word."""

from dataclasses import replace
from functools import partial

import numpy as np

from odtc.base.text import count_of, percent_text
from odtc.base.wording import option
from odtc.data.dataset import CATEGORICAL, Dataset
from odtc.data.encoding import ENCODINGS, encode
from odtc.data.encodings.auto import SINGLE
from odtc.data.table.coded_columns import RowsOf, distinct
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.problem import Problem
from odtc.trees.tree import Leaf, Node
from odtc.workflow.results.facts import AllRowsFacts

LESS = 1e-9  # by which a loss is lower, relatively
# Of the rows: a column of more levels, such as names, divides nearly all rows as one likes if it is split by sets.
SHARE_OF_LEVELS = 0.5
OF_SINGLE_LEVELS = ("auto", "onehot", "sampled")  # encodings whose splits take one level each
CART_CELLS = 2_000_000  # of a table on which CART is grown in addition to a selection


def level_set_text(done) -> str:
    """Report that CART over sets of levels loses less than the tree, some of whose splits take one level each, with
    the encoding that has such sets; "" if it does not, may break a constraint, or the table has too many cells."""
    problem, rows = done.problem, done.dataset
    if rows is None or rows.X.size > CART_CELLS or problem.constraints or done.selection is not None:
        return ""
    encoding, options = ENCODINGS.parse(problem.encoded.scheme)
    taken = max(SINGLE, options.get("levels", 0))
    unordered = [at for at, one in enumerate(rows.features) if one.kind == CATEGORICAL and not one.ordered]
    most = max((len(distinct(rows.X, at)[0]) for at in unordered), default=0)
    has_sets = taken < most <= SHARE_OF_LEVELS * rows.n_rows
    if not has_sets or encoding.NAME not in OF_SINGLE_LEVELS or any(problem.encoded.radius):
        return ""
    grown = partial(_cart_of_sets, problem, rows)
    least, nodes = problem.encoded.derived(("CART over sets of levels", problem.topology.depth), grown)
    loss = done.decoded.heap.loss(problem.encoded)
    if nodes > done.tree.n_branch_nodes or least >= loss - LESS * max(1.0, abs(loss)):
        return ""
    return (
        f"a tree that splits on sets of levels loses {least:.10g}, and this one {loss:.10g}: "
        f"{option('encoding', 'subsets')} searches for the best tree over such sets"
    )


def _cart_of_sets(problem: Problem, rows: Dataset) -> tuple[float, int]:
    """Return the loss and the number of branch nodes of CART over sets of levels. Of these only the sets that an order
    by outcome divides are tried, because all sets take several times as long as the fit."""
    encoded = encode(rows, "subsets:levels=2")
    encoded = replace(encoded, cost=problem.encoded.cost, whole_cost=problem.encoded.whole_cost)
    cart = HEURISTICS.get("cart").tree(encoded, problem.topology)
    return cart.loss(encoded), cart.n_branch_nodes


def cart_of_all_text(done) -> str:
    """Report that CART on all rows has a lower loss on them than a tree of selected ones; "" if it does not, may break
    a constraint, or the table has too many cells."""
    every = done.all_rows
    if every is None or done.problem.constraints or done.dataset.selected.whole.X.size > CART_CELLS:
        return ""
    from odtc.workflow.row_selection.selection import first_tree

    whole = done.dataset.selected.whole
    cart = AllRowsFacts.of(first_tree(whole, done.problem.topology.depth), done.problem.encoded.cost)
    if cart.loss >= every.loss:
        return ""
    return (
        f"CART of all rows has {cart.correct} of {cart.n_rows} correct ({percent_text(cart.accuracy)}) and loses "
        f"{cart.loss:.10g}, less than this tree of {count_of(done.dataset.n_rows, 'row')}: select more of them, or "
        f"train on all (without {option('select')})"
    )


def simplified_text(done) -> str:
    """Report which branch nodes were removed because no row needed them; "" if none were."""
    before = done.simplified
    if before is None:
        return ""
    went, paid = before["n_branch_nodes"] - done.tree.n_branch_nodes, done.proof.objective
    price = (
        ""
        if paid is None or paid >= before["objective"]
        else f", and the tree costs {before['objective'] - paid:.6g} less"
    )
    nodes = (
        "1 branch node that no row needs is"
        if went == 1
        else f"{count_of(went, 'branch node', '')} that no row needs are"
    )
    return f"{nodes} left out{price}; --no-simplify keeps {'it' if went == 1 else 'them'}"


def unmeasured_text(done) -> str:
    """Report how many training rows went right at a threshold because they lack its number, by column; "" if none did.
    A split such as "x > 3" does not show that its rows may be such."""
    dataset = done.problem.encoded.dataset or done.dataset
    if done.tree.missing != "separate" or dataset is None:
        return ""
    lacking: dict[str, np.ndarray] = {}
    stack: list[tuple[Node, np.ndarray]] = [(done.tree.root, np.arange(dataset.n_rows))]
    while stack:
        node, rows = stack.pop()
        if isinstance(node, Leaf):
            continue
        X = RowsOf(dataset.X, rows)
        for place in node.split.measured:
            name = done.tree.features[place].name
            found = lacking.setdefault(name, np.zeros(dataset.n_rows, bool))
            found[rows[np.isnan(X[:, place])]] = True
        left = node.split.left(X)
        stack += [(node.right, rows[~left]), (node.left, rows[left])]
    counts = {name: int(dataset.copies[found].sum()) for name, found in lacking.items()}
    told = ", ".join(f"{name!r} ({rows:,} row{'' if rows == 1 else 's'})" for name, rows in counts.items() if rows)
    return f"a row without the number goes right at its threshold (>): {told}" if told else ""
