"""Splits on two columns that separate the rows alike both stay if a constraint speaks of columns."""

import json
import shutil

import numpy as np
import pytest

import odtc
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.formulations.dpflow.write_constrained_certificate import certify_constrained
from odtc.testing.optima import least_of_every_tree
from odtc.verification.certificate import check
from tests import pipeline
from tests.command_line import odtc as odtc_run
from tests.unit.test_second_checker import asked

OF_COLUMNS = (
    "forbid_root[age]",
    "require_root[months]",
    "together[age,months]",
    "never_together[age,c]",
    "not_below[months,c]",
    "deepest[age] <= 0",
    "shallowest[age] >= 1",
    "features <= 1",
)


def table() -> Dataset:
    """A column, the same in another unit, and a third; the class is of the first, nearly."""
    rng = np.random.default_rng(3)
    age, c = rng.integers(0, 6, 30), rng.integers(0, 3, 30)
    y = ((age > 3) ^ (rng.random(30) < 0.1)).astype(np.int32)
    X = np.stack([age, 12 * age, c], axis=1).astype(float)
    features = tuple(Feature(name, "numeric") for name in ("age", "months", "c"))
    return Dataset("twice", X, y, features, ("p", "q"), np.ones(30))


def test_each_column_keeps_its_own_tests():
    merged, apart = encode(table()), encode(table(), by_column=True)
    assert merged.n_candidate_splits == 7 and apart.n_candidate_splits == 12
    assert {test.features[0] for test in apart.splits} == {0, 1, 2}
    for place, test in enumerate(apart.splits):
        assert apart.find(test)[0] == place


@pytest.mark.parametrize("text", OF_COLUMNS)
def test_no_optimum_is_lost_to_the_other_column(text):
    data = table()
    problem = pipeline.pose(data, "dpflow", 2, constraints=[text])
    found = odtc.fit(data, "dpflow", 2, constraints=[text])
    assert found.facts["objective"] == least_of_every_tree(problem) and found.facts["certified"]
    # By the rows alone: a tree of depth 2 that may ask either column for the other's tests.
    free = odtc.fit(data, "dpflow", 2).facts["objective"]
    bare = odtc.fit(data, "dpflow", 1).facts["objective"]
    assert free <= found.facts["objective"] <= (bare if text != "require_root[months]" else free + bare)


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_a_certificate_over_merged_tests_is_not_one_over_all(tmp_path):
    data = table()
    file = tmp_path / "t.csv"
    rows = ["age,months,c,y", *(f"{a:g},{m:g},{c:g},{'pq'[k]}" for (a, m, c), k in zip(data.X, data.y))]
    file.write_text("\n".join(rows) + "\n")
    read = odtc.read(file)
    facts = json.loads(
        json.dumps(certify_constrained(pipeline.pose(read, "dpflow", 1, constraints=["features <= 1"]))[0])
    )
    assert check(facts, read).left_out == {}
    fewer = facts | {"columns": [column for column in facts["columns"] if column["feature"] != "months"]}
    fewer["of"] = facts["of"] | {"n_candidate_splits": 7}
    told = asked([facts, fewer], file)
    assert told[0].startswith("proved") and told[1].startswith("refused")
    with pytest.raises(odtc.errors.CertificateError):
        check(fewer, read)


def test_a_tree_file_asks_the_columns_that_it_names(tmp_path):
    data = table()
    rows = ["age,months,c,y", *(f"{a:g},{m:g},{c:g},{'pq'[k]}" for (a, m, c), k in zip(data.X, data.y))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    words = ["--depth", 2, "--constraint", "together[age,months]"]
    assert odtc_run("certify", "t.csv", *words, "-o", "c.json", folder=tmp_path).code == 0
    assert odtc_run("verify", "--certificate", "c.json", folder=tmp_path).code == 0
    built = odtc_run("build", "t.csv", "--depth", 2, "--constraint", "forbid_root[age]", "-o", "m", folder=tmp_path)
    assert built.code == 0, built.err
    assert odtc_run("solve", "m.mps", folder=tmp_path).code == 0
    checked = odtc_run("verify", "m.sol", "--json", folder=tmp_path)
    assert checked.code == 0 and "encoding" in checked.out, checked.err
