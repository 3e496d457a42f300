"""Each rule of the checkers of certificates under corruptions: python -m benchmarks.proof_rules [--number 1000]

    python -m benchmarks.proof_rules --rules list,pair --number 100 --no-node
    python -m benchmarks.proof_rules --rules numbers --number 300

Certificates of small random tables have one or two entries changed: numbers of the states, cuts or cases that a rule
reads, or any other entry (`header`), or the tree with its cost and its bound together. Both checkers read each file.
An accepted one is "true" if its claims hold by trying every tree in fractions (`Truth`, apart from all code of the
checkers), otherwise it is "FALSE", and is shown. "apart" counts files on which the two checkers disagree.

`numbers` fits trees with weights, costs, targets and times from 1e-9 to 1e15, mixed: a tree that is called proved is
the best one in fractions ("certified", or "searched" without a certificate), or no proof is claimed ("open",
"refused"). For costs that are sums, "near" trees are within 1e-10 of the best, as a certificate states them.
"""

import argparse
import copy
import csv
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path

import odtc
from benchmarks.net import reference
from odtc.errors import CertificateError, ChoiceError
from odtc.verification.certificate import check
from tests import pipeline

NUMBER = re.compile(r"\d+")
CLOSE = Decimal("1e-30")  # relative: more than the rounding of logarithms at DIGITS digits
DIGITS = 50
AT_ONCE = 250  # files that one process of node reads
SOME_SETS = (
    ("recall[p] >= 0.6",),
    ("features <= 1",),
    ("leaves <= 3", "accuracy >= 0.7"),
    ("precision[q] >= 0.8", "leaf_rows >= 2"),
    ("not_below[x,z]", "class_leaves[p] <= 1"),
    ("statistical_parity[group=c,positive=p] <= 0.2",),
    ("splits <= 2", "f1[p] >= 0.6"),
    ("together[x,z]",),
    ("monotone[x,positive=p]",),
    ("accuracy >= 0.99", "features <= 1"),
    ("never_together[x,c]", "leaf_precision >= 0.6"),
)


