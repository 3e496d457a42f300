"""What a page tells a board: intervals, warnings, what must be satisfied, how rows lie at each node."""

import json
import re

import numpy as np
import pytest

import odtc
from odtc.evaluation import board
from odtc.trees.rendering import places
from tests.command_line import CHECKOUT
from tests.command_line import odtc as command

IRIS = CHECKOUT / "examples" / "iris" / "iris.csv"


def test_the_interval_of_wilson():
    # Wilson's interval of 8 of 10 at 95 %, by its closed form with z = 1.959964.
    z, k, n = 1.959963984540054, 8, 10
    middle, half = (k + z * z / 2) / (n + z * z), z * np.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    assert board.interval(8, 10) == pytest.approx((middle - half, middle + half))
    assert board.interval(0, 0) is None and board.interval(5, 5)[1] == 1.0


def test_histograms_hold_every_row_that_comes_to_a_node():
    fitted = odtc.fit(IRIS, "dpflow", depth=2)
    found = places(fitted.tree)
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
    assert re.search(r"leaf_rows &gt;= 10</th><td>10</td><td>\d+</td>", page) and "constraint" in page
    assert json.loads(re.search(r"const HISTOGRAMS = (.*);", page)[1])
    # A record that does not close the gap is said in large words.
    record = json.loads((tmp_path / "run.run.json").read_text())
    assert command("fit", IRIS, *words, "--gap", "0.9", "-o", "open", folder=tmp_path).code == 0, record
    command("report", "open", folder=tmp_path)
    facts = command("report", "open", "--json", folder=tmp_path).facts
    assert ("Not proved" in (tmp_path / "open.html").read_text()) == (facts["gap"] > 1e-9)
