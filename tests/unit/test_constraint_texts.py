"""Texts of constraints at their edges: accepted and refused texts, examples, groups and limits."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import odtc
from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.errors import ChoiceError, TreeError
from odtc.problem.constraints import arguments, constraint
from odtc.problem.constraints.constraint import able_models, built, example_text, expect, limits, parse
from odtc.problem.constraints.groups import example_of, groups, members
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.constraints.kinds import leaf_rows
from odtc.problem.constraints.search_units import whole
from odtc.trees.heap_tree import settle
from odtc.workflow.results.facts import kept_text
from tests import pipeline


def encoded(classes=("no", "yes"), weight=None, columns=("x", "c"), n=12):
    """A number, twelve rows or so, and a column of two levels."""
    X = np.stack([np.arange(n) % 7, np.arange(n) // 3 % 2], axis=1).astype(float)
    y = (np.arange(n) % len(classes)).astype(np.int32)
    features = Feature(columns[0], "numeric"), Feature(columns[1], "categorical", ("u", "v"))
    return encode(Dataset("d", X, y, features, classes, np.ones(n) if weight is None else weight), "auto")


def refused(text, of, words):
    with pytest.raises(ChoiceError) as said:
        parse(text, of)
    assert words in str(said.value) and "\n" not in str(said.value)


@pytest.mark.parametrize(
    "text",
    [
        "leaf_rows >= 0",
        "leaf_rows >= 12",
        "leaves <= 1",
        "branch_nodes <= 0",
        "features <= 0",
        "splits <= 0",
        "cost <= 0",
        "accuracy >= 0",
        "accuracy >= 1",
        "recall[no] >= 1",
        "class_leaves[no] <= 0",
        "leaf_class_rows[no] >= 0",
        "leaf_class_rows[no] >= 12",
        "leaf_precision >= 0",
        "leaf_precision[no] >= 1",
        "deepest[x] <= 0",
        "shallowest[x] >= 0",
        "group_accuracy[group=c] >= 1",
        "statistical_parity[group=c,positive=no] <= 0",
        "never_together[x,c]",
        "together[x,c]",
        "not_below[x,c]",
    ],
)
def test_the_least_and_the_greatest_bound_are_taken(text):
    assert str(parse(text, encoded())) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("leaf_rows >= -1", "0 or more"),
        ("leaf_rows >= 13", "at most the 12 rows"),
        ("leaves <= 0", "1 or more"),
        ("leaves <= 1.5", "whole number"),
        ("branch_nodes <= -1", "0 or more"),
        ("cost <= -0.5", "a cost of 0 or more"),
        ("accuracy >= -0.01", "between 0 and 1"),
        ("accuracy >= 1.01", "between 0 and 1"),
        ("accuracy >= 100", "write 1 for 100 %"),
        ("class_leaves[no,yes] <= 1", "expected class_leaves[CLASS]"),
        ("class_leaves <= 1", "expected class_leaves[CLASS]"),
        ("class_leaves[no] <= -1", "0 or more"),
        ("class_leaves[no] <= 0.5", "whole number"),
        ("leaf_class_rows[no,yes] >= 1", "expected leaf_class_rows[CLASS]"),
        ("leaf_class_rows[no] >= 13", "up to the 12 rows"),
        ("leaf_class_rows[no] >= -1", "up to the 12 rows"),
        ("leaf_class_rows[no] >= 1.5", "whole number"),
        ("leaf_precision[no,yes] >= 0.5", "one class or none"),
        ("leaf_precision[maybe] >= 0.5", "known: no, yes"),
        ("recall[no,yes] >= 0.5", "expected recall[CLASS]"),
        ("f1[no,yes] >= 0.5", "expected f1[CLASS]"),
        ("deepest[x,c] <= 1", "expected deepest[FEATURE] <= N"),
        ("deepest[x] <= 0.5", "a whole number"),
        ("deepest[x] <= -1", "a whole number"),
        ("shallowest[x] >= -1", "a whole number"),
        ("never_together[x,x]", "two columns or more"),
        ("together[x]", "two columns or more"),
        ("not_below[x,c,x]", "not_below[FEATURE,FEATURE]"),
        ("monotone[x]", "monotone[FEATURE,positive=CLASS]"),
        ("monotone[x,c,positive=no]", "monotone[FEATURE,positive=CLASS]"),
        ("monotone[x,klass=no]", "monotone[FEATURE,positive=CLASS]"),
        ("monotone[c,positive=no]", "a column of numbers"),
        ("statistical_parity[group=c,group=x] <= 0.1", "statistical_parity[group=…,positive=…]"),
        ("statistical_parity[group=c,positive=no,positive=no] <= 0.1", "statistical_parity[group=…,positive=…]"),
        ("group_accuracy[group=x<=99] >= 0.5", "two groups of rows or more"),
        ("group_accuracy[group=x<=many] >= 0.5", "a column of numbers"),
        ("splits[x] <= 1", "no arguments"),
        ("cost[no] <= 1", "no arguments"),
        ("balanced_accuracy[no] >= 1", "no arguments"),
        ("accuracy >= 105%", "a share of rows between 0 and 1"),
        ("accuracy >= x%", "such as 0.05, 1/20 or 5%"),
        ("accuracy >= 1/0", "got '1/0'"),
        ("leaves <= 5%", "whole number"),
        ("leaf_rows >= 100%", "a share of the rows below 100 %"),
        ("leaf_rows >= 200%", "a share of the rows below 100 %"),
    ],
)
def test_what_is_beyond_is_refused_in_a_sentence(text, words):
    refused(text, encoded(), words)


@pytest.mark.parametrize("kind", ["recall", "f1", "precision", "false_negative_rate"])
def test_a_share_of_no_rows_is_refused(kind):
    op = CONSTRAINTS.get(kind).OPS[0]
    light = np.where(np.arange(12) % 2, 1.0, 0.0)  # rows of "no" weigh nothing
    refused(f"{kind}[no] {op} 0.5", encoded(weight=light), "rows of the class 'no'")
    refused("false_positive_rate[yes] <= 0.5", encoded(weight=light), "other classes than the class 'yes'")
    assert parse(f"{kind}[yes] {op} 0.5", encoded(weight=light)).args == ("yes",)
    assert parse("false_positive_rate[no] <= 0.5", encoded(weight=light)).args == ("no",)


def test_two_groups_with_rows_of_the_class_are_wanted():
    y = np.array([0] * 3 + [1] * 3 + [0] * 6, np.int32)  # "yes" in the group v alone
    X = np.stack([np.arange(12), [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3], axis=1).astype(float)
    features = Feature("x", "numeric"), Feature("c", "categorical", ("u", "v"))
    of = encode(Dataset("d", X, y, features, ("no", "yes"), np.ones(12)), "auto")
    refused("equal_opportunity[group=c,positive=yes] <= 0.1", of, "two groups with rows of the class 'yes'")
    refused("predictive_equality[group=c,positive=no] <= 0.1", of, "rows of other classes than 'no'")
    for kind in ("equal_opportunity[group=c,positive=no]", "predictive_equality[group=c,positive=yes]"):
        assert str(parse(f"{kind} <= 10%", of)) == f"{kind} <= 0.1"


def test_a_name_with_a_comma_is_written_in_quotes():
    of = encoded(classes=("a,b", 'say "no"', " c"))
    for name, written in (("a,b", '"a,b"'), ('say "no"', '"say ""no"""'), (" c", '" c"')):
        given = replace(parse("recall['a,b'] >= 0.5", of), args=(name,))
        assert str(given) == f"recall[{written}] >= 0.5"
    assert parse('recall["a,b"] >= 0.5', of).args == ("a,b",)