class Truth:
    """Statements about the trees that a certificate is about, by trying all of them in fractions.

    Parameters
    ----------
    facts : dict, a certificate
    path : Path of its data, a CSV file
    options : tuple of str, how the data is read, as options of the command line

    Raises
    ------
    reference.Unknown, KeyError, ValueError, IndexError
        For entries that have no meaning.
    """

    def __init__(self, facts: dict, path: Path, options: tuple[str, ...]):
        self.facts, kind = facts, facts["kind"]
        linear = kind == "linear"
        self.problem = p = reference.Problem(path, tuple("regression" if one == "linear" else one for one in options))
        self.linear, self.ridge = linear, Fraction(repr(float(facts["data"].get("ridge", 0))))
        p.depth, texts = facts["depth"], list(facts.get("constraints", ()))
        p.splits = [split for column in facts["columns"] for split in self._cuts(column)]
        self.n_splits = len(p.splits)
        self.labels = kind in ("labels", "constraints")
        if self.labels:
            p.labels, scale = facts["classes"], facts["weight_scale"]
            p.price = [
                [p.weight[i] * scale * cost for cost in facts["loss"][p.labels.index(t)]] for i, t in enumerate(p.truth)
            ]
            self.unit, self.node = Fraction(1), Fraction(facts["penalty"])
        else:
            number = Fraction(facts.get("number_scale", 2 ** facts.get("number_bits", 0)))
            self.unit, self.node = facts["weight_scale"] * number**2, Fraction(facts["penalty"])
            texts += [f"{key} <= {facts[key]}" for key in ("leaves", "splits") if facts.get(key) is not None]
            texts += [f"together[{','.join(group)}]" for group in facts.get("together", ())]
        texts += [f"leaf_rows >= {rows}" for rows in [facts.get("least", 1)] if rows > 1]
        p.constraints = [reference._read_constraint(text) for text in texts]
        self.texts = texts
        # The unit of a class's cost is the cost of an error; constraints on it count these.
        self.by_label = any(name in reference.ON_LABELS for name, *_ in p.constraints)
        if p.task == "survival":
            self._weigh_hazards()
        self.leaf = cache(self._leaf)
        self.exact = p.task != "survival"  # otherwise costs are decimals of many digits
        self._node = self.node if self.exact else Decimal(self.node.numerator) / self.node.denominator

    def _weigh_hazards(self) -> None:
        """Count events and hazards (Nelson-Aalen) by the weights of rows."""
        p = self.problem
        clock = [Fraction(text) for text in p.column[p.given["--time"]]]
        p.event = [w * e for w, e in zip(p.weight, p.event)]
        steps = {
            at: sum(e for t, e in zip(clock, p.event) if t == at) / sum(w for t, w in zip(clock, p.weight) if t >= at)
            for at in set(clock)
        }
        p.hazard = [w * sum(step for at, step in steps.items() if at <= t) for w, t in zip(p.weight, clock)]

    def _cuts(self, column: dict) -> Iterator[tuple[str, int]]:
        """The cuts of a column, each as (feature, the rows on its left)."""
        p, name = self.problem, column.get("feature", "")
        if column["kind"] == "nested":
            for split, turned in zip(column["splits"], column["turned"]):
                yield split["feature"], self.left(split) ^ (p.everyone if turned else 0)
        elif column["kind"] == "threshold":
            cells = [Fraction(cell) for cell in p.column[name] if cell]
            for cut in column.get("thresholds", sorted(set(cells))[:-1]):
                yield name, self.left({"kind": "threshold", "feature": name, "threshold": cut})
        else:
            yield name, self.left(column)

    def left(self, split: dict) -> int:
        """The rows that a split sends left."""
        p, cells = self.problem, self.problem.column[split["feature"]]
        if split["feature"] not in p.features:
            raise KeyError(split["feature"])
        if split["kind"] == "missing":
            return p._rows(cell == "" for cell in cells)
        if split["kind"] == "threshold":
            return p._rows(cell != "" and Fraction(cell) <= Fraction(split["threshold"]) for cell in cells)
        return p._rows(cell in split["values"] for cell in cells)

    def _leaf(self, mask: int) -> list:
        """The cost of a leaf with each label, in the units of the certificate."""
        p = self.problem
        if self.labels:
            return p.leaf_costs(mask)
        if p.task == "survival":
            with localcontext(prec=DIGITS):
                events, hazard = (sum(of[row] for row in p.bits(mask)) for of in (p.event, p.hazard))
                if not events:
                    return [Decimal(0)]
                share, number = (Decimal(one.numerator) / one.denominator for one in (events / hazard, events))
                return [int(self.unit) * (number - number * share.ln())]
        rows = p.bits(mask)
        w, y = [p.weight[row] for row in rows], [p.number[row] for row in rows]
        total = sum(w)

        def both(a, b):  # Σ w (a - mean a) (b - mean b)
            of_a, of_b = (sum(wi * v for wi, v in zip(w, values)) for values in (a, b))
            return sum(wi * one * two for wi, one, two in zip(w, a, b)) - of_a * of_b / total

        least = around = both(y, y)
        for name in p.features if self.linear else ():
            if reference._is_numeric(p.column[name]):
                x = [Fraction(p.column[name][row]) for row in rows]
                spread = both(x, x)
                if spread:
                    least = min(least, around - both(x, y) ** 2 / (spread + self.ridge))
        return [least * self.unit]

    def is_under(self, limit, close=0) -> bool:
        """Whether some tree that satisfies the constraints costs less than a limit; at any cost if it is None."""
        p, node = self.problem, self._node
        if limit is not None and all(given[0] == "leaf_rows" for given in p.constraints):
            return self.least() < limit - close
        return any(
            all(reference._holds(p, given, tree) for given in p.constraints)
            for cost, tree in self._trees(p.everyone, p.depth, limit, node)
            if limit is None or cost < limit - close
        )

    def least(self):
        """The least cost of a tree, without constraints other than on the rows of a leaf."""
        p, node = self.problem, self._node
        rows = max([int(given[3]) for given in p.constraints if given[0] == "leaf_rows"], default=1)

        @cache
        def best(mask, depth):
            found = min(self.leaf(mask))
            for left in {mask & one for _, one in p.splits[: self.n_splits]} if depth else ():
                right = mask ^ left
                if min(left.bit_count(), right.bit_count()) >= rows:
                    found = min(found, node + best(left, depth - 1) + best(right, depth - 1))
            return found

        return best(p.everyone, p.depth)

    def _trees(self, mask: int, depth: int, limit, node):
        """(cost, tree) of each tree over these rows, as in benchmarks.net.reference; trees that cost the limit or more
        may be left out."""
        p, costs = self.problem, self.leaf(mask)
        some = range(len(costs)) if self.by_label or "together" in str(self.texts) else [costs.index(min(costs))]
        for label in some:
            if limit is None or costs[label] < limit:
                yield costs[label], (mask, label)
        rest = None if limit is None else limit - node
        if not depth or (rest is not None and rest <= 0):
            return
        for split, (_, rows) in enumerate(p.splits[: self.n_splits]):
            left, right = mask & rows, mask & ~rows
            if left and right:
                others = list(self._trees(right, depth - 1, rest, node))
                if not others:
                    continue
                low = None if rest is None else rest - min(cost for cost, _ in others)
                for cost, tree in self._trees(left, depth - 1, low, node):
                    for more, other in others:
                        if not ("together" in str(self.texts) and len(tree) == len(other) == 2 and tree[1] == other[1]):
                            yield node + cost + more, (split, tree, other)

    def tree(self) -> tuple:
        """(cost, whether it satisfies all) of the tree of the certificate."""
        p = self.problem

        def read(node, mask, depth):
            if "label" in node:
                costs = self.leaf(mask)
                label = p.labels.index(node["label"]) if self.labels else 0
                return costs[label], (mask, label)
            if not depth:
                raise ValueError("deeper")
            rows = self.left(node["split"])
            at = (node["split"]["feature"], rows)
            if at not in p.splits:
                p.splits.append(at)
            one, other = read(node["left"], mask & rows, depth - 1), read(node["right"], mask & ~rows, depth - 1)
            return self._node + one[0] + other[0], (p.splits.index(at), one[1], other[1])

        cost, tree = read(self.facts["tree"]["root"], p.everyone, p.depth)
        return cost, all(reference._holds(p, given, tree) for given in p.constraints)

    def why_false(self, proof, of: dict) -> str:
        """The first statement of an accepted certificate that is false, by its terms `of` before it was changed; "" if
        all are true."""
        facts, p = self.facts, self.problem
        stated = {key: value for key, value in facts["of"].items() if key not in ("depth", "n_candidate_splits")}
        known = of | {"constraints": self.texts if self.texts or "constraints" in facts else of["constraints"]}
        every = {(name, min(rows, p.everyone ^ rows)) for name in p.features for name, rows in self._possible(name)}
        mine = {(name, min(rows, p.everyone ^ rows)) for name, rows in p.splits[: self.n_splits]}
        if any(stated[key] != known.get(key) for key in stated if key not in ("all_splits", "constraints")):
            return "its terms"
        if set(facts["of"]["constraints"]) != set(self.texts):
            return "its constraints"
        if (facts["of"]["depth"], facts["of"]["n_candidate_splits"]) != (p.depth, self.n_splits):
            return "its size"
        if facts["of"]["all_splits"] and not {rows for _, rows in every} <= {rows for _, rows in mine}:
            return "that its splits are all"
        if facts["tree"] is None:
            return "that there is no tree" if self.is_under(None) else ""
        cost, kept = self.tree()
        if not kept:
            return "that its tree satisfies the constraints"
        if self.labels:
            if cost != facts["claim"] or proof.objective != facts["claim"] / facts["scale"]:
                return "the cost of its tree"
            return "its bound" if self.is_under(facts["bound"]) or facts["bound"] > facts["claim"] else ""
        unit = self.unit + self.node
        if not self.exact:
            with localcontext(prec=DIGITS):
                unit = Decimal(unit.numerator) / unit.denominator
                close = CLOSE * abs(cost)
                if not Decimal(proof.objective) * unit >= cost - close:
                    return "the cost of its tree"
                bound = cost * (1 - Decimal("1e-10")) if proof.optimal else Decimal(proof.bound) * unit
                return "its bound" if self.is_under(bound, close) else ""
        if Fraction(facts["claim"]) != cost:
            return "the cost of its tree"
        return "its bound" if self.is_under(cost if proof.optimal else Fraction(proof.bound) * unit) else ""

    def _possible(self, name: str):
        p, cells = self.problem, self.problem.column[name]
        known = sorted({Fraction(cell) for cell in cells}) if reference._is_numeric(cells) else sorted(set(cells))
        if reference._is_numeric(cells):
            return [(name, p._rows(Fraction(cell) <= cut for cell in cells)) for cut in known[:-1]]
        return [(name, p._rows(cell == level for cell in cells)) for level in known if len(known) > 1]


