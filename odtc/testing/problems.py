"""Small problems for the property tests: random data sets, every formulation in all its variants, random trees."""

import contextlib
from dataclasses import fields, replace
from functools import cache
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
from odtc.problem.constraints.constraint import mended, posed, takes
from odtc.problem.constraints.kind import CONSTRAINTS, Subject
from odtc.problem.formulation import FORMULATIONS, Compiled
from odtc.problem.parameters import keeps_rows, params_to_json, parse_params
from odtc.problem.problem import Problem
from odtc.problem.support import small_problem
from odtc.trees.heap_tree import Beyond, CompleteTree, blank_arrays, settle
from odtc.workflow.row_selection.selection import as_csv

COMPILED = FORMULATIONS.able(Compiled)  # learners have no model: tests/unit/test_learners.py
# The variants in which each formulation must satisfy the property tests, as it declares them.
VARIANTS = {name: list(FORMULATIONS.get(name).VARIANTS) for name in COMPILED}
ALL_VARIANTS = [(name, form) for name in COMPILED for form in VARIANTS[name]]


def form_id(form) -> str:
    name, params = form
    return "-".join([name, *(f"{key}={value}" for key, value in params.items())])


# Peculiarities of a data set, each in one draw of several: missing cells, with splits on them; a class whose rows
# have no weight; numbers that differ past the twelfth digit.
ODD = ("missing", "no weight", "digits")
CLOSE = (0.5, 0.5 + 1e-13, float(np.nextafter(0.5 + 1e-13, 1)))


@st.composite
def datasets(draw, most_rows=14, most_classes=3, levels="abc", group=None, auxiliary=False, odd=ODD):
    """Draw a data set of numeric and categorical columns with few values, so that rows repeat, tie and contradict.

    The first column is categorical and called `group` if one is wanted, and with `auxiliary` there is a column "side"
    that is not a feature. `odd` are the entries of ODD that may be drawn.
    """
    n = draw(st.integers(3, most_rows))
    kinds = draw(st.lists(st.sampled_from([NUMERIC, CATEGORICAL]), min_size=1, max_size=3))
    columns, features = [], []
    for place, kind in enumerate([CATEGORICAL, *kinds[1:]] if group else kinds):
        values = draw(st.lists(st.integers(0, 2 if kind == NUMERIC else len(levels) - 1), min_size=n, max_size=n))
        columns.append(values)
        features.append(
            Feature(group if group and not place else f"f{place}", kind, () if kind == NUMERIC else tuple(levels))
        )
    K = draw(st.integers(2, most_classes))
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)), np.int32)
    weight = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.5]), min_size=n, max_size=n)))
    classes = tuple("xyz"[:K])
    own = draw(st.sampled_from((None, None, *odd)))
    X = np.array(columns, float).T.copy()
    numbers = [place for place, feature in enumerate(features) if feature.kind == NUMERIC]
    X[:, numbers] = np.array(CLOSE)[X[:, numbers].astype(int)] if own == "digits" else X[:, numbers] * 1.5 - 1
    if own == "missing" and (len(features) > 1 or not group):
        lacking = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        X[lacking, len(features) - 1] = np.nan
    if own == "no weight" and (y < K - 1).any():
        weight[y == K - 1] = 0.0
    policy = "separate" if own == "missing" else "drop"
    dataset = Dataset("random", X, y, tuple(features), classes, weight, missing=policy)
    if not auxiliary:
        return dataset
    side = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), float)
    return replace(dataset, auxiliary=(Feature("side", CATEGORICAL, ("p", "q", "r")),), auxiliary_X=side[:, None])


