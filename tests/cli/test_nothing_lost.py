"""A run that fails at its last file leaves all files of the run before, and bad options fail first."""

import io
import json
import os
import subprocess
import sys

import pytest

from odtc.base import commit, system
from odtc.base.atomic_write import write_text
from odtc.cli import app
from odtc.data.cells import data_files
from odtc.data.frames import write_parquet
from odtc.data.reading import read
from odtc.errors import ChoiceError, DataError, OutputError
from odtc.workflow import files_of_models
from odtc.workflow.pipeline import near_optimal as near_optimal_in_python
from tests.command_line import MONKS, contents, environment, odtc, refused

DATA = MONKS / "monks-1.csv"
FIT = ("fit", DATA, "--depth", 1, "-o", "m")


def _full(*_, **__):
    raise OutputError("cannot write: No space left on device")


def test_a_solution_that_cannot_be_written_leaves_the_older_model_and_its_own(tmp_path, monkeypatch):
    """The new manifest was there, and the old solution was not."""
    words = (*FIT, "--model", "flowoct", "--encoding", "onehot", "--solver", "highs")
    assert odtc(*words, folder=tmp_path).code == 0
    before = contents(tmp_path)
    monkeypatch.setattr(files_of_models, "write_solution", _full)
    refused(odtc(*words, "--class-weight", "0=2,1=1", folder=tmp_path))
    after = contents(tmp_path)
    assert {**after, "m.log": b""} == {**before, "m.log": b""}  # the log is of the last solver that ran
    monkeypatch.undo()
    assert odtc("verify", "m.sol", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    ("words", "writer", "told"),
    [
        (FIT, "odtc.workflow.artifacts.write_tree", "proved optimal, certified: objective "),
        ((*FIT, "--model", "flowoct"), "odtc.workflow.files_of_models.write_solution", "proved optimal: objective "),
        ((*FIT, "--pool", 2), "odtc.workflow.sinks.write_text", "proved optimal, certified: objective "),
        (
            ("certify", DATA, "--depth", 1, "-o", "c.certificate.json"),
            "odtc.workflow.artifacts.write_tree",
            "no tree of",
        ),
        (
            ("frontier", DATA, "--depth", 1, "--vary", "recall[1] >= 0.5:0.6:0.1", "-o", "f"),
            "odtc.workflow.constrained.frontier.write_text",
            "0.661765",
        ),
    ],
    ids=["search", "solver", "pool", "certify", "frontier"],
)
def test_what_was_proved_is_told_if_no_file_can_be_written(tmp_path, monkeypatch, words, writer, told):
    """The search may have taken an hour, and the disk is full: its tree, objective and bound are shown."""
    monkeypatch.setattr(writer, _full)
    for json_too in ((), ("--json",)):
        done = odtc(*words, *json_too, folder=tmp_path)
        assert done.code == 1 and "No space left on device" in done.err
        assert "Traceback" not in done.err
        if json_too:
            assert "files" not in (facts := json.loads(done.out)) or facts["files"] == []
        else:
            assert told in done.out
    assert not [name for name in contents(tmp_path) if name.endswith((".tree.json", ".certificate.json"))]


@pytest.mark.parametrize(
    ("option", "value", "file"),
    [("--pool", 2, "m.pool.json"), ("--within", "5%", "m.near-optimal.json")],
)
def test_older_trees_near_the_best_stay_until_the_new_ones_are_written(tmp_path, monkeypatch, option, value, file):
    assert odtc(*FIT, option, value, folder=tmp_path).code == 0
    before = (tmp_path / file).read_bytes()
    monkeypatch.setattr("odtc.workflow.sinks.write_text", _full)
    assert odtc(*FIT, option, value, folder=tmp_path).code == 1
    assert (tmp_path / file).read_bytes() == before


def test_trees_near_the_best_of_numbers_are_counted_nowhere_and_refused_in_python(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{k % 4},{k * k % 11}\n" for k in range(24)))
    with pytest.raises(ChoiceError, match='task="regression" has not; `odtc fit --within E` lists them'):
        near_optimal_in_python(tmp_path / "d.csv", within="5%", depth=1, reading={"task": "regression"})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_data_are_not_read_from_a_pipe(tmp_path):
    """Of which nothing came the second time: the command waited for ever."""
    os.mkfifo(tmp_path / "d.csv")
    with pytest.raises(DataError, match="pipe or a device"):
        read(tmp_path / "d.csv")


def test_a_link_to_itself(tmp_path):
    (tmp_path / "m.odt.json").symlink_to("m.odt.json")
    assert "link that leads to itself" in refused(odtc("build", *FIT[1:], folder=tmp_path))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (ImportError("x.so: failed to map segment from shared object"), "not enough memory"),
        (OSError(12, "Cannot allocate memory"), "not enough memory"),
        (OSError(24, "Too many open files"), "too many open files"),
        (OSError(40, "Too many levels of symbolic links", "m"), "link that leads to itself"),
        (ImportError("No module named 'x'"), ""),
        (RuntimeError("anything"), ""),
    ],
)
def test_faults_of_the_machine_are_told_from_those_of_odtc(fault, said):
    assert app._of_the_machine(fault).count(said) and bool(app._of_the_machine(fault)) == bool(said)


@pytest.mark.skipif(system.WINDOWS, reason="no such limit")
def test_the_address_space_of_a_process_is_a_limit_of_its_memory(tmp_path):
    """`ulimit -v` was not looked at: polars ended the process, and nothing too large was refused."""
    import resource

    asked = "from odtc.base.memory import available; print(available())"
    told = subprocess.run(
        [sys.executable, "-c", asked],
        env=environment(),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31)),
    )
    assert 1 << 28 < int(told.stdout) < 1 << 31, told.stderr


def test_data_are_not_read_without_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "available", lambda: 1 << 20)
    assert "64 MB of free memory" in refused(odtc(*FIT, folder=tmp_path)) and contents(tmp_path) == {}


def test_what_is_committed_is_done_whatever_comes_after(tmp_path, monkeypatch):
    """Without file handles, sweeping came to its end before the files had their names."""

    def none_left(stem):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(commit, "sweep", none_left)
    with commit.together(tmp_path / "m"):
        write_text(tmp_path / "m.a", "one")
        write_text(tmp_path / "m.b", "two")
    assert contents(tmp_path) == {"m.a": b"one", "m.b": b"two"}


def test_parquet_on_a_full_disk():
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_parquet([{"a": 1}], {"a": int}, Full())
