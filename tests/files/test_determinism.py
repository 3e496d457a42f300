"""Same input, version and seed, same bytes: whatever the hash seed, locale, time zone, threads, folder or host name."""

import hashlib
import json
import re
import subprocess
import sys

import pytest

from odtc.data.reading import read
from odtc.evaluation.plots import pareto, save
from odtc.evaluation.studies.sweep import kept
from odtc.trees.drawing import picture
from odtc.trees.exporting import summaries
from odtc.trees.tree import read_tree
from odtc.verification.certificate import check, read_certificate
from odtc.workflow.manifest import read_manifest
from odtc.workflow.run_record import read_run
from tests.command_line import CHECKOUT, contents, environment, odtc

GOLDEN = CHECKOUT / "tests" / "files" / "golden" / "schemas"
# Fields of time, and all of a solver's log: they differ from run to run and stand nowhere else.
TIMES = re.compile(r".*seconds|time")
TEXTS = re.compile(r"\.log$|results\.parquet$")
SPENT = re.compile(rb"(after )?[0-9.]+ s\b")  # of a page
DATA = "täble ü.csv"
COMMANDS = [
    ("build", DATA, "--depth", 2, "-o", "b", "--dialect", "all", "--missing", "separate"),
    ("build", DATA, "--depth", 1, "--model", "bendersoct", "-o", "z", "--gzip"),
    ("build", DATA, "--depth", 1, "--format", "lp", "--model", "oct", "-o", "l"),
    ("build", DATA, "--depth", 1, "--format", "fixed-mps", "--model", "dpflow", "-o", "x"),
    ("solve", "l.lp", "--threads", 1),
    ("decode", "l.sol"),
    ("fit", DATA, "--model", "dpflow", "--depth", 2, "--pool", 3, "-o", "f"),
    ("fit", DATA, "--model", "auto", "--depth", 2, "-o", "a"),
    ("fit", DATA, "--model", "cart", "--depth", 3, "-o", "c"),
    ("certify", DATA, "--depth", 2, "-o", "p.json"),
    ("select", DATA, "-o", "s.csv"),
    ("solve", "x.mps", "--solver", "highs"),
    ("fit", DATA, "--model", "cg", "--depth", 2, "-o", "g"),
    ("fit", DATA, "--target", "größe", "--task", "regression", "--depth", 2, "-o", "r"),
    ("fit", DATA, "--depth", 2, "--constraint", "recall[ja] >= 0.5", "--hold-out", 0.3, "-o", "h"),
    ("tune", DATA, "--folds", 2, "--depths", "1,2", "-o", "t"),
    ("sweep", DATA, "--depths", "1,2", "--model", "cart", "--folds", 2, "-o", "w"),
    ("bench", "models", "--data", DATA, "--formulations", "dpflow", "--depths", 1, "--results", "n.jsonl"),
    ("frontier", DATA, "--depth", 1, "--vary", "leaf_rows >= 5:15:5", "-o", "y.html"),
    ("refit", "f.tree.json", DATA, "-o", "o"),
    ("compare", "f", "a", "-o", "k.svg"),
    ("plot", "tuning", "t", "-o", "k.pdf"),
    ("report", "f"),
    ("report", "r"),
    *(("export", "f.tree.json", "--to", name, "-o", f"f.{name}") for name in summaries()),
]
RUN = """
import sys
from tests.command_line import odtc
for words in {commands!r}:
    said = odtc(*words)
    if words[0] == "export" and said.code == 2:  # a tree that the language cannot say is refused alike
        open(words[-1], "w", encoding="utf-8").write(said.err)
    else:
        assert said.code == 0, (words, said.err)
"""


def table() -> str:
    lines = ["größe,colour,weight in g,class"]
    for i in range(60):
        colour, label = "rot blau grün".split()[i % 3], "nein ja".split()[i * i % 7 < 3]
        lines.append(f"{(i * 7) % 13 / 4 + 0.1},{colour},{'' if i % 11 == 5 else i % 17},{label}")
    return "\n".join(lines) + "\n"


