"""Facts of the page for a board: intervals, warnings, requirements, and the rows at each node."""

import json
import re
import shlex

import numpy as np
import pytest

import odtc
from odtc.evaluation import board
from odtc.workflow.constrained.assurance import share_interval
from tests.command_line import CHECKOUT, MONKS
from tests.command_line import odtc as command

IRIS = CHECKOUT / "examples" / "iris" / "iris.csv"


def test_the_interval_of_a_share_is_exact():
    """Clopper and Pearson: at the ends, what is seen has a probability of 2.5 % on either side."""
    from math import comb

    def at_least(k, n, p):
        return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))

    low, high = share_interval(8, 10)
    assert at_least(8, 10, low) == pytest.approx(0.025) and 1 - at_least(9, 10, high) == pytest.approx(0.025)
    assert share_interval(0, 0) is None and share_interval(5, 5)[1] == 1.0 and share_interval(0, 5)[0] == 0.0


def test_histograms_hold_every_row_that_comes_to_a_node():
    fitted = odtc.fit(IRIS, "dpflow", depth=2)
    found = fitted.tree.places()
    shown = board.histograms(found, odtc.read(IRIS))
    assert set(shown) == {place.number for place in found if not place.is_leaf}
    for place in found:
        if not place.is_leaf:
            bars = np.array([counts for _, counts in shown[place.number]["bars"]])
            assert bars.sum(axis=0).tolist() == list(place.node.rows)
            # A bar lies on one side of the threshold: the left ones hold what the left child holds.
            left = next(child for child in found if child.parent == place.number and child.side == "left")
            sums = np.cumsum(bars, axis=0)
            assert (sums == np.array(left.node.rows)).all(axis=1).any()


def test_the_ends_of_bars_have_no_exponent(tmp_path):
    rows = [f"{1234.5 * at},{'no' if at < 60 else 'yes'}" for at in range(100)]
    (tmp_path / "pay.csv").write_text("\n".join(["pay,y", *rows]) + "\n")
    tree = odtc.fit(tmp_path / "pay.csv", depth=1).tree
    (shown,) = board.histograms(tree.places(), odtc.read(tmp_path / "pay.csv")).values()
    words = [word for word, _ in shown["bars"]]
    assert (
        words[0].startswith("0 to ") and words[-1].endswith(" to 122215.5") and not any("e+" in word for word in words)
    )


def test_a_test_row_without_a_label_hides_no_figure(tmp_path):
    lines = IRIS.read_text().splitlines()
    (tmp_path / "train.csv").write_text("\n".join([lines[0], *lines[1::2]]) + "\n")
    constrained = ("--constraint", "recall[virginica] >= 0.5", "--depth", 1, "-o", "t")
    pages = []
    for more in ([], ["5,3,5,2,"], ["5,3,5,2,iris", "5,3,5,2,"]):
        (tmp_path / "new.csv").write_text("\n".join([lines[0], *lines[2::2], *more]) + "\n")
        said = command("fit", "train.csv", *constrained, "--test", "new.csv", folder=tmp_path)
        (tested,) = re.findall(r"recall.* on training rows, (.*) on test rows", said.out)
        assert command("report", "t", "--test", "new.csv", folder=tmp_path).code == 0
        page = (tmp_path / "t.html").read_text()
        pages.append((tested, *re.findall(r"On 75 unseen rows, recall of class virginica is [\d.]+ %, at least", page)))
    assert len(pages[0]) == 2 and len(set(pages)) == 1


def test_the_page_warns_of_test_rows_that_are_training_rows_and_of_no_proof(tmp_path):
    lines = IRIS.read_text().splitlines()
    (tmp_path / "new.csv").write_text(
        "\n".join([lines[0], *(f"{line.replace('.', '.0', 1)}" for line in lines[1:])]) + "\n"
    )
    words = ["--model", "flowoct", "--encoding", "thresholds:bins=4", "--depth", "2", "--constraint", "leaf_rows >= 10"]
    assert command("fit", IRIS, *words, "-o", "run", folder=tmp_path).code == 0
    pages = {}
    for name, test in (("same", IRIS), ("new", tmp_path / "new.csv")):
        assert command("report", "run", "--test", test, "-o", f"{name}.html", folder=tmp_path).code == 0
        pages[name] = (tmp_path / f"{name}.html").read_text()
    assert "150 of the 150 test rows are equal to training rows" in pages["same"]
    assert "equal to training rows" not in pages["new"] and 'class="warning"' not in pages["new"]
    page = pages["new"]
    assert page.index("test (new.csv) accuracy") < page.index("training accuracy") and "95 % interval" in page
    assert re.search(r"leaf_rows &gt;= 10</th><td[^>]*>10</td><td[^>]*>\d+</td>", page) and "constraint" in page
    assert json.loads(re.search(r"const HISTOGRAMS = (.*);", page)[1])
    # A record that does not close the gap is said in large words.
    record = json.loads((tmp_path / "run.run.json").read_text())
    assert command("fit", IRIS, *words, "--gap", "0.9", "-o", "open", folder=tmp_path).code == 0, record
    command("report", "open", folder=tmp_path)
    facts = command("report", "open", "--json", folder=tmp_path).facts
    assert ("Not proved" in (tmp_path / "open.html").read_text()) == (facts["gap"] > 1e-9)