def test_names_of_many_pieces_are_joined_up_to_a_limit():
    longest = ",".join(["a"] * arguments.MOST_PIECES)
    assert parse(f"recall[{longest}] >= 0.5", encoded(classes=(longest, "yes"))).args == (longest,)
    refused(f"recall[{longest},a] >= 0.5", encoded(classes=(f"{longest},a", "yes")), "expected recall[CLASS]")


def test_limits_of_leaves_are_those_of_branch_nodes():
    data = encoded().dataset
    for texts, said in (
        (("branch_nodes <= 2",), {"most_leaves": 3}),
        (("leaves <= 2",), {"most_leaves": 2}),
        (("leaf_rows >= 3",), {"least_rows": 3}),
        (("leaf_rows >= 3", "branch_nodes <= 0"), {"least_rows": 3, "most_leaves": 1}),
        (("features <= 1",), {}),
    ):
        assert limits(pipeline.pose(data, "flowoct", 2, constraints=texts)) == said


def test_what_no_model_can_say_is_refused_by_the_models():
    problem = pipeline.pose(encoded().dataset, "flowoct", 2, constraints=("together[x,c]",))
    with pytest.raises(ChoiceError, match=r"'together\[x,c\]' is supported only by the compiler's own search"):
        built(problem)
    assert "whose own search needs no model" in able_models(CONSTRAINTS.get("together"))


