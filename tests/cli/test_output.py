"""Outputs: a command never overwrites a file that it reads, and checks before the work that it can write."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.cli.test_commands import XOR
from tests.command_line import MONKS, command, contents, environment, odtc, refused, started


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with a.csv and the run m of it, with its model file."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "a.csv").write_text(XOR)
    assert odtc("fit", "--model", "flowoct", "a.csv", "--format", "mps", "-o", "m", folder=folder).code == 0
    return folder


@pytest.fixture
def work(done, tmp_path):
    return shutil.copytree(done, tmp_path / "work")


def refused_untouched(*words, folder) -> str:
    before = contents(folder)
    sentence = refused(odtc(*words, folder=folder))
    assert contents(folder) == before
    return sentence


@pytest.mark.parametrize(
    "words, read",
    [
        (("predict", "m.tree.json", "a.csv"), ("m.tree.json", "a.csv")),
        (("export", "m.tree.json", "--to", "c"), ("m.tree.json",)),
        (("decode", "m.sol"), ("m.sol", "m.odt.json")),
        (("solve", "m.mps"), ("m.mps", "m.odt.json")),
        (("report", "m"), ("a.csv", "m.sol", "m.tree.json", "m.odt.json", "m.run.json")),
        (("select", "a.csv"), ("a.csv",)),
        (("certify", "a.csv"), ("a.csv",)),
        (("import", "m.tree.json", "--data", "a.csv"), ("m.tree.json", "a.csv")),
    ],
    ids=lambda words: words[0],
)
def test_no_command_writes_over_what_it_reads(work, words, read):
    for name in read:
        sentence = refused_untouched(*words, "-o", name, folder=work)
        assert repr(name) in sentence and "another" in sentence and "-o" in sentence


def test_a_file_read_through_a_link_is_the_same_file(work):
    (work / "link.csv").symlink_to("a.csv")
    assert "'a.csv'" in refused_untouched("predict", "m.tree.json", "link.csv", "-o", "a.csv", folder=work)


@pytest.mark.parametrize(
    "words",
    [
        ("build", "a.csv"),
        ("tune", "a.csv"),
        ("certify", "a.csv"),
        ("select", "a.csv"),
        ("solve", "m.mps"),
        ("report", "m"),
        ("import", "m.tree.json", "--data", "a.csv"),
        ("compare", "m", "m.tree.json"),
        ("plot", "progress", "m"),
    ],
    ids=lambda words: words[0],
)
def test_a_folder_that_is_not_there_is_said_before_the_work(work, monkeypatch, words):
    from odtc.evaluation import cross_validation, plots
    from odtc.formulations.dpflow import threshold_search
    from odtc.workflow import compiling, solving
    from odtc.workflow.row_selection import selection

    def worked(*words, **more):
        raise AssertionError("the work was done first")

    for module, name in (
        (cross_validation, "score_fold"),
        (threshold_search, "certify"),
        (compiling, "compile_model"),
        (solving, "solve"),
        (selection, "select_rows"),
        (plots, "save"),
    ):
        monkeypatch.setattr(module, name, worked)
    ending = ".png" if words[0] in ("compare", "plot") else ""
    assert "absent" in refused_untouched(*words, "-o", f"absent/o{ending}", folder=work)


@pytest.mark.parametrize("command", ["fit", "build", "tune", "certify"])
@pytest.mark.parametrize("target", ["/dev/null", "/dev/stdout"])
def test_nothing_is_written_beside_a_device(work, command, target):
    """/dev/stdout may be a link to a pipe or to a file."""
    before = set(Path("/dev").iterdir())
    assert "it is a device" in refused_untouched(command, "a.csv", "-o", target, folder=work)
    assert set(Path("/dev").iterdir()) == before


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no such folder")
def test_files_in_memory_are_beside_no_device(work):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        shutil.copy(work / "a.csv", folder)
        assert odtc("fit", "a.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
        assert (Path(folder) / "m.tree.json").exists()


def test_a_certificate_without_a_name(work):
    assert "has no name" in refused_untouched("certify", "a.csv", "-o", "", folder=work)


def test_the_name_of_the_tree_names_the_run(work):
    facts = odtc("fit", "a.csv", "--model", "dpflow", "-o", "n.tree.json", "--json", folder=work).facts
    assert facts["files"] == ["n.run.json", "n.tree.json"]
    assert not odtc("verify", "n.tree.json", folder=work).code


def test_a_folder_is_filled_by_tune_as_by_fit(work):
    (work / "folder").mkdir()
    said = odtc("tune", "a.csv", "--depths", "1", "--folds", "2", "-o", "folder/", "--json", folder=work)
    assert said.facts["tree"] == "folder/a_tuned.tree.json" and (work / said.facts["tree"]).exists()


def test_tune_begins_each_fit_with_the_start_that_is_asked_for(work):
    given = "tune", "a.csv", "--model", "binoct", "--depths", "1", "--folds", "2", "--solver", "highs", "-o", "t"
    for start, told in (("none", "none"), ("cart", "accepted")):
        assert odtc(*given, "--start", start, folder=work).code == 0
        assert json.loads((work / "t.run.json").read_text())["start"] == told
    assert "unknown start 'nosuch'" in odtc(*given, "--start", "nosuch", folder=work).err


@pytest.mark.parametrize(
    "words, told",
    [
        (("predict", "m.tree.json", "a.csv"), "wrote p: 8 predictions\n"),
        (("predict", "m.tree.json", "one.csv"), "wrote p: 1 prediction\n"),
        (("export", "m.tree.json", "--to", "js"), "wrote p (javascript)\n"),
    ],
    ids=["predictions", "one prediction", "code"],
)
def test_what_was_written_is_told_beside_the_standard_output(work, words, told):
    (work / "one.csv").write_text("".join(XOR.splitlines(keepends=True)[:2]))
    said = odtc(*words, "-o", "p", folder=work)
    assert (said.out, said.err) == ("", told)
    assert odtc(*words, "-o", "-", folder=work).err == ""


@pytest.mark.parametrize(
    "words",
    [("show", "m.tree.json"), ("predict", "m.tree.json", "a.csv", "--json"), ("export", "m.tree.json", "--to", "png")],
)
def test_a_full_device_behind_stdout_is_no_fault_of_ours(work, words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(*words), cwd=work, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("odtc: error: cannot write") and "No space left" in done.stderr


def test_a_closed_stdout_loses_the_words_and_no_file(work):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command("fit", "--model", "flowoct", "a.csv", "-o", "n")],
        cwd=work,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and (work / "n.tree.json").exists()
    assert "odtc: error: cannot write to the standard output: it is closed" in done.stderr
    assert started("show", "n.tree.json", folder=work).out


@pytest.mark.parametrize(
    "words",
    [("fit", "a.csv", "--model", "cart"), ("tune", "a.csv", "--model", "cart", "--depths", "1", "--folds", "2")],
    ids=lambda words: words[0],
)
def test_a_tree_without_a_model_leaves_no_older_solution_of_its_name(work, words):
    assert (work / "m.sol").exists()
    assert odtc(*words, "-o", "m", folder=work).code == 0
    assert not (work / "m.sol").exists()
    assert json.loads((work / "m.run.json").read_text())["solver"] == "cart"
    facts = odtc("compare", "m", "m.tree.json", "--json", folder=work).facts["trees"]
    assert facts[0]["model"] == "cart" and facts[0]["n_leaves"] == facts[1]["n_leaves"]


def test_what_cart_breaks_of_the_constraints_stands_beside_it(tmp_path):
    """CART's accuracy stood there alone, greater than that of the best tree under the constraints."""
    words = ["fit", MONKS / "monks-2.csv", "--depth", 2, "--encoding", "onehot", "--constraint", "recall[1] >= 0.75"]
    said = odtc(*words, "--constraint", "leaves <= 4", "-o", tmp_path / "m")
    assert re.search(r"\n +CART violates recall\[1\] >= 0.75 \(0\)\n", said.out)
    facts = odtc(*words, "--constraint", "leaves <= 4", "-o", tmp_path / "m", "--json").facts
    recall, leaves = facts["constraint_values"]
    assert recall["cart"] < 0.75 <= recall["training"] and leaves["cart"] <= 4