LOANS = "age,region,loan\n" + "".join(
    f"{20 + at % 40},{('north', 'south')[at % 3 == 0]},{'bad' if (at % 40 < 12) != (at % 11 == 0) else 'good'}\n"
    for at in range(120)
)


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    """A run without a solver, with an auxiliary column."""
    folder = tmp_path_factory.mktemp("loans")
    (folder / "loans.csv").write_text(LOANS)
    words = ("--depth", "2", "--encoding", "auto:bins=6", "--auxiliary", "region", "--min-leaf-rows", "5")
    said = command("fit", "loans.csv", *words, "--class-weight", "balanced", "-o", "loans", folder=folder)
    assert said.code == 0, said.err
    return folder


def page_of(folder, *words):
    said = command("report", *words, "-o", "page.html", folder=folder)
    assert said.code == 0, said.err
    return (folder / "page.html").read_text()


def test_the_page_of_a_run_without_a_solver_tells_its_proof(loans):
    record = json.loads((loans / "loans.run.json").read_text())
    assert record["solution_file"] is None and record["termination"] == "optimal"
    page = page_of(loans, "loans")
    assert "Not proved" not in page and "<strong>optimal</strong>" in page and "FAILED" not in page
    assert "of depth 2 over these splits that satisfies the constraints costs less than" in page
    assert "Proved best of the trees that satisfy the constraints on" in page and "leaf_rows &gt;= 5" in page
    assert re.search(r"no tree below [\d.]+ satisfies the constraints<", page)
    assert json.loads(re.search(r"const HISTOGRAMS = (.*);", page)[1])
    # The command on the page makes the same tree.
    again = re.search(r"<code>(odtc fit loans.csv .*)</code>", page)[1].replace("&gt;", ">").replace("&#39;", "'")
    before = (loans / "loans.tree.json").read_text()
    words = shlex.split(again)[1:]
    assert command(*words[:-1], "again", folder=loans).code == 0
    assert (loans / "again.tree.json").read_text() == before


def test_the_page_names_the_certificate_that_lies_beside_the_run(tmp_path):
    for more in ((), ("--certificate",)):
        assert command("fit", IRIS, "--depth", 1, "-o", "run", *more, folder=tmp_path).code == 0
        assert ("odtc certify</code> writes one" in page_of(tmp_path, "run")) == (not more)
    assert "<code>odtc verify run</code> checks run.certificate.json against" in page_of(tmp_path, "run")


ORDERED = "\n".join(["day,y", *(f"2024-{at // 28 + 1:02}-{at % 28 + 1:02},{int(at >= 100)}" for at in range(280))])
NAMED, MANY = (
    "\n".join(["town,y", *(f"t{at % n:02},{int(at % n in (7, 33))}" for at in range(10 * n)), "t33,1", "t33,1"])
    for n in (40, 69)
)


@pytest.mark.parametrize(
    "text,words,n_bars",
    [(ORDERED, ("--ordered", "day"), 12), (NAMED, (), 40), (MANY, (), 40)],
    ids=["ordered", "named", "many"],
)
def test_bars_of_many_levels_hold_every_row(tmp_path, text, words, n_bars):
    """Every level has a bar; of more than 40 the most frequent ones, and the others share one."""
    (tmp_path / "d.csv").write_text(text + "\n")
    assert command("fit", "d.csv", "--depth", 1, "-o", "run", *words, folder=tmp_path).code == 0
    bars = json.loads(re.search(r"const HISTOGRAMS = (.*);", page_of(tmp_path, "run"))[1])["0"]["bars"]
    assert len(bars) == (board.BINS if words else n_bars)
    counts = np.array([counts for _, counts in bars])
    assert counts.sum() == len(text.splitlines()) - 1
    if words:  # ranges of days in their order, parted where the node parts them
        assert [0, 180] in np.cumsum(counts[::-1], axis=0).tolist() and [100, 0] in np.cumsum(counts, axis=0).tolist()
        assert bars[0][0].startswith("2024-01-01 to ") and bars[-1][0].endswith(" to 2024-10-28")
    else:  # every level, or the most frequent ones and then all others
        assert (bars[-1][0] == "30 others") == (text is MANY) and "t33" in [name for name, _ in bars]


