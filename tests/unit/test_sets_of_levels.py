"""The encoding `subsets`: all sets of few levels, and of many levels those that contain the best single split."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.data.dataset import CATEGORICAL, Dataset, Feature
from odtc.data.encoding import ENCODINGS, encode, sized_scheme
from odtc.data.reading import from_frame
from odtc.data.reading_spec import ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.workflow.results.lines import level_set_text
from tests.command_line import odtc as command

LEVELS = tuple("abcdef")


def _sides(columns) -> set[frozenset]:
    """The ways in which columns separate rows, whichever side is called left."""
    found = set()
    for column in columns:
        left = frozenset(np.flatnonzero(column).tolist())
        if left and len(left) < len(column):
            found.add(min(left, frozenset(range(len(column))) - left, key=lambda rows: (0 in rows, sorted(rows))))
    return found


def _every_set(cells: np.ndarray) -> list[np.ndarray]:
    """All ways to separate the distinct cells, a missing one being one of them."""
    codes = np.where(np.isnan(cells), -1.0, cells)
    levels = np.unique(codes).tolist()
    return [np.isin(codes, some) for size in range(1, len(levels)) for some in combinations(levels, size)]


@st.composite
def tables(draw, classes=2, cells=(0.0, 1.0, 2.0, 3.0, 4.0, 5.0)):
    n = draw(st.integers(3, 24))
    x = np.array(draw(st.lists(st.sampled_from(cells), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)), np.int32)
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    return Dataset("drawn", x[:, None], y, (Feature("x", CATEGORICAL, LEVELS),), tuple("pqr"[:classes]), weight)


WITH_MISSING = (0.0, 1.0, 2.0, 3.0, 4.0, np.nan)


@given(tables(classes=3, cells=WITH_MISSING))
def test_few_levels_have_every_set_once(dataset):
    asked = ENCODINGS.get("subsets").splits(dataset)
    columns = [split.left(dataset.X) for split, _ in asked]
    assert _sides(columns) == _sides(_every_set(dataset.X[:, 0]))
    apart = [column for column in columns if column.any() and not column.all()]
    assert len(apart) == len(_sides(columns))


@given(tables(classes=3, cells=WITH_MISSING), st.integers(2, 8))
def test_the_splits_of_auto_are_among_them(dataset, levels):
    ours = _sides(split.left(dataset.X) for split, _ in ENCODINGS.get("subsets").splits(dataset, levels=levels))
    assert ours >= _sides(split.left(dataset.X) for split, _ in ENCODINGS.get("auto").splits(dataset))


def _errors(y, weight, left) -> float:
    counts = [[weight[side & (y == k)].sum() for k in range(y.max() + 1)] for side in (left, ~left)]
    return sum(sum(side) - max(side) for side in counts)


@given(tables(classes=2))
def test_of_two_classes_the_first_levels_contain_the_best_set(dataset):
    asked = [split.left(dataset.X) for split, _ in ENCODINGS.get("subsets").splits(dataset, levels=2)]
    every = _every_set(dataset.X[:, 0])
    if every:
        y, weight = dataset.y, dataset.weight
        assert min(_errors(y, weight, left) for left in asked) == min(_errors(y, weight, left) for left in every)


@pytest.mark.parametrize("seed", range(20))
def test_missing_cells_have_their_place_in_the_order(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.choice([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, np.nan], 40), rng.integers(0, 2, 40).astype(np.int32)
    rows = Dataset("drawn", x[:, None], y, (Feature("x", CATEGORICAL, LEVELS),), ("p", "q"), np.ones(40))
    asked = [split.left(rows.X) for split, _ in ENCODINGS.get("subsets").splits(rows, levels=2)]
    least = min(_errors(y, rows.weight, left) for left in _every_set(x))
    assert min(_errors(y, rows.weight, left) for left in asked) == least


def test_the_columns_of_too_many_levels_for_all_first_sets_are_named():
    n = 3 * 110
    rows = Dataset(
        "drawn",
        np.arange(n)[:, None] % np.array([110, 9]),
        np.arange(n, dtype=np.int32) % 2,
        tuple(Feature(name, CATEGORICAL, tuple(map(str, range(110)))) for name in "xz"),
        ("p", "q"),
        np.ones(n),
    )
    assert ": 'x', 'z' (100 sets for each order of 'x');" in ENCODINGS.get("subsets").remark(rows)


NUMERIC_TASKS = {
    "regression": {"target": "t"},
    "survival": {"time": "t", "event": "e"},
}


@pytest.mark.parametrize("task", sorted(NUMERIC_TASKS))
@given(data=st.data())
def test_of_numbers_and_risks_the_first_levels_contain_the_best_set(task, data):
    n = data.draw(st.integers(6, 20))
    words = data.draw(st.lists(st.sampled_from(LEVELS), min_size=n, max_size=n))
    numbers = data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    events = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    if len(set(words)) < 3 or not any(events) or len(set(numbers)) < 2:
        return
    frame = pl.DataFrame({"x": words, "t": numbers} | ({"e": events} if task == "survival" else {}))
    dataset = from_frame(frame, "drawn", ReadingSpec(task=task, **NUMERIC_TASKS[task]))
    module = TASKS.get(task)

    def loss(left) -> float:
        sides = np.stack([dataset.sums[left].sum(axis=0), dataset.sums[~left].sum(axis=0)])
        return float(module.leaf_costs(sides).sum())

    asked = [split.left(dataset.X) for split, _ in ENCODINGS.get("subsets").splits(dataset, levels=2)]
    least = min(loss(left) for left in _every_set(dataset.X[:, 0]))
    assert min(loss(left) for left in asked if left.any() and not left.all()) == pytest.approx(least)


@pytest.mark.parametrize("levels", [1, 15])
def test_levels_out_of_range_are_refused(levels):
    dataset = Dataset(
        "one", np.arange(3.0)[:, None], np.zeros(3, np.int32), (Feature("x", CATEGORICAL, LEVELS),), ("p",), np.ones(3)
    )
    with pytest.raises(ChoiceError, match=f"2 to 14 .*got levels={levels}"):
        encode(dataset, f"subsets:levels={levels}")


CITIES = ["B", "F", "K"] * 4 + ["A", "C", "D", "E"] * 3


@pytest.mark.parametrize("model", ["flowoct", "bendersoct", "oct", "binoct", "dpflow", "cg"])
def test_one_split_on_a_set_is_proved_by_every_model(model, tmp_path):
    lines = [f"{city},{n % 3},{'yes' if city in 'BFK' else 'no'}" for n, city in enumerate(CITIES)]
    (tmp_path / "shops.csv").write_text("city,size,open\n" + "\n".join(lines) + "\n")
    fitted = odtc.fit(tmp_path / "shops.csv", model, depth=1, encoding="subsets")
    assert fitted.proof.termination == "optimal" and fitted.training.train_correct == len(CITIES)
    shown = str(fitted.tree)
    assert "city in {B, F, K}" in shown or "city not in {B, F, K}" in shown or "city in {A, C, D, E}" in shown


def _least(cells: list[tuple], rows: list[int], depth: int, loss) -> Fraction:
    """The least loss of a tree of this depth over all sets of levels, by trying every tree."""
    best = loss(rows)
    if not depth or not best:
        return best
    for column in range(len(cells[0])):
        here = sorted({cells[row][column] for row in rows})
        for size in range(1, len(here)):
            for some in combinations(here, size):
                left = [row for row in rows if cells[row][column] in some]
                right = [row for row in rows if cells[row][column] not in some]
                best = min(best, _least(cells, left, depth - 1, loss) + _least(cells, right, depth - 1, loss))
    return best


EXAMPLES = {"classification": 500, "regression": 500, "median": 50, "survival": 50, "policy": 50}  # of a long run


def _loss(task: str, y: list[int], dataset: Dataset):
    """The cost of one leaf for these rows."""

    def errors(rows: list[int]) -> Fraction:
        return Fraction(len(rows) - max(Counter(y[row] for row in rows).values()))

    def squares(rows: list[int]) -> Fraction:
        total = sum(y[row] for row in rows)
        return sum(Fraction(y[row]) ** 2 for row in rows) - Fraction(total * total, len(rows))

    def distances(rows: list[int]) -> Fraction:
        middle = sorted(y[row] for row in rows)[len(rows) // 2]
        return Fraction(sum(abs(y[row] - middle) for row in rows))

    def deviance(rows: list[int]) -> float:
        return float(TASKS.get(task).leaf_costs(dataset.sums[rows].sum(axis=0)))

    def lost_votes(rows: list[int]) -> Fraction:
        saved = [sum(max(y[row]) - y[row][action] for row in rows) for action in range(3)]
        return Fraction(sum(saved) - max(saved))

    found = {"classification": errors, "regression": squares, "median": distances, "survival": deviance}
    return (found | {"policy": lost_votes})[task]


@pytest.mark.parametrize("task", EXAMPLES)
def test_the_proved_tree_is_the_best_of_all_trees_over_sets_of_levels(task, long_run):
    @given(data=st.data())
    @settings(max_examples=EXAMPLES[task] if long_run else 50)
    def check(data):
        n = data.draw(st.integers(4, 14))
        cells = data.draw(
            st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("pqrs")), min_size=n, max_size=n)
        )
        numbers = st.integers(0, 2 if task == "classification" else 9)
        y = data.draw(st.lists(st.tuples(*[numbers] * 3) if task == "policy" else numbers, min_size=n, max_size=n))
        if len(set(y)) < 2 or len(set(cells)) < 2:
            return
        columns = {"x": [one for one, _ in cells], "z": [two for _, two in cells]}
        how = {"task": task, "categorical": ["x", "z"], "target": "y"}
        if task == "survival":
            columns["t"], columns["y"] = [1 + row for row in y], [row % 2 for row in y]
            how = {"task": task, "categorical": ["x", "z"], "time": "t", "event": "y"}
            if not any(columns["y"]):
                return
        if task == "policy":
            columns |= {name: [costs[at] for costs in y] for at, name in enumerate("ijk")}
            columns["y"] = [0] * n  # of a column that is not read
            how = {"task": task, "categorical": ["x", "z"], "actions": list("ijk"), "ignore": ["y"]}
            if all(len(set(costs)) == 1 for costs in y):
                return
        frame = pl.DataFrame(columns if "y" in columns else columns | {"y": y})
        exact = _least(cells, list(range(n)), 2, _loss(task, y, from_frame(frame, "drawn", ReadingSpec(**how))))
        fitted = odtc.fit(frame, depth=2, encoding=data.draw(st.sampled_from(["auto", "subsets"])), **how)
        assert fitted.proof.termination == "optimal"
        assert fitted.proof.objective == pytest.approx(float(exact), rel=1e-9, abs=1e-9)

    check()


def _table(n: int, levels: list[int]) -> Dataset:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, k, n) for k in levels]).astype(float)
    features = tuple(Feature(f"x{at}", CATEGORICAL, tuple("abcdefghijkl"[:k])) for at, k in enumerate(levels))
    return Dataset("drawn", X, rng.integers(0, 2, n).astype(np.int32), features, ("no", "yes"), np.ones(n))


@pytest.mark.parametrize(
    ("n", "levels", "depth", "scheme"),
    [
        (50_000, [8] * 4, 1, "auto:levels=8"),
        (2000, [2, 3, 8, 6], 2, "auto:levels=8"),
        (2000, [2, 3, 8, 6], 4, "auto:levels=3"),
        (2000, [8, 8, 4], 3, "auto:levels=4"),  # 127 + 127 + 7 splits at three levels are too many
        (200, [8, 2], 5, "auto:levels=8"),  # below a split on a column few of its levels are left
        (2000, [2, 3], 4, "auto"),  # no set of levels that a single level is not
        (300, [12, 4], 2, "auto:levels=4"),
    ],
)
def test_the_sets_of_columns_are_taken_that_a_search_can_afford(n, levels, depth, scheme):
    dataset = _table(n, levels)
    assert sized_scheme(dataset, "auto", depth) == scheme
    left_out = [f"'x{at}'" for at, k in enumerate(levels) if k > int(scheme.partition("=")[2] or 3)]
    module, options = ENCODINGS.parse(scheme)
    remark = module.remark(dataset, **options)
    assert ("subsets" in remark) == bool(left_out)
    assert all((f"'x{at}'" in remark) == (f"'x{at}'" in left_out) for at in range(len(levels)))


def test_levels_that_are_given_stay(tmp_path):
    assert sized_scheme(_table(300, [4, 4]), "auto:levels=3", 1) == "auto:levels=3"
    assert sized_scheme(_table(300, [4, 4]), "auto:bins=2", 1) == "auto:bins=2,levels=4"
    with pytest.raises(ChoiceError, match=r"3 to 8 .*got levels=9.*subsets:levels=9"):
        encode(_table(300, [9]), "auto:levels=9")


def test_models_are_written_over_single_levels():
    frame = pl.DataFrame({"city": CITIES, "open": ["yes" if city in "BFK" else "no" for city in CITIES]})
    fitted = {model: odtc.fit(frame, "open", model=model, depth=1) for model in ("auto", "dpflow", "flowoct")}
    assert {name: fit.problem.encoded.n_candidate_splits for name, fit in fitted.items()} == {
        "auto": 2**6 - 1,
        "dpflow": 2**6 - 1,
        "flowoct": 7,
    }
    assert fitted["auto"].training.train_correct == len(CITIES) > fitted["flowoct"].training.train_correct


def test_a_model_file_over_single_levels_names_their_columns(tmp_path):
    lines = [f"{city},{'yes' if city in 'BFK' else 'no'}" for city in CITIES]
    (tmp_path / "shops.csv").write_text("city,open\n" + "\n".join(lines) + "\n")
    for model, said in (("flowoct", True), ("fair", False)):
        built = command("build", "shops.csv", "--model", model, "--depth", 1, "-o", model, folder=tmp_path)
        assert built.code == 0 and ("each split on 'city' separates one level from the others" in built.err) == said


def test_later_commands_search_the_splits_of_the_run(tmp_path):
    lines = [f"{city},{n % 3},{'yes' if city in 'BFK' else 'no'}" for n, city in enumerate(CITIES)]
    (tmp_path / "shops.csv").write_text("city,size,open\n" + "\n".join(lines) + "\n")
    for words in (
        ("fit", "shops.csv", "--depth", 1, "-o", "m"),
        ("certify", "m"),
        ("verify", "m"),
        ("certify", "shops.csv", "--depth", 1, "-o", "c"),
        ("refit", "m.tree.json", "shops.csv", "--depth", 1, "-o", "r"),
    ):
        said = command(*words, folder=tmp_path)
        assert said.code == 0 and ("objective 0" in said.out or "costs less than 0" in said.out), said


HINTED = {  # the columns of a target that a set of levels decides, and how they are read
    "classification": (lambda good: {"y": np.where(good, "a", "b")}, {"target": "y"}),
    "regression": (lambda good: {"y": 3.0 * good}, {"target": "y"}),
    "linear": (lambda good: {"y": 3.0 * good}, {"target": "y"}),
    "median": (lambda good: {"y": 3.0 * good}, {"target": "y"}),
    "survival": (
        lambda good: {"t": np.where(good, 1.0, 9.0), "e": np.ones(len(good), int)},
        {"time": "t", "event": "e"},
    ),
    "policy": (lambda good: {"u": 5.0 * good, "v": 5.0 * ~good}, {"actions": ["u", "v"]}),
}


@pytest.mark.parametrize("task", HINTED)
@pytest.mark.parametrize("seed", range(2))
def test_a_better_tree_over_sets_of_many_levels_is_announced_and_found(task, seed):
    rng = np.random.default_rng(seed)
    levels = rng.permutation(12)[np.arange(120) % 12]  # of which all sets are too many for auto
    target, how = HINTED[task]
    frame = pl.DataFrame({"c": [f"l{at:02}" for at in levels], "n": rng.integers(0, 9, 120), **target(levels % 2 == 0)})
    by_default, by_sets = (odtc.fit(frame, depth=1, encoding=one, task=task, **how) for one in ("auto", "subsets"))
    assert 'encoding="subsets" searches for the best tree over such sets' in str(by_default)
    assert "searches for the best tree over such sets" not in str(by_sets)
    assert by_sets.proved and by_sets.proof.objective < by_default.proof.objective


@pytest.mark.parametrize("constraint", ["leaf_rows >= 40", "recall[b] >= 0.9", "monotone[n,positive=b]"])
def test_of_constraints_a_better_tree_that_satisfies_them_is_announced(constraint):
    rng = np.random.default_rng(3)
    levels = rng.permutation(12)[np.arange(120) % 12]
    frame = pl.DataFrame(
        {"c": [f"l{at:02}" for at in levels], "n": np.arange(120) // 12, "y": np.where(levels % 2, "b", "a")}
    )
    assert "a tree that splits on sets of levels costs 0" in str(odtc.fit(frame, depth=1, constraints=constraint))
    assert level_set_text(odtc.fit(frame, depth=1, constraints="forbid_root[c]")) == ""


@pytest.mark.parametrize(("how", "said"), [({"n_min": 60}, True), ({"n_min": 70}, False), ({"alpha": 0.6}, True)])
def test_a_tree_that_the_model_does_not_represent_is_not_announced(how, said):
    levels = np.arange(120) % 12
    frame = pl.DataFrame({"c": [f"l{at:02}" for at in levels], "y": np.where(levels % 2, "b", "a")})
    assert ("sets of levels costs" in str(odtc.fit(frame, "y", model="oct", depth=1, params=how))) == said


def test_a_formulation_that_finds_sets_by_itself_is_not_advised_to_take_them():
    rng = np.random.default_rng(3)
    levels = rng.permutation(12)[np.arange(60) % 12]
    frame = pl.DataFrame({"c": [f"l{at:02}" for at in levels], "y": np.where(levels % 2, "b", "a")})
    by_index = odtc.fit(frame, "y", model="fair", depth=1, params={"rho": 100, "group": "c"})
    assert by_index.training.train_correct < 60 and "subsets" not in str(by_index)


def test_sets_of_the_names_of_rows_are_not_announced():
    """A set of names has no error on the training rows, whatever they are, and says nothing about others."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"name": [f"p{at}" for at in range(90)], "n": rng.integers(0, 9, 90), "y": rng.choice(["a", "b"], 90)}
    )
    assert level_set_text(odtc.fit(frame, depth=1)) == ""


def test_an_estimator_verifies_a_tree_over_sets_of_levels():
    X = pl.DataFrame({"city": CITIES, "size": [n % 3 for n in range(len(CITIES))]})
    y = ["yes" if city in "BFK" else "no" for city in CITIES]
    fitted = odtc.OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert fitted.score(X, y) == 1 and all(check.passed for check in fitted.verify(X, y))
