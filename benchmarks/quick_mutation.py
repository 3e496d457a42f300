"""Single changes of some modules against quick tests, all in one process that stays warm.

    python -m benchmarks.quick_mutation odtc/verification/against_file.py tests/unit/test_file_rules.py … [--sample 30]
    python -m benchmarks.quick_mutation GROUP [--sample 30]    a group of mutation_groups.toml: its modules and tests
    python -m benchmarks.quick_mutation GROUP,GROUP --draw 100 [--kept FILE]    drawn of all changes of all modules

pytest collects the tests once. A fixture of a module or a class is made once and stays, as other fixtures are made for
each test. Each test runs unchanged, once to tell which lines of the modules it comes to and once to tell what it takes
if nobody looks on. Then each change is put in the place of the code of the live functions, and the tests that come to
its lines run until one fails, the one that saw the last change first. A change counts as seen if that test passes
again, twice, with the code put back: what an earlier change left behind (caches, files), or a test that fails in turn,
sees nothing. What lives is tried once more in a fork where fixtures and caches are made anew under the change; a test
that fails there has to pass in a fork without it. Threads do not survive a fork: a test that waits there says nothing.

Left out are tests that are marked slow themselves (not by their folder, as those of the logs of solvers are) unless
they are named with their file, that fail unchanged, or that take longer than `--least`; loops are not compiled, so that
changes of them are seen; hypothesis draws the same each time and shrinks nothing. With `--draw` each change of all
modules is equally likely, and they are tried in the order drawn, so that a run that is ended is a smaller draw.
With `--part 2/3` a process tries each third of them. `--kept` keeps what unchanged tests take and reach, for as long as
neither their file nor a module that they reach is another; `--out` what was found: a draw that ended goes on from
there, and `--again` tries once more what was not seen.
"""

import argparse
import gc
import hashlib
import importlib
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.scope import Scope

from benchmarks.mutation import MEMORY, ROOT, in_child, listed, modules_of, row
from benchmarks.single_changes import Change, Source

PATIENCE = 3.0  # CPU seconds of a test, and twenty times what it took unchanged, after which it counts as failed
GROUPS = Path(__file__).with_name("mutation_groups.toml")
WAITS = 6.0  # seconds of the clock without work after which a fork is ended


class _NoEnd(BaseException):
    """A test that takes too long."""


def _ended(*_) -> None:
    raise _NoEnd


class _Between:
    """What follows a test for pytest, so that only what belongs to all tests stays."""

    def __init__(self, session):
        self._chain = [session]

    def listchain(self):
        return self._chain