@st.composite
def problems(draw, form, depths=(1, 2), by_class=False, **of_data):
    """Draw a problem of this variant (name, params) on a random data set with at least one split, and now and then
    without merging equal rows; with `by_class` the cost of an error never depends on the predicted class."""
    name, params = form
    if FORMULATIONS.get(name).WEIGHS:
        # Their models and their reference are slow. A margin is a part of a column's range: between numbers that are a
        # thousandth of it apart a hyperplane has none that a solver sees, and the reference has no tolerance.
        of_data |= {"most_rows": min(6, of_data.get("most_rows", 6)), "odd": ("no weight",)}
    elif FORMULATIONS.get(name).BEYOND:
        of_data = {"levels": "abcde"} | of_data  # of three levels each set is one level or all but one
    if "group" in params:  # each way to label the rows is tried
        of_data |= {"group": params["group"], "most_rows": 8}
    dataset = draw(
        datasets(**of_data)
        .filter(_can_be_encoded)
        .filter(lambda data: "group" not in params or len(set(data.X[:, 0])) > 1)
    )
    own = "merge" in {field.name for field in fields(FORMULATIONS.get(name).Params)}
    if own and not draw(st.sampled_from((True, True, False))):
        params = {**params, "merge": False}
    parsed = parse_params(name, params)
    encoded = encode(dataset, merge=not keeps_rows(parsed))
    any_cost = FORMULATIONS.get(name).ANY_COST and not by_class
    encoded = replace(encoded, cost=draw(costs(len(encoded.classes), any_cost)))
    return Problem(encoded, CompleteTree(draw(st.sampled_from(depths))), FORMULATIONS.get(name), parsed)


@st.composite
def costs(draw, K, any_cost):
    """Draw None, costs by true class, or by pair: some of them 0, but not all."""
    prices = st.sampled_from([1.0, 2.0, 0.5, 3.0, 0.0])
    kind = draw(st.sampled_from(["unit", "by class", "by pair" if any_cost else "by class"]))
    if kind == "unit":
        return None
    size = (K, K) if kind == "by pair" else (K, 1)
    drawn = np.array(draw(st.lists(prices, min_size=size[0] * size[1], max_size=size[0] * size[1]))).reshape(size)
    matrix = drawn * (1 - np.eye(K))
    return matrix if matrix.any() else None


# The kinds of constraints that a variant must satisfy, by the subjects that both declare; it must refuse the others.
# Kinds with the same model constraints are drawn together, as "answers", "places", "columns" and "labels".
KINDS = {name: CONSTRAINTS.get(name) for name in CONSTRAINTS.names()}
ON_PREDICTIONS = (Subject.RIGHT, Subject.RIGHT_OF_TWO, Subject.PREDICTIONS)


def of_subjects(*subjects) -> tuple[str, ...]:
    """Return the kinds with these subjects."""
    return tuple(name for name, kind in KINDS.items() if kind.SUBJECT in subjects)


TOGETHER = {
    "answers": of_subjects(*ON_PREDICTIONS),
    "places": of_subjects(Subject.PLACES, Subject.DEPTHS),
    "columns": of_subjects(Subject.FEATURES),
    "labels": of_subjects(Subject.LEAVES),
}
BESIDE_ANSWERS = (*of_subjects(Subject.BRANCHES, Subject.LEAF_ROWS), "answers")


def group_of(kind: str) -> str:
    """Return the word under which a kind is drawn: "answers", "places", or its own name."""
    return next((word for word, names in TOGETHER.items() if kind in (word, *names)), kind)


def subjects_of(form) -> tuple[Subject, ...]:
    """Return the subjects that constraints may have in a variant: the declared ones, or those that its model supports
    on a few rows."""
    declared = FORMULATIONS.get(form[0]).subjects(parse_params(*form))
    return declared if declared is not None else _found_subjects(form[0], tuple(form[1].items()))


@cache
def _found_subjects(name: str, params: tuple) -> tuple[Subject, ...]:
    problem = small_problem(name, dict(params))
    return tuple({kind.SUBJECT for kind in KINDS.values() if takes(problem, kind)})


