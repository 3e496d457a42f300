"""Constraints assured on new rows: the bounds are exact, and assured constraints fail as rarely as promised."""

import json
import re
from math import comb

import numpy as np
import polars as pl
import pytest

import odtc
from benchmarks.assurance import simulated
from odtc.errors import ChoiceError
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.searched import Searched
from odtc.workflow.constrained import assured_fit
from odtc.workflow.constrained.assurance import assurances, lower_bound, upper_bound
from tests.command_line import odtc as command
from tests.command_line import refused


@pytest.mark.parametrize("alpha", [0.05, 0.0125])
@pytest.mark.parametrize("n", [1, 7, 30])
def test_a_bound_from_below_fails_at_most_as_often_as_it_says(n, alpha):
    """By the probabilities of all counts, for shares on a grid."""
    for share in np.linspace(0.01, 0.99, 33):
        wrong = sum(
            comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1) if lower_bound(k, n, alpha) > share
        )
        assert wrong <= alpha + 1e-12
    assert [upper_bound(k, n, alpha) for k in range(n + 1)] == pytest.approx(
        [1 - lower_bound(n - k, n, alpha) for k in range(n + 1)]
    )
    assert lower_bound(n, n, alpha) == pytest.approx(alpha ** (1 / n))


def test_what_is_called_assured_holds_in_the_population():
    """A few of the draws of `python -m benchmarks.assurance`: at most one in twenty is wrong."""
    draws = [simulated(seed, given=seed % 4 != 0) for seed in range(24)]
    assert sum(one["assured"] for one in draws) > 0
    assert sum(one["wrong"] for one in draws) <= 0.05 * len(draws)


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    names = []
    for name, n in (("train", 120), ("test", 200)):
        side, x, z = rng.integers(0, 2, n), rng.integers(0, 4, n), rng.integers(0, 3, n)
        y = np.where((x > 1) ^ (rng.random(n) < 0.1), "yes", "no")
        lines = [f"{'pq'[s]},{a},{b},{c}" for s, a, b, c in zip(side, x, z, y)]
        names.append(tmp_path / f"{name}.csv")
        names[-1].write_text("side,x,z,class\n" + "\n".join(lines) + "\n")
    return names


def test_command_line(files, tmp_path):
    train, test = files
    words = [
        "--depth",
        1,
        "--auxiliary",
        "side",
        "--constraint",
        "recall[yes] >= 0.7",
        "--test",
        test,
        "-o",
        tmp_path / "t",
    ]
    words += ["--constraint", "statistical_parity[group=side,positive=yes] <= 0.01", "--constraint", "f1[yes] >= 0.1"]
    facts = command("fit", train, *words, "--confidence", 0.95, "--json").facts["assured"]
    recall, parity, f1 = facts["constraints"]
    assert facts["confidence"] == 0.95 and "had no part" in facts["assumption"]
    assert recall["assured"] and recall["figure"] >= 0.7
    assert not parity["assured"] and parity["figure"] > 0.01 and "test rows" in parity["why"]
    assert parity["rows"] == 200 and (parity["rows_needed"] is None) == (parity["test"] > 0.01)
    assert facts["all"] is False
    assert not f1["assured"] and "no exact test" in f1["why"]
    said = command("fit", train, *words, "--confidence", 0.95).out
    assert "assured   recall[yes] >= 0.7: " in said and "unsure    f1[yes] >= 0.1: " in said
    assert json.loads((tmp_path / "t.run.json").read_text())["assured"] == facts
    assert "--confidence needs a --constraint" in refused(command("fit", train, "--confidence", 0.95))
    assert "expected a --confidence between 0 and 1" in refused(command("fit", train, *words[:6], "--confidence", 95))


