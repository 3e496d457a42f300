"""The lines of a result, on screen and in Python; the command line prints the remarks among them on stderr."""

from collections.abc import Iterator
from dataclasses import replace

from odtc.base.text import count_of, percent_text
from odtc.base.wording import param
from odtc.data.task import TASKS
from odtc.workflow.messages import dropped_text
from odtc.workflow.results.claims import BEST
from odtc.workflow.results.facts import TestFacts, broken_text, kept_line, majority_of
from odtc.workflow.results.remarks import cart_of_all_text, level_set_text, unmeasured_text

ROWS_OF = {"cart": "CART", "cart_test": "  CART"}  # the trees and rows of the figures of a task
REMARKS = "note: ", "warning: "  # how lines begin that are remarks on the figures, and no results


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
        return
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
    if words := level_set_text(done):
        yield f"note: {words}"


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
    tree. There is no warning under costs, weights and constraints, because such a tree has another goal."""
    shares = (test.test_weighted_accuracy, test.cart_test_weighted_accuracy)
    ours, theirs = ("" if share is None else f", by weight {percent_text(share)}" for share in shares)
    rows = "row" if test.n_test_rows == 1 else "rows"
    yield (
        f"test      {percent_text(test.test_accuracy)} of {test.n_test_rows} {rows} correct{ours}, "
        f"CART {percent_text(test.cart_test_accuracy)}{theirs}"
        + (f" ({test.n_test_rows_dropped} more have missing cells)" if test.n_test_rows_dropped else "")
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
            f"{percent_text(1 - every.accuracy)} of all: "
            "for each misclassified row that was selected there may be others that were not; select more of them, or "
            "train on all"
        )
    if words := cart_of_all_text(done):
        yield f"note: {words}"
    for broken in every.breaks:
        yield f"note: the constraint is kept on the selected rows only: {broken}"