@pytest.mark.parametrize("task", [(), ("--task", "regression", "--target", "a1")])
def test_a_tree_of_depth_0_has_no_constraint_that_nobody_typed(tmp_path, task):
    """It was "kept branch_nodes <= 0", a note on the search under constraints, and CART of depth 1 next to a leaf."""
    said = odtc("fit", MONKS / "monks-1.csv", "--depth", 0, *task, "-o", "m", folder=tmp_path)
    assert said.code == 0 and "1 leaf, depth 0" in said.out
    assert "branch_nodes" not in said.out + said.err and "--model auto" not in said.err
    facts = odtc("fit", MONKS / "monks-1.csv", "--depth", 0, *task, "-o", "m", "--json", folder=tmp_path).facts
    assert (facts["depth"], facts["constraints"], facts["constraint_values"]) == (0, [], [])
    if task:
        ours, theirs = re.findall(r"^(?:training|CART) +(squared error .*)$", said.out, re.M)
    else:
        ours, theirs = re.search(r"^training  (\d+) of 124 correct .*, CART (\d+)", said.out, re.M).groups()
    assert ours == theirs


@pytest.mark.parametrize("words", [(), ("--model", "flowoct"), ("--model", "oct_h"), ("--model", "oblique_search")])
def test_a_table_of_constant_columns_has_a_tree_of_depth_0(tmp_path, words):
    (tmp_path / "d.csv").write_text("a,b,y\n1,x,p\n1,x,q\n1,x,p\n1,x,p\n")
    said = odtc("fit", "d.csv", "--depth", 0, *words, "-o", "m", folder=tmp_path)
    assert said.code == 0 and "always  → p  4 rows  75.0 %" in said.out
    again = odtc("verify", "m", folder=tmp_path)
    assert again.code == 0 and "FAIL" not in again.out
    refused = odtc("fit", "d.csv", "--depth", 1, *words, folder=tmp_path)
    assert refused.code == 1 and "use --depth 0 for a single leaf" in refused.err


