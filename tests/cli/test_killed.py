"""kill -9 at any moment: model, manifest and starts are all old or all new, every file is whole, and nothing stays."""

import hashlib
import json
import os
import re
import shutil

import pytest

from odtc.base.commit import settle
from odtc.base.staging import PART
from odtc.errors import OdtcError
from odtc.fileformats.model_files import read_model
from odtc.fileformats.solution_files import read_point
from odtc.workflow.manifest import read_manifest
from tests.command_line import MONKS, contents, odtc
from tests.kill_points import states

# Of how many states one is also decoded and built upon; `ODTC_KILLS=1` does so with all.
EVERY = int(os.environ.get("ODTC_KILLS", 12))
DATA, OTHER = MONKS / "monks-1.csv", ("--class-weight", "0=0.2,1=1")
SMALL = ("--depth", 1)
BUILD = ("build", DATA, *SMALL, "-o", "m")
SOLVED = [BUILD, ("solve", "m.mps"), ("decode", "m.sol")]
FIT = ("fit", DATA, *SMALL, "--model", "flowoct", "--solver", "highs", "--format", "mps", "-o", "m")
# What was done before, and the command that is killed.
RUNS = {
    "build": (SOLVED, (*BUILD, *OTHER)),
    "build first": ([], BUILD),
    "build all": ([(*BUILD, "--dialect", "gurobi")], (*BUILD, *OTHER, "--dialect", "all")),
    "build lp": (SOLVED, ("build", DATA, *SMALL, *OTHER, "--format", "lp", "-o", "m")),
    "solve": ([BUILD, ("solve", "m.mps", "--seed", 5)], ("solve", "m.mps")),
    "decode": (SOLVED[:2], SOLVED[2]),
    "fit": ([FIT], (*FIT, *OTHER)),
    "certify": (
        [("certify", DATA, *SMALL, "--encoding", "onehot", "-o", "m.json")],
        ("certify", DATA, "--depth", 2, "--encoding", "onehot", "-o", "m.json"),
    ),
}
TREE = ("fit", DATA, *SMALL, "-o", "t")
OTHER_DATA = MONKS / "monks-3.csv"
FRONTIER = ("frontier", DATA, *SMALL, "-o", "m.html", "--vary")
IMPORT = ("import", "t.tree.json", "-o", "m.tree.json", "--data")
PREDICT = ("predict", "t.tree.json", "-o", "m.csv")
EXPORT = ("export", "t.tree.json", "-o", "m.c", "--to")
POOL = ("fit", DATA, *SMALL, "-o", "m", "--pool")
SLOW = {
    "fit rounds": ([FIT], ("fit", DATA, *SMALL, "--model", "bendersoct", "--keep", "-o", "m", *OTHER)),
    "tune": (
        [("tune", DATA, "--model", "cart", "--depths", "1,2", "--folds", 2, "-o", "m")],
        ("tune", DATA, "--model", "cart", "--depths", "2,3", "--folds", 2, "-o", "m"),
    ),
    "select": ([], ("select", DATA, "-o", "m.csv")),
    "fit select": ([FIT], (*FIT, "--select", "convex_hull")),
    "bench": ([], ("bench", "models", "--data", DATA, "--depths", 1, "--forms", "flowoct", "--results", "m.jsonl")),
    "frontier": ([(*FRONTIER, "branch_nodes <= 0:1:1")], (*FRONTIER, "branch_nodes <= 0:2:1")),
    "refit": ([TREE, ("refit", "t.tree.json", DATA, "-o", "m")], ("refit", "t.tree.json", OTHER_DATA, "-o", "m")),
    "import": ([TREE, (*IMPORT, DATA)], (*IMPORT, OTHER_DATA)),
    "export": ([TREE, (*EXPORT, "python")], (*EXPORT, "c")),
    "report": ([TREE, ("report", "t", "-o", "m.html"), (*TREE, *OTHER)], ("report", "t", "-o", "m.html")),
    "compare": ([TREE], ("compare", "t", "t", "--data", DATA, "-o", "m.svg")),
    "plot": ([TREE, (*TREE[:-1], "u")], ("plot", "size", "t", "u", "-o", "m.pdf")),
    "predict": ([TREE, (*PREDICT, OTHER_DATA)], (*PREDICT, DATA)),
    "pool": ([(*POOL, 2)], (*POOL, 3)),
}