class Warm:
    """A plugin of pytest that takes the place of its loop over tests."""

    def __init__(self, asked, modules, say):
        self.asked, self.modules, self.say = asked, modules, say
        self.paths = {str(ROOT / module) for module in modules}
        self.failed, self.why, self.made = False, "", {}  # made: the lines that each wide fixture comes to
        self.left: dict[int, set[int]] = {}  # by code, the lines that a test has not come to
        self.beside = 0.0  # CPU seconds for wide fixtures
        self.seconds: dict[pytest.Item, float] = {}
        self.reached: dict[pytest.Item, set[tuple[str, int]]] = {}

    def pytest_collection(self):
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutation", deadline=None, database=None, derandomize=True, phases=phases)
        settings.load_profile("mutation")

    def pytest_runtest_logreport(self, report):
        self.failed |= report.failed
        if report.failed:
            self.why = (report.longreprtext.strip().splitlines() or [""])[-1].strip()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef not in self.wide:
            return (yield)
        began, before = time.process_time(), self.lines
        self.lines, left = set(), signal.setitimer(signal.ITIMER_VIRTUAL, 0)  # the limit is that of a test
        self.left.clear()
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, *left)
            self.beside += time.process_time() - began
            self.made[fixturedef] = self.made.get(fixturedef, set()) | self.lines
            self.lines = before | self.lines

    def pytest_runtestloop(self, session):
        if session.testsfailed:
            raise session.Interrupted("a test file cannot be read")
        self.between, self.lines = _Between(session), set()
        from tests.conftest import is_slow

        named = tuple(test for test in session.config.args if "::" in test)
        self.items = [
            item
            for item in {item.nodeid: item for item in session.items}.values()
            if is_slow(item.path) or not item.get_closest_marker("slow") or item.nodeid.startswith(named)
        ]
        every = {one for item in self.items for one in _fixtures(item)}
        self.wide = {one for one in every if one._scope in (Scope.Class, Scope.Module, Scope.Package)}
        for one in self.wide:
            one._scope = Scope.Session
        self._unchanged()
        gc.unfreeze()  # the tests' conftest freezes what there is
        gc.collect()
        found = [thing for thing in gc.get_objects() if isinstance(thing, (FunctionType, type(cache(len))))]
        self.live = [one for one in found if isinstance(one, FunctionType) and one.__code__.co_filename in self.paths]
        self.caches = [one for one in found if not isinstance(one, FunctionType)]
        self.caches = [one for one in self.caches if str(one.__module__).startswith(("odtc", "tests"))]
        self.kills: dict[pytest.Item, int] = defaultdict(int)
        if self.asked.draw:
            self._drawn()
        else:
            for module in self.modules:
                self._changes(module)
        return True

    def passes(self, item, seconds: float) -> bool:
        self.failed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds)
        signal.setitimer(signal.ITIMER_REAL, 60 + 10 * seconds, 60)
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=self.between)
        except (_NoEnd, Exception):
            self.failed = True
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        return not self.failed

    def _unchanged(self) -> None:
        file, now = self.asked.kept and Path(self.asked.kept), {path: _digest(path) for path in self.paths}
        old = pickle.loads(file.read_bytes()) if file and file.exists() else {}
        new: dict[str, tuple] = {}
        for item in self.items:
            own, known = (self.asked.least, _digest(item.path)), old.get(item.nodeid)
            if known and self._still_holds(known, own) and all(now.get(at) == was for at, was in known[4].items()):
                new[item.nodeid] = (_, passed, seconds, lines, _) = (own, *known[1:])
                if passed and seconds <= self.asked.least:
                    self.seconds[item], self.reached[item] = seconds, set(lines)
                continue
            self.lines = set()
            self._follow()
            self.passes(item, 20 + 20 * self.asked.least)
            sys.settrace(None)
            lines, self.beside, self.lines, began = self.lines, 0.0, set(), time.process_time()
            passed = self.passes(item, 2 + 2 * self.asked.least)
            seconds = time.process_time() - began - self.beside
            if not passed:
                why = self.why if self.failed else ""
                self.say(f"  left out, it fails or takes long without a change: {item.nodeid} ({why})"[:240])
            elif seconds <= self.asked.least:
                self.seconds[item], self.reached[item] = seconds, lines
            new[item.nodeid] = (own, passed, seconds, set(), {})
        for item, lines in self.reached.items():
            for one in _fixtures(item):
                lines |= self.made.get(one, set())
            new[item.nodeid] = (*new[item.nodeid][:3], lines, {path: now[path] for path, _ in lines})
        if file:
            file.write_bytes(pickle.dumps(new))
        self.say(f"  {len(self.seconds)} tests of {sum(self.seconds.values()):.1f} CPU s")

    def _still_holds(self, known: tuple, own: tuple) -> bool:
        """Whether what is known of a test is what would be found: its lines are, or it is left out again."""
        (least, digest), passed, seconds = known[:3]
        left_out = seconds > self.asked.least and self.asked.least <= least
        return digest == own[1] and (left_out or (passed and seconds <= min(least, self.asked.least)))

    def _follow(self) -> None:
        """Notes the lines of the modules that are come to, each once: a loop all of whose lines are known goes on as
        quickly as ever."""
        self.left.clear()

        def call(frame, event, argument):
            if frame.f_code.co_filename not in self.paths:
                return None
            left = self.left.get(id(frame.f_code))
            if left is None:
                left = {at for _, _, at in frame.f_code.co_lines() if at}
                self.left[id(frame.f_code)] = left
            return line(frame, event, argument) if left else None

        def line(frame, event, argument):
            left = self.left.setdefault(id(frame.f_code), set())
            if frame.f_lineno in left or not left:
                left.discard(frame.f_lineno)
                self.lines.add((frame.f_code.co_filename, frame.f_lineno))
                frame.f_trace_lines = bool(left)
            return line

        sys.settrace(call)

    def _changes(self, module: str) -> None:
        asked, began = self.asked, time.process_time()
        changes = self._of_module(module)
        if asked.sample and asked.sample < len(changes):
            changes = sorted(random.Random(asked.seed).sample(changes, asked.sample))
        self.kills.clear()
        found = [self._is_seen(number, change) for number, change in changes]
        self._sum(module, found, began)

    def _drawn(self) -> None:
        """Changes of all modules together, in the order drawn."""
        asked, began, found = self.asked, time.process_time(), []
        every = [one for module in self.modules for one in self._of_module(module)]
        part, parts = asked.part
        drawn = random.Random(asked.seed).sample(every, min(asked.draw, len(every)))[part - 1 :: parts]
        told = _told(Path(asked.out)) if asked.out and not asked.again else {}
        for at, (number, change) in enumerate(drawn, 1):
            if state := told.get(_key(change)):
                found.append(None if state == "no place" else state == "seen")
            else:
                found.append(self._is_seen(number, change))
            if at % 10 == 0 or at == len(drawn):
                self._sum(f"of {len(every)}", found, began)

    def _sum(self, name: str, found: list[bool | None], began: float) -> None:
        seen, tried = found.count(True), len(found) - found.count(None)
        share, spent = seen / max(1, tried), time.process_time() - began
        self.say(f"| {name} | {seen} | {tried} | {share:.1%} | {spent:.0f} CPU s")

    def _of_module(self, module: str) -> list[tuple[int, Change]]:
        asked, only = self.asked, self.asked.functions and self.asked.functions.split(",")
        lived = asked.again and _lived(Path(asked.again))
        return [
            (number, change)
            for number, change in enumerate(self._source(module).changes)
            if change.kind == "body" and not (only and change.function[0] not in only)
            if not asked.lines or asked.lines[0] <= change.line <= asked.lines[1]
            if not asked.again or _key(change) in lived
        ]

    def _source(self, module: str) -> Source:
        path = ROOT / module
        return Source(module, str(path), path.read_text(encoding="utf-8"))

    def _is_seen(self, number: int, change: Change) -> bool | None:
        """Whether a test sees a change; None if it has no place in a live function."""
        self._tell(change, "ended the run")  # the last word, if it does
        places = self._places(change, self._source(change.module).code(number))
        tests = self._tests_of(change) if places else []
        if not places:
            state = "no place"
        elif tests and self._seen(places, tests):
            state = "seen"
        else:
            known = row(change).rsplit(" | ", 1)[0] in listed()
            state = "listed" if known else "lives" if tests else "not reached"
        self._tell(change, state)
        if state != "seen":
            self.say(f"  {state}: {row(change)}  :{change.line}:{change.column}")
        return None if state == "no place" else state == "seen"

    def _tell(self, change: Change, state: str) -> None:
        if self.asked.out:
            with open(self.asked.out, "a") as file:
                print(json.dumps({"change": _key(change), "state": state}), file=file)

    def _places(self, change: Change, code: CodeType) -> list[tuple[FunctionType, CodeType, CodeType]]:
        """(function, its code, the changed code) of the live functions that a change is in."""
        new = {(part.co_qualname, part.co_firstlineno): part for part in _codes(code)}
        within, found = f"{change.function[0]}.<locals>.", []
        for one in self.caches:
            if one.__wrapped__.__code__.co_filename in self.paths:
                one.cache_clear()
        for function in self.live:
            key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
            same_shape = key in new and new[key].co_freevars == function.__code__.co_freevars
            here = function.__code__.co_filename == str(ROOT / change.module)
            if here and same_shape and (key == tuple(change.function) or key[0].startswith(within)):
                found.append((function, function.__code__, new[key]))
        return found

    def _tests_of(self, change: Change) -> list[pytest.Item]:
        """The tests that come to a change, likeliest and quickest first, as far as the budget goes: one that comes to
        little else is likelier to look at it."""
        path, spans = str(ROOT / change.module), (change.reached_by, change.statement)
        lines = {(path, at) for first, last in spans for at in range(first, last + 1)}
        tests = [item for item, reached in self.reached.items() if lines & reached]
        tests.sort(
            key=lambda item: (0.01 + self.seconds[item]) * (50 + len(self.reached[item])) / (1 + self.kills[item])
        )
        found, spent = [], 0.0
        for item in tests:
            if (spent := spent + self.seconds[item]) <= self.asked.budget:
                found.append(item)
        return found

    def _seen(self, places, tests) -> bool:
        for item in tests:
            if self._sees(places, item):
                self.kills[item] += 1
                return True
        files = {item.module.__name__ for item in tests}
        kept = {one.__module__ for one in self.caches if one.__module__ in files and one.cache_info().currsize}
        tests = [item for item in tests if item.module.__name__ in kept or self.wide & {*_fixtures(item)}]
        if not tests:
            return False

        def work(send):
            self.forget()
            for function, _, code in places:
                function.__code__ = code
            send(next((item.nodeid for item in tests if not self._within(item)), ""))

        def unchanged(send):
            self.forget()
            send(next((item.nodeid for item in tests if item.nodeid == failed and self._within(item)), ""))

        anew = 3 * sum(self.seconds[item] for item in tests) + 60
        failed = (in_child(work, anew + 120, WAITS) or [""])[-1]
        return bool(failed and (in_child(unchanged, anew + 120, WAITS) or [""])[-1])  # it may fail in any fork

    def _sees(self, places, item) -> bool:
        """Whether a test fails under a change, and passes twice as soon as the code is put back: one that fails and
        passes in turn sees nothing."""
        for _ in range(2):
            for function, _, code in places:
                function.__code__ = code
            passed = self._within(item)
            for function, code, _ in places:
                function.__code__ = code
            if passed:
                return False
            if self._within(item) and self._within(item):
                return True
            self.forget()
            if not (self._within(item) and self._within(item)):
                self.say(f"  left out from here, it fails after a change: {item.nodeid} ({self.why})"[:240])
                del self.reached[item]
                return False
        return True

    def _within(self, item) -> bool:
        return self.passes(item, PATIENCE + 20 * self.seconds[item])

    def forget(self) -> None:
        """Forgets what was kept: what functions remember, and fixtures."""
        for kept in self.caches:
            kept.cache_clear()
        for one in self.wide:
            one.cached_result = None
            one._finalizers.clear()  # pytest makes no fixture that has some