def test_a_leaf_for_constant_columns_is_certified_and_decoded(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,x,2\n1,x,4\n1,x,4\n1,x,3\n")
    for task in ("classification", "regression"):
        words = ["certify", "d.csv", "--depth", 0, "--task", task, "-o", f"{task}.json"]
        assert odtc(*words, folder=tmp_path).code == 0
        proved = odtc("verify", "--certificate", f"{task}.json", folder=tmp_path)
        assert proved.code == 0 and proved.out.startswith("proved: no tree of depth")
    for step in (
        ["build", "d.csv", "--depth", 0, "--model", "flowoct", "-o", "b"],
        ["solve", "b"],
        ["decode", "b.sol"],
    ):
        said = odtc(*step, folder=tmp_path)
        assert said.code == 0
    assert "proved optimal" in said.out and "1 leaf" in said.out


def test_a_depth_above_0_is_named_although_no_branch_node_is_allowed(tmp_path):
    words = ["fit", MONKS / "monks-1.csv", "--depth", 3, "--max-branch-nodes", 0, "--json"]
    facts = odtc(*words, folder=tmp_path).facts
    assert facts["depth"] == 3 and facts["constraints"] == ["branch_nodes <= 0"] and "_d3." in facts["tree"]
    assert [found["constraint"] for found in facts["constraint_values"]] == ["branch_nodes <= 0"]
