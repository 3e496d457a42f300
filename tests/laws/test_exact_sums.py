"""Trees whose leaves cost sums are proved by exact numbers: against all trees, in rationals, of numbers of all sizes.

ODTC_EXACT_DRAWS=N draws N problems of each task and way; by default there are few.
"""

import os
import random
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import odtc
from odtc.errors import OdtcError

DRAWS = int(os.environ.get("ODTC_EXACT_DRAWS", "12"))
REPORTS = Path(__file__).parents[1] / "files" / "reports"
TASKS = ("regression", "median", "survival")
CELLS = ("0", "1", "2", "3", "0.1", "0.30000000000000004", "0.3", "1.5")  # two are adjacent doubles
DIGITS = Context(prec=60)
EQUAL = Fraction(1, 10**40)  # logarithms of survival trees are compared to so many digits


def number(random: random.Random) -> str:
    """A number of some size: whole, a decimal, a double of all digits, or with an exponent."""
    return random.choice(
        (
            lambda: repr(random.gauss(0, 1)),
            lambda: str(random.randrange(-5, 6)),
            lambda: f"{random.randrange(9) / 10}",
            lambda: repr(random.gauss(0, 1) * 10.0 ** random.randrange(-9, 16)),
            lambda: repr(0.1 + 0.2),
            lambda: "0.3",
            lambda: f"{random.randrange(-99, 99)}e{random.randrange(-9, 12)}",
        )
    )()


def numbers(random: random.Random, n: int) -> list[str]:
    draw = random.choice(
        (
            lambda: number(random),
            lambda: repr(random.gauss(0, 1)),
            lambda: str(random.randrange(3)),
            lambda: random.choice((repr(random.gauss(0, 1)), "2", "1e9", "-1e9", "1000000000.5")),
            lambda: f"{random.randrange(7) / 10}",
        )
    )
    offset = random.choice((0, 0, 0, 10**9, 10**12))
    return [repr(float(Fraction(draw()) + offset)) if offset else draw() for _ in range(n)]


def weights(random: random.Random, n: int) -> list[str]:
    draw = random.choice(
        (
            lambda: "1",
            lambda: random.choice(("0.1", "0.2", "0.3", "0.7")),
            lambda: repr(random.random() + 0.01),
            lambda: f"{random.randrange(1, 99)}e{random.randrange(-9, 13)}",
        )
    )
    return [draw() for _ in range(n)]


