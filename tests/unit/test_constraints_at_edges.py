"""Every kind of constraint at its edges: weights of any unit, one level, and trees that a model fills up."""

import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.ranked_answers import RankedAnswers
from odtc.errors import ChoiceError
from odtc.problem.constraints import conflicts, search_terms
from odtc.problem.constraints.by_definition import group_texts, groups_of_rows, rate
from odtc.problem.constraints.conflicts import a_tree
from odtc.problem.constraints.constraint import (
    OF_COLUMNS,
    broken,
    built,
    complete,
    example_text,
    least_rows,
    mended,
    most_branch_nodes,
    parse,
    posed,
    speak_of_columns,
)
from odtc.problem.constraints.groups import members
from odtc.problem.constraints.kind import CONSTRAINTS, OnPredictions, Subject, Terms
from odtc.problem.constraints.kinds import monotone
from odtc.problem.constraints.on_nodes import above_leaves
from odtc.problem.constraints.on_predictions import _written, lines, mend, predicted
from odtc.problem.constraints.search_terms import search_problem
from odtc.trees.heap_tree import HeapTree, settle
from tests import pipeline
from tests.unit.test_constraint_parts import saying
from tests.unit.test_each_constraint import KINDS, TABLES, N, allowed, kept_by, table, trees


def problems(kind, dataset, formulation="dpflow", depth=2, most=6):
    """With one constraint of a kind each, of bounds of all sizes."""
    plain = replace(pipeline.pose(dataset, formulation, depth, constraints=("features <= 3",)), constraints=())
    texts = CONSTRAINTS.get(kind).tries(plain.encoded)
    for text in [texts[at] for at in np.unique(np.linspace(0, len(texts) - 1, most).round().astype(int))]:
        try:
            yield posed(plain, [text])
        except ChoiceError:  # what this data has no rows, columns or levels for
            continue


def kept(problem, heap) -> tuple[bool, bool]:
    """Whether a tree satisfies the constraint by its figure, and by its lines."""
    (given,), encoded = problem.constraints, problem.encoded
    rows, label = np.arange(encoded.n_rows), predicted(encoded, heap)
    said = [line.coef[rows, label].sum() <= line.upper for line in lines(encoded, given)]
    return not broken(problem, heap), all(said)


def searched(problem):
    """The problem as a search takes it; None if its numbers have too many digits."""
    try:
        return search_problem(problem)
    except TooLarge:
        return None


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cost"])
@pytest.mark.parametrize("factor", [1 / 64, 64.0])
def test_what_it_says_does_not_depend_on_the_unit_of_weights(kind, factor):
    """With sixty-fourths each class and each group weighs less than 1."""
    dataset = table(*TABLES[2])
    other = replace(dataset, weight=dataset.weight * factor)
    for problem, scaled in zip(problems(kind, dataset, most=4), problems(kind, other, most=4), strict=True):
        assert [str(one) for one in problem.constraints] == [str(one) for one in scaled.constraints]
        (given,), ways = problem.constraints, (searched(problem), searched(scaled))
        for heap in trees(problem, 8):
            values = [one.constraints[0].module.value(one.encoded, given, heap) for one in (problem, scaled)]
            assert values[0] == pytest.approx(values[1])
            assert kept(problem, heap) == kept(scaled, heap), str(given)
            if None not in ways:
                assert kept_by(ways[0], heap) == kept_by(ways[1], heap), str(given)


@pytest.mark.parametrize("factor", [1 / 64, 1.0, 64.0])
def test_balanced_accuracy_is_the_mean_of_recalls_in_any_unit_of_weights(factor):
    dataset = table(*TABLES[2])
    (problem,) = problems("balanced_accuracy", replace(dataset, weight=dataset.weight * factor), most=1)
    for heap in trees(problem, 12):
        said = heap.label[heap.reach(problem.encoded.X)][problem.encoded.row_of]
        recalls = [np.average(said[dataset.y == k] == k, weights=dataset.weight[dataset.y == k]) for k in range(3)]
        value = problem.constraints[0].module.value(problem.encoded, problem.constraints[0], heap)
        assert value == pytest.approx(np.mean(recalls))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if CONSTRAINTS.get(kind).SUBJECT != Subject.SETTLED])
