"""Small problems for the laws: random data sets, every formulation in all its forms, random trees."""

from dataclasses import replace
from itertools import combinations

import numpy as np

# noqa: F401  its first import draws at random, which no strategy may, and some trees are trimmed to CART's
import sklearn.tree
from hypothesis import assume
from hypothesis import strategies as st

from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.splits import Oblique, Subset, Term
from odtc.errors import ChoiceError, DataError
from odtc.problem.constraints.constraint import CONSTRAINTS, mended, posed
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import Beyond, blank_arrays, settle
from tests.exhaustive import discrimination, every_hyperplane, every_split, fewest_branch_nodes, least_losses, rate

# The forms in which each formulation must obey the laws; a formulation that is not here fails them.
FORMS = {
    "flowoct": [
        {},
        {"bottom": "flow"},
        {"literal": True},
        {"lambda": 0.25},
        {"lambda": 0.25, "bottom": "flow"},
        {"lambda": 0.25, "literal": True},
        # The data sets drawn here are too small for auto to take it.
        {"sums": "features"},
        {"lambda": 0.25, "bottom": "flow", "sums": "features"},
        {"rows": "all"},
        {"lambda": 0.25, "rows": "all", "literal": True},
    ],
    "bendersoct": [{}, {"bottom": "flow"}, {"lambda": 0.25}, {"lambda": 0.25, "bottom": "flow"}],
    # No data set drawn here is all binary but by chance, so the forms for such data are asked for.
    "oct": [
        {},
        {"alpha": 0.1},
        {"n_min": 2},
        {"binary": "true"},
        {"binary": "printed"},
        {"binary": "true", "alpha": 0.1, "n_min": 2},
    ],
    "binoct": [{}],
    "fair": [{}, {"n_min": 2}, {"rho": 3.0, "group": "colour"}, {"rho": 3.0, "group": "colour", "index": "treatment"}],
    # A margin of 0.01 is less than what parts the few rows drawn here, and α1 more than any error costs by it.
    "svm1_odt": [
        {},
        {"labels": "ordinal"},
        {"categories": "sets"},
        {"margin": "soft", "alpha1": 1e5},
        {"literal": True, "alpha1": 1e5, "categories": "sets"},
    ],
    # The price of features is tested in tests/unit/test_oct_h.py: here trees pay by the branch node.
    "oct_h": [{}, {"n_min": 2}],
    "dpflow": [
        {"tail": "0", "fold": "false"},
        {},
        {"tail": "1"},
        {"lambda": 0.25},
        {"lambda": 0.25, "tail": "2"},
        {"proof": "true"},
        {"fix": "false", "tail": "2"},
        {"fix": "false", "tail": "0", "lambda": 0.25},
        {"intervals": "true"},
        {"intervals": "true", "lambda": 0.25, "tail": "2"},
        {"intervals": "true", "proof": "true"},
    ],
    "cg": [{"tail": "0"}, {}, {"tail": "2"}, {"reward": 0.25}, {"n_min": 2, "tail": "0"}, {"n_min": 2, "reward": 0.25}],
}
# Learners have no model: tests/unit/test_learners.py.
COMPILED = [name for name in FORMULATIONS.names() if hasattr(FORMULATIONS.get(name), "build")]
ALL_FORMS = [(name, form) for name in COMPILED for form in FORMS[name]]


def terms(problem) -> tuple[float, float, int]:
    """(price of a unit of loss, price of a branch node, least number of data rows in a leaf):
    what a problem's tree costs and must hold, told from the parameters alone."""
    encoded, params = problem.encoded, problem.params
    if hasattr(params, "alpha"):  # in errors of the majority class
        K = range(len(encoded.classes))
        counts = [float(encoded.weight[encoded.y == k].sum()) for k in K]
        return (
            1.0,
            params.alpha * min(sum(n * encoded.cost[k, c] for k, n in enumerate(counts)) for c in K),
            params.n_min,
        )
    if hasattr(params, "reward"):
        return 1.0, params.reward, params.n_min
    price = getattr(params, "lambda_", 0.0)
    return 1 - price, price, getattr(params, "n_min", 0)


def penalty(problem, predicted) -> float:
    """What a problem's tree costs beside these terms, for what it predicts for the rows of the data file."""
    params, dataset = problem.params, problem.encoded.dataset
    if not getattr(params, "rho", 0.0):
        return 0.0
    place = [feature.name for feature in dataset.features].index(params.group)
    others = np.delete(dataset.X, place, axis=1) if params.index == "treatment" else dataset.X[:, :0]
    return params.rho * discrimination(dataset.X[:, place], others, predicted, dataset.weight)


