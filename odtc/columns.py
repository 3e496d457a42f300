"""The columns of a master: paths that were generated, as text for a manifest and as a file to resume from.

A column is (end, node, number): the path of that number to `node` of odtc.decision_paths, which is the end itself,
or a node above it where the path stops. With a path come those that stop at a node on its way, so that
a tree of columns whose needless branch nodes are dropped is a tree of columns again.
"""

import base64
import json
import zlib
from dataclasses import dataclass

import numpy as np

from odtc.decision_paths import Paths
from odtc.encoding import Encoded
from odtc.errors import ChoiceError, OdtcError
from odtc.pricing import best_tests, values
from odtc.split import split_from_json

SCHEMA = "odtc.columns/1"
MARK = "columns:"  # begins the text of columns


@dataclass(frozen=True)
class Pool:
    """What a master is made of, in tests of an encoding: per node of the heap the tests it may ask; the
    columns, each (end, node, tests of the path, tests of the subtree below the end); and an encoded row of
    each group of rows that has a row (5)."""

    splits: tuple[np.ndarray, ...]
    columns: tuple[tuple[int, int, tuple[int, ...], tuple[int, ...]], ...] = ()
    cover: tuple[int, ...] = ()

    def to_text(self) -> str:
        facts = {"splits": [tests.tolist() for tests in self.splits], "columns": self.columns, "cover": self.cover}
        return MARK + base64.b64encode(zlib.compress(json.dumps(facts, separators=(",", ":")).encode(), 6)).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> "Pool":
        return cls._from_json(json.loads(zlib.decompress(base64.b64decode(text.removeprefix(MARK)))))

    @classmethod
    def _from_json(cls, facts: dict) -> "Pool":
        columns = tuple((int(e), int(t), tuple(map(int, path)), tuple(map(int, below))) for e, t, path, below in facts["columns"])
        return cls(tuple(np.array(tests, np.int32) for tests in facts["splits"]), columns, tuple(map(int, facts["cover"])))

    def to_json(self, encoded: Encoded, depth: int, tail: int) -> dict:
        """The pool as a file holds it: the tests as splits in the units of the data; without the rows (5), which
        are of this data alone."""
        used = np.unique(np.concatenate([np.zeros(0, np.int32), *self.splits])).tolist()
        place = {test: at for at, test in enumerate(used)} | {-1: -1}
        return {
            "schema": SCHEMA, "data": encoded.name, "encoding": encoded.scheme, "depth": depth, "tail": tail,
            "tests": [{**encoded.tests[j].to_json(encoded.features), "ones_left": bool(encoded.ones_left[j])} for j in used],
            "splits": [[place[test] for test in tests.tolist()] for tests in self.splits],
            "columns": [[e, t, [place[a] for a in path], [place[a] for a in below]] for e, t, path, below in self.columns],
        }


def read_pool(path, encoded: Encoded, depth: int, tail: int) -> Pool:
    """The pool of a file that `odtc fit --model cg` wrote. Raises ChoiceError for another file, and for one of
    another depth or tail, or with splits that the encoding has not."""
    try:
        with open(path, encoding="utf-8") as stream:
            facts = json.load(stream)
    except OSError as problem:
        raise ChoiceError(f"cannot read the columns {str(path)!r}: {problem.strerror}; expected auto, all, start, or a file of odtc fit --model cg") from None
    except (ValueError, RecursionError):
        raise ChoiceError(f"expected columns in JSON in {str(path)!r}, got text that is not JSON") from None
    found = facts.get("schema") if isinstance(facts, dict) else None
    if found != SCHEMA:
        raise ChoiceError(f"expected columns of schema {SCHEMA!r} in {str(path)!r}, got {found!r}")
    try:
        for key, mine in (("depth", depth), ("tail", tail)):
            if facts[key] != mine:
                raise ChoiceError(f"expected columns of {key} {mine} in {str(path)!r}, got {facts[key]}; give that {key}, or no columns")
        known = {(split, bool(left)): j for j, (split, left) in enumerate(zip(encoded.tests, encoded.ones_left))}
        for j, merged in enumerate(encoded.stands_for):
            known |= {(split, bool(encoded.ones_left[j])): j for split, same in merged if same}
        place = {-1: -1}
        for at, test in enumerate(facts["tests"]):
            split = split_from_json(test, encoded.features)
            if (split, test["ones_left"]) not in known:
                raise ChoiceError(f"the columns {str(path)!r} ask {split.words(encoded.features)[0]!r}, which is no test of the encoding "
                                  f"{encoded.scheme!r} here (they were made with {facts['encoding']!r}); use that data and encoding, or no columns")
            place[at] = known[split, test["ones_left"]]
        facts["splits"] = [[place[at] for at in tests] for tests in facts["splits"]]
        facts["columns"] = [[e, t, [place[at] for at in way], [place[at] for at in below]] for e, t, way, below in facts["columns"]]
        pool = Pool._from_json(facts | {"cover": ()})
        if len(pool.splits) != 2 ** (depth + 1):
            raise ValueError("another number of nodes")
        return pool
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise ChoiceError(f"the columns {str(path)!r} are not complete ({type(problem).__name__}: {problem}); make them again") from None
    except ChoiceError:
        raise
    except OdtcError as problem:
        raise ChoiceError(f"the columns {str(path)!r} cannot be used: {problem}") from None


