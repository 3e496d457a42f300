"""kill -9 at any moment: model, manifest and starts are all old or all new, every file is whole, and nothing stays."""

import contextlib
import hashlib
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from odtc.base.commit import PART, expect_settled, settle
from odtc.errors import OdtcError, OutputError
from odtc.fileformats.model_files import read_model
from odtc.fileformats.solution_files import read_point
from odtc.trees.tree import read_tree
from odtc.workflow.manifest import read_manifest
from tests.command_line import MONKS, contents, odtc, refused
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
    "bench": (
        [],
        ("bench", "models", "--data", DATA, "--depths", 1, "--formulations", "flowoct", "--results", "m.jsonl"),
    ),
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
        _expect_no_change_by_reading(copy, left)
        if thorough and (copy / ".m.odtc-journal").exists():
            _expect_finished_by_the_next_start(copy, tmp_path / "again", words, new)
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


def test_a_run_keeps_the_older_solution_and_tree_until_it_has_its_own(tmp_path):
    """A solver may take hours, and its model was written before it began: the older run was gone by then."""
    folder = tmp_path / "run"
    folder.mkdir()
    assert odtc(*FIT, folder=folder).code == 0
    old = contents(folder)
    with states(folder, tmp_path / "states") as (copies, _):
        assert odtc(*FIT, *OTHER, folder=folder).code == 0
    new = contents(folder)
    assert new["m.sol"] != old["m.sol"] and new["m.mps"] != old["m.mps"]
    for copy in copies:
        settle(copy / "m.odt.json")
        left = contents(copy)
        of = old if left["m.sol"] == old["m.sol"] else new
        assert [left[name] for name in ("m.sol", "m.mps", "m.odt.json")] == [
            of[name] for name in ("m.sol", "m.mps", "m.odt.json")
        ]
        assert of is new or (left["m.tree.json"], left["m.run.json"]) == (old["m.tree.json"], old["m.run.json"])


def _expect_no_change_by_reading(copy, left) -> None:
    """Readers find a whole state, or say that a command has to finish one; a folder is as it was."""
    for name in ("m.odt.json", "m.tree.json"):
        with contextlib.suppress(OdtcError):
            (read_manifest if name == "m.odt.json" else read_tree)(copy / name)
    assert contents(copy) == left


def _expect_finished_by_the_next_start(copy, folder, words, new) -> None:
    """The command that was killed, run again, prints what it has finished."""
    shutil.copytree(copy, folder)
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    again = odtc(*words, folder=folder)
    assert again.code == 0 and "during which odtc was killed" in again.err, again.err
    assert contents(folder).keys() >= new.keys() and not [path for path in contents(folder) if path[0] == "."]
    shutil.rmtree(folder)


def _expect_whole(found, old, new) -> None:
    for path, data in found.items():
        if not path.endswith(PART):
            states = [old.get(path), new.get(path)]
            if path == "m.run.json" and path in new:
                states.append(_before_the_tree(new[path]))
            assert data in states, f"{path} is neither old nor new"


def _before_the_tree(record: bytes) -> bytes | None:
    """The record of a solver's run as it is beside its solution, before the tree: as of `odtc solve`, without the
    settings, which name the tree. A run without a solution has no such state."""
    facts = json.loads(record)
    settings = facts.pop("specification", None)
    return (json.dumps(facts, indent=1) + "\n").encode() if settings and facts.get("solution_file") else None


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
        assert "belongs to another model" in odtc(*words, folder=tmp_path / "a").err


SHA, EMPTY = hashlib.sha256(b"keep me").hexdigest(), hashlib.sha256(b"").hexdigest()


def journal(moves=None, removals=None, schema="odtc.journal/2") -> str:
    return json.dumps({"schema": schema, "moves": moves or {}, "removals": removals or {}})


# What nobody's journal may name; each file holds "keep me".
HOSTILE = {
    "no JSON": "no JSON",
    "a list": "[]",
    "deeply nested": "[" * 100_000,
    "megabytes": " " * (2 << 20) + journal(),
    "of the first kind": '{"schema": "odtc.journal/1", "moves": {}, "removals": ["m.csv"]}',
    "another schema": journal(removals={"m.sol": SHA}, schema="odtc.journal/3"),
    "no digest": journal(removals={"m.sol": None}),
    "a data file": journal(removals={"m.csv": SHA}),
    "a data file by a move": journal({".m.x.part": ["m.csv", SHA]}),
    "a model file": journal(removals={"m.mps": SHA}),
    "another stem": journal(removals={"stranger.sol": SHA}),
    "the stem itself": journal(removals={"m": SHA}),
    "a hidden file": journal(removals={".mailrc": SHA}),
    "a hidden file by a move": journal({".mailrc": ["m.sol", SHA]}),
    "a stranger by a move": journal({"stranger.sol": ["m.sol", SHA]}),
    "above": journal(removals={"../m.sol": SHA}),
    "above, with the stem": journal(removals={"m./../../m.sol": SHA}),
    "above, on Windows": journal(removals={"m.\\..\\m.sol": SHA}),
    "absolute": journal(removals={"/etc/m.sol": SHA}),
    "a move to above": journal({".m.x.part": ["m./../../m.sol", SHA]}),
    "another case": journal(removals={"M.sol": SHA}),
    "an ending of another case": journal(removals={"m.SOL": SHA}),
    "a zero byte": journal(removals={"m.\0.sol": SHA}),
    "half a character": journal(removals={"m.\ud800.csv": SHA}),
    "another form of a letter": journal(removals={"ｍ.sol": SHA}),
    "a number": journal(removals={"m.sol": 1}),
    "a move to a list": journal({".m.x.part": [["m.sol"], SHA]}),
}