def form_id(form) -> str:
    name, params = form
    return "-".join([name, *(f"{key}={value}" for key, value in params.items())])


@st.composite
def datasets(draw, most_rows=14, most_classes=3, levels="abc", group=None, aside=False):
    """Numeric and categorical columns with few values, so that rows repeat, tie and contradict; the first
    is categorical and called `group` where one is wanted, and with `aside` a column "side" is no feature."""
    n = draw(st.integers(3, most_rows))
    kinds = draw(st.lists(st.sampled_from([NUMERIC, CATEGORICAL]), min_size=1, max_size=3))
    columns, features = [], []
    for place, kind in enumerate([CATEGORICAL, *kinds[1:]] if group else kinds):
        values = draw(st.lists(st.integers(0, 2 if kind == NUMERIC else len(levels) - 1), min_size=n, max_size=n))
        columns.append([v * 1.5 - 1 for v in values] if kind == NUMERIC else values)
        features.append(
            Feature(group if group and not place else f"f{place}", kind, () if kind == NUMERIC else tuple(levels))
        )
    K = draw(st.integers(2, most_classes))
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)), np.int32)
    weight = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.5]), min_size=n, max_size=n)))
    classes = tuple("xyz"[:K])
    dataset = Dataset("random", np.array(columns, float).T.copy(), y, tuple(features), classes, weight)
    if not aside:
        return dataset
    side = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), float)
    return replace(dataset, aside=(Feature("side", CATEGORICAL, ("p", "q", "r")),), aside_X=side[:, None])


@st.composite
def problems(draw, form, depths=(1, 2), by_class=False, **of_data):
    """A problem of this form (name, params) on a random data set on which some test tells rows apart; with
    `by_class` the price of an error is never one of the class predicted."""
    name, params = form
    if getattr(FORMULATIONS.get(name), "WEIGHS", False):  # their models and their judge are slow
        of_data |= {"most_rows": min(6, of_data.get("most_rows", 6))}
    elif getattr(FORMULATIONS.get(name), "BEYOND", False):
        of_data = {"levels": "abcde"} | of_data  # of three levels each set is one level or all but one
    if "group" in params:  # each way to label the rows is tried
        of_data |= {"group": params["group"], "most_rows": 8}
    dataset = draw(
        datasets(**of_data)
        .filter(_can_be_encoded)
        .filter(lambda data: "group" not in params or len(set(data.X[:, 0])) > 1)
    )
    encoded = encode(dataset)
    any_cost = getattr(FORMULATIONS.get(name), "ANY_COST", False) and not by_class
    encoded = replace(encoded, cost=draw(costs(len(encoded.classes), any_cost)))
    return Problem(encoded, CompleteTree(draw(st.sampled_from(depths))), name, parse_params(name, params))


@st.composite
def costs(draw, K, any_cost):
    """None, prices by true class, or by pair: some of them 0, but not all."""
    prices = st.sampled_from([1.0, 2.0, 0.5, 3.0, 0.0])
    kind = draw(st.sampled_from(["unit", "by class", "by pair" if any_cost else "by class"]))
    if kind == "unit":
        return None
    size = (K, K) if kind == "by pair" else (K, 1)
    drawn = np.array(draw(st.lists(prices, min_size=size[0] * size[1], max_size=size[0] * size[1]))).reshape(size)
    matrix = drawn * (1 - np.eye(K))
    return matrix if matrix.any() else None


# The kinds of constraints that a formulation, or a form of it, must keep; the others it must refuse. Kinds that the
# same rows write are drawn together, as "answers" and "places".
OF_BRANCHES = {"branch_nodes", "leaves"}
BY_CLASS = ("recall", "false_negative_rate", "precision", "false_positive_rate", "f1")
BY_GROUP = ("statistical_parity", "equal_opportunity", "predictive_equality", "equalised_odds")
RIGHT_ALONE = ("accuracy", "balanced_accuracy", "group_accuracy")  # only which rows are right matters
TOGETHER = {
    "answers": {"accuracy", "balanced_accuracy", "cost", "group_accuracy", "monotone", *BY_CLASS, *BY_GROUP},
    "places": {"forbid_root", "require_root", "not_below"},
}
KEEPS = {
    "flowoct": {*OF_BRANCHES, "features", "tests", "leaf_rows", "answers", "places"},
    "bendersoct": {*OF_BRANCHES, "features", "tests", "answers", "places"},
    "oct": {*OF_BRANCHES, "features", "leaf_rows", "answers", "places"},
    "oct binary": {*OF_BRANCHES, "features", "tests", "leaf_rows", "answers", "places"},
    "binoct": {*OF_BRANCHES, "features", "leaf_rows", "answers", "places"},
    "fair": {*OF_BRANCHES, "leaf_rows", "answers"},
    "svm1_odt": {"leaf_rows"},
    "oct_h": {*OF_BRANCHES, "leaf_rows"},
    "dpflow": {*OF_BRANCHES, "features", "tests", "leaf_rows", "answers", "places"},
    "dpflow folded": {*OF_BRANCHES, "leaf_rows", "answers", "places"},
    "dpflow proof": {"leaf_rows"},
    "dpflow intervals": set(),
    # The least rows of a leaf are a parameter of cg (n_min), since the pricing keeps them.
    "cg": set(),
    "cg folded": set(),
}