def made(folder, **more) -> dict[str, str]:
    """The digests of all files that the commands write in a folder, in a process with another environment."""
    folder.mkdir()
    (folder / DATA).write_text(table(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(commands=COMMANDS)],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    assert done.returncode == 0, done.stderr
    return {name: digest(name, data) for name, data in contents(folder).items() if not TEXTS.search(name)}


def digest(name: str, data: bytes) -> str:
    if name.endswith(".json"):
        facts = without_times(json.loads(data))
        if "/tasks/" in name:
            facts.pop("seal")  # a digest of its seconds, too
        if name.endswith(".run.json"):
            facts["sha256"] = None if facts["sha256"] is None else "of the solution beside it"
            own = facts["solver"] == "odtc"  # which tells its bounds now and then, by the clock
            facts["history"] = [] if own else [entry[1:] for entry in facts["history"]]
        data = json.dumps(facts).encode()
    elif name.endswith(".jsonl"):
        lines = [without_times(json.loads(line)) for line in data.splitlines()]
        data = json.dumps([{key: told for key, told in line.items() if key != "seal"} for line in lines]).encode()
    elif name.endswith(".html"):
        data = SPENT.sub(b"", data)
    return hashlib.sha256(data).hexdigest()


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if not TIMES.fullmatch(key)}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(tmp_path):
    one = made(tmp_path / "one", PYTHONHASHSEED="0", LC_ALL="C", TZ="UTC", HOSTNAME="here", POLARS_MAX_THREADS="1")
    more = {"OMP_NUM_THREADS": "2", "POLARS_MAX_THREADS": "3", "NUMBA_NUM_THREADS": "2", "COLUMNS": "40"}
    place = tmp_path / "another folder, with 'quotes'"
    more |= {"PYTHONHASHSEED": "4711", "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "HOSTNAME": "there"}
    other = made(place, **more)
    assert one.keys() == other.keys() and len(one) > 70, sorted(one.keys() ^ other.keys())
    assert [name for name in one if one[name] != other[name]] == []
    for name, data in contents(place).items():  # nor does a file tell where it was made
        assert name.endswith((".run.json", ".log")) or str(tmp_path).encode() not in data, name


def test_files_of_every_schema_are_read_for_ever(tmp_path):
    """Written by odtc 0.1.0, and never renewed: a new schema adds files beside them."""
    manifest = read_manifest(GOLDEN / "manifest-1.odt.json")
    assert (manifest.facts["schema"], manifest.problem.encoded.n_rows) == ("odtc.manifest/1", 5)
    assert read_run(GOLDEN / "manifest-1.sol").termination == "optimal"
    said = odtc("decode", GOLDEN / "manifest-1.sol", "-o", tmp_path / "t.json", "--json")
    assert said.code == 0 and said.facts["verified"] and said.facts["objective"] == 0, said.err
    for name, words in (("tree-1.tree.json", ()), ("pool-1.pool.json", ("--tree", 1))):
        shown = odtc("show", GOLDEN / name, *words)
        assert shown.code == 0 and "b ≤ 1.75" in shown.out, shown.err
    scored = odtc("predict", GOLDEN / "tree-1.tree.json", GOLDEN / "tiny.csv", "--score")
    assert scored.code == 0, scored.err
    assert read_tree(GOLDEN / "tree-1.tree.json") == read_tree(tmp_path / "t.json")
    facts = read_certificate(GOLDEN / "proof-1.json")
    assert check(facts, read(GOLDEN / "tiny.csv")).objective == 0
    verified = odtc("verify", "--certificate", GOLDEN / "proof-1.json")
    assert verified.code == 0, verified.err


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_a_picture_says_nothing_of_the_day(format, monkeypatch):
    pytest.importorskip("matplotlib")
    tree = read_tree(GOLDEN / "tree-1.tree.json")
    found = []
    for seconds in ("1000000000", "1700000000"):  # of what matplotlib takes for now
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
        curve = save(lambda ax: pareto([("a", 2, 0.5), ("b", 4, 0.75)], ax), format)
        found.append((picture(tree, format), curve))
    assert found[0] == found[1]


def test_a_study_and_its_data_are_moved_together(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "d.csv").write_text(table(), encoding="utf-8")
    words = ("--depths", 1, "--model", "cart", "--folds", 2, "-o", "w")
    assert odtc("sweep", "d.csv", *words, folder=tmp_path / "one").code == 0
    (tmp_path / "one").rename(tmp_path / "two")
    assert kept(tmp_path / "two" / "w").data == (str(tmp_path / "two" / "d.csv"),)
    again = odtc("sweep", "-o", "w", folder=tmp_path / "two")
    assert again.code == 0, again.err
