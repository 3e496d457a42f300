"""Faults of the machine around a run: one sentence, exit code 1, no traceback, and nothing that was there is lost."""

import os
import random
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from odtc.base import system
from odtc.data.reading import read
from odtc.errors import DataError
from tests.command_line import MONKS, Said, command, contents, environment, odtc, refused, started

pytestmark = pytest.mark.skipif(system.WINDOWS, reason="limits and permissions of POSIX")
DATA = MONKS / "monks-1.csv"
BUILD = ("build", DATA, "--depth", 1, "-o", "m")
SOLVE = ("solve", "m.mps")


WORDS = (
    ("predict", "m.tree.json", "t.csv"),
    ("predict", "m.tree.json", "t.csv", "--json"),
    ("show", "m.tree.json"),
    ("export", "m.tree.json", "--to", "excel"),
    ("inspect", "t.csv"),
    ("list", "models"),
    ("--version",),
    ("fit", "--help"),
)


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_result_that_cannot_be_printed_is_an_error(tmp_path, words):
    (tmp_path / "t.csv").write_bytes(DATA.read_bytes())
    if "m.tree.json" in words:
        assert odtc("fit", "t.csv", "--model", "cart", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    line = " ".join(f"'{word}'" for word in command(*words))
    done = subprocess.run(["sh", "-c", f"{line} >&-"], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "odtc: error: cannot write to the standard output: it is closed" in done.stderr.splitlines()[-1]


def test_a_message_that_cannot_be_printed_ends_no_command_and_is_counted(tmp_path):
    line = " ".join(f"'{word}'" for word in command("fit", DATA, "--model", "cart", "--depth", 1, "-o", "m"))
    for streams, code in (("2>&-", 0), ("2>/dev/full", 1)):  # who closes the stream wants no messages
        done = subprocess.run(["sh", "-c", f"{line} {streams}"], cwd=tmp_path, env=environment(), capture_output=True)
        assert done.returncode == code and b"cart" in done.stdout and (tmp_path / "m.tree.json").exists()
        (tmp_path / "m.tree.json").unlink()


@pytest.fixture
def built(tmp_path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    assert odtc(*BUILD, folder=folder).code == 0 and odtc(*SOLVE, folder=folder).code == 0
    return folder


CLOSED = {">&-": 1, "2>&-": 0, ">&- 2>&-": 1, "<&- >&- 2>&-": 1, "<&-": 0, ">/dev/full": 1, ">/dev/full 2>/dev/full": 1}


@pytest.mark.parametrize(("streams", "code"), CLOSED.items())
def test_closed_and_full_streams_lose_no_file(tmp_path, streams, code):
    """What `build` prints goes to stdout, so that it misses nothing on stderr."""
    line = " ".join(f"'{word}'" for word in command(*BUILD))
    done = subprocess.run(["sh", "-c", f"{line} {streams}"], cwd=tmp_path, env=environment(), capture_output=True)
    assert done.returncode == code and b"Traceback" not in done.stderr
    assert done.stderr.count(b"cannot write to the standard output") == (code and "2>" not in streams)
    assert {"m.mps", "m.odt.json", "m.start.sol", "m.mst"} == set(contents(tmp_path))


def test_a_link_as_target_stays_a_link(built, tmp_path):
    elsewhere = tmp_path / "elsewhere.mps"
    (built / "m.mps").rename(elsewhere)
    (built / "m.mps").symlink_to(elsewhere)
    assert odtc(*BUILD, "--class-weight", "0=2,1=1", folder=built).code == 0
    assert (built / "m.mps").is_symlink() and odtc(*SOLVE, folder=built).code == 0


def test_a_pipe_as_target_and_as_source(built):
    os.mkfifo(built / "pipe.json")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((built / "pipe.json").read_bytes()), daemon=True)
    reader.start()
    said = odtc("decode", "m.sol", "-o", "pipe.json", folder=built)
    reader.join(60)
    assert said.code == 0 and heard[0].startswith(b"{") and (built / "pipe.json").is_fifo()


def test_two_processes_on_one_stem(built):
    """Whoever is last wins, and its files are of one model."""
    runs = [
        subprocess.Popen(
            command(*BUILD, "--class-weight", f"0={weight},1=1"),
            cwd=built,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for weight in (2, 3, 4)
    ]
    for run in runs:
        out, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
    assert not [path for path in contents(built) if path.startswith(".")]
    assert odtc(*SOLVE, folder=built).code == 0
    said = odtc("decode", "m.sol", folder=built)
    assert said.code == 0 and "9 of 9" in said.out, said.err


@pytest.mark.parametrize(
    "stem", ["with  blanks", "line\nbreak", "-o", "--json", "'\"$(x)`;", "ü" * 100, "a" * 230, ".hidden"]
)
def test_any_name_of_a_file(tmp_path, stem):
    folder = tmp_path / "in a\nfolder"
    folder.mkdir()
    shutil.copy(DATA, folder / f"{stem[:200]}.csv")
    said = odtc("build", "--depth", 1, f"./{stem[:200]}.csv", "-o", f"./{stem}", folder=folder)
    assert said.code == 0, said.err
    assert odtc("solve", f"./{stem}.mps", folder=folder).code == 0
    said = odtc("decode", f"./{stem}.sol", folder=folder)
    assert said.code == 0 and "9 of 9" in said.out, said.err


def test_a_study_of_a_file_whose_name_is_no_text(tmp_path):
    name = os.fsdecode(b"caf\xe9.csv")
    shutil.copy(DATA, tmp_path / name)
    words = ("--depths", 1, "--folds", 2, "--model", "cart", "-o", os.fsdecode(b"w\xff"))
    said = odtc("sweep", name, *words, folder=tmp_path)
    assert said.code == 0, said.err
    table = pl.read_parquet((tmp_path / os.fsdecode(b"w\xff") / "results.parquet").read_bytes())
    assert set(table["data"]) == {"caf\\udce9.csv"}


def test_names_of_columns_command_no_terminal(tmp_path):
    (tmp_path / "d.csv").write_text("a\x1b[31m\u202eb,y\n1,p\n2,q\n3,q\n", encoding="utf-8")
    for words in (("inspect", "d.csv"), ("fit", "d.csv", "--depth", 1)):
        said = odtc(*words, folder=tmp_path)
        assert said.code == 0 and "\\x1b[31m\\u202eb" in said.out, said
        assert not set("\x1b\u202e") & set(said.out + said.err)


def test_a_name_that_is_too_long(tmp_path):
    assert "File name too long" in refused(odtc(*BUILD[:-1], "a" * 256, folder=tmp_path))
    assert contents(tmp_path) == {}


SOLVER = """name = "fake"
command = ["{program}", "{{{{ model }}}}", "{{{{ solution }}}}"]
status = {{ "done" = "optimal" }}
"""


@pytest.mark.parametrize("made", ["mkfifo $2", "ln -s /dev/zero $2", "mkdir $2"])
def test_a_solver_that_leaves_no_file_as_its_solution(built, tmp_path, made):
    program = tmp_path / "fake"
    program.write_text(f"#!/bin/sh\necho done; {made}\n")
    program.chmod(0o755)
    (tmp_path / "fake.toml").write_text(SOLVER.format(program=program))
    said = odtc("solve", "m.mps", "--solver", tmp_path / "fake.toml", "--time-limit", 2, "-o", "n.sol", folder=built)
    assert said.code == 3 and "in a file" in said.err and "Traceback" not in said.err, (said.code, said.err)
    assert not (built / "n.sol").exists() and (built / "m.sol").exists()


def panicking(folder) -> Path | None:
    """A damaged Parquet file over which polars panics; None if this version of it refuses them all."""
    pl.read_csv(DATA).write_parquet(folder / "whole.parquet")
    whole, rnd, path = (folder / "whole.parquet").read_bytes(), random.Random(3), folder / "d.parquet"
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(rnd.choice((1, 1, 2))):
            damaged[rnd.randrange(len(damaged))] = rnd.randrange(256)
        path.write_bytes(damaged)
        try:
            read(path)
        except DataError as refusal:
            if "Panic" in str(refusal):
                return path
    return None


def test_a_damaged_parquet_file_is_told_of_by_us_alone(tmp_path, capfd):
    path = panicking(tmp_path)
    assert capfd.readouterr().err == ""
    if path is None:
        pytest.skip("this version of polars panics over none of them")
    said = started("fit", path.name, folder=tmp_path)
    assert "expected a whole Parquet file" in refused(said) and set(contents(tmp_path)) == {
        "d.parquet",
        "whole.parquet",
    }


def test_readers_side_by_side_leave_stderr_as_it_was(tmp_path, capfd):
    pl.read_csv(DATA).write_parquet(tmp_path / "d.parquet")
    threads = [threading.Thread(target=read, args=(tmp_path / "d.parquet",)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def limited(kind: int, limit: int, *words, folder) -> Said:
    """`odtc words…` in a process under a limit of the system."""
    return started(*words, folder=folder, preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))


@pytest.mark.every(2)
@pytest.mark.parametrize("words", [BUILD[:-1] + ("n",), SOLVE, ("fit", DATA, "--depth", 1)])
@pytest.mark.parametrize("handles", [5, 12])
def test_few_file_handles(built, words, handles):
    """Of descriptors 0, 1 and 2 some more are left: done, or one sentence and all files as they were."""
    before = contents(built)
    said = limited(resource.RLIMIT_NOFILE, handles, *words, folder=built)
    if said.code == 0:
        return
    refused(said, said.code if said.code in (1, 3) else 1)
    after = contents(built)
    assert {name: after.get(name) for name in before if not name.endswith((".log", ".run.json"))} == {
        name: data for name, data in before.items() if not name.endswith((".log", ".run.json"))
    }


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep this limit")
@pytest.mark.parametrize(
    "words", [BUILD[:-1] + ("n",), ("fit", DATA, "--depth", 2, "-o", "n")], ids=lambda words: words[0]
)
@pytest.mark.parametrize("megabytes", [64, 300, 900, 1025])
def test_a_small_address_space_is_enough_or_refused_in_a_sentence(built, words, megabytes):
    """Libraries ended the process with signal 6, and no message, if they could not reserve memory for their threads."""
    said = limited(resource.RLIMIT_AS, megabytes << 20, *words, folder=built)
    if megabytes < system.LEAST_ADDRESS_SPACE >> 20:
        assert "ulimit -v" in refused(said)
    else:
        assert said.code == 0, said.err


@pytest.mark.parametrize(
    "words", [("fit", DATA, "--depth", 1), ("list", "models"), ("inspect", DATA)], ids=lambda w: w[0]
)
def test_a_working_directory_that_was_removed(tmp_path, words):
    gone = tmp_path / "gone"
    gone.mkdir()
    line = " ".join(f"'{word}'" for word in command(*words))
    done = subprocess.run(
        ["sh", "-c", f"rmdir '{gone}'; {line}"], cwd=gone, env=environment(), capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr and "a fault in odtc" not in done.stderr
    if words[0] == "fit":
        assert done.returncode == 1 and "working directory was removed" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


PLACES = {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"}


@pytest.mark.parametrize("name", [*PLACES, None])
def test_folders_of_the_user_that_are_not_there(tmp_path, name):
    """Also without HOME at all."""
    env = environment(**({} if name is None else {name: PLACES[name]}))
    if name is None:
        env.pop("HOME", None)
    said = started("fit", DATA, "--model", "flowoct", "--depth", 1, "-o", "m", folder=tmp_path, env=env)
    assert said.code == 0 and (tmp_path / "m.tree.json").exists(), said.err


@pytest.mark.skipif(shutil.which("setpriv") is None or os.geteuid() != 0, reason="needs root, to be an ordinary user")
@pytest.mark.parametrize(
    "words",
    [
        ("fit", "t.csv", "--depth", "1"),
        ("fit", "t.csv", "--model", "flowoct", "--depth", "1"),
        ("tune", "t.csv", "--depths", "1", "--folds", "2"),
        ("fit", "secret.csv", "--depth", "1", "-o", "/tmp/never"),
    ],
    ids=" ".join,
)
def test_a_user_who_may_not_write_or_read_gets_a_sentence(tmp_path, words):
    """Root without its capabilities is bound by the permissions of its files, as any user is."""
    shutil.copy(DATA, tmp_path / "t.csv")
    shutil.copy(DATA, tmp_path / "secret.csv")
    (tmp_path / "secret.csv").chmod(0)
    tmp_path.chmod(0o555)
    try:
        done = subprocess.run(
            ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command(*words)],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
        )
    finally:
        tmp_path.chmod(0o755)
    assert done.returncode in (1, 2) and done.stderr.splitlines()[-1].startswith("odtc: error: "), done.stderr
    assert "ermission denied" in done.stderr or "not readable" in done.stderr
    assert set(contents(tmp_path)) == {"t.csv", "secret.csv"}


@pytest.mark.slow
def test_little_memory(built):
    """The files of the older model were said to be removed before the new one was written, and then were not."""
    before, words = contents(built), ("build", DATA, "--model", "binoct", "--depth", 13, "-o", "m")
    said = limited(resource.RLIMIT_AS, 1300 << 20, *words, folder=built)
    assert "memory" in refused(said) and contents(built) == before


@pytest.mark.parametrize("words", [("fit", DATA, "--depth", 2, "-o", "m"), ("decode", "m.sol"), BUILD], ids=str)
def test_a_disk_that_is_full_loses_nothing(built, words):
    """RLIMIT_FSIZE: what was there is there, whichever file is the first that there is no room for."""
    assert odtc("decode", "m.sol", folder=built).code == 0
    before = contents(built)

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    done = subprocess.run(
        command(*words), cwd=built, env=environment(), capture_output=True, text=True, preexec_fn=small
    )
    assert done.returncode == 1 and done.stderr.count("odtc: error: ") == 1 and "File too large" in done.stderr
    assert {name: text for name, text in contents(built).items() if name in before} == before


def test_decimal_commas_are_told_of(tmp_path):
    (tmp_path / "d.csv").write_text("a;b;y\n1,5;2,25;p\n2,5;1,25;q\n3,5;0,25;p\n1,0;3,5;q\n")
    said = odtc("fit", "d.csv", "--model", "cart", "--depth", 1, folder=tmp_path)
    assert said.code == 0 and "decimal comma" in said.err and "'a'" in said.err


@pytest.mark.parametrize(
    ("cell", "signs"), [("2,5", ","), ("-1,250", ". (-1250) or --decimal , (-1.25)"), ("1.234,5", ",")]
)
def test_decimal_commas_of_a_target_are_refused_with_the_way_out(tmp_path, cell, signs):
    (tmp_path / "c.csv").write_text(f'a,y\n1,3\n2,"{cell}"\n')
    said = odtc("fit", "c.csv", "--task", "regression", "-o", "m", folder=tmp_path)
    assert said.code == 1 and f"got '{cell}' in row 2; read the file with --decimal {signs} or" in said.err