def kept_kinds(form) -> set[str]:
    """Return the names of the kinds that a variant must satisfy on data of two classes."""
    named = of_subjects(*subjects_of(form))
    own = [kind for kind in named if kind not in CONSTRAINTS.module_names]
    # A declared subject covers odtc's kinds; a kind of a plug-in may need more than this model expresses.
    return set(named) - {kind for kind in own if not takes(small_problem(*form), KINDS[kind])}


def alone(cases) -> list:
    """Return, for these cases, every kind that is drawn together with others under its own name, in one variant
    of each formulation; its variants take turns."""
    found = []
    for word, names in TOGETHER.items():
        for formulation in COMPILED:
            forms = [form for form, kind in cases if kind == word and form[0] == formulation]
            names = sorted(name for name in TOGETHER[word] if forms and name in kept_kinds(forms[0]))
            found += [(forms[place % len(forms)], name) for place, name in enumerate(names)]
    return found


def takes_three_classes(form, kind) -> bool:
    """Return whether a variant supports a kind on data of three classes, too: not every model states which of several
    incorrect classes a row is predicted."""
    return Subject.PREDICTIONS in subjects_of(form) or KINDS[kind].SUBJECT != Subject.RIGHT_OF_TWO


def constraint_words(form) -> list[str]:
    """Return the kinds that a variant must satisfy; kinds that are drawn together are one word."""
    return sorted({group_of(kind) for kind in kept_kinds(form)})


def data_of_all_kinds(form):
    """Return a problem on one data set of several thresholds and levels, for every variant."""
    return small_problem(*form)


def posed_first(problem, kind):
    """Return the problem with the first constraint of this kind that its data supports, after the least bound."""
    tried = CONSTRAINTS.get(kind).tries(problem.encoded)
    assert tried, f"the constraint {kind!r} declares no `tries`: the property tests have no text of it to draw"
    for text in tried[1:] + tried[:1]:
        with contextlib.suppress(ChoiceError):
            return posed(problem, [text])
    raise AssertionError(f"the data here takes none of the texts of {kind!r}: {tried[0]}, …")


# What data may lack for a constraint, in the words of the refusals.
REFUSALS = (
    "two groups",
    "two columns",
    "rows of",
    "levels of",
    "can be split on",
    "by thresholds",
    "two rows that differ only in",
)


@st.composite
def constrained(draw, form, kind, **of_problem):
    """Draw a problem with a constraint of this kind, and now and then one more."""
    if group_of(kind) == "answers":  # each way to label the rows of the data is tried
        rows = {"most_rows": min(8, of_problem.get("most_rows", 8))}
        most = draw(st.integers(2, 3)) if kind == "answers" or takes_three_classes(form, kind) else 2
        of_problem |= rows | {"auxiliary": True, "levels": "abc", "most_classes": most}
    if group_of(kind) == "labels":  # and every tree
        of_problem |= {"most_rows": min(6, of_problem.get("most_rows", 6))}
    if group_of(kind) in ("places", "columns") and "depths" not in of_problem:
        depth = draw(st.sampled_from((1, 2, 2, 3)))  # from depth 3 on a node has more than one ancestor
        of_problem |= {"depths": (depth,), "most_rows": min(6 if depth > 2 else 14, of_problem.get("most_rows", 14))}
    problem = draw(problems(form, **of_problem))
    others = constraint_words(form)
    if "auxiliary" in of_problem:
        others = [other for other in others if other in BESIDE_ANSWERS]
    else:
        others = [other for other in others if other not in ("answers", "labels")]
    if not {Subject.TESTS, Subject.FEATURES} & set(subjects_of(form)) and Subject.PLACES in subjects_of(form):
        # Folded levels represent the path or the sums, not both.
        on_paths = group_of(kind) == "places"
        others = [other for other in others if "leaf_rows" in (kind, other) or (other == "places") == on_paths]
    kinds = [kind, *(draw(st.lists(st.sampled_from(others), max_size=1)) if others else [])]
    try:
        return posed(problem, [draw(texts(form, problem, name)) for name in kinds])
    except ChoiceError as refused:  # constraints without rows or splits in this data
        own = set(kinds) <= set(CONSTRAINTS.module_names)
        assert not own or any(word in str(refused) for word in REFUSALS), refused
        assume(False)