def table(rnd: random.Random, task: str, path: Path, n: int, values: int = 4) -> tuple[str, ...]:
    """Write a table, and return how it is read, as options of the command line."""
    x, z, c = (
        [str(rnd.randrange(values)) for _ in range(n)],
        [str(rnd.randrange(3)) for _ in range(n)],
        [rnd.choice("abc") for _ in range(n)],
    )
    x[:2], z[:2] = ("0", "1"), ("1", "0")
    w = [rnd.choice(["1", "1", "2", "0.5"]) for _ in range(n)]
    if task == "survival":
        ends = {"time": [str(rnd.randrange(1, 9)) for _ in range(n)], "event": [rnd.choice("110") for _ in range(n)]}
        ends["event"][0] = "1"
        columns, options = {"x": x, "z": z, "c": c, **ends}, ("--task", task, "--time", "time", "--event", "event")
    elif task == "classification":
        y = [rnd.choice("ppq" if one in "13" else "pqq") for one in x]
        y[:2] = "pq"
        columns, options = {"x": x, "z": z, "c": c, "w": w, "y": y}, ("--target", "y", "--weights", "w")
    else:
        y = [str(rnd.randrange(9) / 2) for _ in range(n)]
        columns = {"x": x, "z": z, "c": c, "w": w, "y": y}
        options = ("--task", task, "--target", "y", "--weights", "w")
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values())])
    return options


