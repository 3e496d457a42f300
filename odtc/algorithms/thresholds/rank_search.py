"""The best tree of any depth over all thresholds, by best-first search over intervals (ConTree: Brita et al. 2025).

V_h(S), the least cost of a tree of height h on the rows S, grows with S, and by no more than the largest cost of the
added rows. So the costs at one threshold bound the costs at all others of its column: for lo <= c <= hi

    L_c >= L_lo,   L_c >= L_hi - (w(hi) - w(c)),   R_c >= R_hi,   R_c >= R_lo - (w(c) - w(lo))

An interval consists of the thresholds between two evaluated ones. The interval of least bound is halved until its
bound reaches the cost of the best tree; the least bound is always a valid lower bound on the cost of all trees. Sides
are searched in the same way, trees of depth 2 by a kernel (depth_two). If leaves must have `least` rows, only the
second and the fourth bound are valid; the first and the third then use the costs of trees without this constraint.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from odtc.algorithms.thresholds import apart, side_by_side
from odtc.algorithms.thresholds.common_rows import Group
from odtc.algorithms.thresholds.depth_two import SEVERAL
from odtc.algorithms.thresholds.few_nodes.shapes import Limited, Shape, Sides, heights_within, levels, sides_of
from odtc.algorithms.thresholds.open_intervals import Interval, OpenIntervals
from odtc.algorithms.thresholds.ordered_nodes import OrderedNodes
from odtc.algorithms.thresholds.ranks import NONE, RankedRows, rank_rows
from odtc.base import memory
from odtc.base.value_class import value_class

LEAF = (-1, 0)  # the split of a leaf
PART = 0.25  # share of the free memory for stored results
SOME = 2**28  # minimum bytes for stored results
ENTRY, POINT = 500, 200  # bytes of a stored result, without its key, and of an evaluated split
DIVED = 3  # for trees of more height, a good tree is first sought greedily
CLIMB = 0.3  # share of the effort so far that is spent on better trees, by dives, before the search of a height
PROBES = 64  # splits, the best ones for trees of less height, below which taller trees are sought
COLUMNS = 8  # columns that are tried for the first split of a better tree, at each of its nodes
# For a bound of at most this part of the best tree's cost, a side is first searched for this part of its expected cost,
# because a full proof of the side takes several times as long.
AIM = 0.8
LEVELS = 20  # times that the entries are halved to decide which cut is evaluated first
FEW_CUTS = 8  # in a column of at most this many cuts, the first bound is computed from each cut
WIDE = 5  # dives try two splits up to this height and one above, because their number doubles with each level


class Known:
    """Knowledge about the trees of one height on a set of entries.

    Attributes
    ----------
    lower : int, lower bound on the cost of these trees
    upper : int, the cost of the best tree found
    split : (column, rank), its first split; LEAF; or the shape of less trees of which it is the best one
    below : the Known of both sides of this split, or of these less trees; () for height 2 and less
    dived, climbed : whether a tree was sought greedily, and whether better trees were sought near it
    points : (column, rank, left, right) of the evaluated splits, with lower bounds on the trees of the height below on
        both sides; 0 for a side that was not searched
    grouped : a bound that needs no evaluated splits, and the groups of halves that prove it
        (odtc.algorithms.thresholds.common_rows)
    """

    __slots__ = ("below", "climbed", "dived", "grouped", "lower", "points", "split", "upper")

    def __init__(self, lower: int, upper: int):
        self.lower, self.upper, self.split, self.points = lower, upper, LEAF, []
        self.below: tuple[Known, ...] = ()
        self.dived = self.climbed = False
        self.grouped: tuple[int, list[Group]] = (0, [])

    @property
    def exact(self) -> bool:
        """Return whether the best tree found is proved optimal."""
        return self.lower >= self.upper

    def improve(self, upper: int, split, *below: "Known") -> None:
        """Store a tree if it costs less than the best one so far."""
        if upper < self.upper:
            self.upper, self.split, self.below = upper, split, below


class _Every(Known):
    """List of all splits whose sides were both searched, as (column, rank, left, right), in place of the best tree."""

    __slots__ = ()

    def improve(self, upper: int, split, *below: Known) -> None:
        """Add a split, with the lower bounds of its sides; a tree that costs little enough may begin with it."""
        self.split.append((*split, *(side.lower for side in below)))


class End:
    """A cut that was evaluated, or an end of a column.

    `weight` is the weight left of the cut; `left` and `right` are lower bounds of the trees on both sides. `grown`
    bounds the trees left of any later cut, and `grown_right` the trees right of any earlier cut. `paid` is the cost of
    the trees on both sides of an evaluated cut, or somewhat less.
    """

    __slots__ = ("grown", "grown_right", "left", "paid", "right", "weight")

    def __init__(self, weight: int, left: int, right: int, grown: int | None = None, grown_right: int | None = None):
        self.paid = left + right
        self.weight, self.left, self.right = weight, left, right
        self.grown = left if grown is None else grown
        self.grown_right = right if grown_right is None else grown_right


@value_class
class Narrowed:
    """An interval, the first and last of its remaining cuts, the cut to evaluate, and the arguments of `_evaluate` for
    it (`terms`)."""

    interval: Interval
    first: int
    last: int
    cut: int
    terms: tuple


def _nodes_of(ranked: RankedRows):
    """Return the nodes of ranked rows: BinaryNodes if sums over pairs of splits are counted (`by_splits`), otherwise
    OrderedNodes."""
    if not ranked.by_splits:
        return OrderedNodes(ranked)
    from odtc.algorithms.thresholds.binary_nodes import BinaryNodes

    return BinaryNodes(ranked)


class RankSearch:
    """Search for the best trees over all thresholds of ranked rows.

    `memo` stores results, by height and set of entries, in a share of the free memory. If it is full, the results that
    are quickest to compute again are dropped; `dropped` counts them, and `tallest_dropped` is their greatest height.

    Parameters
    ----------
    ranked : RankedRows
    check : called between evaluations; raises to end the search
    found : called as found(upper, lower) with the cost of the best tree for all entries and the bound of all trees
    room : int or None, about the number of bytes for `memo`; None for PART of the free memory
    """

    def __init__(
        self,
        ranked: RankedRows,
        check: Callable[[], None] | None = None,
        found: Callable[[int, int], None] | None = None,
        room: int | None = None,
    ):
        self.ranked = ranked
        self.check, self.found = check or (lambda: None), found or (lambda upper, lower: None)
        self.memo: dict[tuple[Shape, bytes], Known] = {}
        self.nodes = _nodes_of(ranked)
        free = memory.available()
        self.room = room or (SOME if free is None else max(SOME, int(PART * free)))
        self.held = self.dropped = self.tallest_dropped = 0
        self.relaxed = RankSearch(replace(ranked, least=1), check, None, self.room) if ranked.least > 1 else None
        self.root = self.nodes.root()
        self.height: Shape = 0
        self.evaluated = self.serial = 0
        # Trees of depth 2 sought, where a search for a low bound counts in part; and the number at which a climb ends.
        self.effort = self.climbing = 0.0
        self.began = time.process_time()
        self.cost_first = False  # the argument of `solve`
        self.raising = False  # True if only a bound far below the best tree is sought
        # Cost of the best tree for all entries of height 3, relative to height 2; 0 if sides are to be proved.
        self.fall = 0.0
        self.explaining = False  # True if splits that prove a bound are sought, and no better trees
        # Bounds of the trees for all entries that were found elsewhere (`note_bound`), by height.
        self.noted: dict[Shape, int] = {}
        self.levels: dict[int, np.ndarray] = {}  # results of `_level`, by column
        self.given_up: set[int] = set()  # heights for which the proof for all entries takes too long
        # By height and node: the cuts that were evaluated before, by column, with bounds of both sides.
        self.evaluated_before: dict[tuple[int, bytes], dict[int, dict[int, Any]]] = {}

    def solve(self, height: Shape, need: int = NONE, cost_first: bool = False) -> Known:
        """Find the best tree of at most this height for all entries, or a bound of at least `need`. If `check` ends the
        search, `known` returns the results so far. With `cost_first`, the search ends when no tree has a lower cost, if
        a tree of the same cost with fewer branch nodes is found more quickly afterwards."""
        self.height, self.cost_first = height, cost_first
        try:
            return self.value(self.root, height, need)
        finally:
            self.cost_first = False

    def bound(self, height: Shape, need: int) -> Known:
        """Raise the lower bound on trees of this height for all entries to `need`, or to the cost of the best tree,
        without looking for better trees. A `need` below the best tree is rounded down to a whole cost, without branch
        nodes."""
        if need < self.known(height).upper:
            need = need // self.ranked.scale * self.ranked.scale
        self.raising = True
        far = levels(height) > 3 and need <= AIM * self.known(height).upper
        self.fall = self.known(3).upper / max(1, self.known(2).upper) if far else 0.0
        try:
            return self.solve(height, need, cost_first=True)
        finally:
            self.raising = False

    def first_cut(self, column: int, height: int, need: int) -> None:
        """Prove a bound of `need`, or the best tree, on both sides of the cut of a column that is evaluated first."""
        last = int(self.nodes.cuts(self.root)[0][column]) - 1
        if last >= 1:
            cut = self._next_cut(self.root, height + 1, column, 1, last)
            for right in (False, True):
                self._side(self.root, column, cut, right, height, need)

    def note_bound(self, height: int, lower: int) -> None:
        """Store a bound of the trees of this height for all entries that was found elsewhere."""
        self.noted[height] = max(lower, self.noted.get(height, 0))

    def lower(self, height: Shape) -> int:
        """Return a lower bound on the cost of trees of this height for all entries."""
        known = self.known(height)
        return max(known.lower, min(known.upper, self.noted.get(height, 0)))

    def dive(self, height: int) -> Known:
        """Find a good tree of this height for all entries greedily."""
        if height > DIVED:
            self.value(self.root, 2)
            self.grow(height)
        return self._dive(self.root, height)

    def grow(self, height: int) -> None:
        """Build a tree of this height for all entries: the best known one of less height, with greedy subtrees below
        its leaves.

        It is available sooner than `dive` ends, and an interruption keeps the part that was found.
        """
        if self.nodes.solves(DIVED):  # the kernels find these trees at once
            return
        shallower = [self.entry(self.root, less) for less in range(height)]
        self._grow(self.root, height, min(shallower, key=lambda known: known.upper))

    def plant(self, height: int, nested) -> None:
        """Use a tree of at most this height for all entries that was found elsewhere, and put the best trees of height
        2 below its splits, at the most expensive nodes first.

        Parameters
        ----------
        height : int
        nested : (column, rank, left, right), or None for a leaf
        """
        planted: list[tuple[Known, tuple[int, int], list[Known]]] = []
        bottom: list = []
        try:
            self._plant(self.root, height, nested, planted, bottom)
            for node in sorted(bottom, key=lambda node: -self.entry(node, 2).upper):
                self.check()
                self.value(node, 2)
        finally:  # an interruption leaves what was found so far
            for known, split, sides in reversed(planted):
                known.improve(self._joined(sides), split, *sides)

    def improve(self, height: int) -> None:
        """Search for better trees of this height around the best one, for all entries, until none is found or `check`
        ends it. A search by bounds finds such trees late if its bounds are far below the best tree."""
        self.climbing = float("inf")
        try:
            self._improve(self.root, height)
        finally:
            self.climbing = 0.0

    def known(self, height: Shape) -> Known:
        """Return the knowledge about the trees of this height for all entries, also after an interruption."""
        best = self.entry(self.root, height)
        for less in heights_within(height):
            known = self.entry(self.root, less)
            best.improve(known.upper, less, known)
        return best

    def value(self, node, height: Shape, need: int = NONE) -> Known:
        """Return the best tree of this height on a node, or a bound of at least `need`."""
        known, need = self.entry(node, height), self.ranked.wanted(levels(height), need)
        if known.lower < self.cutoff(node, height, need, known):
            if isinstance(height, Limited):
                from odtc.algorithms.thresholds.few_nodes.divided_nodes import search_limited

                search_limited(self, node, height, need, known)
            elif height == 1:
                self._stump(node, known)
            elif height == 2:
                self._pair(node, need, known)
            elif self.nodes.solves(height):
                self._tall(node, height, need, known)
            else:
                self._deep(node, height, need, known)
            known.lower = min(known.upper, self.ranked.lifted(levels(height), known.lower))
        return known

    def is_settled(self, known: Known) -> bool:
        """Return whether no tree costs less than the best one found; another tree may cost the same with fewer branch
        nodes."""
        return known.lower // self.ranked.scale >= known.upper // self.ranked.scale

    def tree(self, height: Shape):
        """Return the best tree found, as nested (column, rank, left, right), with None for a leaf."""
        return self._tree(self.root, self.known(height), height)

    def tree_of(self, node, height: int):
        """Return the best tree of this height on a node, in the form of `tree`."""
        return self._tree(node, self.value(node, height), height)

    def _tree(self, node, known, height):
        while not isinstance(known.split, tuple):
            height, known = known.split, known.below[0]
        if known.split == LEAF:
            return None
        column, rank = known.split
        sides, heights = self.nodes.sides(node, column, rank), sides_of(height)
        below = known.below or [self.value(side, less) for side, less in zip(sides, heights)]
        trees = [self._tree(side, one, less) for side, one, less in zip(sides, below, heights)]
        # With sums over pairs of splits, a split may leave one side empty, if no other tree costs less.
        kept = [tree for tree, side in zip(trees, sides) if side.n]
        return (column, rank, *trees) if len(kept) == 2 else kept[0]

    def entry(self, node, height: Shape) -> Known:
        """Return the knowledge about the trees of this height on a node so far."""
        known = self.memo.get((height, node.key))
        if known is None:
            settled = node.leaf <= self.ranked.price or not height
            known = self.memo[height, node.key] = Known(node.leaf if settled else 0, node.leaf)
            self.held += ENTRY + len(node.key)
            if self.held > self.room:
                self._drop()
        return known

    def _drop(self):
        """Drop half of the memory: results of little height first, the oldest first, and none for all entries."""
        size = {key: ENTRY + len(key[1]) + POINT * len(known.points) for key, known in self.memo.items()}
        self.held = sum(size.values())
        for key in sorted((key for key in size if key[1] != self.root.key), key=lambda key: levels(key[0])):
            if 2 * self.held <= self.room:
                break
            self.held -= size[key]
            self.memo.pop(key).points = []  # the rest of the result may still be part of the best trees of other nodes
            self.dropped += 1
            self.tallest_dropped = max(self.tallest_dropped, levels(key[0]))

    def node_of(self, inside: np.ndarray):
        """Return the node of these entries, bool (entries,)."""
        return self.nodes.node_of(inside)

    def _child(self, node, column, cut, right):
        return self.nodes.child(node, *self.nodes.part(node, column, cut, right))

    def _side(self, node, column, cut, right, height, need):
        """Return the knowledge about the trees of this height on one side of a cut, or a bound of at least `need`."""
        key, part = self.nodes.part(node, column, cut, right)
        known = self.memo.get((height, key))
        if known is not None and known.lower >= min(known.upper, self.ranked.wanted(levels(height), need)):
            return known
        return self.value(self.nodes.child(node, key, part), height, need)

    # Trees of height 1 and 2.

    def _stump(self, node, known):
        split, cost = self.nodes.stump(node)
        known.improve(cost, split)
        known.lower = known.upper

    def _pair(self, node, need, known):
        def found(cost, column, rank):
            if column >= 0:
                known.improve(cost, (column, rank))

        cost, column, rank = self.nodes.pair(node, min(need, known.upper), found)
        self.evaluated += 1
        self.effort += min(1.0, need / max(1, node.leaf))  # a bound far below the cost of a leaf takes few scans
        found(cost, column, rank)
        known.lower = max(known.lower, cost)

    # Deeper trees.

    def _tall(self, node, height, need, known):
        """Search over few splits with a kernel, which stores no points (see `explain`). It does not check the deadline,
        so a long search of height 4 is done split by split (`_four`)."""
        if height == 4 and self.nodes.is_long(node, 4):
            self._four(node, need, known)
            return
        cost, column, rank, sets = self.nodes.tall(node, height, min(need, known.upper))
        self.evaluated += sets
        if column == -2:
            three = self.value(node, 3)
            known.improve(cost, 3, three)
        elif column >= 0:
            known.improve(cost, (column, rank))
        known.lower = max(known.lower, cost)

    def _four(self, node, need, known):
        """Search in the same way as the kernel of height 4, with separate calls for the trees of height 3."""
        three = self.value(node, 3)
        known.improve(three.upper, 3, three)
        from odtc.algorithms.thresholds.binary_nodes import Fours

        fours = Fours(self.nodes, node)
        for split in fours.order:
            found: list = [None, None]
            for answer, right in fours.sides(split):
                if fours.bound(split) >= min(known.upper, need):
                    break
                self.check()
                column, rank = self.nodes.named(split)
                found[right] = self._side(node, column, self.nodes.cut_of(node, column, rank), right, 3, NONE)
                fours.learn(split, answer, found[right].upper)
            if all(found):
                known.improve(self._joined(found), (column, rank), *found)
                self.tell(node, 4, known)
        known.lower = max(known.lower, min(known.upper, fours.least()))

    def explain(self, node, height: int, need: int, look: Callable[[], None]) -> None:
        """Store splits that prove a bound of a node: no tree costs less than `need`, by a kernel that stores no splits.
        They are evaluated again, one by one, even after `check` has ended the search; `look` is called between them,
        and may raise."""
        known = self.entry(node, height)
        if not known.points:
            again, check = Known(0, node.leaf), self.check
            self.check, self.explaining = look, True
            try:
                self._deep(node, height, need, again)
            finally:
                self.check, self.explaining = check, False
            known.points = again.points

    def _deep(self, node, height, need, known):
        """Halve intervals of cuts, usually the interval of least bound first, until no bound is below the cutoff."""
        greedily = height > DIVED and not self.raising and not self.explaining
        if greedily:
            self._dive(node, height)
        if node is self.root and height - 1 in self.given_up:
            below = self.entry(node, height - 1)
        else:
            some = height > DIVED or self.raising
            below = self.value(node, height - 1, min(need, known.upper) if some else NONE)
        known.improve(below.upper, height - 1, below)
        if known.lower >= self.cutoff(node, height, need, known):
            return
        if greedily:
            self._climb(node, height, below)
        intervals = OpenIntervals(self.intervals(node, (below, below), known), self.raising)
        if apart.pays(self, node, height):
            apart.halve(self, node, height, need, known, intervals)
            return
        together, evaluated = 1, None
        if side_by_side.pays(self, node, height):
            together, evaluated = side_by_side.ROUND, side_by_side.evaluated
        while True:
            cutoff, chosen = self.cutoff(node, height, need, known), []
            known.lower = max(known.lower, min(cutoff, intervals.least(NONE)))
            while len(chosen) < together and (interval := intervals.take(cutoff)) is not None:
                chosen.append(interval)
            self.tell(node, height, known)
            if not chosen:
                break
            self.check()
            for half in self.halved(node, height, need, known, chosen, evaluated):
                intervals.add(half)

    def cutoff(self, node, height: Shape | Sides, need: int, known: Known) -> int:
        """Return the bound that ends the search of a node: the cost of its best tree, or `need`. With `cost_first`, the
        root may end at this cost without the branch nodes (`odtc.algorithms.thresholds.ranks.RankedRows.goal`)."""
        best = min(known.upper, need)
        return self.ranked.goal(best) if self.cost_first and node is self.root and height == self.height else best

    def tell(self, node, height: Shape, known: Known) -> None:
        """Report the trees of all entries to `found`."""
        if node is self.root and height == self.height:
            self.found(known.upper, known.lower)

    def _dive(self, node, height):
        """Find a tree greedily: below the split of least Gini impurity, and, up to the height WIDE, also below the
        first split of the best tree of depth 2."""
        known = self.entry(node, height)
        if self.is_settled(known) or known.dived:
            return known
        self.check()
        if height < 2 or self.nodes.solves(height):
            return self.value(node, height)
        two = self.value(node, 2)
        known.improve(two.upper, 2, two)
        if height == 2 or self.is_settled(known):
            return known
        column, cut = self.nodes.gini(node)
        splits = [(column, cut)] if column >= 0 else []
        if (height <= WIDE or not splits) and not isinstance(two.split, int) and two.split != LEAF:
            first = two.split[0], self.nodes.cut_of(node, *two.split)
            splits = [first, *(split for split in splits if split != first)]
        for column, cut in splits:
            self._dive_below(node, height, known, column, cut)
        known.dived = True
        return known

    def _dive_below(self, node, height, known, column, cut):
        """Dive on both sides of a cut. Return the nodes of both sides, or an empty list if one has too few rows."""
        rows = int(self.nodes.cuts(node)[3][column, cut])
        if min(rows, node.rows - rows) < self.ranked.least:
            return []
        children = [self._child(node, column, cut, right) for right in (False, True)]
        sides = [self.entry(child, height - 1) for child in children]
        try:
            for at, child in enumerate(children):
                sides[at] = self._dive(child, height - 1)
        finally:  # an interruption leaves what was found so far
            known.improve(self._joined(sides), self.nodes.split(node, column, cut), *sides)
        return children

    def _grow(self, node, height, known):
        """Do the work of `grow` on a node; `known` has its best tree of less height."""
        grown = self.entry(node, height)
        while isinstance(known.split, int):
            known = known.below[0]
        if known.split == LEAF or height <= 2:
            self._dive(node, height)
            return
        column, cut = known.split[0], self.nodes.cut_of(node, *known.split)
        children = [self._child(node, column, cut, right) for right in (False, True)]
        below = known.below or [self.value(child, 1) for child in children]
        sides = [self.entry(child, height - 1) for child in children]
        try:
            for child, one in zip(children, below):
                self._grow(child, height - 1, one)
        finally:
            grown.improve(self._joined(sides), known.split, *sides)

    def _plant(self, node, height, nested, planted, bottom):
        """Collect the splits of a tree on a node in `planted`, from the root down, and its nodes of height 2 in
        `bottom`."""
        self.check()
        if height == 2:
            bottom.append(node)
        if nested is None or height < 2:
            return
        column, rank, *trees = nested
        cut = self.nodes.cut_of(node, column, rank)
        children = [self._child(node, column, cut, right) for right in (False, True)]
        if not all(child.n and child.rows >= self.ranked.least for child in children):
            return
        sides = [self.value(child, 1) if height == 2 else self.entry(child, height - 1) for child in children]
        planted.append((self.entry(node, height), (column, rank), sides))
        for child, tree in zip(children, trees):
            self._plant(child, height - 1, tree, planted, bottom)

    def _joined(self, sides) -> int:
        """Return the cost of the best trees of both sides below one split."""
        return self.ranked.price + sum(side.upper for side in sides)

    def _climb(self, node, height, below):
        """Find a better tree by dives: below splits that are good for trees of one height less, and then below
        neighbours of the best split (`_move`). It takes a share of the effort of everything before it, so that it
        grows with the effort of the proof."""
        known = self.entry(node, height)
        if self.climbing or known.climbed:  # during the climb of a larger tree, or a second time
            return
        self.climbing, known.climbed = (1 + CLIMB) * self.effort, True
        try:
            good = sorted(below.points, key=lambda point: point[2] + point[3])
            for column, rank, *_ in good[:PROBES]:
                if self.effort >= self.climbing or self.is_settled(known):
                    break
                self._dive_below(node, height, known, column, self.nodes.cut_of(node, column, rank))
            self._move(node, height)
        finally:
            self.climbing = 0.0

    def _move(self, node, height):
        """Move the first split of the best tree to cuts of its column, at ever shorter distances, as long as greedy
        trees below them cost less; then likewise on its sides. Returns the knowledge."""
        known = self._dive(node, height)
        if self.is_settled(known) or isinstance(known.split, int) or known.split == LEAF:
            return known
        column, cut = known.split[0], self.nodes.cut_of(node, *known.split)
        children = self._dive_below(node, height, known, column, cut)
        last = int(self.nodes.cuts(node)[0][column]) - 1
        step = last // 4
        while step and self.effort < self.climbing:
            upper = known.upper
            for there in (cut - step, cut + step):
                if 1 <= there <= last and known.upper == upper:
                    moved = self._dive_below(node, height, known, column, there)
                    cut, children = (there, moved) if known.upper < upper else (cut, children)
            if known.upper == upper:
                step //= 2
        if height > DIVED:
            split, sides = self.nodes.split(node, column, cut), [self._move(child, height - 1) for child in children]
            known.improve(self._joined(sides), split, *sides)
        return known

    def _improve(self, node, height):
        """Improve the sides of the best tree first, then move its first split (`_move`), and dive below the cut of
        least Gini impurity of some columns; repeat as long as trees cost less. Returns the knowledge."""
        known, columns = self._dive(node, height), height > 2
        while not self.is_settled(known):
            upper = known.upper
            if height > DIVED and not isinstance(known.split, int) and known.split != LEAF:
                column, cut = known.split[0], self.nodes.cut_of(node, *known.split)
                children = [self._child(node, column, cut, right) for right in (False, True)]
                sides = [self._improve(child, height - 1) for child in children]
                known.improve(self._joined(sides), known.split, *sides)
            self._move(node, height)
            if columns:
                for column, cut in self.nodes.gini_of_columns(node)[:COLUMNS]:
                    self._dive_below(node, height, known, column, cut)
                columns = False
            if known.upper >= upper:
                break
        return known

    def intervals(self, node, below: tuple[Known, Known], known: Known) -> list[Interval]:
        """Return one interval for all cuts of each column; the best tree's first split comes first in its interval.

        Parameters
        ----------
        node : of `nodes`
        below : (Known, Known), of the trees of the left and the right side on all entries of the node
        known : Known, of the trees that are sought
        """
        blocks, _, weight, rows = self.nodes.cuts(node)
        heap, price, least = [], self.ranked.price, self.ranked.least
        left, right = (side.lower for side in below)
        first = (-1, 0)
        for split in (*(side.split for side in below), known.split):
            if isinstance(split, tuple) and split != LEAF:
                first = split[0], self.nodes.cut_of(node, *split)
        low, high = End(0, 0, right, 0, 0), End(node.weight, left, 0, 0, 0)
        low.paid = high.paid = NONE
        for column in range(len(blocks)):
            a, z = 1, int(blocks[column]) - 1
            if least > 1:
                a = max(a, int(np.searchsorted(rows[column, : z + 2], least)))
                z = min(z, int(np.searchsorted(rows[column, : z + 2], node.rows - least, side="right")) - 1)
            if a <= z:
                place = first[1] if column == first[0] and a <= first[1] <= z else 0
                bound = price + max(0, left + right - node.weight)
                if z - a < FEW_CUTS and not place:
                    # A side costs at least the cost of the node minus the weight of the other side. The interval of the
                    # best tree's first split keeps a lower bound, so that it comes first.
                    cuts = weight[column, a : z + 1].tolist()
                    bound = max(bound, price + min(max(left - node.weight + w, right - w) for w in cuts))
                heap.append((bound, -node.weight - (place > 0), self._number(), column, a, z, low, high, place))
        return heap

    def splits_below(self, node, height: int, limit: int):
        """Yield every first split of the trees of this height on a node that cost less than `limit`, and perhaps more.

        Parameters
        ----------
        node : of `nodes`
        height : int, 2 or more
        limit : int

        Yields
        ------
        (column, rank, left, right) : the split, and lower bounds on trees of the height below on its sides
        """
        if (first := self.nodes.first_splits(node, height, limit)) is not None:
            for column, cut in first:
                self.check()
                sides = [self._side(node, column, cut, one, height - 1, NONE).lower for one in (False, True)]
                yield *self.nodes.split(node, column, cut), *sides
            return
        every = _Every(0, NONE)
        every.split = []
        self._note_cuts(node, height)
        below = self.value(node, height - 1)
        heap = self.intervals(node, (below, below), Known(0, NONE))
        heapify(heap)
        while heap:
            self.check()
            for half in self.halved(node, height, limit, every, [heappop(heap)]):
                heappush(heap, half)
            for column, rank, left, right in every.split:
                if left + right + self.ranked.price < limit:
                    yield column, rank, left, right
            every.split.clear()
            every.points.clear()
        self.evaluated_before.pop((height, node.key), None)  # because a graph has many nodes

    def _number(self):
        self.serial += 1
        return self.serial

    def given_back(self, interval):
        """Return an interval that was handed out but not evaluated, as a new one to hand out."""
        return (*interval[:2], self._number(), *interval[3:])

    def halved(self, node, height, need, known, intervals, evaluated=None):
        """Evaluate a cut of each interval, by `evaluated` if there are several; return the open intervals on both
        sides."""
        parts = [part for one in intervals if (part := self.narrowed(node, height, need, known, one)) is not None]
        if len(parts) > 1:
            tasks = [(node, height, Known(0, known.upper), *part.terms) for part in parts]
            new = []
            for end, found in evaluated(self, tasks):
                self.learn(known, found)
                new.append(end)
        else:
            new = [self._evaluate(node, height, known, *part.terms) for part in parts]
        cutoff = self.cutoff(node, height, need, known)
        return [half for part, end in zip(parts, new) for half in self.halves(part, end, cutoff)]

    def narrowed(self, node, height, need, known, interval) -> "Narrowed | None":
        """Return an interval without the cuts at its ends whose two bounds together reach the cutoff; None if no cut is
        left."""
        _, _, _, column, a, z, low, high, place = interval
        target = self.cutoff(node, height, need, known) - self.ranked.price
        weight = self.nodes.cuts(node)[2][column]
        a = max(a, int(weight[: z + 1].searchsorted(low.grown + low.right - target + low.weight, side="right")))
        behind = high.weight - (high.left + high.grown_right - target)
        z = min(z, int(weight[: z + 1].searchsorted(behind, side="left")) - 1)
        if a > z:
            return None
        cut = place if a <= place <= z else self._next_cut(node, height, column, a, z)
        return Narrowed(interval, a, z, cut, (target, column, cut, (low, high), (cut == a, cut == z)))

    def halves(self, part: "Narrowed", end: End, cutoff: int):
        """Yield the open intervals on both sides of a cut that was evaluated."""
        bound, _, _, column, _, _, low, high, _ = part.interval
        price, a, z, cut = self.ranked.price, part.first, part.last, part.cut
        width = end.weight - low.weight, high.weight - end.weight
        under = max(bound, price + low.grown + end.grown_right, price + end.left + low.right - width[0])
        over = max(bound, price + end.grown + high.grown_right, price + high.left + end.right - width[1])
        if a < cut and under < cutoff:
            yield under, -width[0], self._number(), column, a, cut - 1, low, end, 0
        if cut < z and over < cutoff:
            yield over, -width[1], self._number(), column, cut + 1, z, end, high, 0

    def learn(self, known: Known, found: Known) -> None:
        """Store results about the trees of a node that were found outside of this search."""
        known.improve(found.upper, found.split, *found.below)
        known.points += found.points
        self.held += POINT * len(found.points)

    def take(self, found: dict[tuple[int, bytes], Known], evaluated: int, effort: float) -> None:
        """Store results that were found outside of this search (odtc.algorithms.thresholds.side_by_side and apart)."""
        self.evaluated += evaluated
        self.effort += effort
        for key, known in found.items():
            there = self.memo.get(key)
            if there is None:
                self.memo[key] = known
                self.held += ENTRY + len(key[1])
            else:
                there.improve(known.upper, known.split, *known.below)
                there.lower = max(there.lower, known.lower)
                if there.points is not known.points:  # the results are from another process
                    noted = set(there.points)
                    new = [point for point in known.points if point not in noted]
                    there.points += new
                    self.held += POINT * len(new)
        if self.held > self.room:
            self._drop()

    def _next_cut(self, node, height, column, a, z):
        """Return the cut from a to z to evaluate: the previously evaluated cut nearest to the middle, otherwise a cut
        that other nodes use, too, because then the sides of cuts of two columns are the same, whichever column comes
        first."""
        before = self.evaluated_before.get((height, node.key), {}).get(column, ())
        cuts = [cut for cut in before if a <= cut <= z]
        if not cuts:
            return a if a == z else self._shared(node, column, a, z)
        return min(cuts, key=lambda cut: (abs(cut - ((a + z) >> 1)), cut))

    def _shared(self, node, column, a, z):
        """Return the cut from a to z that comes first if the entries of the root are halved again and again."""
        first, last = (self.nodes.split(node, column, cut)[1] for cut in (a, z))
        rank = first + int(self._level(column)[first : last + 1].argmax())
        return self.nodes.cut_of(node, column, rank)

    def _level(self, column):
        """Return how early each rank of a column comes if the entries of the root are halved again and again, int
        (ranks,).

        With p(r) the part of the entries with ranks up to r, rank r covers the range from p(r - 1) to p(r). The highest
        bit in which both ends differ is the greatest power of two that has a multiple in this range.
        """
        level = self.levels.get(column)
        if level is None:
            upto = (np.bincount(self.ranked.rank[:, column]).cumsum() << LEVELS) // self.ranked.n
            level = self.levels[column] = np.frexp((upto ^ np.append(0, upto[:-1])).astype(float))[1]
        return level

    def _note_cuts(self, node, height):
        """Store the evaluated cuts of a node, with the bounds of both sides, in `evaluated_before`."""
        before = self.evaluated_before[height, node.key] = {}
        known = self.memo.get((height, node.key))
        for f, rank, *bounds in known.points if known is not None else ():
            before.setdefault(f, {})[self.nodes.cut_of(node, f, rank)] = bounds

    def _evaluate(self, node, height, known, target, column, cut, ends, last):
        """Search the sides of a cut until its bounds close both halves of the interval, or are exact.

        All cuts left of it cost at least as much as its right side and the left side of the low end together, and all
        cuts right of it at least as much as its left side and the right side of the high end. So each side is searched
        until such a sum reaches the target, which is enough for the cut itself, too. `last` states whether the interval
        has no cut left of it, and none right of it. If only a bound is sought, a side of height 3 is first searched for
        at most AIM of its expected cost, and beyond that only as far as the cut itself needs it: other cuts close the
        rest of the interval.
        """
        low, high = ends
        weight = int(self.nodes.cuts(node)[2][column, cut])
        left = max(low.grown, high.left - (high.weight - weight))
        right = max(high.grown_right, low.right - (weight - low.weight))
        before = self.evaluated_before.get((height, node.key), {}).get(column, {}).get(cut, (0, 0))
        bounds, found, below = [max(left, before[0]), max(right, before[1])], [None, None], sides_of(height)
        # True if the bound of a side serves only the cut itself: no cuts are left behind it, which the left side also
        # bounds, or before it, which the right side also bounds.
        just = [last[1] or any(before), last[0] or any(before)]
        at, n = int(self.nodes.cuts(node)[1][column, cut]), node.n
        goals = [target - high.grown_right, target - low.grown]
        if last[0] != last[1]:  # the side that serves other cuts comes first, as it may be enough
            first = last[1]
        else:  # the side of fewer entries; if only a bound is sought and one side may be enough, the other
            first = (2 * at <= n) == (self.raising and all(last))
        aims = self.raising and self.fall > 0 and height == 4 and not all(last) and not self.nodes.solves(3)
        for turn, one in enumerate((first, not first) * (2 if aims else 1)):
            goal = target - bounds[not one] if just[one] or turn > 1 else goals[one]
            if aims and turn < 2 and bounds[one] < goal:
                goal = min(goal, int(AIM * self._expected(node, column, cut, one)))
            if bounds[one] < goal:
                found[one] = self._side(node, column, cut, one, below[one], goal)
                bounds[one] = max(bounds[one], found[one].lower)
        split = self.nodes.split(node, column, cut)
        known.points.append((*split, *(side.lower if side else 0 for side in found)))
        self.held += POINT
        if all(found):
            known.improve(self._joined(found), split, *found)
        if self.relaxed is None:
            return End(weight, *bounds)
        grown = [self.relaxed._side(node, column, cut, one, below[one], goals[one]).lower for one in (False, True)]
        return End(weight, *bounds, *grown)

    def _expected(self, node, column, cut, right) -> float:
        """Return about the cost of the best tree of height 3 on one side of a cut, by the best one of height 2."""
        return self.fall * self._side(node, column, cut, right, 2, NONE).upper


def compile_now() -> None:
    """Call the kernels of this search on little data."""
    random = np.random.default_rng(0)
    numbers, tests = random.integers(0, 40, (200, 8)), random.integers(0, 2, (200, SEVERAL))
    for rank in (tests, numbers, np.hstack([numbers, tests])):
        for labels in (2, 3):
            loss = np.eye(labels)[random.integers(0, labels, 200)]
            for weight in (np.ones(200), random.integers(2**29, 2**30, 200)):  # sums in 32 and in 64 bits
                search = RankSearch(rank_rows(rank, loss * weight[:, None]))
                search.dive(4)
                for shape in (2, 3, 4, Limited(2, 2)):
                    search.solve(shape)