@st.composite
def texts(draw, form, problem, kind):
    """Draw a constraint of this kind, or of one of those drawn together, on the data of a problem."""
    names = [name for name in TOGETHER.get(kind, (kind,)) if name in kept_kinds(form)]
    if len(problem.encoded.classes) > 2:
        names = [name for name in names if takes_three_classes(form, name)]
    name = draw(st.sampled_from(sorted(names)))
    tried = KINDS[name].tries(problem.encoded)
    assert tried, f"the constraint {name!r} declares no `tries`: the property tests have no text of it to draw"
    return draw(st.sampled_from(tried))


@st.composite
def heaps(draw, problem):
    """Draw a random tree on the problem's topology, without the branch nodes that no row needs."""
    test, label = blank_arrays(problem.topology)
    weighs = problem.module.WEIGHS
    beyond = (
        draw(hyperplanes(problem.encoded))
        if weighs
        else sets_of_levels(problem.encoded)
        if problem.module.BEYOND
        else None
    )
    n_candidate_splits = problem.encoded.n_candidate_splits + (len(beyond.splits) if beyond else 0)

    def grow(t, depth):
        if depth == problem.topology.depth or (draw(st.booleans()) and depth):
            label[t] = draw(st.integers(0, len(problem.encoded.classes) - 1))
            return
        test[t] = draw(st.integers(0, n_candidate_splits - 1))
        grow(2 * t, depth + 1)
        grow(2 * t + 1, depth + 1)

    grow(1, 0)
    # A model of hyperplanes gives each leaf the label that costs least.
    heap = settle(test, problem.encoded, None if weighs else label, beyond)
    # A formulation that does not represent every tree states which one it makes from it.
    heap = mended(problem, problem.module.trimmed(problem, heap))
    assume(heap is not None)
    return heap


@st.composite
def hyperplanes(draw, encoded):
    """Draw a few hyperplanes of small whole weights over numbers and levels, and the splits of the encoding."""
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
    """Return all splits by a set of levels, without the first level that occurs if no cell is missing."""
    splits = []
    for place, feature in enumerate(encoded.features):
        found = [] if feature.kind == NUMERIC else np.unique(encoded.dataset.X[:, place]).tolist()
        known = [value for value in found if value == value]
        values = known if len(known) < len(found) else known[1:]
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


def note_data(trial, dataset) -> None:
    """Record a data set as CSV."""
    trial.note("data", as_csv(dataset)[0].rstrip())


def note_problem(trial, problem) -> None:
    """Record the data, the depth, the encoding, the parameters and the constraints of a problem."""
    encoded = problem.encoded
    note_data(trial, encoded.dataset)
    trial.note("depth", problem.topology.depth)
    usual = params_to_json(type(problem.params)())
    given = {key: value for key, value in params_to_json(problem.params).items() if value != usual.get(key)}
    trial.note("model", " ".join([problem.formulation, *(f"-p {key}={value}" for key, value in given.items())]))
    if (encoded.cost != 1 - np.eye(len(encoded.classes))).any():
        trial.note("costs", f"{encoded.cost.tolist()} (true class, predicted class)")
    for given in problem.constraints:
        trial.note("constraint", given)


def drawn_problem(trial, form, **of_problem):
    """Draw a problem (`problems`), and record it."""
    problem = trial.draw(problems(form, **of_problem))
    note_problem(trial, problem)
    return problem


def drawn_tree(trial, problem):
    """Draw a tree of a problem (`heaps`), and record it."""
    heap = trial.draw(heaps(problem))
    note_heap(trial, problem, heap)
    return heap


def note_heap(trial, problem, heap, word: str = "tree") -> None:
    """Record a tree."""
    trial.note(word, str(heap.to_tree(problem.encoded)))
