"""The least objective of a small cell by trying every tree, in exact arithmetic: apart from all code of odtc.

The cells of a table are read as fractions of their decimals. A set of rows is a whole number of one bit per row. The
reference answers None for command lines with an option that it does not know, and for problems that are too large.
"""

import csv
import math
import re
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path

MAX_TREES = 400_000  # evaluated for one cell under constraints, some 10 seconds
MAX_SUMS = 4_000_000  # rows times trees without constraints, some 10 seconds
NEUTRAL = {  # options, and parameters of -p, that change no objective; with their number of words
    "--solver": 2, "--start": 2, "--cuts": 2, "--format": 2, "--certificate": 1, "--price": 1, "--no-simplify": 1,
    "--pool": 2, "--within": 2, "--time-limit": 2, "--vary": 2,
}  # fmt: skip
NEUTRAL_PARAMS = ("tail", "fold", "intervals", "proof", "literal", "bottom", "rows", "sums", "cuts", "binary", "exact")
VALUED = (
    "--target", "--aside", "--ignore", "--weights", "--task", "--actions", "--depth", "--model", "--encoding", "--cost",
    "--class-weight", "--ordered", "--categorical", "--time", "--event",
)  # fmt: skip
SHORT = {"--min-leaf-rows": "leaf_rows >= ", "--max-branch-nodes": "branch_nodes <= ", "--max-features": "features <= "}
CONSTRAINT = re.compile(r"(\w+)(?:\[(.*)\])?\s*(?:(<=|>=)\s*(\S+))?$")
LEARNERS = ("cart", "cart_tuned", "oblique_search", "svm1_odt", "oct_h")


class Unknown(Exception):
    """The reference does not know the problem, or it is too large."""


def parsed(options: tuple[str, ...]) -> dict:
    """The options of a command line, those of -p and --constraint collected. Raises Unknown."""
    given: dict = {"constraints": [], "params": {}}
    rest = list(options)
    while rest:
        word = rest.pop(0)
        if word in NEUTRAL:
            given[word] = rest.pop(0) if NEUTRAL[word] == 2 else True
        elif word in SHORT:
            given["constraints"].append(SHORT[word] + rest.pop(0))
        elif word in VALUED:
            given[word] = rest.pop(0)
        elif word == "--constraint":
            given["constraints"].append(rest.pop(0))
        elif word == "-p":
            name, _, value = rest.pop(0).partition("=")
            if name not in (*NEUTRAL_PARAMS, "lambda", "alpha", "reward", "n_min"):
                raise Unknown(name)
            given["params"][name] = value
        else:
            raise Unknown(word)
    return given


