"""How many levels of trees dpflow writes, how many the compiler solves, and what columns that makes at most."""

from math import comb

from odtc.errors import ModelError
from odtc.states import Rows, valued

MANY = 500_000  # columns: beyond them `tail=auto` folds one level more


def short_tail(n_tests: int, depth: int) -> int:
    """The levels that `tail=auto` folds: two from depth 4 on, one at depth 3, more where the columns would be many."""
    tail = max(0, min(2, depth - 2))
    while tail < min(2, depth - 1) and most_columns(n_tests, depth - tail) > MANY:
        tail += 1
    return tail


def most_columns(n_tests: int, levels: int) -> int:
    """The columns of the linear program if no two itemsets had the same rows and each had some."""
    return sum(2**j * comb(n_tests, j) * (n_tests - j + 1) for j in range(levels))


def most_points(n_tests: int, depth: int) -> int:
    """The same where sums over the tree are bounded: beside the arcs, above the last level every test of every state
    with two labels, whose order matters."""
    return most_columns(n_tests, depth - 1) + 2**depth * comb(n_tests, depth - 1) * (n_tests - depth + 1)


def enough(rows: Rows, depth: int) -> int:
    """The least depth whose best tree costs what no tree can avoid; `depth` where none below does that is
    quickly tried."""
    floor, total = float(rows.floor.sum()), float(rows.loss.sum())

    def excess(less):
        return valued(rows, less).values[0][0] - floor

    over = total
    for less in (2, 3, 4):  # the cheapest first; a fourth level only where the third left little
        if less >= min(depth, 5) or less == 4 and over > total / 10:
            break
        try:
            over = excess(less)
        except ModelError:  # no quick try
            break
        if over <= rows.near:
            return 1 if less == 2 and excess(1) <= rows.near else less
    return 1 if depth == 2 and excess(1) <= rows.near else depth
