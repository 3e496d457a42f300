"""Exact reference of benchmarks.exact_judge: the best tree of a tiny table, by trying every tree in fractions.

Nothing of odtc is used. The table is the text of a CSV file, so that a number is the decimal that was written.
"""

import csv
import random
import re
from dataclasses import dataclass, field
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from pathlib import Path

getcontext().prec = 60
SAYS = {  # constraints by their texts, the sense, and what a tree reaches
    "accuracy": ">=",
    "recall[c1]": ">=",
    "precision[c1]": ">=",
    "false_positive_rate[c1]": "<=",
    "balanced_accuracy": ">=",
    "f1[c1]": ">=",
    "leaf_precision[c1]": ">=",
    "cost": "<=",
    "statistical_parity[group=g,positive=c1]": "<=",
    "equal_opportunity[group=g,positive=c1]": "<=",
    "leaf_rows": ">=",
    "leaves": "<=",
}


@dataclass
class Case:
    """A drawn table with the settings of its run."""

    task: str
    table: list[dict[str, str]]
    depth: int
    reading: dict = field(default_factory=dict)
    how: dict = field(default_factory=dict)
    way: str = "memory"
    magnitudes: tuple = ()

    def write(self, path: Path) -> None:
        with path.open("w", newline="") as out:
            rows = csv.DictWriter(out, list(self.table[0]))
            rows.writeheader()
            rows.writerows(self.table)

    def words(self, path: str) -> list[str]:
        """The words of the command line."""
        found = ["fit", path, "--depth", str(self.depth)]
        for name, value in {**self.reading, **self.how}.items():
            if name == "params":
                found += [word for key, given in value.items() for word in ("-p", f"{key}={given}")]
            elif name == "constraints":
                found += [word for given in value for word in ("--constraint", given)]
            else:
                found += [f"--{name.replace('_', '-')}", ",".join(value) if isinstance(value, tuple) else str(value)]
        return found