def wild(rnd: random.Random) -> str:
    """A number from 1e-9 to 1e15."""
    return f"{rnd.choice([1, 1, 2, 3, 7, 1.5, 123456789])}e{rnd.randrange(-9, 16)}"


def wild_table(rnd: random.Random, task: str, path: Path) -> tuple[str, ...]:
    """Write a table of some wild numbers, and return how it is read."""
    options = table(rnd, task, path, rnd.randrange(7, 12))
    header, *rows = csv.reader(path.read_text().splitlines())
    some = rnd.choice([0.2, 0.5, 1.0])
    for row in rows:
        for at in map(header.index, {"w", "time", "y"} & set(header)):
            if rnd.random() < some and (header[at] != "y" or task in ("regression", "linear")):
                row[at] = wild(rnd)
    if task == "survival":
        header.append("w")
        rows = [[*row, wild(rnd) if rnd.random() < some else "1"] for row in rows]
        options += ("--weights", "w")
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return options


def numbers(number: int, seed: int) -> Counter:
    """{(task, end): how many} of so many fits of tables with wild numbers."""
    rnd, seen = random.Random(f"numbers {seed}"), Counter()
    with tempfile.TemporaryDirectory() as name:
        for at in range(number):
            task = ("classification", "regression", "constraints", "survival", "linear")[at % 5]
            end, shown = wild_fit(rnd, task, Path(name) / f"{at}.csv")
            seen[f"{task} {end}"] += 1
            if "FALSE" in end:
                print(task, end, shown, flush=True)
    return seen