def test_forms_that_take_a_kind_are_named_with_their_parameters():
    assert "flowoct, bendersoct, oct with binary=True and dpflow take it" in able_models(CONSTRAINTS.get("splits"))
    said = able_models(CONSTRAINTS.get("leaf_precision"))
    assert said.startswith("flowoct takes it; ") and "keeps it by its own search" in said


def test_a_number_of_columns_that_integers_choose_is_an_equation():
    """CBC 2.10 ends in an error if it turns Σ y ≤ 1 into an equation by itself."""
    seen = set()
    for form, most in product(("flowoct", "binoct", "dpflow"), (1, 2, 5)):
        model = built(pipeline.pose(encoded().dataset, form, 2, constraints=(f"features <= {most}",)))
        rows = [block.start for block in model.rows if block.name.startswith("distinct")]
        if most > 1:  # of two columns
            assert not rows
            continue
        (row,) = rows
        chosen = [block for block in model.columns if block.name.startswith("held")][0]
        own = slice(chosen.start, chosen.stop)
        whole_y = model.integrality[own].all()
        assert model.row_upper[row] == 1
        assert model.row_lower[row] == (1 if whole_y else -np.inf)
        seen.add(bool(whole_y))
    assert seen == {True, False}


def test_a_kind_without_an_example_in_its_summary_is_pointed_to(monkeypatch):
    monkeypatch.setattr(leaf_rows, "SUMMARY", "at least so many rows")
    assert example_text("leaf_rows", encoded()) == "see `odtc info leaf_rows`"


def test_an_example_of_groups_is_the_column_of_the_fewest_levels():
    assert example_of(encoded()) == "c"
    many = Feature("many", "numeric"), Feature("town", "categorical", tuple(f"t{i}" for i in range(60)))
    cells = np.stack([np.arange(60.0), np.arange(60.0)], axis=1)
    y = (np.arange(60) % 2).astype(np.int32)
    of = {
        names: encode(Dataset("d", cells[:, list(names)], y, tuple(many[at] for at in names), ("n", "y"), np.ones(60)))
        for names in ((0,), (1,))
    }
    assert example_of(of[0,]) == "many<=30"
    assert example_of(of[1,]) == "town"
    few = replace(many[0], name="few")
    fifty = Dataset("d", cells[:50, :1], y[:50], (few,), ("n", "y"), np.ones(50))
    assert example_of(encode(fifty)) == "few"
    bare = replace(encoded(), dataset=None)
    assert example_of(bare) == "COLUMN"
    known = replace(bare, groups=(groups(encoded(), "c"), groups(encoded(), "x<=3")))
    assert example_of(known) == "c"
    assert groups(known, "x<=3").names == ("x<=3", "x>3")
    with pytest.raises(ChoiceError, match=r"groups that the manifest knows \(c, x<=3\), got 'x'"):
        groups(known, "x")