class Reference:
    """The trees of a case and their objectives, from the text of its table."""

    def __init__(self, case: Case):
        self.case = case
        read, how = case.reading, case.how
        named = {read.get("weights"), read.get("time"), read.get("event"), *read.get("actions", ())}
        named |= {*read.get("auxiliary", ())} | ({"y"} if "y" in case.table[0] else set())
        self.columns = [name for name in case.table[0] if name not in named]
        dropped = read.get("missing", "drop") == "drop"
        self.rows = [row for row in case.table if not (dropped and any(row[name] == "" for name in self.columns))]
        self.all = (1 << len(self.rows)) - 1
        weights = read.get("weights")
        self.weight = [Fraction(row[weights]) if weights else Fraction(1) for row in self.rows]
        params = how.get("params", {})
        rate = Fraction(str(params.get("lambda", "0")))
        self.scale, self.price = 1 - rate, rate
        self.losses = self._losses()
        if "alpha" in params:
            self.price = Fraction(params["alpha"]) * self.leaf(self.all)
        self.splits = sorted({mask for name in self.columns for mask in self._masks(name)})
        self.leaf = cache(self.leaf)
        self.best = cache(self.best)
        self.constraints = [(re.match(r"(.*\S) (<=|>=) (\S+)$", text).groups()) for text in how.get("constraints", ())]

    def _masks(self, name: str) -> list[int]:
        """The rows that go left, for every split of a column."""
        cells = [row[name] for row in self.rows]
        held = {cell for cell in cells if cell}
        try:
            known = {cell: Fraction(cell) for cell in held}
            sides = [{cell for cell in held if known[cell] <= at} for at in set(known.values())]
        except ValueError:
            # A search without a model takes all sets of levels, of which missing cells are one outside of each set.
            how, sizes = self.case.how, [1]
            if how.get("model") in ("auto", "dpflow") and "solver" not in how and self.case.way != "files":
                sizes = range(1, len(held))
            sides = [set(chosen) for size in sizes for chosen in combinations(sorted(held), size)]
        return [sum(1 << i for i, cell in enumerate(cells) if cell in side) for side in [*sides, {""}]]

    def _losses(self) -> list[list[Fraction]] | None:
        """What each answer costs on each row; None for tasks whose leaves have a loss that is not a sum."""
        read, how, task = self.case.reading, self.case.how, self.case.task
        if task == "policy":
            costs = [[Fraction(row[name]) for name in read["actions"]] for row in self.rows]
            above = [[weight * (cost - min(row)) for cost in row] for weight, row in zip(self.weight, costs)]
            most, self.labels = self._forbidding(above), list(read["actions"])
            votes = [[min(most, max(row)) - min(most, cost) for cost in row] for row in above]
            return [[sum(row) - vote for vote in row] for row in votes]
        if task == "median":
            y = [Fraction(row["y"]) for row in self.rows]
            self.labels = sorted(set(y))
            return [[weight * abs(value - answer) for answer in self.labels] for weight, value in zip(self.weight, y)]
        if task != "classification":
            return None
        self.labels = sorted({row["y"] for row in self.rows})
        pairs = {(true, said): Fraction(true != said) for true in self.labels for said in self.labels}
        for part in filter(None, how.get("cost", "").split(",")):
            true, said, cost = re.split("[:=]", part)
            pairs[true, said] = Fraction(cost)
        for part in filter(None, how.get("class_weight", "").split(",")):
            label, weight = part.split("=")
            pairs |= {(label, said): cost * Fraction(weight) for (true, said), cost in pairs.items() if true == label}
        return [[weight * pairs[row["y"], said] for said in self.labels] for weight, row in zip(self.weight, self.rows)]

    def inside(self, mask: int) -> list[int]:
        return [i for i in range(len(self.rows)) if mask >> i & 1]

    def leaf(self, mask: int, answer: int | None = None):
        """The loss of a leaf: with this answer, or with the best."""
        rows = self.inside(mask)
        if self.losses is not None:
            sums = [sum(column) for column in zip(*(self.losses[i] for i in rows))]
            return min(sums) if answer is None else sums[answer]
        weight = [self.weight[i] for i in rows]
        if self.case.task == "regression":
            y = [Fraction(self.rows[i]["y"]) for i in rows]
            mean = sum(w * v for w, v in zip(weight, y)) / sum(weight)
            return sum(w * (v - mean) ** 2 for w, v in zip(weight, y))
        events = sum((w for w, i in zip(weight, rows) if self.rows[i]["e"] == "1"), Fraction(0))
        if not events:
            return Fraction(0)
        rate = events / sum(w * self.hazard(Fraction(self.rows[i]["t"])) for w, i in zip(weight, rows))
        return events - events * Fraction((Decimal(rate.numerator) / Decimal(rate.denominator)).ln())

    @staticmethod
    def _forbidding(above: list[list[Fraction]]) -> Fraction:
        """What a cost counts as at most above the least one of its row (docs/how-to/policy.md)."""
        most = max(map(max, above))
        single = min(sum(column) for column in zip(*above))
        single = single or min((cost for row in above for cost in row if cost), default=most)
        if most <= 10**6 * single:
            return most
        return next(power for at in range(-400, 400) if (power := Fraction(10) ** at) >= 4 * single)

    def hazard(self, time: Fraction) -> Fraction:
        """The Nelson-Aalen estimate of the hazard of all rows until a time."""
        seen, total = [(Fraction(row["t"]), row["e"], w) for row, w in zip(self.rows, self.weight)], Fraction(0)
        for at in {moment for moment, event, _ in seen if event == "1" and moment <= time}:
            ended = sum(w for moment, event, w in seen if moment == at and event == "1")
            total += ended / sum(w for moment, _, w in seen if moment >= at)
        return total

    def sides(self, mask: int) -> set[tuple[int, int]]:
        return {(mask & left, mask & ~left) for left in self.splits if mask & left and mask & ~left}

    def best(self, mask: int, depth: int):
        """The least objective of a tree on these rows."""
        found = [self.scale * self.leaf(mask)]
        if depth:
            found += [self.best(a, depth - 1) + self.best(b, depth - 1) + self.price for a, b in self.sides(mask)]
        return min(found)

    def trees(self, mask: int, depth: int) -> set[tuple]:
        """All trees as sorted tuples of leaves (rows, answer)."""
        found = {((mask, answer),) for answer in (range(len(self.losses[0])) if self.losses else (None,))}
        for a, b in self.sides(mask) if depth else ():
            pairs = product(self.trees(a, depth - 1), self.trees(b, depth - 1))
            found |= {tuple(sorted(left + right)) for left, right in pairs}
        return found

    def objective(self, tree):
        return self.scale * sum(self.leaf(*leaf) for leaf in tree) + self.price * (len(tree) - 1)

    def reached(self, name: str, tree) -> Fraction | None:
        """What a tree reaches of a constraint; None if it is kept whatever its number is."""
        if name == "leaf_rows":
            return Fraction(min(mask.bit_count() for mask, _ in tree))
        if name == "leaves":
            return Fraction(len(tree))
        if name == "cost":
            return sum(self.leaf(*leaf) for leaf in tree)
        said = {i: self.labels[answer] for mask, answer in tree for i in self.inside(mask)}
        true = [row["y"] for row in self.rows]

        def share(counted, among) -> Fraction | None:
            rows = [i for i in said if among(i)]
            total = sum(self.weight[i] for i in rows)
            return sum((self.weight[i] for i in rows if counted(i)), Fraction(0)) / total if total else None

        hit, positive, kind = (lambda i: said[i] == true[i]), (lambda i: said[i] == "c1"), name.partition("[")[0]
        if kind == "leaf_precision":
            leaves = [mask for mask, answer in tree if self.labels[answer] == "c1"]
            return min((share(lambda i: true[i] == "c1", lambda i, m=m: m >> i & 1) for m in leaves), default=None)
        if kind == "balanced_accuracy":
            rates = [share(hit, lambda i, k=k: true[i] == k) for k in self.labels]
            return sum(rates) / len(rates)
        if kind == "f1":
            sums = [sum(self.weight[i] for i in said if test(i)) for test in (positive, lambda i: true[i] == "c1")]
            both = sum((self.weight[i] for i in said if positive(i) and true[i] == "c1"), Fraction(0))
            return 2 * both / sum(sums)
        if "group" in name:
            of = (lambda i: true[i] == "c1") if kind == "equal_opportunity" else (lambda i: True)
            groups = {row["g"] for row in self.rows}
            rates = [share(positive, lambda i, g=g: self.rows[i]["g"] == g and of(i)) for g in groups]
            return max((a - b for a, b in permutations([r for r in rates if r is not None], 2)), default=None)
        among = {
            "accuracy": lambda i: True,
            "recall": lambda i: true[i] == "c1",
            "precision": positive,
            "false_positive_rate": lambda i: true[i] != "c1",
        }[kind]
        return share(hit if kind != "false_positive_rate" else positive, among)

    def keeps(self, tree, constraints) -> bool:
        for name, sense, bound in constraints:
            value = self.reached(name, tree)
            if value is not None and not (value <= Fraction(bound) if sense == "<=" else value >= Fraction(bound)):
                return False
        return True

    def optimum(self):
        """The least objective under the constraints; None if no tree satisfies them."""
        if not self.constraints:
            return self.best(self.all, self.case.depth)
        kept = (tree for tree in self.trees(self.all, self.case.depth) if self.keeps(tree, self.constraints))
        return min((self.objective(tree) for tree in kept), default=None)

    def routed(self, root: dict) -> list[tuple[int, int | None]]:
        """The leaves of a tree of odtc, by sending the rows through its JSON text."""
        found = []

        def down(node: dict, rows: list[int]) -> None:
            if "split" not in node:
                label = Fraction(node["label"]) if self.case.task == "median" else node["label"]
                found.append((sum(1 << i for i in rows), self.labels.index(label) if self.losses else None))
                return
            split, left = node["split"], []
            for i in rows:
                cell = self.rows[i][split["feature"]]
                if split["kind"] == "threshold":
                    goes = cell != "" and float(cell) <= split["threshold"]  # doubles
                else:
                    goes = cell == "" if split["kind"] == "missing" else cell in split["values"]
                left += [i] if goes else []
            down(node["left"], left)
            down(node["right"], [i for i in rows if i not in left])

        down(root, list(range(len(self.rows))))
        return [leaf for leaf in found if leaf[0]]