def test_the_page_says_not_proved_of_a_tree_whose_record_is_not_there_or_not_its_own(loans, tmp_path):
    for name in ("loans.tree.json", "loans.csv", "loans.run.json"):
        (tmp_path / name).write_bytes((loans / name).read_bytes())
    record = (tmp_path / "loans.run.json").read_text()
    (tmp_path / "loans.csv").write_text(LOANS.replace("bad", "good", 1))
    page = page_of(tmp_path, "loans")
    assert "Not proved: nothing is known" in page and "is not the one of the run" in page
    (tmp_path / "loans.csv").unlink()
    assert "is not there" in page_of(tmp_path, "loans")
    page = page_of(tmp_path, "loans", "--data", loans / "loans.csv")
    assert "Not proved" not in page
    # A record that claims another objective fails a check, and one of another tree is none.
    told = json.loads(record)
    (tmp_path / "loans.run.json").write_text(json.dumps(told | {"objective": told["objective"] + 1}))
    assert "FAILED" in page_of(tmp_path, "loans", "--data", loans / "loans.csv")
    for bad in (
        told | {"fit": told["fit"] | {"tree": {"file": "x", "sha256": "0"}}},
        told | {"fit": 5},
        told | {"fit": told["fit"] | {"model": {"depth": "x", "nosuch": 1}}},
        told | {"termination": "great"},
    ):
        (tmp_path / "loans.run.json").write_text(json.dumps(bad))
        assert "Not proved" in page_of(tmp_path, "loans", "--data", loans / "loans.csv")
    (tmp_path / "loans.run.json").unlink()
    assert "Not proved: nothing is known" in page_of(tmp_path, "loans")


def test_a_bound_that_is_only_recorded_is_attributed_to_the_record(tmp_path):
    """A record with a forged bound, which no search of some seconds refuted, made a page of "Proved best"."""
    assert command("fit", MONKS / "monks-2.csv", "--depth", 1, "-o", "run", folder=tmp_path).code == 0
    page = page_of(tmp_path, "run", "--time-limit", 0)
    assert "By the record of the run, proved best on 169 training rows" in page and "Proved best" not in page
    assert "by the record of the run, not recomputed: costs" in page


def test_groups_are_compared_as_they_are_counted_by_hand(loans):
    tree, data = odtc.read_tree(loans / "loans.tree.json"), odtc.read(loans / "loans.csv", auxiliary=("region",))
    found = board.compared_groups(tree, data, ("age<=30",))
    assert [entry["by"] for entry in found] == ["age<=30", "region"]
    lines = [line.split(",") for line in LOANS.splitlines()[1:]]
    said = tree.predict(data.X)
    for group in found[1]["groups"]:
        mine = [at for at, line in enumerate(lines) if line[1] == group["name"]]
        classes = [tree.classes[said[at]] for at in mine]
        assert group["rows"] == len(mine)
        assert group["right"] == sum(lines[at][2] == name for at, name in zip(mine, classes))
        assert group["predicted"][0] == pytest.approx(classes.count(tree.classes[0]) / len(mine))
        bad = [name for at, name in zip(mine, classes) if lines[at][2] == "bad"]
        assert group["recall"][tree.classes.index("bad")] == pytest.approx(bad.count("bad") / len(bad))
    page = page_of(loans, "loans", "--test", "loans.csv", "--group", "age<=30")
    assert "Groups side by side" in page and "By region, test rows" in page and "age&lt;=30" in page
    said = command("report", "loans", "--group", "nosuch", folder=loans)
    assert said.code == 2 and "'nosuch'" in said.err
    (loans / "bare.tree.json").write_bytes((loans / "loans.tree.json").read_bytes())
    said = command("report", "bare.tree.json", "--group", "age<=30", folder=loans)
    assert said.code == 2 and "--test" in said.err


def test_the_page_of_an_estimator_tells_its_proof():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    assert "Not proved" not in odtc.OptimalTreeClassifier(max_depth=1).fit(X, y).report()
    hasty = odtc.OptimalTreeClassifier(max_depth=2, model="cart").fit(X, y)
    assert "Not proved: the tree costs" in hasty.report()