def wild_fit(rnd: random.Random, kind: str, path: Path) -> tuple[str, str]:
    """(the end of a fit of a table of wild numbers, the problem as text)."""
    task = "classification" if kind == "constraints" else kind
    options, constraints, costs = wild_table(rnd, task, path), (), {}
    if kind == "constraints":
        constraints = rnd.choice(SOME_SETS)
    if task == "classification" and rnd.random() < 0.6:
        costs = {"p:q": wild(rnd), "q:p": wild(rnd)}
    lam = rnd.choice([0.0, 0.125, 1e-9])
    words = {"cost": ",".join(f"{pair}={cost}" for pair, cost in costs.items())} if costs else {}
    shown = f"{options} {constraints} {words} {lam}\n{path.read_text()}"
    try:
        ridge = {"ridge": 0.5} if task == "linear" else {}
        data = odtc.read(path, **reading(options), **ridge)
        done = odtc.fit(data, None, "dpflow", 2, constraints=constraints, params={"lambda": lam}, **words)
    except odtc.errors.NoSolutionError as none:
        facts = {"tree": None, "termination": none.outcome.to_json()["termination"]}
    except odtc.errors.OdtcError as problem:
        return "refused", str(problem)
    else:
        facts = done.facts | {"tree": done.tree.to_json()}
    if facts["termination"] not in ("optimal", "infeasible"):
        return "open", shown
    share = Fraction(repr(lam))
    classes = ["p", "q"]
    loss = [[(1 - share) * Fraction(costs.get(f"{a}:{b}", int(a != b))) for b in classes] for a in classes]
    shape = {"data": ridge, "columns": [{"kind": "threshold", "feature": one} for one in "xz"], "depth": 2}
    shape["columns"] += [{"kind": "subset", "feature": "c", "values": [level]} for level in "abc"]
    shape |= {"kind": kind if kind in ("regression", "survival", "linear") else "labels", "classes": classes}
    shape |= {"weight_scale": 1, "number_scale": 1, "loss": loss, "constraints": constraints}
    shape |= {"penalty": share if shape["kind"] == "labels" else share / (1 - share)}
    truth = Truth(shape | {"tree": facts["tree"]}, path, options)
    how = "certified" if facts.get("certified") else "searched"
    if facts["tree"] is None:
        return ("FALSE: infeasible" if truth.is_under(None) else f"{how}, no tree"), shown
    with localcontext(prec=DIGITS):
        cost, kept = truth.tree()
        if not kept:
            return "FALSE: constraints", shown
        if not truth.is_under(cost, 0 if truth.exact else CLOSE * abs(cost)):
            return how, shown
        near = abs(cost) * (Fraction(1, 10**10) if truth.exact else Decimal("1e-10"))
        return (f"{how}, near" if not truth.labels and not truth.is_under(cost, near) else f"FALSE: {how}"), shown


def reading(options: tuple[str, ...]) -> dict:
    """The same options as keywords of `odtc.read`."""
    return {name.removeprefix("--"): value for name, value in zip(options[::2], options[1::2])}