@cache
def _digest(path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _key(change: Change) -> tuple:
    return change.module, change.line, change.column, change.words


def _told(path: Path) -> dict[tuple, str]:
    """What `--out` wrote of each change; of one that was tried twice the last word counts."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(one["change"]): one["state"] for one in map(json.loads, lines)}


def _lived(path: Path) -> set[tuple]:
    return {change for change, state in _told(path).items() if state != "seen"}


def _part(text: str) -> tuple[int, int]:
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError
    return part, parts


def _fixtures(item) -> list:
    return [one for found in item._fixtureinfo.name2fixturedefs.values() for one in found]


def _codes(code: CodeType):
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _codes(part)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("modules", help="modules, folders or groups, between commas")
    words.add_argument("tests", nargs="*", help="test files, in the place of those of the group")
    words.add_argument("--functions", help="only changes in functions of these qualified names, between commas")
    words.add_argument("--lines", type=int, nargs=2, help="only changes in these lines, the first and the last")
    words.add_argument("--least", type=float, default=2.0, help="CPU seconds above which an unchanged test is left out")
    words.add_argument("--budget", type=float, default=10.0, help="CPU seconds of tests for one change, quickest first")
    words.add_argument("--sample", type=int, help="only so many changes of each module, drawn")
    words.add_argument("--draw", type=int, help="only so many changes of all modules together, drawn")
    words.add_argument("--part", default="1/1", type=_part, help="of a draw, as 2/3: each third change from the second")
    words.add_argument("--kept", help="a file for what unchanged tests take and reach, for the next time")
    words.add_argument("--out", help="a file to which what was found is added, in lines of JSON")
    words.add_argument("--again", help="only the changes that are not seen in such a file")
    words.add_argument("--seed", type=int, default=0, help="of the drawing")
    asked = words.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
    os.environ |= {"ODTC_COMPILED": "never", "PYTHONPATH": str(ROOT), **dict.fromkeys(threads, "1")}
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY))
    signal.signal(signal.SIGVTALRM, _ended)
    signal.signal(signal.SIGALRM, _ended)
    known, names = tomllib.loads(GROUPS.read_text()), asked.modules.split(",")
    groups = [known.get(name, {"modules": [name], "tests": []}) for name in names]
    modules = modules_of(dict.fromkeys(module for group in groups for module in group["modules"]))
    tests = asked.tests or [*dict.fromkeys(test for group in groups for test in group["tests"])]
    if not tests:
        raise SystemExit(f"no tests are named for {asked.modules}: give them, or a group of {GROUPS.name}")
    for module in modules:
        importlib.import_module(module.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    out = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)

    def say(text: str) -> None:
        print(text, file=out, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]
        options += ["-o", "tmp_path_retention_policy=none", f"--basetemp={folder}/tests"]
        status = pytest.main([*options, *tests], [Warm(asked, modules, say)])
    if status not in (0, 1):  # 1: tests failed
        say(f"  pytest ended with {status!r}")
    os._exit(int(status))


if __name__ == "__main__":
    main()