@pytest.fixture
def strangers(tmp_path):
    """Files around a model, two of which a journal might want to remove."""
    folder = tmp_path / "run"
    folder.mkdir()
    assert odtc(*BUILD, folder=folder).code == 0
    for name in ("stranger.sol", ".mailrc", "m.csv", "m.SOL", "M.sol", "m", ".m.x.part", "m.sol", "../m.sol"):
        (folder / name).write_text("keep me")
        os.utime(folder / name, (1, 1))
    return folder


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_planted_journal_changes_nothing(kind, strangers):
    (strangers / ".m.odtc-journal").write_text(HOSTILE[kind])
    os.utime(strangers / ".m.odtc-journal", (1, 1))
    before = contents(strangers.parent)
    read_manifest(strangers / "m.odt.json")  # reading goes on
    read_model(strangers / "m.mps")
    assert odtc("inspect", "m.csv", folder=strangers).code in (0, 1)
    with pytest.raises(OdtcError, match="expected a journal of odtc"):
        settle(strangers / "m.mps")
    assert "expected a journal of odtc" in odtc("solve", "m.mps", folder=strangers).err
    assert contents(strangers.parent) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "dangling link"])
def test_a_journal_that_is_no_file_is_not_followed(kind, strangers):
    place = strangers / ".m.odtc-journal"
    (strangers / "j").write_text(journal(removals={"m.sol": SHA}))
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("j" if kind == "link" else "nowhere")
    read_manifest(strangers / "m.odt.json")
    assert "expected a journal of odtc" in odtc("solve", "m.mps", folder=strangers).err
    assert (strangers / "m.sol").read_text() == "keep me"


@pytest.mark.parametrize(
    ("moves", "removals", "changed"),
    [
        ({}, {"m.sol": EMPTY}, None),  # it was written anew since
        ({".m.x.part": ["m.sol", EMPTY]}, {}, ".m.x.part"),
        ({".m.link.part": ["m.sol", SHA]}, {}, ".m.link.part"),
        ({}, {"m.link.sol": SHA}, None),
    ],
)
def test_a_journal_touches_only_what_it_knows(moves, removals, changed, strangers):
    """Neither a file whose content is another one, nor a link to one with the content."""
    for name in (".m.link.part", "m.link.sol"):
        (strangers / name).symlink_to("stranger.sol")
    place = strangers / ".m.odtc-journal"
    place.write_text(journal(moves, removals))
    os.utime(place, (1, 1))
    before = contents(strangers)
    if changed is None:
        settle(strangers / "m.sol")
        del before[place.name]
    else:
        with pytest.raises(OdtcError, match="has changed since"):
            settle(strangers / "m.sol")
    assert contents(strangers) == before and (strangers / "m.link.sol").is_symlink()


def test_what_a_journal_of_ours_names_is_finished_by_who_writes_and_refused_to_who_reads(strangers):
    (strangers / "m.tree.json").write_text("keep me")
    place = strangers / ".m.odtc-journal"
    place.write_text(journal({".m.x.part": ["m.run.json", SHA]}, {"m.tree.json": SHA}))
    before = contents(strangers)
    for words in (("show", "m.tree.json"), ("verify", "m"), ("predict", "m.tree.json", "m.csv")):
        assert "odtc was killed while it replaced the files of 'm' (m.run.json, m.tree.json)" in refused(
            odtc(*words, folder=strangers)
        )
    assert contents(strangers) == before
    os.utime(place, (1, 1))
    said = odtc("solve", "m.mps", "--time-limit", 5, folder=strangers)
    assert said.err.count("note: finished the replacement of m.run.json, during which odtc was killed") == 1
    assert not (strangers / "m.tree.json").exists() and not place.exists() and said.code == 0


def test_temporary_files_that_the_journal_of_another_stem_names_stay(tmp_path):
    """Stems m and m.x: who wrote files of m swept what m.x needs."""
    for name in (".m.x.tree.json.abc.part", ".m.x.tree.json.old.part"):
        (tmp_path / name).write_text("keep me")
    (tmp_path / ".m.x.odtc-journal").write_text(journal({".m.x.tree.json.abc.part": ["m.x.tree.json", SHA]}))
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    assert odtc(*BUILD, folder=tmp_path).code == 0
    settle(tmp_path / "m.x.tree.json")
    assert (tmp_path / "m.x.tree.json").read_text() == "keep me"
    assert not [path for path in contents(tmp_path) if path.startswith(".")]


@pytest.mark.slow
def test_two_commands_settle_at_once(tmp_path):
    """Each replacement is finished exactly once, whoever comes first, while a third reads."""
    for turn in range(20):
        folder = tmp_path / str(turn)
        folder.mkdir()
        (folder / ".m.x.part").write_text("keep me")
        (folder / "m.sol").write_text("keep me")
        (folder / ".m.odtc-journal").write_text(journal({".m.x.part": ["m.run.json", SHA]}, {"m.sol": SHA}))
        for path in folder.iterdir():
            os.utime(path, (1, 1))
        with ThreadPoolExecutor(6) as threads:
            readers = [threads.submit(_read_or_refuse, folder / "m.odt.json") for _ in range(3)]
            for done in [threads.submit(settle, folder / "m.sol") for _ in range(3)] + readers:
                done.result()
        assert contents(folder) == {"m.run.json": b"keep me"}


def _read_or_refuse(path) -> None:
    with contextlib.suppress(OutputError):
        expect_settled(path)