def _keeps(name, params) -> set[str]:
    if params.get("binary") in ("true", "printed"):
        return KEEPS[f"{name} binary"]
    return KEEPS[
        f"{name} intervals"
        if "intervals" in params
        else f"{name} proof"
        if "proof" in params
        else f"{name} folded"
        if params.get("tail") in ("1", "2")
        else name
    ]


BY_CONSTRAINT = [(form, kind) for form in ALL_FORMS for kind in sorted(_keeps(*form))]


def kept_kinds(form) -> set[str]:
    """The names of the kinds that a form must keep on data of two classes."""
    kept = set().union(*(TOGETHER.get(kind, {kind}) for other, kind in BY_CONSTRAINT if other == form))
    return kept - {"monotone", *BY_GROUP} if form[0] == "bendersoct" else kept  # it counts the rows that are right


def alone(cases) -> list:
    """Of these cases every kind that is drawn together with others by its own name, in one form of each formulation;
    its forms take turns."""
    found = []
    for word, names in TOGETHER.items():
        for formulation in COMPILED:
            forms = [form for form, kind in cases if kind == word and form[0] == formulation]
            names = sorted(name for name in TOGETHER[word] if forms and name in kept_kinds(forms[0]))
            found += [(forms[place % len(forms)], name) for place, name in enumerate(names)]
    return found


@st.composite
def constrained(draw, form, kind, **of_problem):
    """A problem with a constraint of this kind, and now and then one more."""
    if kind in ("answers", *TOGETHER["answers"]):  # each way to label the rows of the data is tried
        rows = {"most_rows": min(8, of_problem.get("most_rows", 8))}
        # Which of several wrong classes a row is predicted is more than bendersoct says.
        most = (
            2
            if form[0] == "bendersoct" and kind not in ("answers", *RIGHT_ALONE, *BY_CLASS[:2])
            else draw(st.integers(2, 3))
        )
        of_problem |= rows | {"aside": True, "levels": "abc", "most_classes": most}
    problem = draw(problems(form, **of_problem))
    others = [other for other_form, other in BY_CONSTRAINT if other_form == form]
    if "aside" in of_problem:
        others = [other for other in others if other in (*OF_BRANCHES, "leaf_rows", "answers")]
    else:
        others = [other for other in others if other != "answers"]
    if form[0] == "dpflow" and form[1].get("tail") in (
        "1",
        "2",
    ):  # folded levels know the path or what is summed, not both
        places = {"places", *TOGETHER["places"]}
        others = [other for other in others if "leaf_rows" in (kind, other) or (other in places) == (kind in places)]
    kinds = [kind, *draw(st.lists(st.sampled_from(others), max_size=1))]
    try:
        return posed(problem, [draw(texts(form, problem, name)) for name in kinds])
    except ChoiceError as refused:  # what this data has no rows for, or no tests
        assert any(
            word in str(refused)
            for word in ("two groups", "rows of", "levels of", "can be asked", "by thresholds", "alone tells apart")
        )
        assume(False)