@pytest.mark.parametrize(
    ("columns", "text", "names", "inside"),
    [
        (("x", "c"), "x<=3", ["x<=3", "x>3", "missing"], lambda x, c: x <= 3),
        (("a<=b", "c"), "a<=b<=3", ["a<=b<=3", "a<=b>3", "missing"], lambda x, c: x <= 3),
        (("x", "c"), "c:u", ["u", "the others", "missing"], lambda x, c: c == 0),
        (("x", "c"), "x:1|2", ["1|2", "the others", "missing"], lambda x, c: np.isin(x, [1, 2])),
        (("x", "g:h"), "g:h:v", ["v", "the others", "missing"], lambda x, c: c == 1),
        (("x", "g:h:i"), "g:h:i:v", ["v", "the others", "missing"], lambda x, c: c == 1),
    ],
)
def test_members_of_groups_by_hand(columns, text, names, inside):
    data = encoded(columns=columns).dataset
    X = data.X.copy()
    X[0] = np.nan
    of, found = members(replace(data, X=X), text)
    assert found == names
    wanted = np.where(inside(*data.X.T), 0, 1)
    wanted[0] = 2
    assert of.tolist() == wanted.tolist()


def test_groups_of_a_column_of_more_numbers_than_a_person_has_thought_of():
    cells = np.arange(51.0)[:, None]
    features, y = (Feature("x", "numeric"),), (np.arange(51) % 2).astype(np.int32)
    data = Dataset("d", cells, y, features, ("n", "y"), np.ones(51))
    with pytest.raises(ChoiceError, match="at most 50 groups, got group=x with 51 different numbers"):
        members(data, "x")
    assert len(members(replace(data, X=np.minimum(cells, 49)), "x")[1]) == 50
    names = Feature("x", "categorical", tuple(f"n{place}" for place in range(51)))
    with pytest.raises(ChoiceError, match="with 51 different levels; take x:A|B for some"):
        members(replace(data, features=(names,)), "x")


def test_sums_are_whole_or_rounded_down():
    values, scale = whole(np.array([0.5, 1.0, -0.25]))
    assert (values.tolist(), scale) == ([2, 4, -1], 4)
    third, scale = whole(np.array([1 / 3, 2.0]))
    assert (third.tolist(), scale) == ([1, 6], 3)
    with pytest.raises(TooLarge, match="not fractions of numbers up to a million"):
        whole(np.array([2**0.5 / 10, 1.0]))
    assert whole(np.array([1e12 + 0.5]))[0].tolist() == [2 * 10**12 + 1]


def test_a_constraint_of_no_class_is_taken_for_numbers(tmp_path):
    (tmp_path / "r.csv").write_text("x,y\n" + "".join(f"{i},{i * 1.5}\n" for i in range(8)))
    of = encode(odtc.read(tmp_path / "r.csv", task="regression"), "auto")
    assert str(parse("leaf_rows >= 2", of)) == "leaf_rows >= 2"
    with pytest.raises(ChoiceError, match="class"):
        parse("accuracy >= 0.5", of)


def test_the_precision_of_leaves_that_do_not_predict_a_class_is_one():
    problem = pipeline.pose(encoded().dataset, "flowoct", 1, constraints=("leaf_precision[no] >= 0.5",))
    (given,) = problem.constraints
    leaf = settle(np.full(4, -1, np.int32), problem.encoded, np.array([-1, 1, -1, -1], np.int32))
    assert given.module.value(problem.encoded, given, leaf) == 1.0
    leaf = settle(np.full(4, -1, np.int32), problem.encoded, np.array([-1, 0, -1, -1], np.int32))
    assert given.module.value(problem.encoded, given, leaf) == 0.5


