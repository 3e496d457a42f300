"""`odtc verify FILE` for every kind of file that odtc writes: it checks it, or names the file or command that does."""

import json
import re
import shutil

import pytest

from tests.command_line import odtc, refused

# An exclusive or of two columns, with a third that says nothing.
XOR = "colour,size,noise,class\n" + "".join(
    f"{colour},{size},{noise},{'yes' if (colour == 'red') != (size == 2) else 'no'}\n"
    for colour in ("red", "blue")
    for size in (1, 2)
    for noise in range(4)
)
COMMANDS = (
    ("fit", "xor.csv", "-o", "found", "--certificate"),
    ("fit", "xor.csv", "-o", "near", "--within", 1),
    ("fit", "xor.csv", "-o", "listed", "--pool", 2),
    ("fit", "xor.csv", "-o", "solved", "--model", "flowoct", "--format", "mps", "--gzip"),
    ("fit", "xor.csv", "-o", "loop", "--model", "cg"),
    ("build", "xor.csv", "-o", "built", "--depth", 1),
    ("certify", "xor.csv", "-o", "proof", "--depth", 1, "--labels", "book.csv"),
    ("frontier", "xor.csv", "-o", "curve", "--vary", "leaves <= 1:2"),
    ("tune", "xor.csv", "-o", "tuned", "--depths", "1,2", "--folds", 2),
    ("sweep", "xor.csv", "-o", "study", "--depths", 1, "--folds", 2),
    ("refit", "found.tree.json", "xor.csv", "-o", "again"),
    ("export", "found.tree.json", "--to", "python", "-o", "code.py"),
    ("report", "found"),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with files of all kinds."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "xor.csv").write_text(XOR)
    (folder / "book.csv").write_text("column,value,text\ncolour,,the colour\n")
    for words in COMMANDS:
        said = odtc(*words, folder=folder)
        assert said.code == 0, (words, said.err)
    shutil.copy(folder / "proof.certificate.json", folder / "renamed.json")
    return folder


@pytest.mark.parametrize(
    "name, words",
    [
        ("found", "certificate"),
        ("found.tree.json", "tree file"),
        ("found.run.json", "tree file"),
        ("found.certificate.json", "proved: no tree"),
        ("found.html", "tree file"),
        ("near", "near-optimal"),
        ("near.near-optimal.json", "near-optimal"),
        ("listed.pool.json", "pool"),
        ("solved", "tree file"),
        ("solved.sol", "run record"),
        ("solved.mps.gz", "tree file"),
        ("solved.odt.json", "tree file"),
        ("solved.log", "tree file"),
        ("solved.run.json", "tree file"),
        ("loop.columns.json", "tree file"),
        ("built.start.sol", "rows read"),
        ("proof", "proof.tree.json holds the tree of the certificate"),
        ("proof.tree.json", "proof.tree.json holds the tree of the certificate"),
        ("proof.certificate.json", "proved: no tree"),
        ("renamed.json", "proved: no tree"),
        ("curve", "bounds"),
        ("curve.frontier.json", "bounds"),
        ("tuned", "tree file"),
        ("tuned.tune.json", "tree file"),
        ("study/best/xor.run.json", "tree file"),
        ("again.tree.json", "tree file"),
        ("again.drift.html", "tree file"),
    ],
)
def test_a_file_is_checked_or_stands_for_its_run(written, name, words):
    said = odtc("verify", name, folder=written)
    assert said.code == 0 and words in said.out, said
    assert ("not computed again" in said.err) == name.endswith((".html", ".tune.json"))


@pytest.mark.parametrize("name", ["study", "study/study.json"])
def test_a_refusal_names_the_command_that_succeeds(written, name):
    sentence = refused(odtc("verify", name, folder=written))
    assert odtc("verify", re.search(r"`odtc verify ([^`]+)`", sentence)[1], folder=written).code == 0


@pytest.mark.parametrize("name", ["built", "built.mps", "built.odt.json"])
def test_a_model_is_solved_first(written, tmp_path, name):
    folder = shutil.copytree(written, tmp_path / "copy")
    sentence = refused(odtc("verify", name, folder=folder))
    for words in re.findall(r"`odtc ([^`]+)`", sentence):
        assert odtc(*words.split(), folder=folder).code == 0, words


@pytest.mark.parametrize(
    "name, kind",
    [
        ("code.py", "code"),
        ("xor.csv", "a table of data"),
        ("study/results.parquet", "a table of data"),
        ("study/xor.svg", "a picture"),
    ],
)
def test_a_file_without_a_claim_is_refused_by_its_kind(written, name, kind):
    assert kind in refused(odtc("verify", name, folder=written))


@pytest.mark.parametrize("name", ["found.run.json", "near.near-optimal.json", "solved.log", "found.html"])
def test_a_file_whose_run_is_gone_names_the_files_that_are_expected(written, tmp_path, name):
    shutil.copy(written / name, tmp_path / name)
    stem = name.partition(".")[0]
    sentence = refused(odtc("verify", name, folder=tmp_path))
    assert f"expected {stem}.tree.json or {stem}.sol" in sentence


def test_the_tree_of_a_certificate_has_the_counts_of_the_data(written, tmp_path):
    folder = shutil.copytree(written, tmp_path / "copy")
    for name in ("proof.tree.json", "proof.certificate.json"):
        facts = json.loads((folder / name).read_text())
        leaf = facts["root"] if "root" in facts else facts["tree"]["root"]  # no split is worth it
        leaf["counts"] = [count + 1 for count in leaf["counts"]]
        (folder / name).write_text(json.dumps(facts))
        assert odtc("verify", "proof", folder=folder).code == 1


def test_options_of_a_solution_are_refused_for_other_files(written):
    for name, what in (("found.certificate.json", "is a certificate"), ("curve", "is a frontier"), ("near", "a tree")):
        sentence = refused(odtc("verify", name, "--confirm", "highs", folder=written))
        assert "--confirm needs a solution file" in sentence and what in sentence
