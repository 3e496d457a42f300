"""Small problems over thresholds of every kind, and their certificates, changed: for laws and benchmarks/proofs.py."""

import copy
import json
import random

import numpy as np

from odtc.base import deadline
from odtc.data.dataset import Dataset, Feature
from odtc.errors import CertificateError, TimeLimitReached
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.problem.problem import Problem
from odtc.testing.exhaustive import cheapest
from odtc.verification.certificate import check
from odtc.verification.claim import Proof
from odtc.verification.threshold_columns import ColumnRanks
from tests import pipeline


def draw(seed: int, depths=(2, 3), wide: bool = False) -> Problem:
    """A problem over few rows and columns, a few more if `wide`: with ties, weights, costs, classes, prices, least rows
    of a leaf, levels and missing cells."""
    rng = np.random.default_rng(seed)
    n, n_classes, values = int(rng.integers(6, 24)), int(rng.integers(2, 4)), int(rng.integers(2, 7 if wide else 5))
    columns = [rng.integers(0, values, n).astype(float) for _ in range(int(rng.integers(1, 4 if wide else 3)))]
    features = [Feature(f"x{j}", "numeric") for j in range(len(columns))]
    missing = "drop"
    if rng.random() < 0.3:
        columns.append(rng.integers(0, 3, n).astype(float))
        features.append(Feature("kind", "categorical", ("a", "b", "c")))
    if rng.random() < 0.3:
        missing = "separate"
        for column in columns:
            column[rng.random(n) < 0.2] = np.nan
    if rng.random() < 0.2:  # adjacent doubles
        columns[0] = np.where(columns[0] > 1, np.nextafter(columns[0], 9), columns[0])
    y = rng.integers(0, n_classes, n).astype(np.int32)
    y[:n_classes] = np.arange(n_classes)
    columns[0][:2] = 0, 1  # some test separates some rows
    weight = rng.choice([1.0, 2.0, 0.5, 1.25], n) if rng.random() < 0.4 else np.ones(n)
    classes = tuple("pqr"[:n_classes])
    dataset = Dataset("drawn", np.stack(columns, axis=1), y, tuple(features), classes, weight, "y", missing)
    keywords = {"params": {"lambda": float(rng.choice([0.0, 0.0, 0.25, 0.02]))}}
    if rng.random() < 0.3:
        keywords["cost"] = "p:q=3,q:p=0.5"
    if rng.random() < 0.3:
        keywords["constraints"] = (f"leaf_rows >= {int(rng.integers(2, 4))}",)
    return pipeline.pose(dataset, "dpflow", int(rng.choice(depths)), **keywords)


def optimum(problem: Problem) -> float:
    """The least objective, by trying every tree."""
    encoded, price = problem.encoded, problem.params.lambda_
    least = int(problem.constraints[0].bound) if problem.constraints else 0
    return cheapest(
        np.asarray(encoded.X),
        encoded.y,
        encoded.weight,
        problem.topology.depth,
        price,
        1 - price,
        encoded.copies,
        least,
        encoded.cost.tolist(),
    )


def interrupted(problem: Problem, looks: int | None) -> ThresholdSearch:
    """The search of a problem, ended when it has looked at the clock so often; None for no end."""
    search = ThresholdSearch(problem)
    left = [np.inf if looks is None else looks]

    def look():
        left[0] -= 1
        if left[0] < 0:
            raise TimeLimitReached("ended by the test")
        deadline.check()

    search.search.check = look
    return search


def certificate(search: ThresholdSearch) -> dict:
    """The certificate of a search that has not run yet, as it is read from a file."""
    return json.loads(json.dumps(certify_search(search, search.run().heap)))