@pytest.mark.parametrize("formulation", ["flowoct", "binoct"])
def test_a_model_of_one_level_takes_it_and_keeps_the_trees_that_keep_it(kind, formulation):
    seen = 0
    for problem in problems(kind, table(*TABLES[0]), formulation, 1, 4):
        (given,) = problem.constraints
        try:
            model = built(problem)
        except ChoiceError:  # another formulation, or the search alone, takes it
            continue
        plain = {block.name for block in built(replace(problem, constraints=())).rows}
        own = [slice(block.start, block.stop) for block in model.rows if block.name not in plain]
        for heap in trees(problem, 8, depth=1):
            x = complete(problem, model, heap)
            activity = model.A @ x
            beyond = np.maximum(model.row_lower - activity, activity - model.row_upper)
            assert all((beyond[rows] <= 1e-9).all() for rows in own) == allowed(problem, given, heap), str(given)
            seen += 1
    assert seen or formulation == "binoct"


def filled(problem, heap):
    """The tree with a test at each branch node, which answers as before, in all ways."""
    free, answer = [t for t in (1, 2, 3) if heap.split[t] < 0], {}
    for t in range(4, 8):  # the label of each end is that of the leaf above it
        above = next(s for s in (t, t // 2, 1) if heap.label[s] >= 0)
        answer[t] = heap.label[above]
    for tests in product(range(problem.encoded.n_candidate_splits), repeat=len(free)):
        test, label = heap.split.copy(), np.full(8, -1, np.int32)
        test[free] = tests
        label[list(answer)] = list(answer.values())
        yield HeapTree(test, label)


@pytest.mark.parametrize("kind", KINDS)
def test_if_trees_are_filled_up_none_that_keeps_it_is_lost(kind):
    """Of a kind, and of its texts, that says that trees may be filled up: some formulations have full trees alone."""
    for problem in problems(kind, table(*TABLES[0])):
        (given,) = problem.constraints
        if given.module.early(given):
            continue
        for heap in trees(problem, 12):
            if not broken(problem, heap):
                ways = filled(problem, heap)
                assert any(given.holds(given.module.value(problem.encoded, given, way)) for way in ways), str(given)


@pytest.mark.parametrize(
    "text", ["not_below[f0,f1]", "not_below[f1,f0]", "recall[x] >= 0.5", "features <= 1", "splits <= 1"]
)
def test_these_let_trees_be_filled_up(text):
    """So that their models need no columns for nodes that do not branch."""
    given = posed(next(problems("features", table(*TABLES[0]))), [text]).constraints[0]
    assert not given.module.early(given)


def test_kinds_of_answers_have_lines():
    for kind in KINDS:
        for problem in problems(kind, table(*TABLES[0]), most=2):
            (given,) = problem.constraints
            assert bool(lines(problem.encoded, given)) == CONSTRAINTS.get(kind).can(OnPredictions)


def test_a_kind_that_the_search_knows_nothing_of_is_asked_of_every_tree(monkeypatch):
    given = next(problems("recall", table(*TABLES[0]))).constraints[0]
    encoded = next(problems("recall", table(*TABLES[0]))).encoded
    bare = SimpleNamespace(module=SimpleNamespace(terms=lambda *_: None, can=lambda ability: False))
    assert search_terms.terms_of(encoded, bare) == Terms(checked=True)
    for most, checked in ((1, False), (0, True)):  # recall has one line
        monkeypatch.setattr(search_terms, "MOST_LINES", most)
        found = search_terms.terms_of(encoded, given)
        assert found.checked == checked and len(found.lines) == 1 - checked


def test_what_speaks_of_columns_is_refused_beside_tests_of_two():
    """Kinds on answers, leaves and counts are taken as before."""
    random = np.random.default_rng(1)
    features = tuple(Feature(name, "numeric") for name in ("f0", "f1"))
    X, y = random.integers(0, 9, (N, 2)).astype(float), (np.arange(N) % 2).astype(np.int32)
    encoded = encode(Dataset("d", X, y, features, ("x", "y"), np.ones(N)), "oblique:pool=5")
    assert {len(test.features) for test in encoded.splits} == {1, 2}
    for kind in KINDS:
        module = CONSTRAINTS.get(kind)
        for text in module.tries(encoded)[-2:]:
            if module.SUBJECT in OF_COLUMNS and kind != "splits":
                with pytest.raises(ChoiceError, match="the encoding 'oblique.*' has splits that use several columns"):
                    parse(text, encoded)
            elif kind != "monotone":
                assert str(parse(text, encoded)) == text


@pytest.mark.parametrize("of_table", TABLES, ids=str)
def test_groups_are_those_of_their_definition(of_table):
    dataset = table(*of_table)
    for text in group_texts(pipeline.pose(dataset, "dpflow", 1).encoded):
        found, _ = members(dataset, text)
        told = groups_of_rows(dataset, text)
        assert len(set(zip(found.tolist(), told))) == len(set(found.tolist())) == len(set(told)), text


@pytest.mark.parametrize("kind", [kind for kind in KINDS if CONSTRAINTS.get(kind).can(OnPredictions)])
def test_lines_in_a_file_are_the_lines_in_smaller_numbers(kind):
    """Divided by a power of two, if a coefficient is above 1024."""
    dataset, seen = table(*TABLES[2]), 0
    for problem in problems(kind, replace(dataset, weight=dataset.weight * 5000.0 + np.arange(N) % 2), most=3):
        (given,) = problem.constraints
        for line, written in zip(lines(problem.encoded, given), _written(problem, given), strict=True):
            most = np.abs(line.coef).max()
            factor = 2.0 ** max(0, int(np.ceil(np.log2(most / 1024))))
            assert np.array_equal(written.coef * factor, line.coef) and written.upper * factor == line.upper
            assert np.abs(written.coef).max() <= 1024 and np.array_equal(written.y, line.y)
            seen += factor > 1
    assert seen or kind in ("balanced_accuracy", "monotone")


def malformed(module, text: str) -> list[str]:
    """Texts of a kind that are none, made of one that is: another sign, number, argument or count of arguments."""
    name, args = text.split("[")[0].split(" ")[0], text.partition("[")[2].rpartition("]")[0]
    end = text[len(name) + (len(args) + 2 if args else 0) :]
    given = f"[{args}]" if args else ""
    found = [f"{name}{given}{end} 5", f"{name} {given} >"]
    if module.OPS:
        other = {"<=": ">=", ">=": "<="}[module.OPS[0]]
        found += [f"{name}{given}", f"{name}{given} {other} 1", f"{name}{given} {module.OPS[0]}"]
        found += [f"{name}{given} {module.OPS[0]} {number}" for number in ("nan", "inf", "-1", "x", "5%%", "1e400")]
    else:
        found += [f"{name}{given} <= 1", f"{name}{given} >= 0"]
    if args:
        found += [f"{name}[nosuch]{end}"]
        found += [f"{name}{end}", f"{name}[]{end}"] * (name != "leaf_precision")  # of which no class is every class
        found += [f"{name}[{args.replace(part, 'nosuch', 1)}]{end}" for part in args.replace("=", ",").split(",")]
        if module.SUBJECT not in OF_COLUMNS:  # of columns there may be several
            found += [f"{name}[{args},{args}]{end}", f"{name}[{args},x]{end}"]
    else:
        found += [f"{name}[nosuch]{end}"]
    return found


@pytest.mark.parametrize("of_table", [TABLES[0], TABLES[2]], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_constraint_is_refused_and_an_example_that_is_named_is_one(kind, of_table):
    module = CONSTRAINTS.get(kind)
    encoded = next(problems("features", table(*of_table))).encoded
    texts = [text for text in module.tries(encoded) if is_taken(text, encoded)]
    for text in (texts[0], texts[len(texts) // 2], texts[-1]):
        assert (
            str(parse(text, encoded)) == text and parse(f" {text} ".strip().replace(" ", ""), encoded).args is not None
        )
        for wrong in malformed(module, text):
            with pytest.raises(ChoiceError) as said:
                parse(wrong, encoded)
            assert "\n" not in str(said.value), wrong
            for example in re.findall(r"for example '(.*?)'(?:$|;|\))", str(said.value)):
                assert is_taken(example, encoded), (wrong, str(said.value))
    assert is_taken(re.findall("'(.*)'", example_text(kind, encoded))[0], encoded)


def is_taken(text: str, encoded) -> bool:
    try:
        parse(text, encoded)
    except ChoiceError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_the_search_of_a_manifest_that_knows_no_rows_keeps_the_same_trees(kind):
    """Which holds equal rows together, and the weights of their groups."""
    for problem in problems(kind, table(*TABLES[0]), most=3):
        (given,), encoded = problem.constraints, problem.encoded
        grouped = [group.text for group in encoded.groups]
        bare = replace(problem, encoded=replace(encoded, dataset=None))
        ways = searched(problem), searched(bare)
        if None in ways:
            continue
        for heap in trees(problem, 6):
            told = [kept_by(way, heap) for way in ways]
            # With groups the rows of a manifest are of several at once, so that its search may keep more.
            assert told[0] == told[1] or (grouped and told[1]), str(given)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ((), False),
        (("features <= 2",), True),
        (("recall[x] >= 0.5",), False),
        (("nosuch <= 1",), False),
        (("nosuch", "recall[x] >= 0.5", "not_below[f0,f1]"), True),
        (("splits <= 2", "leaf_rows >= 3"), False),
    ],
    ids=str,
)
def test_constraints_of_columns_are_known_by_their_texts(texts, told):
    """Before there is an encoding, which keeps tests of two columns that part the rows alike for them alone."""
    assert speak_of_columns(texts) == told


@pytest.mark.parametrize(
    "texts", [("recall[x] >= 0.5", "recall[y] >= 0.5"), ("leaf_rows >= 1", "features <= 2", "leaf_rows >= 2")]
)
def test_several_constraints_have_rows_of_their_own_names(texts):
    problem = posed(next(problems("features", table(*TABLES[0]), "flowoct")), texts)
    model = built(problem)
    for blocks in (model.rows, model.columns):
        names = [block.name for block in blocks]
        assert len(set(names)) == len(names)
        own = [name for name in names if name[-1:].isdigit()]
        assert not own or {int(name[-1]) for name in own} <= set(range(2, len(texts) + 1))  # the first has no number
    for heap in trees(problem, 6):
        heap = problem.module.trimmed(problem, heap)
        activity = model.A @ complete(problem, model, heap)
        kept = bool((activity <= model.row_upper + 1e-9).all() and (activity >= model.row_lower - 1e-9).all())
        assert kept == (not broken(problem, heap))


@pytest.mark.parametrize("text", ["splits <= 1", "splits <= 2", "splits <= 3", "features <= 1"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_limits_of_so_many_tests_that_no_sets_are_made_keep_the_same_trees(text, depth, monkeypatch):
    """Trees of few different tests are looked at in the place of sets of tests."""
    problem = posed(replace(pipeline.pose(table(*TABLES[0]), "dpflow", depth), constraints=()), [text])
    by_sets = search_problem(problem)
    monkeypatch.setattr(search_terms, "MOST_SUBSETS", 0)
    found, seen = search_problem(problem), set()
    assert found.arrays.depth == by_sets.arrays.depth <= depth
    assert len(found.arrays.subsets) == 1 and found.arrays.most_splits in (None, int(text[-1]))
    for heap in trees(problem, 60, depth):
        kept = allowed(problem, problem.constraints[0], heap)
        assert kept_by(found, heap) == kept_by(by_sets, heap) == kept
        seen.add(kept)
    assert depth < 3 or seen == {True, False}


def test_an_order_of_too_many_rows_for_lines_is_asked_of_every_tree(monkeypatch):
    """Without lines it was to be heeded still."""
    monkeypatch.setattr(monotone, "MOST_LINES", 0)
    seen = set()
    for problem in problems("monotone", table(*TABLES[0])):
        found = search_problem(problem)
        assert not len(found.arrays.bound) and found.arrays.accepts is not None
        for heap in trees(problem, 40):
            kept = allowed(problem, problem.constraints[0], heap)
            assert kept_by(found, heap) == kept
            seen.add(kept)
    assert seen == {True, False}


@pytest.mark.parametrize(
    "weight",
    [
        np.ones(N),
        np.where(np.arange(N) % 2, 1.0, 0.5),
        np.full(N, 1 / 3),
        np.full(N, 1e8 + 7.0),
        np.full(N, 1 / 64),  # classes of less than 1, or all but one
        np.where(table(*TABLES[2]).y == 0, 1.0, 1 / 64),
    ],
    ids=repr,
)
@pytest.mark.parametrize("light", [False, True])
def test_the_mean_of_recalls_is_that_of_the_classes_that_weigh_something(weight, light):
    """Its line, too; of whole weights in whole numbers, if these are not large."""
    data = table(*TABLES[2])
    weight = np.where(light & (data.y == 2), 0.0, weight)
    for problem in problems("balanced_accuracy", replace(data, weight=weight)):
        (given,), encoded = problem.constraints, problem.encoded
        ((coef, upper),) = given.module.answers(encoded, given)
        assert (weight != 1).any() or np.array_equal(coef, np.rint(coef))
        for heap in trees(problem, 20):
            said = heap.label[heap.reach(encoded.X)]
            recalls = [
                np.average(said[mine] == k, weights=encoded.weight[mine])
                for k in range(3 - light)
                if (mine := encoded.y == k).any()
            ]
            assert given.module.value(encoded, given, heap) == pytest.approx(np.mean(recalls))
            assert (coef[np.arange(len(said)), said].sum() <= upper + 1e-9 * abs(upper)) == (
                np.mean(recalls) >= given.bound - 1e-9
            )


@pytest.mark.parametrize("of_table", TABLES, ids=str)
@pytest.mark.parametrize("encoding", ["auto", "onehot"])
def test_an_order_for_all_inputs_is_that_of_every_input(encoding, of_table):
    """Levels, missing cells and numbers that are asked one by one beside the column."""
    data = table(*of_table)
    two = replace(data.features[0], name="f3")
    data = replace(data, features=(*data.features, two), X=np.column_stack([data.X, data.X[::-1, 0]]))
    plain, seen = pipeline.pose(data, "dpflow", 2, encoding=encoding), set()
    for text in CONSTRAINTS.get("monotone_everywhere").tries(plain.encoded):
        if encoding == "onehot" or text.startswith(("monotone_everywhere[f1", "monotone_everywhere[f2")):
            with pytest.raises(
                ChoiceError, match="have a split each" if "f0" in text or "f3" in text else "thresholds"
            ):
                posed(plain, [text])
            continue
        problem = posed(plain, [text])
        for heap in trees(problem, 150):
            kept = not broken(problem, heap)
            assert kept == allowed(problem, problem.constraints[0], heap), text
            seen.add(kept)
    assert seen == ({True, False} if encoding != "onehot" else set())


@pytest.mark.parametrize("bound", [0, 1])
def test_a_repair_takes_away_just_the_nodes_that_are_too_deep(bound):
    """And what is below them; nodes as deep that ask another column stay, so do those above that ask this one."""
    plain = replace(pipeline.pose(table(*TABLES[0]), "dpflow", 3, constraints=("features <= 3",)), constraints=())
    problem, seen = posed(plain, [f"deepest[f0] <= {bound}"]), set()
    (given,), encoded = problem.constraints, problem.encoded
    for heap in trees(problem, 60, 3):
        asks = {int(t) for t in np.flatnonzero(heap.split >= 0)}
        wrong = {t for t in asks if encoded.splits[heap.split[t]].features == (0,) and t.bit_length() - 1 > bound}
        gone = {t for t in asks if any(t >> up in wrong for up in range(t.bit_length()))}
        expected = settle(np.where(np.isin(np.arange(len(heap.split)), list(gone)), -1, heap.split), encoded)
        found = given.module.mend(encoded, given, heap) if wrong else heap
        assert np.array_equal(found.split, expected.split if wrong else heap.split)
        seen.add(0 < len(gone) < len(asks))
    assert seen == {True, False}


@pytest.mark.parametrize("seed", range(6))
def test_if_no_change_of_labels_mends_a_tree_the_cheapest_leaf_that_does_is_left(seed):
    """Both leaves are of the barred class, and each alone told otherwise would be worse, as they may not differ."""
    rng, data = np.random.default_rng(seed), table(*TABLES[2])
    barred, *others = rng.permutation(3).tolist()
    encoded = pipeline.pose(replace(data, weight=rng.choice([1.0, 2.0, 5.0], N)), "dpflow", 1).encoded
    heap = HeapTree(np.array([-1, 0, -1, -1], np.int32), np.array([-1, -1, barred, barred], np.int32))
    end = heap.reach(encoded.X)
    one, two = (int(np.flatnonzero(end == t)[0]) for t in (2, 3))
    mine = [(np.zeros((len(end), 3)), 0.0)]
    mine[0][0][[one, two], barred] = 1
    for k in others:
        apart = np.zeros((len(end), 3))
        apart[one, k], apart[two, k] = 5, -5
        mine += [(apart, 0.0), (-apart, 0.0)]
    found = mend(encoded, saying(*mine), heap)
    said = found.label[found.reach(encoded.X)]
    assert found.split.tolist() == [-1] * 4 and len({*said.tolist()}) == 1
    assert said[0] == min(others, key=lambda k: encoded.loss[:, k].sum())


def test_a_look_for_a_tree_ends_when_it_is_told_to():
    problem = posed(pipeline.pose(table(*TABLES[2]), "dpflow", 3), ["accuracy >= 0.99", "recall[x] >= 0.99"])
    assert a_tree(problem, lambda: True) is None and a_tree(problem, lambda: False) is not None


def test_so_many_branch_nodes_may_be_as_leaves_and_nodes_leave():
    plain = pipeline.pose(table(*TABLES[0]), "dpflow", 3)
    for texts, most in (
        ((), None),
        (("leaves <= 3",), 2),
        (("branch_nodes <= 3",), 3),
        (("leaves <= 3", "branch_nodes <= 1"), 1),
    ):
        assert most_branch_nodes(posed(plain, texts)) == most


def test_a_class_that_is_never_predicted_is_precise():
    assert rate("precision", [0, 1], [0, 0], [1.0, 1.0], 1) == 1.0


def test_a_group_without_weight_has_no_accuracy():
    for weight, least in (((1.0, 1.0, 0.0), 0.5), ((1.0, 1.0, 1.0), 0.0)):
        assert rate("group_accuracy", [0, 1, 1], [0, 0, 0], weight, group=[0, 0, 1]) == least


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello leaf_rows", "write for example 'leaf_rows"),
        ("hello world", "got 'hello world'"),
        ("recall['x'] >= 2", "between 0 and 1"),
        ("recall['q'] >= 0.5", "'q'"),
        ("recall > 1", "write for example 'recall["),
    ],
)
def test_what_is_wrong_with_a_text_is_told(text, words):
    with pytest.raises(ChoiceError) as said:
        parse(text, encode(table(*TABLES[0]), "auto"))
    assert words in str(said.value)


@pytest.mark.parametrize("formulation", ["flowoct", "binoct", "oct", "bendersoct"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_tree_of_fewer_columns_than_may_be_is_a_point_of_the_model(formulation, most):
    problem = pipeline.pose(table(*TABLES[0]), formulation, 2, constraints=(f"features <= {most}",))
    model, seen = built(problem), 0
    for heap in trees(problem, 15):
        if broken(problem, heap) or not above_leaves(heap):
            continue
        x = complete(problem, model, heap)
        activity = model.A @ x
        assert (model.row_lower - 1e-9 <= activity).all() and (activity <= model.row_upper + 1e-9).all()
        seen += 1
    assert seen


def test_a_repair_changes_the_label_that_costs_least_for_what_it_mends():
    """Of two units too much one leaf takes away both for 3, another one of them for 2."""
    problem = pipeline.pose(table(*TABLES[0]), "dpflow", 1)
    heap = HeapTree(np.array([-1, 0, -1, -1], np.int32), np.array([-1, -1, 0, 0], np.int32))
    end = heap.reach(problem.encoded.X)
    one, two = np.flatnonzero(end == 2), np.flatnonzero(end == 3)
    loss, coef = np.zeros((len(end), 2)), np.zeros((len(end), 2))
    loss[one[0], 1], loss[two[0], 1], coef[one[0], 0], coef[two[0], 0] = 3.0, 2.0, 2.0, 1.0
    encoded = replace(problem.encoded, cost=np.ones((2, 2)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(encoded), "loss", property(lambda self: loss))
        found = mend(encoded, saying((coef, 1.0)), heap)
    assert found.label[found.reach(encoded.X)[one[0]]] == 1 and found.label[found.reach(encoded.X)[two[0]]] == 0


def test_a_conflict_of_which_a_part_was_not_settled_is_not_called_the_smallest(monkeypatch):
    problem = posed(pipeline.pose(table(*TABLES[0]), "dpflow", 1), ["accuracy >= 0.99", "recall[x] >= 0.99"])
    monkeypatch.setattr(conflicts, "a_tree", lambda *_: None)
    told = conflicts.conflict(problem, lambda: False)
    assert not told.smallest and len(told.constraints) == 2


def test_the_least_rows_of_a_leaf_are_those_that_a_constraint_of_rows_says():
    plain = pipeline.pose(table(*TABLES[0]), "dpflow", 1)
    for texts, least in (((), 1), (("leaves <= 5",), 1), (("leaf_rows >= 3", "leaves <= 5"), 3)):
        assert least_rows(posed(plain, texts)) == least


@pytest.mark.parametrize("texts", [("splits <= 1", "splits <= 3"), ("splits <= 3", "splits <= 1")], ids=" and ".join)
def test_of_two_limits_of_tests_the_lesser_holds(texts, monkeypatch):
    monkeypatch.setattr(search_terms, "MOST_SUBSETS", 0)
    assert search_problem(posed(pipeline.pose(table(*TABLES[0]), "dpflow", 3), texts)).arrays.depth == 1


@pytest.mark.parametrize("texts", [("monotone_everywhere[f0,positive=x]", "monotone_everywhere[f0,positive=y]")])
def test_of_what_is_asked_of_every_tree_all_is_asked(texts):
    problem = posed(pipeline.pose(table(*TABLES[0]), "dpflow", 2), texts)
    found, seen = search_problem(problem), set()
    for heap in trees(problem, 60):
        kept = [allowed(problem, given, heap) for given in problem.constraints]
        assert kept_by(found, heap) == all(kept)
        seen.add(tuple(kept))
    assert {(True, False), (False, True)} <= seen


@pytest.mark.parametrize(
    "text", ["precision[x] >= 0.4975195653869821", "f1[x] >= 0.5123456789123", "recall[x] >= 0.4975195653869821"]
)
def test_a_share_of_many_digits_is_searched_by_sums_that_are_rounded_and_asked_of_every_tree(text):
    problem = posed(pipeline.pose(table(*TABLES[0]), "dpflow", 2), [text])
    found, seen = search_problem(problem), set()
    for heap in trees(problem, 60):
        kept = allowed(problem, problem.constraints[0], heap)
        assert kept_by(found, heap) == kept
        seen.add(kept)
    assert seen == {True, False}


@pytest.mark.parametrize("of_table", TABLES, ids=str)
def test_too_many_leaves_of_a_class_are_mended_whatever_the_number_of_classes(of_table):
    plain = pipeline.pose(table(*of_table), "dpflow", 2)
    problem, seen = posed(plain, ["class_leaves[x] <= 1"]), 0
    for heap in trees(problem, 150):
        if broken(problem, heap):
            found = mended(problem, heap)
            assert found is not None and not broken(problem, found)
            seen += 1
    assert seen


def test_a_leaf_that_weighs_nothing_is_as_precise_as_is_asked():
    data = table(*TABLES[0])
    weight = np.where(data.X[:, 0] == 2, 0.0, 1.0)
    for problem in problems("leaf_precision", replace(data, weight=weight)):
        for heap in trees(problem, 30):
            assert (not broken(problem, heap)) == allowed(problem, problem.constraints[0], heap)


def test_an_order_is_told_of_numbers_some_of_which_are_missing():
    assert parse("monotone[f0,positive=x]", encode(table(*TABLES[1]), "auto")).args[0] == "f0"


@pytest.mark.parametrize("seed", range(3))
def test_an_order_over_ranks_is_that_over_the_answers_themselves(seed):
    """A long column is held by ranks; its rows that differ in it alone are the same."""
    rng = np.random.default_rng(seed)
    n = 60
    cells = np.column_stack([rng.integers(0, most, n) for most in (9, 2, 2, 2)[: 2 + seed]]).astype(float)
    columns = range(cells.shape[1])
    features = tuple(Feature(f"f{j}", "numeric") for j in columns)
    data = Dataset("d", cells, rng.integers(0, 2, n).astype(np.int32), features, ("x", "y"), np.ones(n))
    dense = pipeline.pose(data, "dpflow", 2, encoding="thresholds").encoded
    table_of, of = np.asarray(dense.X[:]), np.array([test.features[0] for test in dense.splits])
    rank = np.column_stack([table_of[:, of == j].sum(axis=1) for j in columns]).astype(np.uint32)
    place = np.array([int((of[:at] == of[at]).sum()) for at in range(len(of))])
    ranked = replace(dense, X=RankedAnswers(rank, of.astype(np.int64), place))
    assert np.array_equal(np.asarray(ranked.X), table_of)
    given = parse("monotone[f0,positive=y]", dense)
    one, two = (monotone.answers(replace(dense, X=X), given) for X in (ranked.X, table_of))
    assert len(one) == len(two) > 0
    assert [(coef.tolist(), upper) for coef, upper in one] == [(coef.tolist(), upper) for coef, upper in two]


@pytest.mark.parametrize("unit", [1.0, 1e12, 1e18, 2.0**62, 1e25])
@pytest.mark.parametrize("cost", ["", "c0:c1=1000000000000000,c1:c0=100000000000000"])
def test_costs_of_any_size_are_searched_under_constraints(unit, cost, tmp_path):
    """Whole numbers were multiplied as int64: those of 2^63 and more were a fault of odtc."""
    labels = ["c1", "c0", "c1", "c1"]
    table = [f"{x},{weight * unit!r},{y}" for x, weight, y in zip("brrg", (6.0, 9.0, 3000.0, 8000.0), labels)]
    (tmp_path / "t.csv").write_text("x,w,y\n" + "\n".join(table) + "\n")
    found = pipeline.fit(
        tmp_path / "t.csv", depth=1, weights="w", cost=cost or None, constraints="leaf_precision[c1] >= 0.4"
    )
    assert found.proof.termination == "optimal"
    assert found.proof.objective == pytest.approx(9.0 * unit * (1e15 if cost else 1.0))