@pytest.mark.parametrize(
    ("figure", "words"),
    [(100000.0, "100000"), (16094.0, "16094"), (0.05, "0.05"), (1 / 3, "0.3333"), (12345.678, "12345.7"), (2.0, "2")],
)
def test_a_figure_that_is_reached_is_told_with_the_digits_that_count(figure, words):
    entry = {"constraint": "leaf_rows >= 3", "requested": 3.0, "training": figure, "test": None}
    assert kept_text(entry) == f"leaf_rows >= 3: {words} on training rows"


def test_of_a_constraint_without_a_number_what_breaks_it_is_counted():
    entry = {"constraint": "monotone[x,positive=yes]", "requested": None, "training": 0.0, "test": None}
    assert kept_text(entry) == "monotone[x,positive=yes]" == kept_text(entry | {"test": 0.0})
    assert kept_text(entry | {"test": 2.0, "satisfied_on_test": False}) == (
        "monotone[x,positive=yes]: 0 on training rows, missed on test: 2"
    )
    assert kept_text(entry | {"training": 1.0}) == "monotone[x,positive=yes]: 1 on training rows"


def test_true_in_pythons_spelling_does_not_hide_what_is_wrong_with_the_group():
    of = encoded(classes=("false", "true"))
    assert parse("statistical_parity[group=c,positive=True] <= 0.1", of).args == ("group=c", "positive=true")
    refused("statistical_parity[group=sex,positive=True] <= 0.1", of, "the data has no column 'sex'")
    refused("recall[True] >= 5", of, "'recall[true] >= 5'")
    refused("recall[True] >= 0.5", encoded(), "expected a class of 'class', got 'True'")


@pytest.mark.parametrize(
    ("text", "words", "not_words"),
    [
        ("recall[no] >= nan", "got 'nan'", None),
        ("recall[no,yes] >= 0.5", "'recall[no,yes] >= 0.5'", None),
        # Quotes of one kind or the other are heeded, unless that alone makes other arguments of them.
        ('recall["nosuch"] >= 0.5', "got 'nosuch'", None),
        ("recall['nosuch'] >= 0.5", "got 'nosuch'", None),
        ("recall['no','yes'] >= 0.5", "got 'recall[no,yes] >= 0.5'", None),
        ('recall["a,b"x] >= 0.5', "got 'a,bx'", "expected recall["),
        # An example is of the kind that a text names.
        ("nosuch 5", "expected a constraint NAME OP NUMBER", "for example"),
        ("demographic_parity(a) <= 0.05", "write for example 'statistical_parity[", None),
        ("at least 5 leaf_rows", "'leaf_rows >= 3'", None),
        ("recall 5", "'recall[no] >= 0.6'", None),
        ("equal_opportunity[group=x<=0,positive=no] <= 0.1", "but only ", "none has"),
        ("leaf_class_rows[no,yes] >= 2", "expected leaf_class_rows[CLASS]", None),
    ],
)
def test_a_refusal_tells_what_is_wrong_with_the_text_as_it_is_meant(text, words, not_words):
    of = encoded()
    if "opportunity" in text:  # the rows of the class have all the number 1 or more
        of = encode(replace(of.dataset, y=(of.dataset.X[:, 0] == 0).astype(np.int32)), "auto")
    refused(text, of, words)
    with pytest.raises(ChoiceError) as said:
        parse(text, of)
    assert not_words is None or not_words not in str(said.value)


def test_the_reading_with_labels_as_tables_have_them_is_told_in_quotes_too():
    of = encoded(classes=("false", "true"))
    refused("statistical_parity[group='c',positive=True] <= 5", of, "between 0 and 1")
    refused("recall['no'] >= 0.5", of, "got 'no'")