def corrupt(facts: dict, dataset: Dataset, rnd: random.Random) -> tuple[dict, Dataset]:
    """A copy of a certificate and its data with one thing changed."""
    facts = copy.deepcopy(facts)
    kinds = ["target", "target", "point", "point", "entry", "root", "label", "split", "claim", "bound", "cell", "y"]
    kind = rnd.choice([*kinds, "loss", "depth", "text", "column", "least", "free", "penalty"])
    level = rnd.randrange(len(facts["states"]))
    entries = facts["states"][level].split(";")
    at = rnd.randrange(len(entries))
    words = entries[at].split(",")
    if kind == "root":
        both = rnd.choice([-1, 1, 2])
        facts["states"][0] = ",".join([str(int(facts["states"][0].split(",")[0]) + both)] + words[1:] * (not level))
        facts["bound"] += both
        facts["claim"] += rnd.choice([0, both])
    elif kind in ("target", "point"):
        place = 0 if kind == "target" or len(words) == 1 else rnd.randrange(1, len(words))
        number = max(0, int(words[place].removeprefix("f")) + rnd.choice([-3, -1, 1, 2, 7]))
        words[place] = f"{'f' if words[place][0] == 'f' else ''}{number}"
        entries[at] = ",".join(words)
        facts["states"][level] = ";".join(entries)
    elif kind == "entry":
        del entries[at]
        facts["states"][level] = ";".join(entries)
    elif kind == "free":
        entries[at] = entries[at].removeprefix("f") if entries[at][0] == "f" else f"f{entries[at]}"
        facts["states"][level] = ";".join(entries)
    elif kind == "text":
        facts["states"][level] = rnd.choice(["", "x", "1,", "-1", "9,9,9,9,9", entries[at] * 2])
    elif kind == "column":
        facts["columns"].pop(rnd.randrange(len(facts["columns"])))
    elif kind in ("claim", "bound", "depth", "least", "penalty"):
        facts[kind] = max(0, facts[kind] + rnd.choice([-2, -1, 1, 2]))
    elif kind == "loss":
        facts["loss"][0][1] += rnd.choice([-1, 1])
    nodes = [facts["tree"]["root"]]
    for node in nodes:
        nodes += [node[side] for side in ("left", "right") if side in node]
    if kind == "label":
        rnd.choice([node for node in nodes if "label" in node])["label"] = rnd.choice(facts["classes"])
    if kind == "split" and len(nodes) > 1:
        split = rnd.choice([node for node in nodes if "split" in node])["split"]
        split["feature"] = rnd.choice([column["feature"] for column in facts["columns"]])
    X, y = dataset.X.copy(), dataset.y.copy()
    if kind == "cell":
        X[rnd.randrange(len(X)), 0] = rnd.randrange(4)
    if kind == "y":
        y[rnd.randrange(len(y))] = rnd.randrange(len(dataset.classes))
    rows = (dataset.weight, dataset.target, dataset.missing)
    return facts, Dataset(dataset.name, X, y, dataset.features, dataset.classes, *rows)


def accepted(facts: dict, dataset: Dataset) -> Proof | None:
    """What a certificate proves; None if it is refused, in one line."""
    try:
        return check(facts, dataset)
    except CertificateError as problem:
        assert "\n" not in str(problem)
        return None


def splits_of(facts: dict, dataset: Dataset) -> np.ndarray:
    """bool (rows, splits), the rows that each split of the columns of a certificate sends left."""
    parts = []
    for column in facts["columns"]:
        j = next(j for j, feature in enumerate(dataset.features) if feature.name == column["feature"])
        cells, levels = dataset.X[:, j], dataset.features[j].levels
        if column["kind"] == "missing":
            parts.append(np.isnan(cells))
        elif column["kind"] == "subset":
            parts.append(np.isin(cells, [levels.index(v) if levels else v for v in column["values"]]))
        else:
            values = column.get("thresholds", np.unique(cells[~np.isnan(cells)])[:-1])
            parts += [cells <= value for value in values]
    return np.stack(parts, axis=1) if parts else np.zeros((dataset.n_rows, 0), bool)


def of_splits(left: np.ndarray) -> ColumnRanks:
    """Single splits as columns of a certificate; `left` is bool (splits, rows), the rows that each split sends left."""
    return ColumnRanks((~left).view(np.int8).T, np.ones(len(left), np.int64), frozenset())


def is_true(facts: dict, proof: Proof, dataset: Dataset) -> bool:
    """Whether what was proved holds for these very rows, tests, costs and depth, by trying every tree."""
    weight, X = dataset.weight * facts["weight_scale"], splits_of(facts, dataset)
    least = facts["least"] if facts["least"] > 1 else 0
    ones = np.ones(len(weight), np.int64)
    best = cheapest(X, dataset.y, weight, facts["depth"], facts["penalty"], 1, ones, least, facts["loss"])
    return proof.bound * facts["scale"] <= best + 1e-6 and proof.objective * facts["scale"] >= best - 1e-6