def test_so_many_rows_of_the_same_shares_as_are_said_to_be_needed_do_assure(files, tmp_path):
    train, _ = files
    some, few = ["p,3,0,yes"] * 9 + ["q,0,1,yes"] + ["q,0,2,no"] * 5, tmp_path / "few.csv"
    words = ["fit", train, "--depth", 1, "--auxiliary", "side", "--constraint", "recall[yes] >= 0.8", "--test", few]
    words += ["--confidence", 0.99, "-o", tmp_path / "t"]

    def assured(times: int) -> dict:
        few.write_text("\n".join(["side,x,z,class", *some * times]) + "\n")
        said = command(*words, "--json")
        (found,) = said.facts["assured"]["constraints"]
        assert said.code == 0 and said.facts["assured"]["all"] is found["assured"] and found["test"] == 0.9
        return found

    found = assured(1)
    assert not found["assured"] and "about" in found["why"] and found["rows"] == 15
    assert "not assured on new rows: recall[yes] >= 0.8" in command(*words).err
    needed = -(-found["rows_needed"] // 15)
    assert not assured(needed - 2)["assured"] and assured(needed)["assured"]


@pytest.mark.parametrize("more", [(), ("--confidence", 0.9, "--constraint", "recall[yes] >= 0.5")])
def test_rows_that_neither_the_search_nor_the_test_uses_are_a_note(files, tmp_path, more):
    train, data = files
    words = ["fit", data, "--depth", 1, "-o", tmp_path / "t", *more]
    both = command(*words, "--hold-out", 0.2, "--test", train)
    assert both.code == 0 and both.err.count("--hold-out sets 40 rows aside, but --test names") == 1, both.err
    for one in (("--hold-out", 0.2), ("--test", train)):
        assert "leave one of the two" not in command(*words, *one).err


def test_one_command_sets_rows_aside_and_asks_the_search_for_more(files, tmp_path):
    _, data = files
    recall = "recall[yes] >= 0.7"
    words = ["fit", data, "--constraint", recall, "--constraint", "leaves <= 4", "-o", tmp_path / "t"]
    said = command(*words, "--confidence", 0.95)
    assert "60 of 200 rows were set aside at random for the test" in said.err and "assured   recall" in said.out
    facts = command(*words, "--confidence", 0.95, "--json").facts
    assert facts["n_rows"] == 140 and facts["n_test_rows"] == 60
    (assured,) = facts["assured"]["constraints"]
    asked_of_search, leaves = facts["assured"]["searched"]
    assert assured["constraint"] == recall and leaves == "leaves <= 4"
    assert (
        0.7 < float(asked_of_search.split()[-1]) <= facts["constraint_values"][0]["training"]
        and assured["figure"] >= 0.7
    )
    assert facts["constraint_values"][0]["constraint"] == recall and facts["constraint_values"][0]["test"] is not None


def test_a_number_with_no_room_is_said_not_to_be_asked_harder(files, tmp_path):
    words = ("fit", files[0], "--depth", 1, "--auxiliary", "side", "--confidence", 0.95, "-o", tmp_path / "m")
    close = command(*words, "--constraint", "statistical_parity[group=side,positive=yes] <= 0.02")
    assert (
        "a test on 36 rows can assure at most statistical_parity[group=side,positive=yes] <= 0.02 within 0."
        in close.err
    )
    assert "cannot be given a stricter constraint" in close.err and "the search required" not in close.err
    loose = command(*words, "--constraint", "recall[yes] >= 0.5", "--constraint", "leaf_rows >= 20")
    assert "cannot be given a stricter constraint" not in loose.err


def test_rows_that_are_set_aside_have_no_part_in_the_search(files, tmp_path):
    """The tree is that of a file of the other rows alone, whatever the labels of those that were set aside."""
    _, data = files
    lines = data.read_text().splitlines()
    whole = odtc.read(data, hold_out=0.25)
    out = {tuple(map(str, row)) for row in whole.held_out.rows()}
    assert (
        whole.held_out.height == 50
        and whole.n_rows == 150
        and odtc.read(data, hold_out=0.25).held_out.equals(whole.held_out)
    )
    at = [k for k, line in enumerate(lines[1:], 1) if line in {",".join(row) for row in out}]
    order = np.random.default_rng(20).permutation(200)[:50]
    assert set(order + 1) <= set(at)
    changed = [line.rsplit(",", 1)[0] + ",no" if k - 1 in order else line for k, line in enumerate(lines)]
    trees = []
    for name, part in (
        ("alone", [line for k, line in enumerate(lines) if k == 0 or k - 1 not in order]),
        ("changed", changed),
        ("same", lines),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join(part) + "\n")
        reading = {} if name == "alone" else {"hold_out": 0.25}
        trees.append(odtc.fit(tmp_path / f"{name}.csv", None, "dpflow", 2, reading=reading).tree)
    assert trees[0] == trees[1] == trees[2]


def test_numbers_that_no_tree_reaches_are_asked_for_by_half(files, monkeypatch):
    """If no tree satisfies the harder number, a lesser one is tried, and in the end the user's own."""
    from odtc.errors import NoSolutionError
    from odtc.workflow.constrained import assured_fit

    _, data = files
    asked = []

    def run(spec, *rest, **more):
        asked.append(float(spec.model.constraints[0].split()[-1]))
        if len(asked) > 1 and asked[-1] > 0.701:
            raise NoSolutionError("none")
        return whole(spec, *rest, **more)

    whole = assured_fit.run
    monkeypatch.setattr(assured_fit, "run", run)
    fitted = odtc.fit(data, None, "dpflow", 1, constraints="recall[yes] >= 0.7", confidence=0.9)
    assert asked[0] == asked[-1] == 0.7 and sorted(asked[1:], reverse=True) == asked[1:] and len(asked) == 5
    assert str(fitted.problem.constraints[0]) == "recall[yes] >= 0.7"


def test_a_search_that_has_no_time_left_hands_in_the_tree_of_the_search_before(tmp_path, monkeypatch):
    """The first search takes the numbers as asked; CART, which the next one began with alone, finds no parity."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (400, 9))
    rows = [",".join(map(str, [*row, "yes" if row[:3].sum() % 2 else "no"])) for row in X]
    (tmp_path / "parity.csv").write_text("\n".join(["a,b,c,d,e,f,g,h,i,y", *rows]) + "\n")
    searching, ended = constrained.search_by_schedule, []

    def cut(problem, start, progress, floor):
        found = searching(problem, start, progress, floor) if not ended else Searched(start, 0.0, False, 1, 1)
        ended.append(found)
        return found

    monkeypatch.setattr(constrained, "search_by_schedule", cut)
    done = odtc.fit(tmp_path / "parity.csv", None, "dpflow", 3, constraints=("recall[yes] >= 0.5",), confidence=0.9)
    assert len(ended) == 2 and done.facts["objective"] == 0


def test_held_out_rows_need_rows_on_both_sides(files, tmp_path):
    train, _ = files
    assert "--hold-out: expected a share of the rows" in refused(command("fit", train, "--hold-out", 1))
    assert "expected rows to train on and rows to set aside" in refused(command("fit", train, "--hold-out", 0.001))
    command("build", train, "--hold-out", 0.5, "-o", tmp_path / "b")
    command("solve", tmp_path / "b.mps", "--solver", "highs")
    said = command("decode", tmp_path / "b.sol")
    assert said.code == 0 and ", 60 rows, " in said.out
    assert command("verify", tmp_path / "b.sol").code == 0


def test_a_confidence_needs_rows_and_constraints(files):
    train, test = files
    fitted = odtc.fit(train, "auto", 1, constraints=("accuracy >= 0.6",))
    with pytest.raises(ChoiceError, match="name their file with `test`"):
        fitted.assured(0.95)
    with pytest.raises(ChoiceError, match="between 0 and 1"):
        assurances(fitted.problem, fitted.tree, None, 95)
    tested = odtc.fit(train, "auto", 1, constraints=("accuracy >= 0.6", "features <= 1"), test=test)
    assert [entry.holds for entry in tested.assured(0.95)] == [True]
    assert [entry.holds for entry in tested.assured(0.999999)] in ([True], [False])


@pytest.mark.parametrize("words", [{"y": "class"}, {"target": "class"}, {"y": "class", "reading": {"hold_out": 0.5}}])
def test_a_data_frame_is_parted_as_a_file_is_however_its_labels_are_named(words):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"class": rng.choice(["no", "yes"], 80), "x": rng.integers(0, 4, 80)})
    done = odtc.fit(frame, depth=1, constraints="accuracy >= 0.3", confidence=0.8, **words)
    assert [entry.rows for entry in done.assured(0.8)] == [40 if "reading" in words else 24]


def test_the_page_of_a_run_shows_what_is_assured_and_counts_it_again(files, tmp_path):
    train, test = files
    floors = ["--constraint", "recall[yes] >= 0.7", "--constraint", "recall[no] >= 0.86"]
    words = ["--depth", 1, *floors, "--confidence", 0.95, "-o", tmp_path / "t"]
    facts = command("fit", test, *words, "--json").facts["assured"]
    shown = [entry["assured"] for entry in facts["constraints"]]
    assert shown == [True, False]

    def page(*more):
        assert command("report", tmp_path / "t", *more).code == 0
        text = (tmp_path / "t.html").read_text()
        return text[text.index("What new rows satisfy") :].split("</section>")[0]

    told = page()
    assert "counted again for this page" in told and "from the run itself" not in told
    assert re.findall(r">(assured|not assured)<", told) == ["assured", "not assured"]
    for entry in facts["constraints"]:
        assert f"{entry['figure']:.4g} or more" in told and f"{entry['test']:.4g}" in told
    record = tmp_path / "t.run.json"
    lie = json.loads(record.read_text())
    for entry in lie["assured"]["constraints"]:
        entry |= {"assured": True, "figure": 0.99}
    record.write_text(json.dumps(lie))
    assert page() == told  # nothing is believed that can be counted
    assert re.search(r"<td[^>]*>120</td>", page("--test", train))
    lie["assured"] = {"confidence": "much"}
    record.write_text(json.dumps(lie))
    assert command("report", tmp_path / "t").code == 0 and "What new rows" not in (tmp_path / "t.html").read_text()


def test_the_page_says_that_it_believes_the_run_if_the_rows_to_test_on_are_not_known(files, tmp_path):
    train, test = files
    words = ["--depth", 1, "--constraint", "recall[yes] >= 0.7", "--test", test, "--confidence", 0.95]
    command("fit", train, *words, "-o", tmp_path / "t")
    assert command("report", tmp_path / "t").code == 0 and "from the run itself" in (tmp_path / "t.html").read_text()
    assert command("report", tmp_path / "t", "--test", test).code == 0
    assert "counted again for this page" in (tmp_path / "t.html").read_text()


@pytest.fixture
def rare(tmp_path):
    """A table to train on with a group, and a table to test on of which some rows are left out."""
    rng = np.random.default_rng(4)

    def written(name: str, keep=lambda side, y: True) -> str:
        lines = []
        for _ in range(300):
            side, x, z = rng.choice(["p", "q", "rare"], p=[0.5, 0.4, 0.1]), *rng.integers(0, 50, 2)
            y = "yes" if (x > 25) ^ (rng.random() < 0.1) else "no"
            lines += [f"{side},{x},{z},{y}"] if keep(side, y) else []
        (tmp_path / name).write_text("\n".join(["side,x,z,class", *lines]) + "\n")
        return tmp_path / name

    return written


RARE = {
    "statistical_parity[group=side,positive=yes] <= 0.6": (lambda side, y: side != "rare", "of rare"),
    "equal_opportunity[group=side,positive=yes] <= 0.6": (
        lambda side, y: (side, y) != ("rare", "yes"),
        "of rare of class 'yes'",
    ),
    "group_accuracy[group=side] >= 0.3": (lambda side, y: side != "rare", "of rare"),
    "balanced_accuracy >= 0.2": (lambda side, y: y == "yes", "of class 'no'"),
    "recall[yes] >= 0.2": (lambda side, y: y == "no", "of class 'yes'"),
}


@pytest.mark.parametrize("constraint", RARE)
def test_nothing_is_assured_of_rows_that_the_test_has_none_of(constraint, rare, tmp_path):
    """Over 200 draws half of what was called assured was wrong: the group without test rows was left out."""
    keep, words = RARE[constraint]
    train = rare("train.csv")
    given = [
        "fit",
        train,
        "--depth",
        1,
        "--auxiliary",
        "side",
        "--constraint",
        constraint,
        "--confidence",
        0.95,
        "--json",
    ]
    (whole,) = command(*given, "--test", rare("whole.csv"), "-o", tmp_path / "t").facts["assured"]["constraints"]
    facts = command(*given, "--test", rare("part.csv", keep), "-o", tmp_path / "t").facts["assured"]
    (part,) = facts["constraints"]
    assert whole["assured"] and not part["assured"] and facts["all"] is False
    assert part["figure"] is part["test"] is None and part["why"] == f"as there is no test row {words}"
    assert ("groups that neither training nor test rows have" in facts["assumption"]) == ("group" in constraint)


def test_a_class_that_is_predicted_of_no_test_row_has_no_precision(rare, tmp_path):
    given = ["fit", rare("a.csv"), "--depth", 1, "--auxiliary", "side,z", "--constraint", "precision[yes] >= 0.999"]
    given += ["--constraint", "leaf_rows >= 20"]
    said = command(*given, "--test", rare("b.csv"), "--confidence", 0.95, "-o", tmp_path / "t")
    assert "unsure    precision[yes] >= 0.999: as there is no test row that is predicted 'yes'" in said.out


def test_the_precision_of_each_leaf_is_assured_and_what_is_of_the_tree_is_told_apart(rare, tmp_path):
    given = ["fit", rare("a.csv"), "--depth", 1, "--auxiliary", "side", "--test", rare("b.csv"), "-o", tmp_path / "t"]
    given += ["--constraint", "leaf_rows >= 20", "--confidence", 0.95]
    facts = command(*given, "--constraint", "leaf_precision >= 0.7", "--json").facts["assured"]
    (entry,) = facts["constraints"]
    assert facts["of_the_tree"] == ["leaf_rows >= 20"] and facts["all"] is entry["assured"] is True
    tree = odtc.read_tree(tmp_path / "t.tree.json")
    rows = odtc.read(tmp_path / "b.csv", auxiliary=["side"])
    leaf, right = tree.apply(rows.X), tree.predict(rows.X) == rows.y
    shares = [(right[leaf == at].sum(), (leaf == at).sum()) for at in range(2)]
    assert entry["test"] == pytest.approx(min(k / n for k, n in shares))
    assert entry["figure"] == pytest.approx(min(lower_bound(k, n, 0.025) for k, n in shares))
    assert (
        "about the tree itself, not about new rows: leaf_rows >= 20"
        in command(*given, "--constraint", "recall[yes] >= 0.2").out
    )
    assert "expected a --constraint on the rate of new rows, such as 'recall[" in refused(command(*given))


def test_a_tree_that_never_predicts_a_class_has_all_precision_in_its_leaves():
    """There is no share to test."""
    rows = pl.DataFrame({"x": [i % 4 for i in range(80)], "y": ["b" if i % 8 else "a" for i in range(80)]})
    done = odtc.fit(rows, depth=1, constraints=["leaf_precision[a] >= 0.9"], confidence=0.9)
    (entry,) = done.assured()
    assert (entry.holds, entry.figure, entry.test) == (True, 1.0, 1.0)


def test_rows_that_were_trained_on_assure_nothing(rare, tmp_path):
    train, other = rare("train.csv"), rare("other.csv")
    given = [
        "fit",
        train,
        "--depth",
        1,
        "--auxiliary",
        "side",
        "--constraint",
        "recall[yes] >= 0.3",
        "--confidence",
        0.9,
    ]
    given += ["-o", tmp_path / "t", "--test"]
    copy, mixed = tmp_path / "copy.csv", tmp_path / "mixed.csv"
    copy.write_text(train.read_text())
    assert "got 300 that are training rows, too" in refused(command(*given, copy))
    mixed.write_text(train.read_text() + "\n".join(other.read_text().splitlines()[1:100]) + "\n")
    assert "of the 399 test rows are training rows, too" in command(*given, mixed).err
    assert "training rows, too" not in command(*given, other).err


def test_rows_left_out_of_the_test_are_told(rare, tmp_path):
    holed = rare("holed.csv")
    holed.write_text(holed.read_text() + "p,,3,yes\nq,,4,no\n")
    given = [
        "fit",
        rare("a.csv"),
        "--depth",
        1,
        "--auxiliary",
        "side",
        "--constraint",
        "recall[yes] >= 0.3",
        "--test",
        holed,
    ]
    said = command(*given, "--confidence", 0.9, "-o", tmp_path / "t")
    assert "nothing of rows with missing cells, of which 2 were left out of the test" in said.out


def rare_groups(n, rng, rare):
    """Rows of two groups, and `rare` rows of a third in which the class is the other one."""
    side = np.array(["A", "B"])[rng.integers(0, 2, n)].astype(object)
    x = rng.integers(0, 4, n)
    side[:rare] = "rare"
    y = np.where((x > 1) ^ (side == "rare"), "yes", "no")
    return [f"{s},{a},{k}" for s, a, k in zip(side, x, y)]


def test_a_group_without_test_rows_is_not_assured(tmp_path):
    """It was left out of the comparison, and the others were called assured."""
    rng = np.random.default_rng(0)
    for name, n, rare in (("train", 150, 2), ("test", 300, 0)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["side,x,y", *rare_groups(n, rng, rare)]) + "\n")
    for text in ("equal_opportunity[group=side,positive=yes] <= 0.9", "group_accuracy[group=side] >= 0.1"):
        words = ["--depth", 1, "--auxiliary", "side", "--constraint", text, "--confidence", 0.9, "--test", "test.csv"]
        facts = command("fit", "train.csv", *words, "--json", folder=tmp_path).facts["assured"]
        assert facts["all"] is False
        assert facts["constraints"][0]["why"].startswith("as there is no test row of rare")


def test_a_group_that_no_test_can_assure_is_told_before_the_search(tmp_path):
    """Of 9 rows the width is 1 - α^(1/9) at least, α a quarter of 0.1 as two groups have two bounds each way."""
    rows = [f"{i % 7},{'p' if i % 20 else 'q'},{'yes' if i % 7 > 3 else 'no'}" for i in range(200)]
    path = tmp_path / "few.csv"
    path.write_text("x,side,class\n" + "\n".join(rows[:120]) + "\n")
    (tmp_path / "more.csv").write_text("x,side,class\n" + "\n".join(rows[20:]) + "\n")
    asked = "statistical_parity[group=side,positive=yes] <= 0.01"
    words = ("--auxiliary", "side", "--test", tmp_path / "more.csv", "--constraint", asked, "--confidence", 0.9)
    said = command("fit", path, *words, folder=tmp_path)
    told = re.search(r"because it has 9 rows of q; it needs ([\d,]+) or more", said.err)
    assert told and said.err.index(told[0]) < said.err.index("not assured on new rows"), said.err


def test_weights_and_a_confidence_are_refused_before_the_search(files, monkeypatch):
    def never(*given, **more):
        raise AssertionError("it searched")

    monkeypatch.setattr(assured_fit, "run", never)
    with pytest.raises(ChoiceError, match="leave out `confidence`, or the weights"):
        odtc.fit(files[0], depth=1, weights="x", constraints=("recall[yes] >= 0.6",), confidence=0.9)


@pytest.mark.parametrize("text", ["false_positive_rate[yes] <= 0.1", "recall[yes] >= 0.9"])
def test_no_more_is_asked_than_a_share_can_be(text, files):
    (given,) = odtc.fit(files[0], depth=1, constraints=(text,)).problem.constraints
    for factor in (1.5, 1.0, 0.5):
        harder = assured_fit._tightened(given, factor, 0.08)
        assert 0 < harder.bound < 1 and abs(harder.bound - given.bound) <= factor * 0.08 + 1e-4
    assert assured_fit._tightened(given, 1.5, 0.08) == assured_fit._tightened(given, 1.0, 0.08) != given


def test_the_file_is_read_once_and_its_notes_are_said_once(tmp_path, monkeypatch):
    """Each search read it anew: the first one, and one for each number that it is asked for."""
    from odtc.data.cells.readers import csv as csv_reader

    rng = np.random.default_rng(0)
    x = rng.random(300).round(3)
    lines = [f"{one},{'yes' if one + rng.normal(0, 0.2) > 0.5 else 'no'}" for one in x]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *lines, ",yes"]) + "\n")
    times, load = [], csv_reader.read
    monkeypatch.setattr(csv_reader, "read", lambda *of, **how: [times.append(of), load(*of, **how)][1])
    words = ("--depth", 1, "--constraint", "recall[yes] >= 0.7", "--confidence", 0.9)
    said = command("fit", "t.csv", *words, folder=tmp_path)
    assert said.code == 0 and len(times) == 1, said.err
    assert said.err.count("dropped 1 row") == 1 and said.err.count("were set aside at random") == 1


def test_the_tests_are_made_once_for_all_searches(files, monkeypatch):
    """Each search encoded the rows anew, which took most of a limit of five seconds on 100,000 rows."""
    from odtc.workflow import posing

    made, make = [], posing.encode
    monkeypatch.setattr(posing, "encode", lambda *given: [made.append(given), make(*given)][1])
    done = odtc.fit(files[0], None, "dpflow", 1, constraints=("recall[yes] >= 0.7",), confidence=0.9)
    assert len(made) == 1 and done.dataset is made[0][0]


def test_a_printed_fit_tells_what_is_assured_as_the_command_does(files):
    """`print(fitted)` had the search's words on what it was asked for, and not what the test found."""
    train, test = map(str, files)
    constraints = ["recall[yes] >= 0.75", "recall[no] >= 0.92", "features <= 2"]
    fitted = odtc.fit(train, depth=1, constraints=constraints, confidence=0.9, test=test)
    assert [entry.holds for entry in fitted.assured()] == [True, False] and fitted.assured() == fitted.assured(0.9)
    words = [word for given in constraints for word in ("--constraint", given)]
    said = command("fit", train, "--depth", 1, *words, "--confidence", 0.9, "--test", test, folder=files[0].parent)
    lines = said.out.splitlines()
    told = lines[next(at for at, line in enumerate(lines) if line.startswith("assured")) :]
    assert len(told) == 4 and "\n".join(told) in str(fitted)
    assert "note: not assured on new rows: recall[no] >= 0.92; the tree was fitted" in str(fitted)
    assert "--json" not in str(fitted) and "--json" in said.err
