"""Ctrl-C and SIGTERM take effect at once, or after a section that must not be cut."""

import gc
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from odtc.base import interrupts
from tests.command_line import environment, started


@pytest.fixture(autouse=True)
def hearing(monkeypatch):
    """The handlers of this process are put back; files that other tests wrote are forgotten."""
    interrupts.begin()
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    interrupts.hear()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    interrupts.begin()


def wait(seconds=2.0):
    """For a signal that is to come by itself."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.parametrize("number", interrupts.SIGNALS, ids=str)
def test_it_is_ctrl_c_at_once(number):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
        wait()


def test_it_waits_for_what_is_held_and_comes_then():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts.held(), interrupts.held():
            signal.raise_signal(signal.SIGINT)
            wait(3 * interrupts.AGAIN)
            done.append("whole")
        wait()
    assert done == ["whole"]
    wait(3 * interrupts.AGAIN)  # and once only


def test_it_does_not_come_between_two_blocks_where_the_process_is_set_aside():
    """A result was written, and a busy machine let no more of the command run for a moment: it ended as interrupted."""
    with interrupts.held():
        signal.raise_signal(signal.SIGINT)
    time.sleep(4 * interrupts.AGAIN)  # no work of ours
    with interrupts.held(last=True):
        pass
    wait(4 * interrupts.AGAIN)


def test_it_comes_if_nothing_follows_what_was_held():
    with pytest.raises(KeyboardInterrupt):
        with interrupts.held():
            signal.raise_signal(signal.SIGINT)
        time.sleep(2.0)


def test_after_the_last_words_it_is_forgotten():
    with interrupts.held(last=True):
        signal.raise_signal(signal.SIGTERM)
        wait(2 * interrupts.AGAIN)
    wait(4 * interrupts.AGAIN)
    with pytest.raises(KeyboardInterrupt):  # the next one is heard
        signal.raise_signal(signal.SIGTERM)
        wait()


def test_last_words_that_fail_forget_nothing():
    with pytest.raises(KeyboardInterrupt):
        try:
            with interrupts.held(last=True):
                signal.raise_signal(signal.SIGTERM)
                raise ValueError
        except ValueError:
            wait()


class Finalizer:
    """Gets a signal as it is forgotten, where Python loses every exception."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_it_comes_again_if_a_finalizer_has_lost_it():
    with pytest.raises(KeyboardInterrupt):
        Finalizer()
        wait()


def test_it_comes_again_if_a_callback_of_the_garbage_collector_has_lost_it():
    heard = []

    def callback(phase, info):
        if not heard:
            heard.append(phase)
            signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(callback)
    try:
        with pytest.raises(KeyboardInterrupt):
            gc.collect()
            wait()
    finally:
        gc.callbacks.remove(callback)


def test_other_exceptions_that_nobody_gets_are_told_as_before(monkeypatch):
    told = []
    monkeypatch.setattr(interrupts, "_hooks", [lambda unraisable: told.append(unraisable.exc_value)])
    fault = ValueError("in a finalizer")

    class Fails:
        def __del__(self):
            raise fault

    Fails()
    assert told == [fault]


def test_what_hangs_is_cut_after_all(monkeypatch):
    monkeypatch.setattr(interrupts, "LONGEST", 0.2)
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        signal.raise_signal(signal.SIGINT)
        wait()
        pytest.fail("it was held for ever")


def test_an_import_is_not_cut(monkeypatch):
    loaded = ModuleType("odtc_loaded_by_a_test")

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == loaded.__name__:
                signal.raise_signal(signal.SIGINT)
                sys.modules[name] = loaded
                loaded.whole = True
                raise ModuleNotFoundError(name)

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(KeyboardInterrupt):
        try:
            import odtc_loaded_by_a_test  # noqa: F401
        except ModuleNotFoundError:
            pass
        wait()
    assert sys.modules.pop(loaded.__name__).whole


@pytest.mark.parametrize("number", interrupts.SIGNALS, ids=str)
def test_a_call_of_polars_is_not_cut(number):
    """Where its code in Rust calls Python, it panics if the call ends with KeyboardInterrupt: a whole Parquet file was
    said to be damaged."""
    called = []
    code = "def call():\n    signal.raise_signal(number)\n    called.append(number)\n"
    space = {"__name__": pl.io.__name__, "signal": signal, "number": number, "called": called}
    exec(code, space)
    with pytest.raises(KeyboardInterrupt):
        space["call"]()
        wait()
    assert called


def test_ctrl_c_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of `nohup`, and of a script's `&`
    interrupts.hear()
    signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_the_sentence_names_what_is_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "before there was a result" in interrupts.words()
    interrupts.wrote("m.log")
    assert "before there was a result" in interrupts.words()
    interrupts.wrote("m.tree.json")
    assert "before there was a result" in interrupts.words()  # its folder is gone, as that of `odtc check` is
    (tmp_path / "m.tree.json").touch()
    interrupts.wrote("m.tree.json")
    assert interrupts.words() == "interrupted; these files are complete: m.tree.json"


def test_after_the_end_the_exit_code_stays(monkeypatch):
    left = []
    monkeypatch.setattr(interrupts.os, "_exit", left.append)
    monkeypatch.setattr(interrupts.atexit, "register", lambda *given: left.append(given[1:]))
    interrupts.part(3)
    signal.raise_signal(signal.SIGTERM)
    assert left == [(signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_IGN), 3]
    assert started("--version").code == 0


def test_work_that_was_left_apart_does_not_keep_the_command():
    """What numba compiles goes on after Ctrl-C, up to half a minute: nobody waits for it."""
    code = (
        "import sys, threading, time; from odtc.base import threads; from odtc.cli.app import main\n"
        "threading.Thread(target=time.sleep, args=(600,), name=threads.APART).start()\n"
        "assert threads.is_apart(); sys.argv = ['odtc', '--version']; main()"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("odtc "), done.stderr


# Sends itself the signal as the first library of the command line is looked for.
CUT_START = """
import os, signal, sys
class Cut:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.{name})
sys.meta_path.insert(0, Cut())
sys.argv = ["odtc", "--version"]
from {module} import {function}
{function}()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_at_the_start_of_the_installed_command_is_one_sentence(name):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, function = project["scripts"]["odtc"].split(":")
    code = CUT_START.format(name=name, module=module, function=function)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (128 + signal.Signals[name], "")
    assert run.stderr == "odtc: error: interrupted before there was a result; no incomplete file was written\n"