class Problem:
    """One table with what a cell asks of it.

    Parameters
    ----------
    path : Path of a CSV file
    options : tuple of str, those of the command line
    """

    def __init__(self, path: Path, options: tuple[str, ...]):
        given = self.given = parsed(options)
        with path.open() as stream:
            header, *self.rows = csv.reader(stream)
        self.column = {name: [row[place] for row in self.rows] for place, name in enumerate(header)}
        self.n, self.depth, self.task = (
            len(self.rows),
            int(given.get("--depth", 2)),
            given.get("--task", "classification"),
        )
        self.everyone = (1 << self.n) - 1
        self.weight = [Fraction(text) for text in self.column.get(given.get("--weights", ""), ["1"] * self.n)]
        target = given.get("--target", None if self.task in ("policy", "survival") else header[-1])
        actions = given["--actions"].split(",") if "--actions" in given else []
        unread = {target, given.get("--weights"), given.get("--time"), given.get("--event"), *actions}
        for option in ("--aside", "--ignore"):
            unread |= set(given.get(option, "").split(","))
        self.features = [name for name in header if name not in unread]
        self._read_target(target, actions)
        self.splits = [split for name in self.features for split in self._splits_of(name)]
        self.constraints = [_read_constraint(text) for text in given["constraints"]]
        if "n_min" in given["params"]:
            self.constraints.append(_read_constraint(f"leaf_rows >= {given['params']['n_min']}"))

    def _read_target(self, target, actions):
        """The cost of each label on each row; or what a leaf costs."""
        self.labels: list = [None]
        if self.task == "policy":
            costs = [[Fraction(self.column[action][row]) for action in actions] for row in range(self.n)]
            votes = [[max(row) - cost for cost in row] for row in costs]
            self.labels = actions
            self.price = [[sum(row) - vote for vote in row] for row in votes]
        elif self.task == "classification":
            self.truth = self.column[target]
            self.labels = sorted(set(self.truth))
            cost = self._costs()
            self.price = [[self.weight[i] * cost[t, label] for label in self.labels] for i, t in enumerate(self.truth)]
        elif self.task in ("regression", "median"):
            self.number = [Fraction(text) for text in self.column[target]]
        elif self.task == "survival":
            self.hazard, self.event = _hazards(self.column[self.given["--time"]], self.column[self.given["--event"]])
        else:
            raise Unknown(self.task)

    def _costs(self) -> dict:
        cost = {(t, p): Fraction(t != p) for t in self.labels for p in self.labels}
        for text in filter(None, self.given.get("--cost", "").split(",")):
            pair, _, value = text.partition("=")
            cost[tuple(pair.split(":"))] = Fraction(value)
        weights = self.given.get("--class-weight", "")
        for label in self.labels:
            share = Fraction(1)
            if weights == "balanced":
                share = sum(self.weight) / (
                    len(self.labels) * sum(w for w, t in zip(self.weight, self.truth) if t == label)
                )
            elif weights:
                share = Fraction(dict(text.split("=") for text in weights.split(",")).get(label, "1"))
            cost |= {(label, p): cost[label, p] * share for p in self.labels}
        return cost

    def _splits_of(self, name) -> list[tuple[str, int]]:
        cells, encoding = self.column[name], self.given.get("--encoding", "auto")
        model = self.given.get("--model", "auto")
        if encoding not in ("auto", "onehot", "thresholds") or model in LEARNERS:
            raise Unknown(encoding)
        numeric = _is_numeric(cells) and name not in self.given.get("--categorical", "").split(",")
        if name in self.given.get("--ordered", "").split(",") or (numeric and encoding != "onehot"):
            values = [Fraction(cell) if numeric else cell for cell in cells]
            cuts = sorted(set(values))[:-1]
            return [(name, self._rows(value <= cut for value in values)) for cut in cuts]
        levels = sorted(set(cells))
        if model == "fair" and not numeric:
            sets = [
                chosen for size in range(1, len(levels)) for chosen in combinations(levels, size) if levels[0] in chosen
            ]
            return [(name, self._rows(cell in chosen for cell in cells)) for chosen in sets]
        if len(levels) < 3:
            levels = levels[1:]
        return [(name, self._rows(cell == level for cell in cells)) for level in levels]

    def _rows(self, chosen) -> int:
        return sum(1 << row for row, is_in in enumerate(chosen) if is_in)

    def bits(self, mask: int) -> list[int]:
        return [row for row in range(self.n) if mask >> row & 1]

    def leaf_costs(self, mask: int) -> list[Fraction]:
        """What a leaf of these rows costs with each label."""
        rows = self.bits(mask)
        if self.task in ("classification", "policy"):
            return [sum((self.price[row][k] for row in rows), Fraction(0)) for k in range(len(self.labels))]
        if self.task == "survival":  # rounded: the logarithm of a fraction is none
            events, expected = sum(self.event[row] for row in rows), sum(self.hazard[row] for row in rows)
            return [Fraction(events - events * math.log(events / expected)) if events else Fraction(0)]
        weights, numbers = [self.weight[row] for row in rows], [self.number[row] for row in rows]
        if self.task == "median":
            return [min(sum(w * abs(y - middle) for w, y in zip(weights, numbers)) for middle in numbers)]
        total = sum(w * y for w, y in zip(weights, numbers))
        return [sum(w * y * y for w, y in zip(weights, numbers)) - total * total / sum(weights)]

    def scale(self) -> tuple[Fraction, Fraction]:
        """(price of a unit of loss, price of a branch node)."""
        params = self.given["params"]
        if "lambda" in params:
            return 1 - Fraction(params["lambda"]), Fraction(params["lambda"])
        if "alpha" in params:
            return Fraction(1), Fraction(params["alpha"]) * min(self.leaf_costs(self.everyone))
        return Fraction(1), Fraction(params.get("reward", 0))

    def value(self, row: int, name: str):
        cell = self.column[name][row]
        return Fraction(cell) if _is_numeric(self.column[name]) else cell


