"""Figures of a tree on its rows and on test rows, next to CART: the lines of a result, on screen and in Python."""

from collections.abc import Iterator

from odtc.base.text import count_of, in_notebook, percent_text
from odtc.data.task import TASKS
from odtc.workflow.constrained.kept_constraints import broken_text, kept_line
from odtc.workflow.messages import cart_of_all_text, dropped_text, level_set_text, unmeasured_text
from odtc.workflow.results import Result
from odtc.workflow.row_selection.selection import undecided_text
from odtc.workflow.run_facts import TestFacts, majority_of

ROWS_OF = {"cart": "CART", "cart_test": "  CART"}  # the trees and rows of the figures of a task
Line = tuple[str, bool]  # a line, and whether it is a remark on the figures


class Fit(Result):
    """A finished run: the checked tree, its proof, and its figures (odtc.workflow.results.Result has the attributes).

    `print(fit)` shows the tree and the lines of `odtc fit`.
    """

    def __str__(self) -> str:
        found = [*figures(self), *((text, False) for text in size_lines(self)), *assured_lines(self)]
        notes = [*self.notes, *(text for text, remarked in found if remarked)]
        if not self.notes and self.dataset is not None and (dropped := dropped_text(self.dataset)):
            notes.insert(0, dropped)
        lines = [text for text, remarked in found if not remarked]
        return "\n".join([f"{self.tree}\n\n{self.claim}", *lines, *notes])

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def __repr__(self) -> str:
        many = f"; {len(self.notes)} note{'s' * (len(self.notes) > 1)}" if self.notes else ""
        told = f"{self.tree.size}; {self.claim}{many}"
        return f"<Fit of {self.problem.encoded.name} by {self.problem.formulation}: {told}>"


