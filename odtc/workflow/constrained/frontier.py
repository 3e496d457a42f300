"""Cost of a constraint: the best tree for each number in it, by one search for all numbers if the formulation has one.

Otherwise as few searches as possible are made. A tighter number can only cost more, so the loosest and the tightest
number are searched first. A number between two numbers of the same cost, or between two without a tree, needs no
search, nor does a number that the best tree of a looser number satisfies; the other intervals are halved. The tree of a
tighter number is a start for a looser number, and the cost of a looser number is a bound for all tighter ones.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from math import inf
from pathlib import Path

from odtc.base import deadline
from odtc.base.atomic_write import write_text
from odtc.base.value_class import value_class
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.model.solution import is_proved
from odtc.problem.constraints.constraint import parse
from odtc.problem.constraints.kind import Constraint
from odtc.problem.exact_objective import settled_bound
from odtc.problem.formulation import searches
from odtc.problem.problem import Choice, Problem
from odtc.trees.heap_tree import HeapTree
from odtc.workflow.plan import Decision, Plan
from odtc.workflow.searching import tells_apart
from odtc.workflow.specification import RunSpec

MOST_POINTS = 200  # largest number of points of a frontier, because each may need a search
FREE = 0.5  # share of the time limit for the best tree without the constraint
STARTS = 0.6  # share of the time left for trees of all numbers, by one search over a few splits of each column
NUMBER_SHARE = 0.4  # share of the time left for a number, if other numbers follow
SCHEMA = "odtc.frontier/1"
SUFFIX = ".frontier.json"
RANGE = re.compile(r"(?P<head>.*(<=|>=))\s*(?P<first>[^:<=>]+):(?P<last>[^:]+)(:(?P<step>[^:]+))?", re.DOTALL)
PERCENTS = re.compile(
    r".*(<=|>=)\s*(?P<first>[\d.]+)\s*%\s*:(?P<last>[\d.]+)\s*%\s*:(?P<step>[\d.]+)\s*%\s*", re.DOTALL
)


@value_class
class Point:
    """One number of the constraint.

    Attributes
    ----------
    constraint : Constraint
    heap : HeapTree or None
        The best tree that satisfies it; None if there is none, or none was found in time.
    objective : float or None
    bound : float or None
        None if it is proved that no tree satisfies it.
    searched : bool
        Whether this number was searched, not derived from its neighbours.
    """

    constraint: Constraint
    heap: HeapTree | None
    objective: float | None
    bound: float | None
    searched: bool

    @property
    def ended(self) -> str:
        """optimal, infeasible, or open."""
        if self.bound is None:
            return "infeasible"
        return "optimal" if is_proved(self.objective, self.bound) else "open"


def varied(text: str) -> list[str]:
    """Return the constraints of a text such as "recall[2] >= 0.5:0.9:0.05": FIRST, FIRST + STEP, …, up to LAST; if the
    numbers are whole, STEP may be left out, and is 1. All three may be in percent.

    Raises
    ------
    ChoiceError
        If the text is not a constraint with three numbers, or has too many values.
    """
    found = RANGE.fullmatch(text)
    shares = found and PERCENTS.fullmatch(text)
    try:
        first, last, step = (
            Decimal((shares or found)[key] or 1) / (100 if shares else 1) if found else None
            for key in ("first", "last", "step")
        )
    except InvalidOperation:
        found = None
    finite = found and first.is_finite() and last.is_finite() and step.is_finite()
    if finite and (step <= 0 or last < first):
        raise ChoiceError(
            f"expected FIRST:LAST:STEP with FIRST no more than LAST and STEP above 0, got {first}:{last}:{step} in "
            f"{text!r}"
        )
    if not finite or (found["step"] is None and first % 1 + last % 1):
        raise ChoiceError(
            f"expected a constraint with FIRST:LAST:STEP, as in 'recall[yes] >= 0.5:0.9:0.05', got {text!r}"
        )
    if last > first and step > last - first:
        raise ChoiceError(
            f"expected FIRST:LAST:STEP with STEP at most {last - first}, the distance from FIRST to LAST, got {step} "
            f"in {text!r}; for N values, STEP is that distance divided by N - 1"
        )
    count = int((last - first) / step) + 1
    if count > MOST_POINTS:
        raise ChoiceError(f"expected at most {MOST_POINTS} numbers, got {count} in {text!r}")
    return [f"{found['head']} {first + step * place}" for place in range(count)]


def rising_constraints(problem: Problem, texts: list[str]) -> list[Constraint]:
    """Return the constraints of the texts; raises ChoiceError if their numbers do not rise.

    A number below 1 may be a share of the rows, and 1 a number of rows: `leaf_rows >= 0.5` is tighter than `>= 1`.
    """
    given = [parse(text, problem.encoded) for text in texts]
    for place in range(1, len(given)):
        if given[place].bound < given[place - 1].bound:
            raise ChoiceError(
                f"expected FIRST:LAST:STEP with rising numbers, got {texts[place - 1]!r} and then {texts[place]!r}, "
                f"which mean {str(given[place - 1])!r} and {str(given[place])!r}; write only shares below 1 or only "
                "whole numbers"
            )
    return given


def plan_of_frontier(problem: Problem, texts: list[str], spec: RunSpec) -> Plan:
    """Return the plan of a frontier over these constraints; all but its numbers is the plan of the first one."""
    choice = Choice(problem.formulation, "its search finds the trees of a frontier")
    given = rising_constraints(problem, texts)
    loosest = replace(problem, constraints=(*problem.constraints, given[0]), choice=choice)
    why = "each is proved by itself, unless one search proves several; the two ends come first"
    points = Decision("numbers", f"{len(texts)}, from {texts[0]!r} to {texts[-1]!r}", why)
    return replace(Plan.of(loosest, spec), more=(points,))


def frontier(
    problem: Problem, texts: list[str], time_limit: float | None = None, say: Callable[[str], None] = lambda text: None
) -> list[Point]:
    """Return the points of a frontier, in the order of the texts.

    After Ctrl-C or SIGTERM, and at the time limit, each point has the tree and the bound that are known then. No
    number is begun after the limit except for the two at the ends, if no tree is known that satisfies them.

    Parameters
    ----------
    problem : Problem
        One with the other constraints, whose formulation searches by itself.
    texts : list of str
        The same constraint with rising numbers.
    time_limit : float or None
        Seconds for all points together.
    say : callable
        Called with a sentence if an interruption has ended the search.
    """
    until = None if time_limit is None else time.monotonic() + time_limit
    sums_cost = bool(TASKS.get(problem.encoded.task).MOMENTS)  # a search for all numbers takes prices of rows
    given = rising_constraints(problem, texts)
    loose_first = tightening(given, given[0].op)
    starts: list[HeapTree | None] = [None] * len(given)
    if until is not None and not sums_cost:
        with deadline.within(STARTS * _left(until)):
            starts = problem.module.frontier_starts(problem, loose_first)
    free = _Without.of(problem, until)
    with deadline.within(_left(until)):
        together = None if sums_cost else problem.module.frontier(problem, loose_first)
    if together is not None:
        told = _told(problem, loose_first, together)
        if any(found.interrupted for found in together):
            say("interrupted: each number has the tree and the bound that were known by then")
    else:
        halving = _Halving(problem, loose_first, starts, free, until)
        told = _by_trees_met(problem, halving.points_of_all())
        if halving.is_stopped:
            say("interrupted: the bounds of the remaining points follow from their neighbours")
    known = _shared(free.better([_with(problem, point, heap) for point, heap in zip(told, starts)]))
    return [known[loose_first.index(one)] for one in given]


def _left(until: float | None) -> float | None:
    """Return the seconds until time.monotonic() is `until`; None without a limit."""
    return None if until is None else max(deadline.MOMENT, until - time.monotonic())


class _Halving:
    """Searches of single numbers: the two at the ends, and the middle one between two that do not determine it.

    Parameters
    ----------
    problem : Problem
        Without the constraint that is varied.
    loose_first : list of Constraint
        All numbers; `place`, here and below, is a position in this list.
    starts : list of HeapTree or None
        A tree that satisfies each number, if one is known.
    free : _Without
    until : float or None
        No number is begun after time.monotonic() has reached it, unless no tree is known that satisfies the number.
    """

    def __init__(
        self,
        problem: Problem,
        loose_first: list[Constraint],
        starts: list[HeapTree | None],
        free: "_Without",
        until: float | None,
    ):
        self.problem, self.loose_first, self.starts, self.free, self.until = problem, loose_first, starts, free, until
        self.points: dict[int, Point] = {}
        self.searched: dict[int, Problem] = {}
        self.is_stopped = False  # whether Ctrl-C or SIGTERM ended the whole frontier, not only the search of one number

    def points_of_all(self) -> list[Point]:
        """Return the points of all numbers; the point of a number that was not searched is derived from its
        neighbours."""
        last = len(self.loose_first) - 1
        if self.until is None and last:  # bounds of the cases of the loosest number are valid for all numbers
            self._search(0, 0.0, None)
            if not self.is_stopped:
                self._tighten(last, self.points[0], None)
        else:
            for place in (last, 0) if last else (0,):
                start = self.points[last].heap if last in self.points else None
                if not self.is_stopped and not (self._is_over and self._has_tree(place, start)):
                    self._search(place, 0.0, start)
        if not self.is_stopped and 0 in self.points and last in self.points:
            self._fill(0, last)
        return [_known(self.loose_first, self.points, place) for place in range(last + 1)]

    @property
    def _is_over(self) -> bool:
        return self.until is not None and time.monotonic() > self.until

    def _has_tree(self, place: int, start: HeapTree | None) -> bool:
        known = start is not None or self.starts[place] is not None
        return known or self.free.point(self.loose_first[place]) is not None

    def _search(self, place: int, floor: float, start: HeapTree | None) -> None:
        """Find the point of a number by a search, unless the best tree without the constraint satisfies it; `floor` is
        a lower bound on its cost."""
        problem, given = self.problem, self.loose_first[place]
        settled = self.free.point(given)
        if settled is not None and settled.ended == "optimal":
            self.points[place] = settled
            return
        posed = self.searched[place] = replace(problem, constraints=(*problem.constraints, given))
        if not searches(posed):
            raise ChoiceError(
                f"a frontier needs the compiler's own search, which does not take this: {posed.module.refusal(posed)}"
            )
        looser = max((at for at in self.searched if at < place), default=None)
        if looser is not None:
            posed.module.inherit(posed, self.searched[looser])
        start = self._cheaper(self._cheaper(start, self.starts[place]), None if settled is None else settled.heap)
        more = len(self.points) + 1 < len(self.loose_first)  # numbers whose search may come after this one
        with (
            deadline.within(_left(self.until)),
            deadline.within(deadline.time_share(inf, NUMBER_SHARE if more else 1.0)),
        ):
            found = posed.module.search(posed, start, lambda *told: None, max(floor, self.free.bound))
        self.is_stopped |= found.interrupted
        paid = None if found.heap is None else problem.module.objective(problem, found.heap)
        lower = None if found.infeasible else found.bound
        if lower is not None and (paid is None or not tells_apart(posed, found.off, found.heap, paid)):
            lower -= 2 * found.off  # sums are rounded
        if lower is not None and paid is not None:
            lower = settled_bound(problem, lower, paid)
        self.points[place] = Point(given, found.heap, paid, lower, True)

    def _cheaper(self, one: HeapTree | None, other: HeapTree | None) -> HeapTree | None:
        paid = [inf if heap is None else self.problem.module.objective(self.problem, heap) for heap in (one, other)]
        return one if paid[0] <= paid[1] else other

    def _tighten(self, place: int, loose: Point, start: HeapTree | None) -> None:
        """Find the point of a number that is tighter than a known point, which may determine it without a search."""
        given = self.loose_first[place]
        kept = loose.ended == "optimal" and given.holds(given.module.value(self.problem.encoded, given, loose.heap))
        if kept or loose.ended == "infeasible":
            self.points[place] = replace(loose, constraint=given, searched=False)
        else:
            self._search(place, loose.bound, start)

    def _fill(self, low: int, high: int) -> None:
        """Find the points between two known points; `low` is the looser one."""
        if high - low < 2 or self.is_stopped or self._is_over:
            return
        loose, tight = self.points[low], self.points[high]
        same = loose.ended == tight.ended == "infeasible"
        same = same or (loose.ended == tight.ended == "optimal" and is_proved(tight.objective, loose.objective))
        if same:
            for place in range(low + 1, high):
                self.points[place] = replace(tight, constraint=self.loose_first[place], searched=False)
            return
        middle = (low + high) // 2
        self._tighten(middle, loose, tight.heap)
        self._fill(low, middle)
        self._fill(middle, high)


class _Without:
    """The best tree without the varied constraint, which is also the best tree for every number that it satisfies.

    Parameters
    ----------
    problem : Problem
    heap : HeapTree or None
    bound : float
    """

    def __init__(self, problem: Problem, heap: HeapTree | None, bound: float):
        self.problem, self.heap, self.bound = problem, heap, bound
        self.paid = None if heap is None else problem.module.objective(problem, heap)

    @classmethod
    def of(cls, problem: Problem, until: float | None) -> "_Without":
        """Search without the constraint, in a part of the time until time.monotonic() is `until`; without a limit this
        search is skipped, because each number is then searched to its end."""
        if until is None or not searches(problem):
            return cls(problem, None, 0.0)
        with deadline.within(FREE * max(0.0, until - time.monotonic())):
            found = problem.module.search(problem, None, lambda *told: None)
        off = 2 * found.off if found.heap is not None else 0.0  # of rounded sums
        return cls(problem, found.heap, 0.0 if found.infeasible else max(0.0, found.bound - off))

    def point(self, given: Constraint) -> Point | None:
        """Return the point of a number that the tree satisfies; None for another number."""
        if self.heap is None or not given.holds(given.module.value(self.problem.encoded, given, self.heap)):
            return None
        return Point(given, self.heap, self.paid, settled_bound(self.problem, self.bound, self.paid), False)

    def better(self, points: list[Point]) -> list[Point]:
        """Return the points with the tree if it is better than theirs, and with the bound if that is higher."""
        found = []
        for point in points:
            own = None if point.bound is None else self.point(point.constraint)
            if own is not None and (point.objective is None or own.objective < point.objective):
                point = replace(point, heap=own.heap, objective=own.objective)
            found.append(point if point.bound is None else _bounded(point, self.bound))
        return found


def _with(problem: Problem, point: Point, heap: HeapTree | None) -> Point:
    """Return the point with a tree that satisfies its number, if that is better."""
    if heap is None or point.bound is None:
        return point
    paid = problem.module.objective(problem, heap)
    better = point.objective is None or paid < point.objective
    return replace(point, heap=heap, objective=paid, bound=min(point.bound, paid)) if better else point


def _by_trees_met(problem: Problem, points: list[Point]) -> list[Point]:
    """Return the points, the loosest first, each with the best of all their trees that satisfies its number: a tree
    may satisfy a stricter number than the one that it was searched for."""
    met = [(point.heap, point.constraint) for point in points if point.heap is not None]
    # The numbers are of one constraint, so that a tree reaches the same of each.
    reached = [(heap, given.module.value(problem.encoded, given, heap)) for heap, given in met]
    for place, point in enumerate(points):
        for heap, value in reached:
            if heap is not point.heap and point.constraint.holds(value):
                point = _with(problem, point, heap)
        points[place] = point
    return points


def _bounded(point: Point, bound: float) -> Point:
    """Return the point with this bound, if that is higher."""
    most = bound if point.objective is None else min(bound, point.objective)
    return replace(point, bound=max(point.bound, most))


def _shared(points: list[Point]) -> list[Point]:
    """Return the points, the loosest first: a tree of a tighter number satisfies a looser one, and a bound of a looser
    number is valid for tighter ones."""
    found = list(points)
    for place in range(len(found) - 2, -1, -1):
        tighter, own = found[place + 1], found[place]
        if own.bound is not None and tighter.heap is not None:
            if own.objective is None or tighter.objective < own.objective:
                found[place] = replace(own, heap=tighter.heap, objective=tighter.objective)
    for place in range(1, len(found)):
        looser = found[place - 1].bound
        if found[place].bound is not None and looser is not None:
            found[place] = _bounded(found[place], looser)
    return found


def _known(loose_first: list[Constraint], points: dict[int, Point], place: int) -> Point:
    """Return a point; if its number was not searched, it has the tree of the next tighter one and the bound of a
    looser one."""
    if place in points:
        return points[place]
    looser = max((at for at in points if at < place), default=None)
    tighter = min((at for at in points if at > place and points[at].heap is not None), default=None)
    bound = 0.0 if looser is None else points[looser].bound
    best = None if tighter is None else points[tighter]
    heap, paid = (None, None) if best is None else (best.heap, best.objective)
    return Point(loose_first[place], heap, paid, bound, False)


def _told(problem: Problem, given: list[Constraint], together: list) -> list[Point]:
    """Return the points of one search; a number whose neighbours have trees of the same cost is marked as derived from
    them."""
    points = []
    for one, found in zip(given, together):
        paid = None if found.heap is None else problem.module.objective(problem, found.heap)
        points.append(Point(one, found.heap, paid, None if found.infeasible else found.bound, True))
    same = [(point.ended, point.objective) for point in points]
    return [
        replace(point, searched=not (0 < place < len(points) - 1 and same[place - 1] == same[place] == same[place + 1]))
        for place, point in enumerate(points)
    ]


def frontier_facts(problem: Problem, points: list[Point]) -> list[dict]:
    """Return the points as JSON: the number required and reached, how it ended, the objective, its bound, and the
    price of the step from the next looser number (None if one of the two has no proved tree)."""
    facts, loose_first = [], loosest_first(points)
    for place, point in enumerate(loose_first):
        before = loose_first[place - 1] if place else None
        proved = before is not None and before.ended == point.ended == "optimal"
        given, heap = point.constraint, point.heap
        facts.append(
            {
                "constraint": str(given),
                "requested": float(given.bound),
                "reached": None if heap is None else float(given.module.value(problem.encoded, given, heap)),
                "ended": point.ended,
                "objective": point.objective,
                "bound": point.bound,
                "price": point.objective - before.objective if proved else None,
                "searched": point.searched,
            }
        )
    return facts


def loosest_first(points: list[Point]) -> list[Point]:
    """Return the points in the order in which they get tighter."""
    return tightening(points, points[0].constraint.op)


def tightening(rising: list, op: str) -> list:
    """Sort a list that is in the order of rising numbers by the order in which a constraint with this operator gets
    tighter; or such a list by rising numbers, because this is its own inverse."""
    return rising if op == ">=" else rising[::-1]


def write_frontier(problem: Problem, path: Path, head: dict, points: list[Point]) -> Path:
    """Write STEM.frontier.json: the request, and the points in the order of `frontier_facts`, each with its tree as in
    STEM.tree.json (None if there is none)."""
    told = [
        facts | {"tree": None if point.heap is None else point.heap.to_tree(problem.encoded).to_json()}
        for facts, point in zip(frontier_facts(problem, points), loosest_first(points))
    ]
    write_text(path, json.dumps({"schema": SCHEMA, **head, "points": told}, ensure_ascii=False, indent=1) + "\n")
    return path
