"""The columns of a master: paths that were generated, as text for a manifest and as a file to resume from.

A column is (end, node, number): the path of that number to `node` of odtc.formulations.cg.decision_paths, which is the
end itself, or a node above it if the path stops. For each path the pool also contains the paths that stop at a node on
its way, so that pruning needless branch nodes from a tree of columns gives a tree of columns again.
"""

import json
import zlib
from pathlib import Path

import numpy as np

from odtc.base.compression import pack, unpack_text
from odtc.base.json_schema import ANY, FLAG, TEXT, WHOLE, SchemaError, explain_error, read_object, show_value
from odtc.base.json_schema import validate as fit_shape
from odtc.base.value_class import value_class
from odtc.base.wording import option, param
from odtc.data.encoding import Encoded
from odtc.data.splits import split_from_json
from odtc.errors import ChoiceError, DataError, OdtcError
from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.pricing import best_splits, subtree_values

SCHEMA = "odtc.columns/1"
MARK = "columns:"  # prefix of a text of columns


def _column(value, place):
    """Return the schema of a column: a list of four."""
    _expect(isinstance(value, list) and len(value) == 4, f"expected a list of 4 at {place}, got {show_value(value)}")
    fit_shape(value[:2], [WHOLE], place)
    fit_shape(value[2:], [[WHOLE]], place)
    return ANY


def _expect(fits: bool, wrong: str) -> None:
    if not fits:
        raise SchemaError(wrong)


POOL = {"node_splits": [[WHOLE]], "columns": [_column]}


@value_class
class ColumnPool:
    """The contents of a master, in splits of an encoding: for each node of the heap the splits that it may use; the
    columns, each (end, node, splits of the path, splits of the subtree below the end); and an encoded row of each
    group of rows with a constraint (5)."""

    splits: tuple[np.ndarray, ...]
    columns: tuple[tuple[int, int, tuple[int, ...], tuple[int, ...]], ...] = ()
    cover: tuple[int, ...] = ()

    def to_text(self) -> str:
        facts = {"node_splits": [some.tolist() for some in self.splits], "columns": self.columns, "cover": self.cover}
        return MARK + pack(json.dumps(facts, separators=(",", ":")).encode())

    @classmethod
    def from_text(cls, text: str, depth: int, tail: int, encoded: Encoded) -> "ColumnPool":
        """Return the pool of a manifest; raises ChoiceError for one that is damaged."""
        try:
            facts = json.loads(unpack_text(text.removeprefix(MARK)))
            fit_shape(facts, POOL | {"cover": [WHOLE]})
            pool = cls._from_json(facts)
            pool._expect_whole(depth, tail, range(encoded.n_candidate_splits))
            _expect(all(row in range(encoded.n_rows) for row in pool.cover), "a row (5) is not one of the rows")
        except (ValueError, OverflowError, zlib.error, RecursionError, SchemaError) as problem:
            raise ChoiceError(
                f"expected the columns that odtc wrote in {param(MARK[:-1], f'{MARK}…')}, got others: "
                f"{explain_error(problem)}"
            ) from None
        return pool

    @classmethod
    def _from_json(cls, facts: dict) -> "ColumnPool":
        columns = tuple((e, t, tuple(path), tuple(below)) for e, t, path, below in facts["columns"])
        return cls(tuple(np.array(some, np.int32) for some in facts["node_splits"]), columns, tuple(facts["cover"]))

    def _expect_whole(self, depth: int, tail: int, candidates) -> None:
        """Raise SchemaError if this is not a pool of this depth and tail over these splits."""
        height, asked = depth - tail, [set(some.tolist()) for some in self.splits]
        _expect(len(asked) == 2 ** (depth + 1), f"expected splits of {2 ** (depth + 1)} nodes, got {len(asked)}")
        for node, some in enumerate(self.splits):
            _expect(len(some) == len(asked[node]), f"splits[{node}] has the same split twice")
            _expect(
                all(split in candidates for split in asked[node]), f"splits[{node}] has a split that is not a candidate"
            )
            _expect(
                not len(some) or (node and not node >> depth),
                f"splits[{node}] has splits, and node {node} is not a branch node",
            )
        below_end = [(level, place) for level in range(tail) for place in range(2**level)]
        for at, (e, t, way, below) in enumerate(self.columns):
            place, level = f"columns[{at}]", t.bit_length() - 1
            _expect(
                1 << height <= e < 2 << height,
                f"{place} ends at {e}, and the ends are {1 << height} to {(2 << height) - 1}",
            )
            _expect(
                t > 0 and level <= height and e >> height - level == t,
                f"{place} stops at {t}, which is not on the way to {e}",
            )
            _expect(len(way) == level, f"{place} has {len(way)} splits on its way to node {t}, and {level} lead there")
            _expect(
                all(split in asked[t >> level - up] for up, split in enumerate(way)),
                f"{place} has a split that its node may not use",
            )
            wanted = len(below_end) if t == e else 0
            _expect(
                len(below) == wanted, f"{place} has a subtree of {len(below)} nodes, and {wanted} are below node {t}"
            )
            _expect(
                all(split == -1 or split in asked[(e << down) + side] for split, (down, side) in zip(below, below_end)),
                f"{place} has a subtree with a split that its node may not use",
            )

    def to_json(self, encoded: Encoded, depth: int, tail: int) -> dict:
        """Return the pool in the form of the file: the splits in the units of the data; without the constraints (5),
        which apply only to this data."""
        used = np.unique(np.concatenate([np.zeros(0, np.int32), *self.splits])).tolist()
        place = {split: at for at, split in enumerate(used)} | {-1: -1}
        return {
            "schema": SCHEMA,
            "data": encoded.name,
            "encoding": encoded.scheme,
            "depth": depth,
            "tail": tail,
            "splits": [
                {**encoded.splits[j].to_json(encoded.features), "ones_left": bool(encoded.ones_left[j])} for j in used
            ],
            "node_splits": [[place[split] for split in some.tolist()] for some in self.splits],
            "columns": [
                [e, t, [place[a] for a in path], [place[a] for a in below]] for e, t, path, below in self.columns
            ],
        }


