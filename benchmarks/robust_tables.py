"""Robust trees of drawn tables against trying every tree, and their own rows attacked one by one.

    python -m benchmarks.robust_tables --tables 300 [--first 0] [--solver cbc]

A table has 6 to 12 rows, two columns of numbers on a grid, perhaps a column of levels, two or three classes, perhaps
missing cells and weights; numbers may move by a radius on that grid or freely, levels freely. Of each the best tree of
depth 1 or 2 is fitted (`--model flowoct -p robust=…`, with λ 0 or 0.2) and compared with two judges that use nothing of
odtc: the least cost of all trees over all ways to part the boxes, and the tree's own cost by following each box.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import odtc

GRID = 0.25


def drawn(rng: np.random.Generator) -> tuple[dict, dict, dict, np.ndarray, np.ndarray]:
    """(cells by column, which of them are missing, radius by column, class and weight of each row)."""
    n, classes = int(rng.integers(6, 13)), 2 if rng.random() < 0.75 else 3
    cells = {"a": 2 * GRID * rng.integers(0, 6, n), "b": GRID * rng.integers(0, 4, n)}
    if rng.random() < 0.5:
        cells["c"] = rng.choice(list("uvw"), n)
    y = rng.integers(0, classes, n)
    y[:2] = 0, 1
    weight = rng.choice([1.0, 2.0, 0.5], n) if rng.random() < 0.4 else np.ones(n)
    missing, radius = {}, {}
    for name in cells:
        missing[name] = rng.random(n) < (0.12 if rng.random() < 0.25 else 0)
        missing[name][:2] = False
        chance = rng.random()
        if name == "c" or chance < 0.2:
            radius |= {name: "free"} if name != "c" or chance < 0.5 else {}
        elif chance < 0.85:
            radius[name] = float(rng.choice([GRID, 2 * GRID, 4 * GRID]))
    return cells, missing, radius or {"a": 2 * GRID}, y, weight


def written(file: Path, cells: dict, missing: dict, y: np.ndarray, weight: np.ndarray) -> None:
    """The table as CSV."""
    lines = [",".join([*cells, "weight", "class"])]
    for i in range(len(y)):
        row = ["" if missing[name][i] else str(cells[name][i]) for name in cells]
        lines.append(",".join([*row, str(weight[i]), "pqr"[y[i]]]))
    file.write_text("\n".join(lines) + "\n")


def partings(cells: dict, missing: dict, radius: dict) -> list[tuple[np.ndarray, np.ndarray]]:
    """(rows that can go left, rows that can go right), bool (rows,) each, of every test; missing goes right."""
    found = set()
    for name, column in cells.items():
        absent, free = missing[name], radius.get(name) == "free"
        every = np.ones(len(absent), bool)
        if name == "c":
            sides = [(every, every)] if free else [(own := ~absent & (column == v), ~own) for v in set(column[~absent])]
            found |= {(left.tobytes(), right.tobytes()) for left, right in sides}
        elif free:
            found.add(((~absent).tobytes(), every.tobytes()))
        else:
            low, high = (column + step * radius.get(name, 0.0) for step in (-1, 1))
            ends = np.unique(np.concatenate([low[~absent], high[~absent]]))
            for cut in np.concatenate([ends, (ends[1:] + ends[:-1]) / 2]):
                found.add(((~absent & (low <= cut)).tobytes(), (absent | (high > cut)).tobytes()))
        if absent.any() and not (name == "c" and free):
            found.add((absent.tobytes(), (~absent).tobytes()))
    return [tuple(np.frombuffer(side, bool) for side in pair) for pair in found]


def least_cost(sides: list, y: np.ndarray, weight: np.ndarray, depth: int, price: float) -> float:
    """The least (1 - λ) weight of rows that can be moved to a wrong leaf + λ branch nodes, of all trees of depth 1 or
    2."""
    wrong = [y != k for k in range(y.max() + 1)]
    least = min((1 - price) * float(weight[bad].sum()) for bad in wrong)

    def below(reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lost, nodes = [reach & bad for bad in wrong], [0] * len(wrong)
        for left, right in sides if depth > 1 else ():
            pairs = [(one, two) for one in wrong for two in wrong if one is not two]
            lost += [(reach & left & one) | (reach & right & two) for one, two in pairs]
            nodes += [1] * len(pairs)
        return np.array(lost), np.array(nodes)

    for left, right in sides:
        (one, few), (two, more) = below(left), below(right)
        paid = (1 - price) * ((one[:, None] | two[None]) @ weight) + price * (1 + few[:, None] + more[None])
        least = min(least, float(paid.min()))
    return least


def reached(node: dict, cells: dict, missing: dict, radius: dict, i: int) -> set:
    """The classes of the leaves that row i can be moved to."""
    if "label" in node:
        return {node["label"]}
    split = node["split"]
    name = split["feature"]
    absent, cell, far = missing[name][i], cells[name][i], radius.get(name, 0.0)
    if name == "c" and far == "free":
        goes = True, True
    elif split["kind"] == "missing":
        goes = absent, not absent
    elif split["kind"] == "subset":
        own = not absent and cell in split["values"]
        goes = own, not own
    elif absent or far == "free":
        goes = not absent, True
    else:
        goes = cell - far <= split["threshold"] + 1e-12, cell + far > split["threshold"] + 1e-12
    below = [node[side] for side, can in zip(("left", "right"), goes) if can]
    return set().union(*(reached(one, cells, missing, radius, i) for one in below))


def main() -> None:
    """Prints what was wrong, and how many tables were not."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="seed of the first table")
    parser.add_argument("--solver", help="by default the one that odtc takes")
    asked = parser.parse_args()
    told: Counter = Counter()
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.first, asked.first + asked.tables):
            rng = np.random.default_rng(10**5 + seed)
            cells, missing, radius, y, weight = drawn(rng)
            depth, price = int(rng.integers(1, 3)), float(rng.choice([0.0, 0.0, 0.2]))
            file = Path(folder, f"{seed}.csv")
            written(file, cells, missing, y, weight)
            levels = tuple(name for name in cells if name == "c")
            done = odtc.fit(
                file,
                model="flowoct",
                depth=depth,
                reading={"target": "class", "weights": "weight", "missing": "separate", "numeric": ("a", "b")}
                | {"categorical": levels},
                params={"robust": ",".join(f"{name}:{far}" for name, far in radius.items()), "lambda": price},
                **({"solver": asked.solver} if asked.solver else {}),
            )
            root = done.tree.to_json()["root"]
            lost = [reached(root, cells, missing, radius, i) != {"pqr"[y[i]]} for i in range(len(y))]
            attacked = (1 - price) * float(weight[lost].sum()) + price * done.tree.n_branch_nodes
            least, said = least_cost(partings(cells, missing, radius), y, weight, depth, price), done.solution.objective
            right = done.solution.termination == "optimal" and max(abs(said - least), abs(said - attacked)) < 1e-6
            told["right" if right else "wrong"] += 1
            if not right:
                print(f"table {seed}: said {said:.10g}, least {least:.10g}, attacked {attacked:.10g}", flush=True)
    print(f"{dict(told)}, {time.process_time() - began:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
