"""The lines of a result, on screen and in Python, and remarks on its tree: better trees outside of its search, and
nodes, splits and rows that need a word. The command line prints remarks on stderr."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from odtc.base.text import count_of, percent_text
from odtc.base.wording import option, param
from odtc.data.dataset import CATEGORICAL, Dataset
from odtc.data.encoding import ENCODINGS, encode
from odtc.data.encodings.auto import SINGLE
from odtc.data.table.coded_columns import RowsOf, distinct
from odtc.data.task import TASKS
from odtc.problem.constraints.constraint import mended
from odtc.problem.problem import Problem
from odtc.trees.tree import Leaf, Node
from odtc.workflow.first_trees import known_tree
from odtc.workflow.messages import dropped_text
from odtc.workflow.results.claims import BEST
from odtc.workflow.results.facts import AllRowsFacts, TestFacts, broken_text, kept_line, majority_of

ROWS_OF = {"cart": "CART", "cart_test": "  CART"}  # the trees and rows of the figures of a task
REMARKS = "note: ", "warning: "  # how lines begin that are remarks on the figures, and no results
LESS = 1e-9  # by which a loss is lower, relatively
# Of the rows: a column of more levels, such as names, divides nearly all rows as one likes if it is split by sets.
SHARE_OF_LEVELS = 0.5
OF_SINGLE_LEVELS = ("auto", "onehot", "sampled")  # encodings whose splits take one level each
CART_CELLS = 2_000_000  # of a table on which CART is grown in addition to a selection


def is_remark(line: str) -> bool:
    """Return whether a line is a remark on the figures, which the command line prints on stderr."""
    return line.startswith(REMARKS)


def text_of(done) -> str:
    """Return a Fit as Python prints it: the tree, its claim, the lines of `odtc fit`, and the remarks."""
    found = [*figures(done), *size_lines(done), *assured_lines(done)]
    notes = [*done.notes, *filter(is_remark, found)]
    if not done.notes and done.dataset is not None and (dropped := dropped_text(done.dataset)):
        notes.insert(0, dropped)
    lines = [line for line in found if not is_remark(line)]
    return "\n".join([f"{done.tree}\n\n{done.claim}", *lines, *notes])


def claim_line(done) -> str:
    """Return the claim of a Fit: the proof of the tree, of which trees it is the best, by whom and how long that
    took."""
    proof, claimed = done.proof, done.claimed
    seconds = f", {proof.seconds:.2f} s" if proof.seconds is not None else ""
    nodes = f", {proof.nodes} {'node' if proof.nodes == 1 else 'nodes'}" if proof.nodes is not None else ""
    word, numbers = claimed.word, claimed.numbers
    if proof.edited is not None:
        bound = "" if claimed.bound is None else f", bound {claimed.bound:.10g}"
        own = "objective" in proof.edited
        numbers = f"objective {proof.objective:.10g}" + (
            f" (of the edited model {claimed.objective:.10g}{bound})" if own else bound
        )
    elif claimed.scope:
        word += f"; of all trees {BEST}" * done.verified
        numbers = replace(claimed, objective=proof.objective, bound=proof.bound).numbers
    why = f"; {claimed.reason}" * (not claimed.proved and done.verified)
    return f"{word}: {numbers}{nodes}{seconds}, {claimed.by}{why}"


def smallest_text(done) -> str:
    """Return the proof that no tree with this objective is smaller, in words, or how to get one; "" for none."""
    if done.fewest_stopped and done.proved:
        return f"another tree with this objective may have fewer leaves; {param('fewest', True)} searches to the end"
    if not (done.fewest_leaves and done.proved) or done.tree.n_leaves == 1:  # no tree is smaller than a leaf
        return ""
    said = "; among those with equally few leaves, none splits on fewer columns" if done.fewest_columns else ""
    return f"no tree with this objective has fewer leaves{said}"


def robust_lines(done) -> list[tuple[str, str]]:
    """Return (rows, the figures of the adversary in words), with the rows to test on last."""
    told, found = [], done.robust or {}
    for name, cart in (("training", "cart"), ("test", "cart_test")):
        if name in found and found[name]["robust_accuracy"] is not None:
            ours, theirs = (percent_text(found[which]["robust_accuracy"]) for which in (name, cart))
            lost = found[name]["robust_errors"]
            words = f"{ours} correct wherever moved ({found['boxes']}), {lost:.10g} not; CART {theirs}"
            told.append((name, words))
    return told


def figures(done) -> Iterator[str]:
    """Yield the figures of the tree on its rows, and on test rows, compared with CART.

    Parameters
    ----------
    done : Fit

    Yields
    ------
    str : a line, which may be a remark (`is_remark`)
    """
    if done.metrics is not None:
        yield from _task_figures(done)
    else:
        yield from _class_figures(done)
    if words := level_set_text(done):
        yield f"note: {words}"


def _class_figures(done) -> Iterator[str]:
    """Yield the figures of classification."""
    size, training, cart = done.size, done.training, done.cart_training
    weighted = training.train_weighted_accuracy is not None
    shares = (training.train_weighted_accuracy, cart.cart_train_weighted_accuracy)
    ours, theirs = (f", by weight {percent_text(share)}" if weighted else "" for share in shares)
    yield (
        f"{'selected' if done.all_rows else 'training'}  {training.train_correct} of {size.n_rows} "
        f"{'rows ' * weighted}correct ({percent_text(training.train_accuracy)}{ours}), "
        f"CART {cart.cart_train_correct} ({percent_text(cart.cart_train_accuracy)}{theirs})"
    )
    if size.cost is not None:
        yield (
            f"loss      {training.loss:.10g}, CART {cart.cart_loss:.10g}; balanced accuracy "
            f"{percent_text(training.train_balanced_accuracy)}"
        )
    if done.all_rows:
        yield from _all_rows(done)
    for entry in done.kept:
        yield kept_line(entry, done.tree)
    if words := broken_text(done.kept):
        yield f"          CART violates {words}"
    for name, line in robust_lines(done):
        yield f"{'robust' if name == 'training' else '  ' + name:<8}  {line}"
    if done.test is not None and done.test.test_accuracy is not None:
        yield from _test(done, done.test)


def size_lines(done) -> list[str]:
    """Return the lines on missing numbers, on the size of the tree, on an absent certificate, and on the checks."""
    lines = []
    if words := unmeasured_text(done):
        lines.append(f"missing   {words}")
    if words := smallest_text(done):
        lines.append(f"smallest  {words}")
    if done.claimed.uncertified:
        lines.append(f"not certified: {done.claimed.uncertified}")
    return [*lines, f"verified  {done.decoded.passed}"]


def assured_lines(done) -> Iterator[str]:
    """Yield which constraints new rows satisfy, if the fit has a confidence: a line for each constraint on new rows.

    Parameters
    ----------
    done : Fit

    Yields
    ------
    str : a line, which may be a remark (`is_remark`)
    """
    from odtc.workflow.constrained.assurance import assumption, assured_text

    if done.confidence is None:
        return
    entries = done.assured()
    for entry in entries:
        yield f"{'assured' if entry.holds else 'unsure':<9} {assured_text(entry, done.confidence)}"
    yield f"          if {assumption(done.problem, done.labelled, done.requested)}"
    if others := of_the_tree(done):
        yield f"          about the tree itself, not about new rows: {', '.join(others)}"
    if open_ := [str(entry.constraint) for entry in entries if not entry.holds]:
        yield (
            f"note: not assured on new rows: {', '.join(open_)}; the tree was fitted to satisfy the constraints on its "
            "training rows"
        )


def assured_facts(done) -> dict:
    """Return which constraints new rows satisfy, under the key "assured" of `--json`."""
    from odtc.workflow.constrained.assurance import assumption

    entries = done.assured()
    return {
        "all": all(entry.holds for entry in entries),
        "confidence": done.confidence,
        "assumption": assumption(done.problem, done.labelled, done.requested),
        "constraints": [entry.to_json() for entry in entries],
        "of_the_tree": of_the_tree(done),
        "searched": [str(given) for given in done.problem.constraints],
    }


def of_the_tree(done) -> list[str]:
    """Return the constraints that are not on new rows: they are on the tree itself, or count training rows."""
    from odtc.workflow.constrained.assurance import speaks_of_new_rows

    return [str(given) for given in done.requested or done.problem.constraints if not speaks_of_new_rows(given)]


def no_better_text(label: str, share: float) -> str:
    """Report that a tree is correct on no more rows than its most frequent class."""
    return (
        f"warning: the tree is correct on no more of these rows than its most frequent class {label!r} is "
        f"({percent_text(share)}): it may have learned only noise; `odtc tune` finds a depth that works on other rows, "
        "if there is one"
    )


def _task_figures(done) -> Iterator[str]:
    """Yield the figures of a task other than classification."""
    task = TASKS.get(done.problem.encoded.task)
    for name, facts in done.metrics.items():
        for line in task.figure_lines(facts):
            yield f"{ROWS_OF.get(name, name):<8}  {line}"
    for entry in done.kept:
        yield kept_line(entry, done.tree)


def _test(done, test: TestFacts) -> Iterator[str]:
    """Yield the figures of test rows, with a warning if the most frequent class is correct on as many of them as the
    tree. Under costs, weights or constraints the warning is omitted, because such a tree has another goal."""
    shares = (test.test_weighted_accuracy, test.cart_test_weighted_accuracy)
    ours, theirs = ("" if share is None else f", by weight {percent_text(share)}" for share in shares)
    rows = "row" if test.n_test_rows == 1 else "rows"
    left_out = {
        "with missing cells": test.n_test_rows_dropped,
        "without a known label": test.n_test_rows_without_known_label,
    }
    others = ", ".join(f"{n} more {why}" for why, n in left_out.items() if n)
    yield (
        f"test      {percent_text(test.test_accuracy)} of {test.n_test_rows} {rows} correct{ours}, "
        f"CART {percent_text(test.cart_test_accuracy)}{theirs}" + (f" ({others})" if others else "")
    )
    if test.test_loss is not None:
        yield f"          loss {test.test_loss:.10g}, CART {test.cart_test_loss:.10g}"
    most = test.test_majority_accuracy
    to_be_right = done.size.cost is None and test.test_weighted_accuracy is None and not done.problem.constraints
    if to_be_right and done.tree.n_leaves > 1 and most is not None and test.test_accuracy <= most:
        yield no_better_text(done.tree.classes[majority_of(done.tree)], most)


def _all_rows(done) -> Iterator[str]:
    """Yield the figures of all rows, from which the rows of the tree were selected."""
    every, cart, training, costs = done.all_rows, done.cart_all_rows, done.training, done.size.cost is not None
    ours, theirs = (
        "" if one.weighted_accuracy is None else f", by weight {percent_text(one.weighted_accuracy)}"
        for one in (every, cart)
    )
    yield (
        f"all rows  {every.correct} of {every.n_rows} correct ({percent_text(every.accuracy)}{ours}), "
        f"CART of the selected rows {cart.correct} ({percent_text(cart.accuracy)}{theirs})"
    )
    if costs:
        yield (
            f"          loss {every.loss:.10g}, CART {cart.loss:.10g}; balanced accuracy "
            f"{percent_text(every.balanced_accuracy)}"
        )
    if every.bound is not None:
        yield (
            f"          no tree of this depth over all thresholds loses less than {every.bound:.10g} of all rows; "
            f"this one loses {every.loss:.10g}"
        )
    if every.relabelled:
        yield (
            f"          {every.relabelled} of {count_of(training.n_leaves, 'leaf', '')} predict what loses least of "
            "all their rows, not of the selected"
        )
    from odtc.workflow.row_selection.selection import undecided_text

    if words := undecided_text(done.selection):
        yield f"note: {words}"
    if heavy := done.selection.get("n_heavy"):
        yield (
            f"note: {heavy} of the selected rows weigh as much as all errors of the first tree, so that they stay "
            "correct: objective, loss and constraints of the selected rows use these weights, the figures of all rows "
            "do not"
        )
    if not costs and every.accuracy < training.train_accuracy:
        yield (
            f"note: {percent_text(1 - training.train_accuracy)} of the selected rows are misclassified, but "
            f"{percent_text(1 - every.accuracy)} of all: for each misclassified row that was selected there may be "
            "others that were not; select more of them, or train on all"
        )
    if words := cart_of_all_text(done):
        yield f"note: {words}"
    for broken in every.breaks:
        yield f"note: the constraint is kept on the selected rows only: {broken}"


def level_set_text(done) -> str:
    """Report that CART over sets of levels costs less than the tree, some of whose splits take one level each, with
    the encoding that has such sets; "" if it does not, breaks a constraint, or the table has too many cells, and for
    formulations that find sets by themselves."""
    problem, rows = done.problem, done.dataset
    if rows is None or rows.X.size > CART_CELLS or problem.module.BEYOND or done.selection is not None:
        return ""
    encoding, options = ENCODINGS.parse(problem.encoded.scheme)
    taken = max(SINGLE, options.get("levels", 0))
    unordered = [at for at, one in enumerate(rows.features) if one.kind == CATEGORICAL and not one.ordered]
    most = max((len(distinct(rows.X, at)[0]) for at in unordered), default=0)
    has_sets = taken < most <= SHARE_OF_LEVELS * rows.n_rows
    if not has_sets or encoding.NAME not in OF_SINGLE_LEVELS or any(problem.encoded.radius):
        return ""
    least, cost = _cart_of_sets(problem, rows), problem.module.objective(problem, done.decoded.heap)
    if least >= cost - LESS * max(1.0, abs(cost)):
        return ""
    return (
        f"a tree that splits on sets of levels costs {least:.10g}, and this one {cost:.10g}: "
        f"{option('encoding', 'subsets')} searches for the best tree over such sets"
    )


def _cart_of_sets(problem: Problem, rows: Dataset) -> float:
    """Return the objective of CART over sets of levels, repaired if it breaks a constraint; infinite if that fails. Of
    the sets only those that an order by outcome divides are tried, because all sets take several times as long as the
    fit."""
    encoded = problem.encoded.derived("sets of levels", partial(encode, rows, "subsets:levels=2"))
    encoded = replace(encoded, cost=problem.encoded.cost, whole_cost=problem.encoded.whole_cost)
    over_sets = replace(problem, encoded=encoded)
    cart = mended(over_sets, known_tree(over_sets, "cart"))
    if cart is None or cart.fewest_rows(encoded) < problem.module.least_rows(problem):
        return np.inf
    return problem.module.objective(over_sets, cart)


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