@st.composite
def texts(draw, form, problem, kind):
    """A constraint of this kind on the data of a problem."""
    encoded, features = problem.encoded, st.sampled_from([feature.name for feature in problem.encoded.features])
    if kind in ("places", *TOGETHER["places"]):
        name = draw(st.sampled_from(sorted(TOGETHER.get(kind, {kind}))))
        names = draw(
            st.lists(features, min_size=2, max_size=2)
            if name == "not_below"
            else st.lists(features, min_size=1, max_size=2)
        )
        return f"{name}[{','.join(names)}]"
    if kind in ("answers", *TOGETHER["answers"]):
        classes = st.sampled_from(encoded.classes)
        kinds = sorted(TOGETHER["answers"])
        if form[0] == "bendersoct":
            kinds = [
                name
                for name in kinds
                if name not in ("monotone", *BY_GROUP)
                and (len(encoded.classes) == 2 or name in (*RIGHT_ALONE, *BY_CLASS[:2]))
            ]
        name = draw(st.sampled_from(kinds if kind == "answers" else [kind]))
        bound = draw(st.sampled_from(["0", "0.25", "0.3333333333333333", "0.5", "0.6", "0.9", "1"]))
        if name == "monotone":
            return f"monotone[{draw(features)},positive={draw(classes)}]"
        if name in (*BY_GROUP, "group_accuracy"):
            column = draw(
                st.sampled_from(["side", "side:p", "side:q|r", *(feature.name for feature in encoded.features)])
            )
            positive = f",positive={draw(classes)}" if name in BY_GROUP else ""
            return f"{name}[group={column}{positive}] {CONSTRAINTS.get(name).OPS[0]} {bound}"
        if name == "cost":
            return f"cost <= {draw(st.integers(0, 6))}"
        return f"{name}{f'[{draw(classes)}]' if name in BY_CLASS else ''} {CONSTRAINTS.get(name).OPS[0]} {bound}"
    least = kind == "leaf_rows"
    most = int(encoded.copies.sum()) // (1 + draw(st.integers(0, 2))) if least else 3
    return f"{kind} {'>=' if least else '<='} {draw(st.integers(kind == 'leaves', most))}"


def least_kept(problem) -> float:
    """What the cheapest tree costs that keeps the problem's constraints, by trying every tree; infinite where none
    does."""
    if any(given.name in TOGETHER["answers"] for given in problem.constraints):
        return _least_answering(problem)
    encoded, depth = problem.encoded, problem.topology.depth
    bounds = {name: [given.bound for given in problem.constraints if given.name == name] for name in KEEPS["flowoct"]}
    per_loss, per_branch_node, least = terms(problem)
    X, y, weight, copies, cost = encoded.X, encoded.y, encoded.weight, encoded.copies, encoded.cost.tolist()
    if getattr(problem.module, "BEYOND", False):
        data = encoded.dataset
        X, y, weight, copies = splits_of(problem), data.y, data.weight, np.ones(data.n_rows, int)
    found = least_losses(
        X,
        y,
        weight,
        depth,
        cost,
        copies,
        max([least, *bounds["leaf_rows"]]),
        lambda test, above: all(_allowed(encoded, given, test, above) for given in problem.constraints),
    )
    most = {
        "branch_nodes": lambda n, asked: n,
        "leaves": lambda n, asked: n + 1,
        "tests": lambda n, asked: len(asked),
        "features": lambda n, asked: len({encoded.tests[test].feature for test in asked}),
    }
    return min(
        (
            per_loss * loss + per_branch_node * n
            for (n, asked), loss in found.items()
            if all(count(n, asked) <= bound for name, count in most.items() for bound in bounds[name])
        ),
        default=float("inf"),
    )


def _allowed(encoded, given, test, above) -> bool:
    """Whether a node below these tests may ask this one."""
    if given.name not in TOGETHER["places"]:
        return True
    name = lambda test: encoded.features[encoded.tests[test].feature].name  # noqa: E731
    if given.name == "not_below":
        return name(test) != given.args[0] or given.args[1] not in map(name, above)
    return bool(above) or (name(test) in given.args) == (given.name == "require_root")


def _least_answering(problem) -> float:
    """The same with constraints on answers: by all that trees can predict for the rows of the data."""
    encoded, data = problem.encoded, problem.encoded.dataset
    per_loss, per_branch_node, least = terms(problem)
    bounds = {
        name: [given.bound for given in problem.constraints if given.name == name]
        for name in (*OF_BRANCHES, "leaf_rows")
    }
    X = every_split(data) if getattr(problem.module, "BEYOND", False) else encoded.X[encoded.row_of]
    trees = fewest_branch_nodes(X, len(encoded.classes), problem.topology.depth, max([least, *bounds["leaf_rows"]]))
    truth, weight = data.y.tolist(), data.weight.tolist()
    best = float("inf")
    for predicted, n in trees.items():
        paid = per_branch_node * n + per_loss * sum(w * encoded.cost[t, p] for w, t, p in zip(weight, truth, predicted))
        if (
            paid < best
            and all(n <= bound for bound in bounds["branch_nodes"])
            and all(n < bound for bound in bounds["leaves"])
            and all(
                _answers(data, given, truth, predicted, weight, encoded.cost)
                for given in problem.constraints
                if given.name in TOGETHER["answers"]
            )
        ):
            best = paid
    return best