def read_pool(path, encoded: Encoded, depth: int, tail: int) -> ColumnPool:
    """Return the pool of a file that `odtc fit --model cg` wrote. Raises ChoiceError for another file, and for one of
    another depth or tail, or with splits that the encoding does not have."""
    try:
        there = Path(path).exists()
    except (OSError, ValueError):  # a text too long for the name of a file
        there = False
    if not there:
        raise ChoiceError(
            f"cannot read the columns {str(path)[:200]!r}: the file does not exist; expected auto, all, start, or a "
            "file of odtc fit --model cg"
        )
    facts = read_object(path, "file of columns", DataError)
    if facts.get("schema") != SCHEMA:
        raise DataError(
            f"expected columns of schema {SCHEMA!r} in {str(path)!r}, got {show_value(facts.get('schema'))}; make them "
            f"with odtc fit --model cg"
        )
    try:
        fit_shape(facts, POOL | {"depth": WHOLE, "tail": WHOLE, "encoding": TEXT, "splits": [ANY]})
        for key, mine in (("depth", depth), ("tail", tail)):
            if facts[key] != mine:
                raise ChoiceError(
                    f"expected columns of {key} {mine} in {str(path)!r}, got {key} {facts[key]}; "
                    f"use {option(key, facts[key]) if key == 'depth' else param(key, facts[key])}, or leave "
                    f"{param('columns')} out"
                )
        known = {(split, bool(left)): j for j, (split, left) in enumerate(zip(encoded.splits, encoded.ones_left))}
        for j, merged in enumerate(encoded.stands_for):
            known |= {(split, bool(encoded.ones_left[j])): j for split, same in merged if same}
        place = {-1: -1}
        for at, entry in enumerate(facts["splits"]):
            split = split_from_json(entry, encoded.features)
            fit_shape(entry, {"ones_left": FLAG}, f"splits[{at}]")
            if (split, entry["ones_left"]) not in known:
                raise ChoiceError(
                    f"the columns {str(path)!r} have the split {split.words(encoded.features)[0]!r}, which the "
                    f"encoding {encoded.scheme!r} does not have here (they were made with "
                    f"{show_value(facts['encoding'])}); use that data and encoding, or no columns"
                )
            place[at] = known[split, entry["ones_left"]]

        # Two splits of the file may be the same split on this data.
        ColumnPool._from_json(facts | {"cover": ()})._expect_whole(depth, tail, range(len(facts["splits"])))
        splits = [list(dict.fromkeys(place[at] for at in some)) for some in facts["node_splits"]]
        columns = [
            (e, t, [place[at] for at in way], [place[at] for at in below]) for e, t, way, below in facts["columns"]
        ]
        return ColumnPool._from_json({"node_splits": splits, "columns": columns, "cover": ()})
    except (SchemaError, OverflowError) as problem:
        raise DataError(
            f"the columns {str(path)!r} are damaged: {explain_error(problem)}; make them again with odtc fit --model cg"
        ) from None
    except (ChoiceError, DataError):
        raise
    except OdtcError as problem:
        raise DataError(f"the columns {str(path)!r} cannot be used: {problem}") from None


