"""Special files: pipes and devices as inputs, links as outputs."""

import json
import os
import signal
import socket

import pytest

from odtc.base import system
from tests.command_line import MONKS, contents, odtc, refused, started

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
ENDLESS = ["/dev/zero", "pipe", "socket", "folder"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run without a model (m) and one with a model (s), next to their data."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "t.csv").write_bytes((MONKS / "monks-1.csv").read_bytes())
    assert odtc("fit", "t.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
    assert odtc("fit", "t.csv", "--model", "flowoct", "--depth", 1, "-o", "s", folder=folder).code == 0
    assert odtc("certify", "t.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
    vary = ("frontier", "t.csv", "--depth", 1, "--vary", "recall[1] >= 0.5:0.6:0.1", "-o", "m")
    assert odtc(*vary, folder=folder).code == 0
    return folder


@pytest.fixture
def work(finished, tmp_path):
    for name, data in contents(finished).items():
        (tmp_path / name).write_bytes(data)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(tmp_path)  # the name of a socket is at most 108 bytes
        bound.bind("socket")
        os.chdir(here)
    return tmp_path


NAMED = {  # command -> (the file that names data, the keys to the object that has the path)
    ("verify", "s.sol"): ("s.odt.json", ("data",)),
    ("verify", "s"): ("s.odt.json", ("data",)),
    ("report", "s"): ("s.odt.json", ("data",)),
    ("decode", "s.sol", "-o", "x"): ("s.odt.json", ("data",)),
    ("verify", "m"): ("m.run.json", ("fit", "data")),
    ("report", "m"): ("m.run.json", ("fit", "data")),
    ("verify", "--certificate", "m.certificate.json"): ("m.certificate.json", ("data",)),
    ("verify", "m.frontier.json"): ("m.frontier.json", ("source",)),
}


def ended(*words, folder):
    """What a command prints that must not wait for a pipe: after a minute it is interrupted."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        return odtc(*words, folder=folder)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


EACH_FILE = {name: words for words, (name, _) in NAMED.items()}  # a command for each file that names data


@pytest.mark.parametrize(
    ("words", "place"),
    [*((words, "pipe") for words in NAMED), *((words, "/dev/zero") for words in EACH_FILE.values())],
    ids=lambda one: one if isinstance(one, str) else " ".join(one[:2]),
)
def test_data_that_a_file_names_are_read_from_a_regular_file_only(words, place, work):
    """Each command ends, with a result that does not need the data or with one sentence."""
    name, keys = NAMED[words]
    facts = json.loads((work / name).read_bytes())
    holder = facts
    for key in keys:
        holder = holder[key]
    holder["path"] = place
    (work / name).write_text(json.dumps(facts))
    way = ended if place == "pipe" else started  # who reads the device fills the memory of its process
    said = way(*words, folder=work)
    assert said.code in (0, 1) and "Traceback" not in said.err and "a fault in odtc" not in said.err, said.err
    if words[0] == "verify":
        assert said.code == 1 and said.err.count("odtc: error: ") == 1, said.err


@pytest.mark.parametrize("words", [("decode", "s.sol", "-o", "x"), ("verify", "m"), ("report", "m")], ids=" ".join)
def test_a_pipe_next_to_a_named_file_is_not_opened(words, work):
    for name in [
        f"{stem}{ending}" for stem in ("m", "other") for ending in (".run.json", ".odt.json", ".frontier.json")
    ]:
        (work / name).unlink(missing_ok=True)
        os.mkfifo(work / name)
    said = ended(*words, folder=work)
    assert said.code in (0, 1) and "Traceback" not in said.err and "a fault in odtc" not in said.err, said.err


def test_only_regular_files_are_opened(work):
    assert system.read_file(work / "t.csv") == (work / "t.csv").read_bytes()
    for place in (*ENDLESS, "absent"):
        with pytest.raises(OSError):
            system.read_file(work / place if "/" not in place else place)


OUTPUTS = [  # (command without -o, its output, the same with -o)
    ("fit t.csv --depth 1", "t_dpflow_d1.tree.json", "-o t_dpflow_d1"),
    ("fit t.csv --model flowoct --depth 1 --time-limit 60", "t_flowoct_d1.log", "-o t_flowoct_d1"),
    ("build t.csv --model flowoct --depth 1", "t_flowoct_d1.mps", "-o t_flowoct_d1"),
    ("report m", "m.html", "-o m.html"),
    ("solve s.mps --solver highs", "s.sol", "-o s.sol"),
    ("tune t.csv --depths 1 --folds 2", "t_tuned.tune.json", "-o t_tuned"),
    ("select t.csv --select balanced:share=0.5", "t_selected.csv", "-o t_selected.csv"),
]


@pytest.mark.parametrize(("words", "name", "given"), OUTPUTS, ids=[name for _, name, _ in OUTPUTS])
def test_a_default_name_that_is_a_link_is_replaced_and_one_that_is_named_is_followed(words, name, given, work):
    if words.startswith("solve"):
        odtc(*"build t.csv --model flowoct --depth 1 -o s".split(), folder=work)
    other = work / "elsewhere" / "precious"
    for following in (False, True):
        other.parent.mkdir(exist_ok=True)
        other.write_text("mine")
        (work / name).unlink(missing_ok=True)
        (work / name).symlink_to(other)
        said = odtc(*words.split(), *(given.split() if following else ()), folder=work)
        assert said.code == 0, said.err
        assert (work / name).is_symlink() == following and (other.read_text() == "mine") == (not following)
        assert (work / name).stat().st_size > 4
        (work / name).unlink()


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_default_name_that_is_a_pipe_or_a_device_is_replaced(kind, work):
    name = work / "t_dpflow_d1.tree.json"
    name.symlink_to({"pipe": work / "pipe", "device": "/dev/null", "folder": work / "folder"}[kind])
    said = odtc("fit", "t.csv", "--depth", 1, folder=work)
    assert said.code == 0 and name.is_file() and not name.is_symlink(), said.err
    assert not any((work / "folder").iterdir())


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("fit t.csv --depth 1 -o m", "m.tree.json"),
        ("fit t.csv --depth 1 -o m", "m.run.json"),
        ("certify t.csv --depth 1 -o m", "m.certificate.json"),
        ("build t.csv --model flowoct --depth 1 -o s", "s.mps"),
        ("build t.csv --model flowoct --depth 1 -o s", "s.odt.json"),
    ],
)
def test_a_pipe_with_the_name_of_a_file_of_a_stem_is_refused(words, name, work):
    """It was opened, and waited for a reader for ever."""
    (work / name).unlink(missing_ok=True)
    os.mkfifo(work / name)
    before = contents(work)
    assert f"cannot write '{name}': it is a pipe or a device" in refused(ended(*words.split(), folder=work))
    assert contents(work) == before and (work / name).is_fifo()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("fit t.csv --model flowoct --depth 1 --solver highs --format mps -o s", "s.tree.json"),
        ("fit t.csv --model flowoct --depth 1 --solver highs --format mps -o s", "s.run.json"),
        ("tune t.csv --depths 1 --folds 2 -o m", "m.run.json"),
        ("solve model.mps --solver highs", "model.run.json"),
    ],
)
def test_a_folder_with_the_name_of_a_file_is_refused_before_the_work(words, name, work):
    """It was noticed after the search, whose result was lost."""
    assert odtc(*"build t.csv --model flowoct --depth 1 -o model".split(), folder=work).code == 0
    (work / name).unlink(missing_ok=True)
    (work / name).mkdir()
    before = contents(work)
    assert f"cannot write '{name}': it is a folder" in refused(odtc(*words.split(), folder=work)).split("error:")[-1]
    assert contents(work) == before and not list(work.glob("*.fits"))


def test_finished_tasks_are_not_kept_or_deleted_behind_a_link(work):
    (work / "folder" / "precious.json").write_text("{}")
    for name, words in {
        "t_tuned.tune.fits": "tune t.csv --depths 1 --folds 2",
        "sweep": "sweep t.csv --model cart --depths 1 --folds 2",
        "bench-models.jsonl.tasks": "bench models --data t.csv --depths 1 --formulations flowoct",
    }.items():
        (work / name).symlink_to(work / "folder")
        assert "it is a link" in refused(odtc(*words.split(), folder=work)).split("odtc: error:")[-1]
        assert [path.name for path in (work / "folder").iterdir()] == ["precious.json"]