def _hazards(times: list[str], events: list[str]) -> tuple[list[Fraction], list[int]]:
    """The cumulative hazard of all rows at the time of each row (Nelson-Aalen), and its events."""
    clock, event = [Fraction(time) for time in times], [int(text) for text in events]
    steps = {
        at: Fraction(sum(e for t, e in zip(clock, event) if t == at), sum(t >= at for t in clock)) for at in set(clock)
    }
    return [sum(step for at, step in steps.items() if at <= time) for time in clock], event


def _is_numeric(cells) -> bool:
    try:
        return bool([Fraction(cell) for cell in cells])
    except ValueError:
        return False


def least(path: Path, options: tuple[str, ...]) -> Fraction | None:
    """The least objective of a tree; None if no tree satisfies the constraints.

    Raises
    ------
    Unknown
        For what this module does not know, and for problems that are too large.
    """
    problem = Problem(path, options)
    return _constrained(problem) if problem.constraints else _free(problem)


def frontier(path: Path, options: tuple[str, ...]) -> list[Fraction | None]:
    """The least objective for each number of the constraint of --vary."""
    text = options[options.index("--vary") + 1]
    head, _, numbers = text.rpartition(" ")
    first, last, step = [Fraction(number) for number in (numbers.split(":") + ["1"])[:3]]
    values = [first + step * i for i in range(int((last - first) / step) + 1)]
    return [least(path, (*options, "--constraint", f"{head} {value}")) for value in values]


def _free(problem: Problem) -> Fraction:
    if problem.n * len(problem.splits) ** problem.depth > MAX_SUMS:
        raise Unknown("too many trees")
    loss, node = problem.scale()

    @cache
    def leaf(mask):
        return loss * min(problem.leaf_costs(mask))

    @cache
    def best(mask, depth):
        found = leaf(mask)
        for left in {mask & rows for _, rows in problem.splits} if depth else ():
            if left and left != mask:
                found = min(found, node + best(left, depth - 1) + best(mask ^ left, depth - 1))
        return found

    return best(problem.everyone, problem.depth)


# Under constraints: every tree as nested tuples, a leaf (mask, label) or a node (split, left, right).


def _constrained(problem: Problem) -> Fraction | None:
    by_label = any(name in ON_LABELS for name, *_ in problem.constraints)
    labels = range(len(problem.labels)) if by_label else None
    n = len(problem.splits)
    leaves = len(problem.labels) if by_label else 1
    if (
        problem.depth > 2
        or (n if problem.depth == 2 else 1) * (leaves + n * leaves**2) ** problem.depth > MAX_TREES * 16
    ):
        raise Unknown("too many trees")
    loss, node = problem.scale()
    leaf_costs = cache(problem.leaf_costs)

    def trees(mask, depth):
        """(cost, tree) of each tree over these rows."""
        costs = leaf_costs(mask)
        for label in labels if labels is not None else [costs.index(min(costs))]:
            yield loss * costs[label], (mask, label)
        for split, (_, rows) in enumerate(problem.splits) if depth else ():
            left, right = mask & rows, mask & ~rows
            if left and right:
                others = list(trees(right, depth - 1))
                for cost, tree in trees(left, depth - 1):
                    for more, other in others:
                        yield node + cost + more, (split, tree, other)

    best = None
    for cost, tree in trees(problem.everyone, problem.depth):
        if (best is None or cost < best) and all(_holds(problem, given, tree) for given in problem.constraints):
            best = cost
    return best


def _read_constraint(text: str) -> tuple[str, str, str, Fraction | None]:
    """(name, what is in brackets, operator, number)."""
    found = CONSTRAINT.match(text)
    if found is None or found[1] not in RULES:
        raise Unknown(text)
    return found[1], found[2] or "", found[3] or "", Fraction(found[4]) if found[4] else None


