"""`odtc fit --certificate` writes the certificate by which the search was checked."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from odtc.workflow.sinks import FileSink
from tests.command_line import MONKS, environment, odtc

DATA = MONKS / "monks-1.csv"


@pytest.mark.parametrize(
    "more", [(), ("--constraint", "recall[1] >= 0.8"), ("--hold-out", 0.3), ("--min-leaf-rows", 9)], ids=str
)
def test_a_certificate_is_left_that_can_be_checked(more, tmp_path):
    fitted = odtc("fit", DATA, "--certificate", "-o", "m", *more, "--json", folder=tmp_path)
    assert fitted.code == 0 and fitted.facts["certified"] and "m.certificate.json" in fitted.facts["files"]
    tree, proof = (json.loads((tmp_path / f"m.{name}.json").read_text()) for name in ("tree", "certificate"))
    assert proof["tree"] == tree and (tmp_path / proof["data"]["path"]).samefile(DATA)
    checked = odtc("verify", "--certificate", "m.certificate.json", "--json", folder=tmp_path)
    assert checked.code == 0 and checked.facts["bound"] == fitted.facts["bound"] == fitted.facts["objective"]


def test_short_constraints_of_fit_are_those_of_certify_and_frontier(tmp_path):
    """The note of a fit with --max-features names `odtc certify`, which did not know that option."""
    fitted = odtc("fit", DATA, "--max-features", 1, "--json", "-o", "m", folder=tmp_path)
    found = odtc("certify", DATA, "--depth", 2, "--max-features", 1, "--json", "-o", "c", folder=tmp_path)
    assert fitted.code == found.code == 0 and found.facts["bound"] == fitted.facts["objective"]
    vary = "recall[1] >= 0.1:0.3:0.1"
    curve = odtc("frontier", DATA, "--depth", 2, "--vary", vary, "--max-features", 1, "--json", folder=tmp_path)
    assert curve.code == 0 and curve.facts["points"][0]["objective"] == fitted.facts["objective"]


@pytest.mark.parametrize("option", ["--solver highs", "--format lp", "--model cart", "--select convex_hull"])
def test_no_certificate_can_come_of_another_proof(option, tmp_path):
    said = odtc("fit", DATA, "--certificate", "-o", "m", *option.split(), folder=tmp_path)
    assert (
        said.code in (1, 2) and said.err.endswith(f"leave {option.split()[0]} out\n") and not list(tmp_path.iterdir())
    )


def test_a_list_of_trees_over_all_thresholds_needs_no_model_and_has_a_certificate(tmp_path):
    """The list is the beginning of the set of near-optimal trees, which is counted in another way."""
    rng = np.random.default_rng(3)
    lines = [",".join(map(str, [*rng.normal(size=4).round(2), rng.integers(0, 2)])) for _ in range(120)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c,d,y", *lines]) + "\n")
    said = odtc(*"fit d.csv --depth 2 --certificate --pool 40 -o m --json".split(), folder=tmp_path)
    assert (
        said.code == 0 and said.facts["certified"] and {"m.certificate.json", "m.pool.json"} <= set(said.facts["files"])
    )
    listed = json.loads((tmp_path / "m.pool.json").read_text())["trees"]
    near = odtc(*"fit d.csv --depth 2 --within 3 -o n --json".split(), folder=tmp_path)
    counted = json.loads((tmp_path / "n.near-optimal.json").read_text())["objectives"]
    assert near.code == 0 and sum(trees for _, trees in counted) >= 40 == len(listed)
    expected = [objective for objective, trees in counted for _ in range(trees)]
    assert [tree["objective"] for tree in listed] == expected[:40]


def test_where_no_tree_can_be_the_command_that_certifies_it_is_named(tmp_path):
    asked = ("--constraint", "recall[1] >= 1", "--constraint", "recall[0] >= 1")
    said = odtc("fit", DATA, "--certificate", "-o", "m", *asked, folder=tmp_path)
    assert said.code == 3 and "`odtc certify` writes a certificate that no tree" in said.err


def test_a_search_that_the_limit_ends_leaves_the_certificate_of_its_bound(tmp_path):
    """Noise of 20 columns at depth 4 is not proved in a second; what is proved by then is written and holds."""
    rng = np.random.default_rng(8)
    lines = [",".join(map(str, [*rng.integers(0, 99, 20), rng.integers(0, 2)])) for _ in range(300)]
    (tmp_path / "d.csv").write_text("\n".join([",".join([*(f"x{j}" for j in range(20)), "y"]), *lines]))
    words = ("fit", "d.csv", "--depth", 4, "--time-limit", 1, "--certificate", "-o", "m", "--json")
    fitted = odtc(*words, folder=tmp_path)
    assert fitted.code == 0 and fitted.facts["termination"] == "time_limit" and fitted.facts.get("certified") is None
    assert "m.certificate.json" in fitted.facts["files"]
    certified = odtc("certify", "d.csv", "--depth", 4, "--time-limit", 1, "-o", "c.json", "--json", folder=tmp_path)
    assert certified.code == 0 and certified.facts["termination"] == "time_limit"
    checked = odtc("verify", "--certificate", "m.certificate.json", "--json", folder=tmp_path)
    assert checked.code == 0 and not checked.facts["optimal"]
    assert checked.facts["bound"] <= fitted.facts["bound"] < fitted.facts["objective"]
    assert f"a bound: no tree costs less than {checked.facts['bound']:.10g}" in fitted.err


def test_a_run_without_a_certificate_says_why(tmp_path):
    sink = FileSink(None, certificate=True)
    sink.stem = str(tmp_path / "m")
    sink._write_certificate(SimpleNamespace(certificate=None, unproved=None, uncertified="it was interrupted"))
    assert sink.uncertified.endswith("it was interrupted") and not sink.files


@pytest.mark.parametrize(
    "words",
    [
        ("fit", DATA, "--depth", 2, "-o", "m"),
        ("fit", DATA, "--depth", 2, "--model", "flowoct", "--solver", "highs", "-o", "m"),
        ("refit", "old.tree.json", MONKS / "monks-2.csv", "-o", "m"),
        ("import", "old.tree.json", "--data", DATA, "-o", "m.tree.json"),
        ("decode", "other.sol", "-o", "m.tree.json"),
    ],
    ids=lambda words: " ".join(map(str, words[:1])),
)
@pytest.mark.parametrize("first", ["--certificate --pool 2", "--model flowoct --solver highs"])
def test_nothing_of_an_older_run_passes_for_a_part_of_a_newer_one(words, first, tmp_path):
    """An older certificate or list next to a newer tree looks like its proof, and `odtc verify` then failed."""
    first = ("fit", DATA, "--depth", 1, "-o", "m", *first.split())
    model = ("fit", DATA, "--depth", 2, "--model", "flowoct", "--solver", "highs", "--encoding", "onehot")
    for each in (first, ("fit", DATA, "--depth", 2, "-o", "old"), (*model, "-o", "other"), words):
        assert odtc(*each, folder=tmp_path).code == 0
    assert not list(tmp_path.glob("m.certificate.json")) and not list(tmp_path.glob("m.pool.json"))
    if words[0] in ("fit", "refit"):
        checked = odtc("verify", "m", folder=tmp_path)
        assert checked.code == 0, checked.err


def test_the_certificate_of_the_same_run_stays(tmp_path):
    words = ("fit", DATA, "--depth", 1, "-o", "m")
    for each in (words, ("certify", "m")):
        assert odtc(*each, folder=tmp_path).code == 0
    before = (tmp_path / "m.certificate.json").read_bytes()
    assert odtc(*words, folder=tmp_path).code == 0
    assert (tmp_path / "m.certificate.json").read_bytes() == before
    assert odtc("verify", "m", folder=tmp_path).code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_a_pipe_with_the_name_of_a_certificate_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "m.certificate.json")
    words = [sys.executable, "-m", "odtc", "fit", DATA, "--depth", "1", "-o", "m"]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment(), timeout=300, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.run.json", "m.tree.json"]