def follow(paths: Paths, test: np.ndarray):
    """(node, number, whole) where each path of a tree (columns of paths.X, heap order) stops: at an end, or where
    the tree predicts; `whole` is False where it asks on, but what is no path."""
    stack = [(1, 0)]
    while stack:
        t, number = stack.pop()
        if t >> paths.depth or test[t] == -1:
            yield t, number, True
            continue
        place = np.flatnonzero(paths.splits[t] == test[t])
        below = paths.child[t][number, place[0]].tolist() if len(place) else [-1, -1]
        if below[0] < 0:
            yield t, number, False
            continue
        stack += [(2 * t + side, below[side]) for side in (1, 0)]


def columns_asked(paths: Paths, test: np.ndarray) -> np.ndarray:
    """The tests of an encoding as columns of paths.X: -1 where none is asked, -2 where none of these."""
    known = {int(test): at for at, test in enumerate(paths.tests)} | {-1: -1}
    return np.array([known.get(one, -2) for one in test.tolist()], np.int32)


class Columns:
    """Columns of `paths`, in the order they came; each path of them is evaluated."""

    def __init__(self, paths: Paths, pool: Pool | None = None):
        self.paths, self.keys, self._place, self.cover = paths, [], {}, []
        self._add(1, 0)
        if pool is None:
            return
        number = {int(test): at for at, test in enumerate(paths.tests)} | {-1: -1}
        for _, t, way, below in pool.columns:
            found = paths.find(t, [number.get(test, -2) for test in way])
            if found is not None and t in paths.cost:
                paths.give(t, found, np.array([-1, *(number[test] for test in below)], np.int32))
            if found is not None:
                self._add(t, found)
        self.cover = sorted({int(paths.group[row]) for row in pool.cover})

    def __len__(self) -> int:
        return len(self.keys)

    def place(self, end: int, node: int, number: int) -> int | None:
        return self._place.get((end, node, number))

    def add(self, wanted: dict[int, np.ndarray]) -> int:
        """Adds the evaluated paths {end: numbers} with those that stop on their ways; how many came new."""
        before = len(self.keys)
        for e, some in wanted.items():
            for number in some.tolist():
                self._add(e, number)
        return len(self.keys) - before

    def add_stops(self, wanted) -> int:
        """Adds the paths (node, number) that stop above the ends; how many columns came new."""
        before = len(self.keys)
        for t, number in wanted:
            self._add(t, number)
        return len(self.keys) - before

    def _add(self, t: int, number: int) -> None:
        """The path to this node: to an end, or stopping at each node on the way."""
        paths = self.paths
        while t:
            up = paths.depth - t.bit_length() + 1
            for e in range(t << up, (t + 1) << up):
                if (e, t, number) not in self._place:
                    self.keys.append((e, t, number))
                    self._place[e, t, number] = len(self.keys) - 1
                elif t < 1 << paths.depth:  # whoever is there has brought those above
                    return
            number, t = paths.parent(t, number), t // 2

    def add_tree(self, test: np.ndarray) -> int:
        """Adds the paths of a tree (columns of paths.X, heap order), as far as they are paths, with the best
        subtrees below its ends; how many came new."""
        before, paths = len(self.keys), self.paths
        for t, number, _ in follow(paths, test):
            if t in paths.cost:
                paths.evaluate({t: np.array([number])})
            self._add(t, number)
        return len(self.keys) - before

    def of_tree(self, test: np.ndarray) -> list[int] | None:
        """The columns of a tree, None where one is not there."""
        found = []
        for t, number, whole in follow(self.paths, test):
            up = self.paths.depth - t.bit_length() + 1
            found += [self.place(e, t, number) if whole else None for e in range(t << up, (t + 1) << up)]
        return None if None in found else found

    def best(self) -> np.ndarray:
        """The tests of the best tree of these columns, as `pricing.best_tests`."""
        paths, cost = self.paths, {}
        for e in self.paths.ends.tolist():
            mine = [number for end, t, number in self.keys if end == t == e]
            cost[e] = np.full(len(paths.reached[e]), np.inf)
            cost[e][mine] = paths.cost[e][mine]
        return best_tests(paths, values(paths, cost))

    def add_all(self) -> None:
        """Every path."""
        paths = self.paths
        paths.evaluate({e: np.arange(len(paths.reached[e])) for e in paths.ends.tolist()})
        for t in range(1, 2 ** (paths.depth + 1)):
            for number in range(len(paths.reached[t])):
                self._add(t, number)

    def cost(self, begin: int = 0) -> np.ndarray:
        """What the columns from `begin` on cost, in units."""
        return np.array([self.paths.price(*key) for key in self.keys[begin:]], float)

    def rows(self, begin: int = 0) -> np.ndarray:
        """Their rows, packed, uint64 (columns, words)."""
        return np.stack([self.paths.rows_of(*key) for key in self.keys[begin:]]) if begin < len(self.keys) else self.paths.reached[1].rows[:0]

    def to_pool(self) -> Pool:
        paths = self.paths
        splits = tuple(paths.tests[places].astype(np.int32) for places in paths.splits)
        name = np.append(paths.tests, -1)
        found = []
        for e, t, number in self.keys:
            way = tuple(int(name[a]) for a in paths.way(t, number))
            below = tuple(int(name[a]) for a in paths.below[e][number, 1:]) if e == t else ()
            found.append((e, t, way, below))
        return Pool(splits, tuple(found), tuple(int(paths.first[group]) for group in self.cover))