def made(rnd: random.Random, rule: str, path: Path) -> tuple[dict, object, tuple[str, ...]]:
    """(a certificate that the rule reads, its data set, how the data is read)."""
    task = {"tried": rnd.choice(["regression", "survival", "linear"])}.get(rule, "classification")
    if rule in ("header", "sets") and rnd.random() < 0.5:
        task = rnd.choice(["regression", "survival", "linear"][: 3 if rule == "header" else 2])
    constraints: tuple[str, ...] = ()
    depth = {"leaf": rnd.choice([1, 2, 3]), "pair": 2, "cuts": rnd.choice([3, 4]), "sets": 3, "tried": 3}.get(rule, 2)
    if rule == "list" or (rule == "header" and task == "classification" and rnd.random() < 0.5):
        constraints = rnd.choice(SOME_SETS)
    elif rule == "cuts":
        constraints = ("leaf_rows >= 2",) if depth == 3 or rnd.random() < 0.3 else ()
    elif task == "regression" and rule == "sets":
        constraints = rnd.choice([(), ("splits <= 2",), ("together[x,z]",)])
    elif rule == "tried":
        constraints = rnd.choice([(), ("leaf_rows >= 2",), ("leaves <= 3",)])
    options = table(rnd, task, path, rnd.randrange(8, 14), rnd.choice([3, 4, 5]))
    lam = {"leaf": 0.45}.get(rule, rnd.choice([0.0, 0.0, 0.125]))
    data = odtc.read(path, **reading(options), **({"ridge": rnd.choice([0.5, 2])} if task == "linear" else {}))
    words = {"cost": "p:q=2"} if task == "classification" and rnd.random() < 0.3 else {}
    try:
        problem = pipeline.pose(data, "dpflow", depth, constraints=constraints, params={"lambda": lam}, **words)
        facts = json.loads(json.dumps(problem.module.certificate(problem)))
    except ChoiceError:
        return made(rnd, rule, path)
    if rule == "sets" and facts["kind"] in ("regression", "survival") and not constraints:
        facts["tried"] = "all"
    return facts, data, options


PARTS = {
    "leaf": ("states", "bound"),
    "pair": ("states", "bound"),
    "cuts": ("states", "bound"),
    "sets": ("states", "bound", "tried", "splits", "together"),
    "tried": ("tried", "claim", "least", "leaves"),
    "list": ("passes", "cases", "bound", "multiplier_scale", "constraints"),
}
RULES = (*PARTS, "header")
UNREAD = ("schema", "odtc", "data", "encoding")


def corrupt(rnd: random.Random, facts: dict, rule: str, truth: Truth) -> dict:
    """A copy of a certificate that is changed in what a rule reads."""
    facts = copy.deepcopy(facts)
    parts = [key for key in facts if key not in UNREAD and (key in PARTS[rule] if rule in PARTS else True)]
    if rnd.random() < 0.3 and raised(rnd, facts, truth):
        return facts
    for _ in range(rnd.choice([1, 1, 2])):
        key = rnd.choice(parts)
        facts[key] = changed(rnd, facts[key])
    return facts


def raised(rnd: random.Random, facts: dict, truth: Truth) -> bool:
    """Change the bound with all that states it, or the tree to a dearer one with its claim; return whether it was."""
    if not truth.labels or facts["tree"] is None:
        return False
    nodes = [facts["tree"]["root"]]
    for node in nodes:
        nodes += [node[side] for side in ("left", "right") if side in node]
    if rnd.random() < 0.5:
        node = rnd.choice(nodes)
        node.clear()
        node["label"] = rnd.choice(facts["classes"])
        try:
            facts["claim"] = int(Truth(facts, *truth.source).tree()[0])
        except (ValueError, KeyError):
            return True
    more = rnd.choice([-1, 1, facts["claim"] - facts["bound"]])
    facts["bound"] = max(0, facts["bound"] + more)
    if "states" in facts:
        head, *rest = facts["states"][0].split(",")
        facts["states"][0] = ",".join([str(max(0, int(head.removeprefix("f")) + more)), *rest])
    return True