def _holds(problem: Problem, given, tree) -> bool:
    name, inside, operator, number = given
    value = RULES[name](problem, inside, tree)
    if isinstance(value, bool):
        return value
    values = [v for v in (value if isinstance(value, list) else [value]) if v is not None]
    return all(v <= number if operator == "<=" else v >= number for v in values)


def _leaves(tree) -> list[tuple[int, int]]:
    return [tree] if len(tree) == 2 else _leaves(tree[1]) + _leaves(tree[2])


def _nodes(problem, tree, above=()) -> list[tuple[int, tuple[str, ...]]]:
    """(split, columns of the nodes above) of each branch node."""
    if len(tree) == 2:
        return []
    path = (*above, problem.splits[tree[0]][0])
    return [(tree[0], above)] + _nodes(problem, tree[1], path) + _nodes(problem, tree[2], path)


def _asked(problem, tree) -> list[tuple[str, int]]:
    """(column, depth) of each branch node."""
    return [(problem.splits[split][0], len(above)) for split, above in _nodes(problem, tree)]


def _predicted(problem, tree, label) -> int:
    """The rows that are predicted as a class."""
    return sum(mask for mask, k in _leaves(tree) if problem.labels[k] == label)


def _share(problem, part: int, whole: int) -> Fraction | None:
    """The weight of the rows of a part within a whole; None if that has none."""
    total = sum(problem.weight[row] for row in problem.bits(whole))
    return sum(problem.weight[row] for row in problem.bits(part & whole)) / total if total else None


def _of(problem, label) -> int:
    return problem._rows(t == label for t in problem.truth)


def _right(problem, tree) -> int:
    return sum(_predicted(problem, tree, label) & _of(problem, label) for label in problem.labels)


def _rate(problem, tree, label, among: int) -> Fraction | None:
    return _share(problem, _predicted(problem, tree, label), among)


def _gap(problem, inside, tree, kinds) -> list:
    """The largest differences between groups in the rate of a class: among all rows, those of the class, the others."""
    named = dict(part.split("=") for part in inside.split(","))
    label, cells = named["positive"], problem.column[named["group"]]
    groups = [problem._rows(cell == group for cell in cells) for group in sorted(set(cells))]
    among = {"all": problem.everyone, "own": _of(problem, label), "others": problem.everyone & ~_of(problem, label)}
    gaps = []
    for kind in kinds:
        rates = [rate for group in groups if (rate := _rate(problem, tree, label, group & among[kind])) is not None]
        gaps.append(max(rates) - min(rates) if rates else None)
    return gaps


def _f1(problem, label, tree):
    predicted, truth = _predicted(problem, tree, label), _of(problem, label)
    both, either = (sum(problem.weight[row] for row in problem.bits(m)) for m in (predicted & truth, predicted ^ truth))
    return 2 * both / (2 * both + either) if both or either else None


def _cost(problem, inside, tree):
    return sum(problem.leaf_costs(mask)[k] for mask, k in _leaves(tree))


def _leaf_precision(problem, inside, tree):
    return [
        _share(problem, _of(problem, problem.labels[k]), m)
        for m, k in _leaves(tree)
        if inside in ("", problem.labels[k])
    ]


def _leaf_class_rows(problem, inside, tree):
    return [(m & _of(problem, inside)).bit_count() for m, k in _leaves(tree) if problem.labels[k] == inside]


def _group_accuracy(problem, inside, tree):
    cells = problem.column[inside.partition("=")[2]]
    return [
        _share(problem, _right(problem, tree), problem._rows(c == group for c in cells)) for group in sorted(set(cells))
    ]


def _not_below(problem, inside, tree) -> bool:
    first, second = inside.split(",")
    return not any(problem.splits[split][0] == first and second in above for split, above in _nodes(problem, tree))


def _tested(problem, tree, inside) -> set[str]:
    return {name for name, _ in _asked(problem, tree)} & set(inside.split(","))