def test_examples_for_numbers_are_of_kinds_that_need_no_classes(tmp_path):
    (tmp_path / "r.csv").write_text("x,y\n" + "".join(f"{i},{i * 1.5}\n" for i in range(8)))
    of = encode(odtc.read(tmp_path / "r.csv", task="regression"), "auto")
    refused("leaf_rows 5", of, "; write for example 'leaf_rows >= 3'")
    with pytest.raises(ChoiceError) as said:
        parse("recall 5", of)
    assert str(said.value).endswith("got 'recall 5'")


def test_a_tree_that_breaks_a_constraint_is_told_by_its_figure_or_as_such():
    of = encoded()
    number, order = parse("features <= 1", of), parse("never_together[x,c]", of)
    assert number.told(2.0) == "features <= 1: the tree has 2"
    assert order.told(1.0) == "never_together[x,c]: broken 1 times"
    at = [[test.features[0] for test in of.splits].index(column) for column in (0, 1)]
    problem = pipeline.pose(of.dataset, "flowoct", 2, encoding="auto", constraints=("features <= 1",))
    heap = settle(np.array([-1, at[0], at[1], at[1], -1, -1, -1, -1], np.int32), of, np.arange(8, dtype=np.int32) % 2)
    for given, words in ((number, "got one that has 2;"), (order, "got one that breaks it;")):
        with pytest.raises(TreeError, match=words):
            expect(replace(problem, constraints=(given,)), heap)
    one = settle(np.array([-1, at[0], -1, -1, -1, -1, -1, -1], np.int32), of, np.arange(8, dtype=np.int32) % 2)
    expect(problem, one)


def test_a_model_that_has_a_parameter_for_the_same_names_it():
    data = encoded().dataset
    with pytest.raises(ChoiceError, match="n_min=3 is the same here, and "):
        built(pipeline.pose(data, "cg", 2, constraints=("leaf_rows >= 3",)))
    with pytest.raises(ChoiceError) as said:
        built(pipeline.pose(data, "cg", 2, constraints=("leaf_precision >= 0.6",)))
    assert "is the same" not in str(said.value) and "flowoct takes it" in str(said.value)


@pytest.mark.parametrize("hint", ["", "require less"])
def test_a_hint_of_a_kind_follows_the_models(hint, monkeypatch):
    for able, first in (([("flowoct", {})], "flowoct"), ([], "no model")):
        monkeypatch.setattr(constraint, "_able_of", lambda models, kind, able=able: able)
        said = able_models(SimpleNamespace(SUBJECT="", HINT=hint))
        assert said.startswith(f"{first} takes it{'; ' * bool(hint)}{hint}; without a model")


def test_the_rows_of_the_other_classes_are_told_as_such():
    of = encoded()
    given = parse("false_positive_rate[no] <= 0.5", of)
    ((share,),) = (one.shares for one in given.module.proportions(of, given, of.y))
    assert share.of == "of another class than 'no'" and share.among.tolist() == (of.y != 0).tolist()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("recall[no] >= 70%", "recall[no] >= 0.7"),
        ("recall[no] >= 70 %", "recall[no] >= 0.7"),  # as odtc prints percentages
        ("accuracy >= 33.3%", "accuracy >= 0.333"),
        ("leaf_rows >= 5%", "leaf_rows >= 2"),  # of 40 rows
        ("leaf_rows >= 0.05", "leaf_rows >= 2"),
        ("leaf_rows >= 5.1%", "leaf_rows >= 3"),
        ("leaf_rows >= 0.1", "leaf_rows >= 4"),
        ("leaf_rows >= 3", "leaf_rows >= 3"),
    ],
)
def test_a_share_may_be_a_percentage_and_rows_of_a_leaf_a_share(text, meant, tmp_path):
    lines = "".join(f"{k},{'no' if k % 2 else 'yes'}\n" for k in range(40))
    (tmp_path / "d.csv").write_text("x,class\n" + lines)
    rows = odtc.build(tmp_path / "d.csv", "dpflow", 1).problem.encoded
    assert str(parse(text, rows)) == meant and parse(meant, rows) == parse(text, rows)