def drawn_constraints(draw: random.Random, case: Case) -> tuple[str, ...]:
    """One or two constraints whose bounds a tree reaches exactly, or just misses."""
    reference, texts = Reference(case), []
    trees = sorted(reference.trees(reference.all, case.depth), key=str)
    names = sorted(SAYS) if case.task == "classification" else ["leaf_rows", "leaves"]
    for name in draw.sample(names, draw.choice([1, 1, 2])):
        if (value := reference.reached(name, draw.choice(trees))) is None:
            continue
        if name not in ("leaf_rows", "leaves"):
            value += draw.choice([0, 0, 0, 1, -1]) * draw.choice([Fraction(1, 10**17), value / 10**12, Fraction(1)])
            value = max(Fraction(0), value) if name == "cost" else min(max(Fraction(0), value), Fraction(1))
        elif draw.random() < 0.3:
            value += 1
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        text = f"{exact:f}" if Fraction(exact) == value else draw.choice([str(value), f"{float(value)!r}"])
        texts.append(f"{name} {SAYS[name]} {text}")
    return tuple(texts)


def nearest_faults(reference: Reference, text: str) -> list[str]:
    """Whether the numbers that "can be kept" are the nearest, to the digits that are printed."""
    found = []
    for name, sense, bound in re.findall(r"; ([a-z_0-9]+(?:\[[^;]*?\])?) (<=|>=) (\S+?) can be kept", text):
        others = [one for one in reference.constraints if one[0] != name] if "as requested" in text else []
        trees = [tree for tree in reference.trees(reference.all, reference.case.depth) if reference.keeps(tree, others)]
        values = [value for tree in trees if (value := reference.reached(name, tree)) is not None]
        best, told = (min if sense == "<=" else max)(values), Fraction(bound)
        worse = told - best if sense == "<=" else best - told
        if worse < 0 or worse > Fraction(1, 1000) * min(abs(best), 1):
            found.append(f"{name} {sense} {bound} is not the nearest: {float(best)!r} ({best})")
    return found