def _monotone(problem, inside, tree) -> bool:
    """Rows with equal cells in all other columns."""
    name, label = inside.split(",positive=")
    others, predicted = [other for other in problem.features if other != name], _predicted(problem, tree, label)
    rows = [
        (tuple(problem.column[o][i] for o in others), problem.value(i, name), predicted >> i & 1)
        for i in range(problem.n)
    ]
    return not any(one[0] == two[0] and one[1] < two[1] and one[2] > two[2] for one in rows for two in rows)


def _monotone_everywhere(problem, inside, tree) -> bool:
    """All combinations of cells that occur: each region of the tree that has inputs has one of them."""
    name, label = inside.split(",positive=")
    others = [other for other in problem.features if other != name]
    ways = [sorted({problem.value(i, o) for i in range(problem.n)}) for o in (*others, name)]
    cell = {(o, problem.value(i, o)): i for o in problem.features for i in range(problem.n)}
    for point in product(*ways[:-1]):
        said = []
        for value in ways[-1]:
            at, row_of = tree, {o: cell[o, v] for o, v in zip((*others, name), (*point, value))}
            while len(at) == 3:
                column, rows = problem.splits[at[0]]
                at = at[1] if rows >> row_of[column] & 1 else at[2]
            said.append(problem.labels[at[1]] == label)
        if said != sorted(said):
            return False
    return True


def _false_rate(problem, label, tree, own):
    truth = _of(problem, label)
    rate = _rate(problem, tree, label, truth if own else problem.everyone & ~truth)
    return rate if rate is None or not own else 1 - rate


def _depths(problem, inside, tree):
    return [depth for name, depth in _asked(problem, tree) if name == inside]


def _balanced(problem, inside, tree):
    return sum(_rate(problem, tree, label, _of(problem, label)) for label in problem.labels) / len(problem.labels)


ON_TREES = {
    "leaf_rows": lambda p, inside, tree: [mask.bit_count() for mask, _ in _leaves(tree)],
    "branch_nodes": lambda p, inside, tree: len(_nodes(p, tree)),
    "leaves": lambda p, inside, tree: len(_leaves(tree)),
    "features": lambda p, inside, tree: len({name for name, _ in _asked(p, tree)}),
    "splits": lambda p, inside, tree: len({split for split, _ in _nodes(p, tree)}),
    "forbid_root": lambda p, inside, tree: len(tree) == 2 or p.splits[tree[0]][0] not in inside.split(","),
    "require_root": lambda p, inside, tree: len(tree) == 2 or p.splits[tree[0]][0] in inside.split(","),
    "not_below": _not_below,
    "deepest": _depths,
    "shallowest": _depths,
    "never_together": lambda p, inside, tree: len(_tested(p, tree, inside)) < 2,
    "together": lambda p, inside, tree: len(_tested(p, tree, inside)) in (0, len(inside.split(","))),
}
ON_LABELS = {
    "accuracy": lambda p, inside, tree: _share(p, _right(p, tree), p.everyone),
    "recall": lambda p, inside, tree: _rate(p, tree, inside, _of(p, inside)),
    "precision": lambda p, inside, tree: _share(p, _of(p, inside), _predicted(p, tree, inside)),
    "false_positive_rate": lambda p, inside, tree: _false_rate(p, inside, tree, False),
    "false_negative_rate": lambda p, inside, tree: _false_rate(p, inside, tree, True),
    "statistical_parity": lambda p, inside, tree: _gap(p, inside, tree, ["all"]),
    "equal_opportunity": lambda p, inside, tree: _gap(p, inside, tree, ["own"]),
    "predictive_equality": lambda p, inside, tree: _gap(p, inside, tree, ["others"]),
    "equalised_odds": lambda p, inside, tree: _gap(p, inside, tree, ["own", "others"]),
    "group_accuracy": _group_accuracy,
    "balanced_accuracy": _balanced,
    "f1": lambda p, inside, tree: _f1(p, inside, tree),
    "cost": _cost,
    "leaf_class_rows": _leaf_class_rows,
    "leaf_precision": _leaf_precision,
    "class_leaves": lambda p, inside, tree: sum(p.labels[k] == inside for _, k in _leaves(tree)),
    "monotone": _monotone,
    "monotone_everywhere": _monotone_everywhere,
}
RULES = ON_TREES | ON_LABELS