def _answers(data, given, truth, predicted, weight, cost) -> bool:
    """Whether these predictions keep a constraint; a figure is rounded by as much as a division is."""
    klass = group = None
    if given.name == "cost":
        return sum(w * cost[t, p] for w, t, p in zip(weight, truth, predicted)) <= given.bound + 1e-9
    if given.name == "monotone":
        name, klass = given.args[0], data.classes.index(given.args[1].removeprefix("positive="))
        place = [feature.name for feature in data.features].index(name)
        rows = list(zip(data.X[:, place].tolist(), np.delete(data.X, place, axis=1).tolist(), predicted))
        return not any(
            low < high and alike == other and one == klass != two
            for low, alike, one in rows
            for high, other, two in rows
        )
    if given.name in BY_CLASS:
        klass = data.classes.index(given.args[0])
    if given.name in (*BY_GROUP, "group_accuracy"):
        text = given.args[0].removeprefix("group=")
        klass = data.classes.index(given.args[1].removeprefix("positive=")) if given.name in BY_GROUP else None
        name, _, levels = text.partition(":")
        columns = dict(
            zip(
                (feature.name for feature in (*data.features, *data.aside)),
                np.hstack([data.X, data.aside_X]).T.tolist(),
            )
        )
        group = (
            [value in ["pqr".index(level) for level in levels.split("|")] for value in columns[name]]
            if levels
            else columns[name]
        )
    figure = rate(given.name, truth, predicted, weight, klass, group)
    return figure >= given.bound - 1e-9 if given.op == ">=" else figure <= given.bound + 1e-9


@st.composite
def heaps(draw, problem):
    """A random tree on the problem's topology, with the branch nodes that no row needs taken out."""
    test, label = blank_arrays(problem.topology)
    weighs = getattr(problem.module, "WEIGHS", False)
    beyond = (
        draw(hyperplanes(problem.encoded))
        if weighs
        else sets_of_levels(problem.encoded)
        if getattr(problem.module, "BEYOND", False)
        else None
    )
    n_tests = problem.encoded.n_tests + (len(beyond.tests) if beyond else 0)

    def grow(t, depth):
        if depth == problem.topology.depth or draw(st.booleans()) and depth:
            label[t] = draw(st.integers(0, len(problem.encoded.classes) - 1))
            return
        test[t] = draw(st.integers(0, n_tests - 1))
        grow(2 * t, depth + 1)
        grow(2 * t + 1, depth + 1)

    grow(1, 0)
    # A model of hyperplanes gives each leaf the label that costs least.
    heap = settle(test, problem.encoded, None if weighs else label, beyond)
    # A formulation that does not represent every tree says which one it makes of it.
    trimmed = getattr(problem.module, "trimmed", None)
    heap = mended(problem, trimmed(problem, heap) if trimmed else heap)
    assume(heap is not None)
    return heap


def splits_of(problem) -> np.ndarray:
    """bool (rows of the data, splits): what a node of a formulation that asks beyond its encoding can ask."""
    data = problem.encoded.dataset
    if not getattr(problem.module, "WEIGHS", False):
        return every_split(data)
    return every_hyperplane(
        data, problem.params.categories == "sets" if hasattr(problem.params, "categories") else False
    )


@st.composite
def hyperplanes(draw, encoded):
    """A few hyperplanes of small whole weights over numbers and levels, and the tests of the encoding."""
    splits = []
    for _ in range(draw(st.integers(0, 3))):
        terms = []
        for place, feature in enumerate(encoded.features):
            for level in [None] if feature.kind == NUMERIC else range(len(feature.levels)):
                weight = draw(st.integers(-2, 2))
                terms += [Term(place, float(weight), level if level is None else float(level))] if weight else []
        if terms:
            splits.append(Oblique(tuple(terms), draw(st.integers(-3, 3)) + 0.25))
    return Beyond.of(splits, encoded.values)


def sets_of_levels(encoded) -> Beyond | None:
    """All splits by a set of levels, without the first level that occurs."""
    splits = []
    for place, feature in enumerate(encoded.features):
        values = [] if feature.kind == NUMERIC else sorted(set(encoded.dataset.X[:, place]))[1:]
        splits += [Subset(place, chosen) for size in range(1, len(values) + 1) for chosen in combinations(values, size)]
    if not splits:
        return None
    return Beyond(
        tuple(splits), np.stack([encoded.left(split) for split in splits], axis=1), np.ones(len(splits), bool)
    )


def _can_be_encoded(dataset) -> bool:
    try:
        encode(dataset)
    except DataError:
        return False
    return True