def follow_tree(paths: Paths, split: np.ndarray):
    """Yield (node, number, whole) where each path of a tree (columns of paths.X, heap order) stops: at an end, or
    where the tree predicts; `whole` is False if the tree splits there, but its split is not part of any path."""
    stack = [(1, 0)]
    while stack:
        t, number = stack.pop()
        if t >> paths.depth or split[t] == -1:
            yield t, number, True
            continue
        place = np.flatnonzero(paths.splits[t] == split[t])
        below = paths.child[t][number, place[0]].tolist() if len(place) else [-1, -1]
        if below[0] < 0:
            yield t, number, False
            continue
        stack += [(2 * t + side, below[side]) for side in (1, 0)]


def columns_asked(paths: Paths, split: np.ndarray) -> np.ndarray:
    """Return splits of an encoding as columns of paths.X: -1 for no split, -2 for a split without a column there."""
    known = {int(split): at for at, split in enumerate(paths.candidates)} | {-1: -1}
    return np.array([known.get(one, -2) for one in split.tolist()], np.int32)


class Columns:
    """Columns of `paths`, in the order in which they were added. The path of each column has a cost. For a column from
    a pool it is the cost of its subtree, computed from these rows and this objective; until `settle`, a better subtree
    may exist. Columns of a pool whose paths do not exist here are left out."""

    def __init__(self, paths: Paths, pool: ColumnPool | None = None):
        self.paths, self.keys, self._place, self.cover = paths, [], {}, []
        self._add(1, 0)
        if pool is None:
            return
        number = {int(split): at for at, split in enumerate(paths.candidates)} | {-1: -1}
        for _, t, way, below in pool.columns:
            found = paths.find(t, [number.get(split, -2) for split in way])
            if found is not None and t in paths.cost:
                paths.give(t, found, np.array([-1, *(number[split] for split in below)], np.int32))
                paths.evaluate({t: np.array([found])} if np.isnan(paths.cost[t][found]) else {})
            if found is not None:
                self._add(t, found)
        self.cover = sorted({int(paths.group[row]) for row in pool.cover})

    def __len__(self) -> int:
        return len(self.keys)

    def place(self, end: int, node: int, number: int) -> int | None:
        return self._place.get((end, node, number))

    def add(self, wanted: dict[int, np.ndarray]) -> int:
        """Add the evaluated paths {end: numbers}, and the paths that stop on their ways; return the number of new
        columns."""
        before = len(self.keys)
        for e, some in wanted.items():
            for number in some.tolist():
                self._add(e, number)
        return len(self.keys) - before

    def settle(self) -> int:
        """Find the best subtrees below the ends of all columns; return how many columns had no known best subtree."""
        paths = self.paths
        mine = {
            e: np.array([number for end, t, number in self.keys if end == t == e], int) for e in paths.ends.tolist()
        }
        unknown = {e: some[~paths.known(e, some)] for e, some in mine.items()}
        paths.evaluate(unknown)
        return sum(map(len, unknown.values()))

    def add_stops(self, wanted) -> int:
        """Add the paths (node, number) that stop above the ends; return the number of new columns."""
        before = len(self.keys)
        for t, number in wanted:
            self._add(t, number)
        return len(self.keys) - before

    def _add(self, t: int, number: int) -> None:
        """Add the path to this node: to an end, or stopping at each node on the way."""
        paths = self.paths
        while t:
            up = paths.depth - t.bit_length() + 1
            for e in range(t << up, (t + 1) << up):
                if (e, t, number) not in self._place:
                    self.keys.append((e, t, number))
                    self._place[e, t, number] = len(self.keys) - 1
                elif t < 1 << paths.depth:  # the nodes above were added with it
                    return
            number, t = paths.parent(t, number), t // 2

    def add_tree(self, split: np.ndarray) -> int:
        """Add the paths of a tree (columns of paths.X, heap order), as far as they are paths, with the best subtrees
        below its ends; return the number of new columns."""
        before, paths = len(self.keys), self.paths
        for t, number, _ in follow_tree(paths, split):
            if t in paths.cost:
                paths.evaluate({t: np.array([number])})
            self._add(t, number)
        return len(self.keys) - before

    def of_tree(self, split: np.ndarray) -> list[int] | None:
        """Return the columns of a tree, None if one does not exist."""
        found = []
        for t, number, whole in follow_tree(self.paths, split):
            up = self.paths.depth - t.bit_length() + 1
            found += [self.place(e, t, number) if whole else None for e in range(t << up, (t + 1) << up)]
        return None if None in found else found

    def best(self) -> np.ndarray:
        """Return the splits of the best tree of these columns, as `pricing.best_splits`."""
        paths, cost, leaf = self.paths, {}, {}
        for e in paths.ends.tolist():
            mine = [number for end, t, number in self.keys if end == t == e]
            cost[e] = np.full(len(paths.reached[e]), np.inf)
            cost[e][mine] = paths.cost[e][mine]
        for t in paths.upper.tolist():
            mine = [number for end, node, number in self.keys if node == t and end == paths.leftmost(t)]
            leaf[t] = np.full(len(paths.reached[t]), np.inf)
            leaf[t][mine] = paths.reached[t].leaf[mine]
        return best_splits(paths, subtree_values(paths, cost, leaf=leaf), leaf=leaf)

    def add_all(self) -> None:
        """Add every path."""
        paths = self.paths
        paths.evaluate({e: np.arange(len(paths.reached[e])) for e in paths.ends.tolist()})
        for t in range(1, 2 ** (paths.depth + 1)):
            for number in range(len(paths.reached[t])):
                self._add(t, number)

    def cost(self, begin: int = 0) -> np.ndarray:
        """Return the costs of the columns from `begin` on, in units."""
        return np.array([self.paths.price(*key) for key in self.keys[begin:]], float)

    def rows(self, begin: int = 0) -> np.ndarray:
        """Return the rows of the columns from `begin` on, packed, uint64 (columns, words)."""
        return (
            np.stack([self.paths.rows_of(*key) for key in self.keys[begin:]])
            if begin < len(self.keys)
            else self.paths.reached[1].rows[:0]
        )

    def to_pool(self) -> ColumnPool:
        paths = self.paths
        splits = tuple(paths.candidates[places].astype(np.int32) for places in paths.splits)
        name = np.append(paths.candidates, -1)
        found = []
        for e, t, number in self.keys:
            way = tuple(int(name[a]) for a in paths.way(t, number))
            below = tuple(int(name[a]) for a in paths.below[e][number, 1:]) if e == t else ()
            found.append((e, t, way, below))
        return ColumnPool(splits, tuple(found), tuple(int(paths.first[group]) for group in self.cover))