def changed(rnd: random.Random, value):
    """A value that is changed in one place."""
    if isinstance(value, bool) or value is None:
        return rnd.choice([True, False, None, 0, 0, 0, 1])
    if isinstance(value, int | float):
        return rnd.choice(
            [value + 1, value - 1, value * 2, 0, rnd.randrange(9), -value, value + 0.5, 2**53, None, None]
        )
    if isinstance(value, str):
        found = list(NUMBER.finditer(value))
        if not found or rnd.random() < 0.1:
            return rnd.choice(["", "p", "q", "x", "z", "c", value + ";" + value, value[:-1]])
        one = rnd.choice(found)
        new = max(0, int(one[0]) + rnd.choice([-3, -2, -1, 1, 2, 3, 7]))
        return f"{value[: one.start()]}{new}{value[one.end() :]}"
    if not value:
        return rnd.choice([[0], [[0, 0, 0, 0]], {}, "0", 1])
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    at, copied = rnd.choice(keys), copy.copy(value)
    deed = rnd.random()
    if deed < 0.12:
        del copied[at]
    elif deed < 0.2 and isinstance(value, list):
        copied.insert(at, copy.deepcopy(value[rnd.choice(keys)]))
    elif deed < 0.28 and isinstance(value, list):
        copied[at] = copy.deepcopy(value[rnd.choice(keys)])
    else:
        copied[at] = changed(rnd, value[at])
    return copied


def judged(facts: dict, data, truth, of: dict, second: str | None) -> str:
    """The end of a changed certificate: refused, true, FALSE, and apart if the second checker's end is another."""
    try:
        proof = check(facts, data)
    except CertificateError:
        proof = None
    ends = {proof is not None} | (set() if second is None else {second.startswith("proved")})
    apart = " apart" if len(ends) > 1 else ""
    if True not in ends:
        return "refused"
    if proof is None:  # only the second checker accepts it, and says what it proves
        paid, bound = map(float, second.split()[1:3])
        proof = type("Second", (), {"objective": paid, "bound": bound, "optimal": paid == bound})
    why = Truth(facts, *truth.source).why_false(proof, of)
    return (f"FALSE: {why}" if why else "true") + apart


def tried(rule: str, number: int, seed: int, node: bool, each: int = 20) -> Counter:
    """{end: how many} of so many corruptions of a rule, some `each` of one certificate."""
    from tests.unit.test_second_checker import verdicts

    rnd, seen, waiting = random.Random(f"{rule} {seed}"), Counter(), []
    with tempfile.TemporaryDirectory() as name:
        for at in range(-(-number // each)):
            path = Path(name) / f"{at}.csv"
            facts, data, options = made(rnd, rule, path)
            truth = Truth(facts, path, options)
            truth.source = path, options
            why = truth.why_false(check(facts, data), facts["of"])
            assert not why, (facts, why)
            for _ in range(min(each, number - at * each)):
                while (one := corrupt(rnd, facts, rule, truth)) == facts:
                    pass
                waiting.append((one, data, truth, facts["of"]))
            if len(waiting) >= AT_ONCE or (at + 1) * each >= number:
                second = verdicts([(one[0], one[2].source[0]) for one in waiting]) if node else [None] * len(waiting)
                for one, two in zip(waiting, second, strict=True):
                    end = judged(*one, two)
                    seen[end] += 1
                    if "FALSE" in end or "apart" in end:
                        shown = {key: value for key, value in one[0].items() if key not in UNREAD}
                        print(end, two, one[2].source[0].read_text(), json.dumps(shown), flush=True)
                waiting.clear()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=1000, help="of each rule")
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-node", action="store_true", help="only the first checker")
    given = parser.parse_args()
    for rule in given.rules.split(","):
        began = time.process_time()
        wild = rule == "numbers"
        ends = numbers(given.number, given.seed) if wild else tried(rule, given.number, given.seed, not given.no_node)
        print(f"{rule:7} {dict(sorted(ends.items()))}, {time.process_time() - began:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