def kill_everywhere(name: str, tmp_path) -> tuple[int, int]:
    """Runs a command, looks at every state that a kill would leave; (changes, different states)."""
    before, words = (RUNS | SLOW)[name]
    folder = tmp_path / "run"
    folder.mkdir()
    for each in before:
        said = odtc(*each, folder=folder)
        assert said.code == 0, said.err
    old = contents(folder)
    with states(folder, tmp_path / "states") as (copies, count):
        said = odtc(*words, folder=folder)
    assert said.code == 0, said.err
    new = contents(folder)
    assert not [path for path in new if path.startswith(".")]
    for number, copy in enumerate(copies):
        left, thorough = contents(copy), number % EVERY == 3 % EVERY
        settle(copy / "m.odt.json")
        _expect_whole(contents(copy), old, new)
        _expect_no_mixture(copy, thorough)
        if thorough and any(path.startswith(".") for path in left):  # the next start removes what was left
            again = odtc(*words, folder=copy)
            assert again.code == 0, again.err
            assert contents(copy).keys() == new.keys() | (old.keys() & contents(copy).keys())
            assert not [path for path in contents(copy) if path.startswith(".")]
        shutil.rmtree(copy)
    print(f"{name}: {count[0]} changes, {len(copies)} different states")
    return count[0], len(copies)


def _expect_whole(found, old, new) -> None:
    for path, data in found.items():
        if not path.endswith(PART):
            assert data in (old.get(path), new.get(path)), f"{path} is neither old nor new"


def _expect_no_mixture(copy, thorough: bool) -> None:
    """Manifest, model file, starts, solution and record are of one model, or a reader says that they are not."""
    manifest_path = copy / "m.odt.json"
    if not manifest_path.exists():
        assert not (copy / "m.mps").exists()
        return
    manifest = read_manifest(manifest_path)
    files = [path for path in copy.iterdir() if path.suffix in (".mps", ".lp") and ".round" not in path.name]
    models = [model for model in map(read_model, files) if model.identity == manifest.identity]
    assert not manifest.content or manifest.content in [model.content for model in models]
    for path in copy.iterdir():
        if path.name.startswith("m.start") or path.suffix == ".mst":
            assert read_point(path).model in ("", manifest.identity), path.name
    solution, record = copy / "m.sol", copy / "m.run.json"
    if solution.exists():
        assert read_point(solution).model == manifest.identity
        facts = json.loads(record.read_text())
        assert facts["sha256"] == hashlib.sha256(solution.read_bytes()).hexdigest()
        if thorough:
            said = odtc("decode", "m.sol", "-o", copy.parent / "t.json", folder=copy)
            passed = re.search(r"verified +(\d+) of (\d+) checks passed", said.out)
            assert said.code == 0 and passed and passed[1] == passed[2], said.err


@pytest.mark.every(2)
@pytest.mark.parametrize("name", RUNS)
def test_killed_before_any_change(name, tmp_path):
    changes, different = kill_everywhere(name, tmp_path)
    assert changes > different > 2


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_killed_before_any_change_of_longer_runs(name, tmp_path):
    kill_everywhere(name, tmp_path)


def test_a_mixture_that_came_otherwise_is_refused(tmp_path):
    """The manifest of one model and the solution of another, copied by hand."""
    for folder, more in (("a", ()), ("b", OTHER)):
        (tmp_path / folder).mkdir()
        for words in ((*BUILD, *more), ("solve", "m.mps")):
            assert odtc(*words, folder=tmp_path / folder).code == 0
    shutil.copy(tmp_path / "b" / "m.odt.json", tmp_path / "a")
    for words in (("decode", "m.sol"), ("solve", "m.mps")):
        assert "is of another model" in odtc(*words, folder=tmp_path / "a").err


def test_a_journal_of_another_kind_is_refused(tmp_path):
    assert odtc(*BUILD, folder=tmp_path).code == 0
    (tmp_path / "stranger").write_text("keep me")
    (tmp_path / ".mailrc").write_text("keep me")
    for text in (
        "no JSON",
        '{"schema": "odtc.journal/1", "moves": {}, "removals": ["stranger"]}',
        '{"schema": "odtc.journal/1", "moves": {"stranger": "m.sol"}, "removals": []}',
        '{"schema": "odtc.journal/1", "moves": {}, "removals": ["../m.mps"]}',
        '{"schema": "odtc.journal/1", "moves": {}, "removals": [".mailrc"]}',
        '{"schema": "odtc.journal/1", "moves": {".mailrc": "m.sol"}, "removals": []}',
        '{"schema": "odtc.journal/1", "moves": {}, "removals": ["m.\\u0000"]}',
    ):
        (tmp_path / ".m.odtc-journal").write_text(text)
        with pytest.raises(OdtcError, match="expected a journal of odtc"):
            settle(tmp_path / "m.mps")
        assert "expected a journal of odtc" in odtc("solve", "m.mps", folder=tmp_path).err
    assert (tmp_path / "stranger").read_text() == (tmp_path / ".mailrc").read_text() == "keep me"