def figures(done: Result) -> Iterator[Line]:
    """Yield the figures of the tree on its rows, and on test rows, compared with CART.

    Parameters
    ----------
    done : Result

    Yields
    ------
    (str, bool) : a line, and whether it is a remark, which is not a result
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
        f"CART {cart.cart_train_correct} ({percent_text(cart.cart_train_accuracy)}{theirs})",
        False,
    )
    if size.cost is not None:
        yield (
            f"loss      {training.loss:.10g}, CART {cart.cart_loss:.10g}; balanced accuracy "
            f"{percent_text(training.train_balanced_accuracy)}",
            False,
        )
    if done.all_rows:
        yield from _all_rows(done)
    for entry in done.kept:
        yield kept_line(entry, done.tree), False
    if words := broken_text(done.kept):
        yield f"          CART violates {words}", False
    for name, line in done.robust_lines:
        yield f"{'robust' if name == 'training' else '  ' + name:<8}  {line}", False
    if done.test is not None and done.test.test_accuracy is not None:
        yield from _test(done, done.test)
    if words := level_set_text(done):
        yield f"note: {words}", True


def size_lines(done: Result) -> list[str]:
    """Return the lines on missing numbers, on the size of the tree, on an absent certificate, and on the checks."""
    lines = []
    if words := unmeasured_text(done):
        lines.append(f"missing   {words}")
    if done.smallest_words:
        lines.append(f"smallest  {done.smallest_words}")
    if done.uncertified_words:
        lines.append(f"not certified: {done.uncertified_words}")
    return [*lines, f"verified  {done.decoded.passed}"]


def assured_lines(done: Result) -> Iterator[Line]:
    """Yield which constraints new rows satisfy, if the fit has a confidence: a line for each constraint on new rows.

    Parameters
    ----------
    done : Result

    Yields
    ------
    (str, bool) : a line, and whether it is a remark, which is not a result
    """
    from odtc.workflow.constrained.assurance import assumption, assured_text

    if done.confidence is None:
        return
    entries = done.assured()
    for entry in entries:
        yield f"{'assured' if entry.holds else 'unsure':<9} {assured_text(entry, done.confidence)}", False
    yield f"          if {assumption(done.problem, done.labelled, done.requested)}", False
    if others := of_the_tree(done):
        yield f"          of the tree and its training rows only: {', '.join(others)}", False
    if open_ := [str(entry.constraint) for entry in entries if not entry.holds]:
        yield (
            f"note: not assured on new rows: {', '.join(open_)}; the tree was fitted to satisfy the constraints on its "
            "training rows",
            True,
        )


def assured_facts(done: Result) -> dict:
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


def of_the_tree(done: Result) -> list[str]:
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


def _task_figures(done: Result) -> Iterator[Line]:
    """Yield the figures of a task other than classification."""
    task = TASKS.get(done.problem.encoded.task)
    for name, facts in done.metrics.items():
        for line in task.figure_lines(facts):
            yield f"{ROWS_OF.get(name, name):<8}  {line}", False
    for entry in done.kept:
        yield kept_line(entry, done.tree), False


def _test(done: Result, test: TestFacts) -> Iterator[Line]:
    """Yield the figures of test rows, with a warning if the most frequent class is correct on as many of them as the
    tree. There is no warning under costs, weights and constraints, because such a tree has another goal."""
    shares = (test.test_weighted_accuracy, test.cart_test_weighted_accuracy)
    ours, theirs = ("" if share is None else f", by weight {percent_text(share)}" for share in shares)
    rows = "row" if test.n_test_rows == 1 else "rows"
    yield (
        f"test      {percent_text(test.test_accuracy)} of {test.n_test_rows} {rows} correct{ours}, "
        f"CART {percent_text(test.cart_test_accuracy)}{theirs}"
        + (f" ({test.n_test_rows_dropped} more have missing cells)" if test.n_test_rows_dropped else ""),
        False,
    )
    most = test.test_majority_accuracy
    to_be_right = done.size.cost is None and test.test_weighted_accuracy is None and not done.problem.constraints
    if to_be_right and done.tree.n_leaves > 1 and most is not None and test.test_accuracy <= most:
        yield no_better_text(done.tree.classes[majority_of(done.tree)], most), True


def _all_rows(done: Result) -> Iterator[Line]:
    """Yield the figures of all rows, from which the rows of the tree were selected."""
    every, cart, training, costs = done.all_rows, done.cart_all_rows, done.training, done.size.cost is not None
    ours, theirs = (
        "" if one.weighted_accuracy is None else f", by weight {percent_text(one.weighted_accuracy)}"
        for one in (every, cart)
    )
    yield (
        f"all rows  {every.correct} of {every.n_rows} correct ({percent_text(every.accuracy)}{ours}), "
        f"CART of the selected rows {cart.correct} ({percent_text(cart.accuracy)}{theirs})",
        False,
    )
    if costs:
        yield (
            f"          loss {every.loss:.10g}, CART {cart.loss:.10g}; balanced accuracy "
            f"{percent_text(every.balanced_accuracy)}",
            False,
        )
    if every.bound is not None:
        yield (
            f"          no tree of this depth over all thresholds loses less than {every.bound:.10g} of all rows; "
            f"this one loses {every.loss:.10g}",
            False,
        )
    if every.relabelled:
        yield (
            f"          {every.relabelled} of {count_of(training.n_leaves, 'leaf', '')} predict what loses least of "
            "all their rows, not of the selected",
            False,
        )
    if words := undecided_text(done.selection):
        yield f"note: {words}", True
    if heavy := done.selection.get("n_heavy"):
        yield (
            f"note: {heavy} of the selected rows weigh as much as all errors of the first tree, so that they stay "
            "correct: objective, loss and constraints of the selected rows use these weights, the figures of all rows "
            "do not",
            True,
        )
    if not costs and every.accuracy < training.train_accuracy:
        yield (
            f"note: {percent_text(1 - training.train_accuracy)} of the selected rows are misclassified, but "
            f"{percent_text(1 - every.accuracy)} of all: "
            "for each misclassified row that was selected there may be others that were not; select more of them, or "
            "train on all",
            True,
        )
    if words := cart_of_all_text(done):
        yield f"note: {words}", True
    for broken in every.breaks:
        yield f"note: the constraint is kept on the selected rows only: {broken}", True