class Drawn:
    """A small problem as texts, and the exact costs of its trees.

    Parameters
    ----------
    task : str
    seed : int
    """

    def __init__(self, task: str, seed: int):
        rng = random.Random(seed)
        n, p = rng.randrange(3, 9), rng.randrange(1, 3)
        self.task, self.depth, self.least = task, rng.randrange(1, 4), rng.choice((1, 1, 1, 2))
        self.share = rng.choice((None, None, "0.1", "0.001", "1e-7"))
        self.X = [[rng.choice(CELLS) for _ in range(p)] for _ in range(n)]
        self.y, self.w = numbers(rng, n), weights(rng, n)
        if task == "survival":
            self.y = [
                rng.choice(("0.5", "1", "2", "2.5", "3")) if rng.random() < 0.5 else repr(rng.random()) for _ in self.y
            ]
        self.event = [rng.random() < 0.6 for _ in range(n)]
        self.event[0] = True
        self.cells = [[Fraction(float(cell)) for cell in row] for row in self.X]
        self._numbers, self._weights = list(map(Fraction, self.y)), list(map(Fraction, self.w))
        self._hazards = self._nelson_aalen()

    def write(self, path: Path) -> Path:
        names = [f"x{column}" for column in range(len(self.X[0]))]
        lines = [",".join([*names, "w", "y", "event"])]
        lines += [",".join([*x, w, y, str(int(e))]) for x, w, y, e in zip(self.X, self.w, self.y, self.event)]
        path.write_text("\n".join(lines) + "\n")
        return path

    @property
    def options(self) -> dict:
        columns = {"target": "y", "ignore": ["event"]} if self.task != "survival" else {"time": "y", "event": "event"}
        limits = {"constraints": [f"leaf_rows >= {self.least}"]} if self.least > 1 else {}
        params = {"params": {"lambda": float(self.share)}} if self.share else {}
        numeric = [f"x{column}" for column in range(len(self.X[0]))]
        return {
            "task": self.task,
            "weights": "w",
            "depth": self.depth,
            "numeric": numeric,
            **columns,
            **limits,
            **params,
        }

    @property
    def price(self) -> Fraction:
        share = Fraction(self.share or 0)
        return share / (1 - share)

    def _nelson_aalen(self) -> list[Fraction]:
        found = []
        for time in self._numbers:
            before = {t for t, e in zip(self._numbers, self.event) if e and t <= time}
            found.append(
                sum(
                    (
                        sum(w for w, t, e in zip(self._weights, self._numbers, self.event) if e and t == at)
                        / sum(w for w, t in zip(self._weights, self._numbers) if t >= at)
                        for at in before
                    ),
                    Fraction(0),
                )
            )
        return found

    def leaf(self, rows: list[int]) -> Fraction:
        w, y = self._weights, self._numbers
        total = sum(w[i] for i in rows)
        if self.task == "regression":
            mean = sum(w[i] * y[i] for i in rows) / total
            return sum(w[i] * (y[i] - mean) ** 2 for i in rows)
        if self.task == "median":
            return min(sum(w[i] * abs(y[i] - y[j]) for i in rows) for j in rows)
        events = sum((w[i] for i in rows if self.event[i]), Fraction(0))
        if not events:
            return Fraction(0)
        ratio = events / sum(w[i] * self._hazards[i] for i in rows)
        log = DIGITS.ln(DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
        return events * (1 - Fraction(log))

    def best(self, rows: list[int], depth: int, known: dict) -> Fraction:
        key = tuple(rows), depth
        if key not in known:
            found = self.leaf(rows)
            for column in range(len(self.X[0])) if depth else ():
                for cut in sorted({self.cells[i][column] for i in rows})[:-1]:
                    sides = self.sides(rows, column, cut)
                    if min(map(len, sides)) >= self.least:
                        found = min(found, self.price + sum(self.best(side, depth - 1, known) for side in sides))
            known[key] = found
        return known[key]

    def sides(self, rows: list[int], column: int, cut: Fraction) -> tuple[list[int], list[int]]:
        return (
            [i for i in rows if self.cells[i][column] <= cut],
            [i for i in rows if self.cells[i][column] > cut],
        )

    def cost(self, node: dict, rows: list[int]) -> Fraction:
        """The cost of a tree of the JSON form."""
        if "split" not in node:
            return self.leaf(rows)
        sides = self.sides(rows, int(node["split"]["feature"][1:]), Fraction(node["split"]["threshold"]))
        assert all(sides), "a side of a split has no rows"
        return self.price + sum(self.cost(node[name], side) for name, side in zip(("left", "right"), sides))

    def expect(self, root: dict, objective: float, bound: float, proved: bool) -> None:
        """A proof is of the best tree, and a bound is none of more than it costs."""
        rows, factor = list(range(len(self.y))), 1 - Fraction(self.share or 0)
        least = factor * self.best(rows, self.depth, {})
        paid = factor * self.cost(root, rows)
        near = EQUAL * max(1, abs(least)) if self.task == "survival" else 0
        assert not proved or paid <= least + near, f"{float(paid)!r} is not {float(least)!r}"
        size = max(abs(paid), *(abs(self.leaf([row])) for row in rows))
        assert abs(Fraction(objective) - paid) <= Fraction(1, 10**9) * size
        assert Fraction(bound) <= least + Fraction(1, 10**12) * size


def refused(problem: OdtcError) -> bool:
    """Whether a problem is one that no tree can be told of: equal numbers, or cells that are all equal."""
    return any(
        words in str(problem) for words in ("that differ", "separates two rows", "not zero as doubles", "rows in")
    )


@pytest.mark.parametrize("seed", range(DRAWS))
@pytest.mark.parametrize("task", TASKS)
def test_what_is_proved_of_a_file_is_the_best_of_all_trees(task, seed, tmp_path):
    drawn = Drawn(task, seed)
    try:
        done = odtc.fit(drawn.write(tmp_path / "d.csv"), **drawn.options)
    except OdtcError as problem:
        assert refused(problem), problem
        return
    assert done.verified, [check.text for check in done.checks]
    proved = done.solution.termination == "optimal"
    drawn.expect(done.tree.to_json()["root"], done.solution.objective, done.solution.bound, proved)


@pytest.mark.parametrize(
    ("name", "depth", "options", "objective"),
    [
        ("outlier", 2, {"task": "regression"}, 1.4354653330),
        ("wide-targets", 3, {"task": "regression", "target": "y", "weights": "w"}, 3.7162344941671e-06),
        ("median", 1, {"task": "median", "target": "y", "weights": "w"}, 0.0),
    ],
)
def test_reported_files_are_proved(name, depth, options, objective):
    done = odtc.fit(REPORTS / f"{name}.csv", depth=depth, **options)
    assert done.verified and done.solution.termination == "optimal"
    assert done.solution.objective == done.solution.bound == pytest.approx(objective, rel=1e-9, abs=0)


def test_a_number_that_dwarfs_all_others_is_named():
    (note,) = [
        note for note in odtc.fit(REPORTS / "outlier.csv", task="regression", depth=1).notes if "1000000000" in note
    ]
    assert "'y'" in note and "row 19" in note
