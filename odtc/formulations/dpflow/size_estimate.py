"""Size estimates: the levels of a tree that become variables, the levels that the compiler solves, and a size limit."""

from math import comb

MOST_COLUMNS = 3_000_000  # maximum number of variables of the linear program: about a gigabyte while it is solved
MOST_SUMS = 20_000_000_000  # maximum number of table entries that are computed for it: about half a minute
PACE = 300_000_000  # approximate number of these entries per CPU second
FOLDED_VARIABLES = 500_000  # with more variables than this, `tail=auto` folds one more level


def short_tail(n_candidate_splits: int, depth: int) -> int:
    """Return the number of levels that `tail=auto` folds: two from depth 4 on, one at depth 3, more if there would be
    many variables."""
    tail = max(0, min(2, depth - 2))
    while tail < min(2, depth - 1) and most_columns(n_candidate_splits, depth - tail) > FOLDED_VARIABLES:
        tail += 1
    return tail


def most_columns(n_candidate_splits: int, levels: int) -> int:
    """Return the number of variables of the linear program if no two itemsets had the same rows and each had some."""
    return sum(2**j * comb(n_candidate_splits, j) * (n_candidate_splits - j + 1) for j in range(levels))


def most_states(n_candidate_splits: int, levels: int) -> int:
    """Return the number of constraints of the same linear program: its states."""
    return sum(2**j * comb(n_candidate_splits, j) for j in range(levels))


def most_points(n_candidate_splits: int, depth: int) -> int:
    """Return the same if sums over the tree are bounded: in addition to the arcs, above the last level every split of
    every state with two labels, whose order matters."""
    return most_columns(n_candidate_splits, depth - 1) + 2**depth * comb(n_candidate_splits, depth - 1) * (
        n_candidate_splits - depth + 1
    )


def most_labels(n_candidate_splits: int, depth: int) -> int:
    """Return the same if a constraint depends on splits, too, so that no level is folded, for two classes, before the
    program is reduced and its states know their nodes."""
    return sum(
        2**j * comb(n_candidate_splits, j) * (2 + (n_candidate_splits - j if j < depth else 0))
        for j in range(depth + 1)
    )


def sums(n_candidate_splits: int, depth: int) -> int:
    """Return the largest number of entries of the tables that are counted to find the values of all states."""
    return (
        2 ** (depth - 2) * comb(n_candidate_splits, depth - 2) * n_candidate_splits**2
        if depth > 1
        else n_candidate_splits
    )


def seconds(n_candidate_splits: int, depth: int) -> float:
    """Return the approximate CPU seconds of the tables of the dynamic program."""
    return sums(n_candidate_splits, depth) / PACE
