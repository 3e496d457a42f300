"""Mutation score: single changes of the code that checks and claims, each against the tests that run it.

    python -m benchmarks.mutation odtc/verification odtc/workflow/decoding.py … [--out FILE] [--again FILE]

One warm process imports odtc and collects the tests of the modules' map once. Each test is run unchanged in a
fork of it, which says which lines it reaches and how long it takes. Then each change is compiled in a fork of its
own and put in the place of the function's code object, so that all who imported it see it, and the tests that reach
the changed expression run, likeliest and quickest first, until one fails. A change outside of functions that lives
that way is tried once more in a process that imports the changed module. A change that no test sees survives and is
printed, as a row for the list of EQUIVALENT.md, whose rows are left out.

Threads do not survive a fork: if the module of a test has polars at work when it is collected, its tests wait for ever
in a fork. A child that does nothing for IDLE seconds is ended; what fails or waits in a fork is run once in a process
that imports odtc anew, and if it passes there it is tried in such processes on the changes that the others do not see.
"""

import argparse
import gc
import hashlib
import importlib.machinery
import json
import os
import pickle
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

from benchmarks.single_changes import Change, Source

ROOT = Path(__file__).resolve().parents[1]
LISTED = Path(__file__).with_name("EQUIVALENT.md")
VERIFICATION = (
    "tests/unit/test_verify.py",
    "tests/unit/test_refusals.py",
    "tests/unit/test_forged_claims.py",
    "tests/cli/test_identity.py",
)
CERTIFICATES = (
    "tests/unit/test_certificate.py",
    "tests/unit/test_certificate_rules.py",
    "tests/unit/test_forged_certificates.py",
    "tests/unit/test_threshold_certificate.py",
    "tests/unit/test_constrained_certificate.py",
    "tests/unit/test_second_checker.py",
    "tests/cli/test_corruptions.py",
)
FILE = ("tests/unit/test_against_file.py", "tests/unit/test_encoding_again.py")
DECODING = (
    "tests/unit/test_decoding.py",
    "tests/unit/test_in_python.py",
    "tests/unit/test_extend.py",
    "tests/cli/test_decode_as_recorded.py",
    "tests/unit/test_edited_in_memory.py",
    "tests/unit/test_lying_solver.py",
    "tests/unit/test_own_parts.py",
    "tests/unit/test_simplifying.py",
    "tests/unit/test_what_checks_say.py",
)
CONSTRAINTS = (
    "tests/unit/test_each_constraint.py",
    "tests/unit/test_constraints.py",
    "tests/unit/test_constraint_texts.py",
    "tests/unit/test_constraint_figures.py",
    "tests/unit/test_conflicts.py",
    "tests/unit/test_path_constraints.py",
    "tests/unit/test_paths_and_resources.py",
    "tests/unit/test_resources.py",
    "tests/unit/test_fair.py",
    "tests/unit/test_live_cases.py",
    "tests/unit/test_expressions.py",
)
ESTIMATOR = (
    "tests/unit/test_claims.py",
    "tests/unit/test_estimator.py",
    "tests/unit/test_estimator_input.py",
    "tests/unit/test_estimator_inspection.py",
)
# The quick tests of each folder or module: all whose names begin a module's path are its tests.
TESTS = {
    "odtc/verification": (*CERTIFICATES, *VERIFICATION, *FILE, "tests/unit/test_objective_unit.py"),
    "odtc/workflow/provenance": (
        *FILE,
        *VERIFICATION,
        "tests/cli/test_decode_as_recorded.py",
        "tests/cli/test_verify_tree.py",
        "tests/unit/test_edited_in_memory.py",
    ),
    "odtc/workflow/decoding.py": (*DECODING, *VERIFICATION),
    "odtc/workflow/manifest.py": ("tests/laws/test_manifest.py", *VERIFICATION),
    "odtc/model": (*DECODING, *VERIFICATION, "tests/unit/test_claims.py"),
    "odtc/problem/constraints": CONSTRAINTS,
    "odtc/estimators": ESTIMATOR,
    "odtc/fileformats/status_words.py": (
        "tests/files/test_status_words.py",
        "tests/files/test_solution_files.py",
        "tests/solvers/test_logs.py",
    ),
}
BUDGET = 10.0  # CPU seconds of tests for one change, quickest first
PATIENCE = 8  # times the CPU seconds of a test unchanged, and two seconds more, after which it counts as failed
MEMORY = 6 << 30  # bytes that a changed program may take
IDLE = 60.0  # seconds of the clock without any work of a child and what it started, after which it is ended
SEEN, LIVES, NO_PLACE = "seen", "lives", "no place"
_at_work: set[int] = set()  # the groups of this process's children


def in_child(work, wall: float, idle: float = IDLE):
    """What `work(send)` sends from a process of its own, as a list; it ends when that returns, dies, takes longer
    than `wall` seconds or does nothing for `idle` seconds."""
    reader, writer = os.pipe()
    folder = tempfile.mkdtemp(prefix="mutation")
    if not (pid := os.fork()):
        os.close(reader)
        os.setsid()
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": folder, "TMPDIR": folder}
        tempfile.tempdir = None
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        try:
            work(lambda thing: _send(writer, thing))
        finally:
            os._exit(0)
    _at_work.add(pid)
    os.close(writer)
    until, parts, worked, seen = time.monotonic() + wall, [], time.monotonic(), -1
    while (now := time.monotonic()) < min(until, worked + idle):
        if select.select([reader], [], [], min(until - now, idle / 4))[0]:
            if not (part := os.read(reader, 1 << 20)):
                break
            parts.append(part)
        if (ticks := _ticks(pid)) != seen:
            worked, seen = time.monotonic(), ticks
    os.close(reader)
    _kill(pid)
    os.waitpid(pid, 0)
    _at_work.discard(pid)
    shutil.rmtree(folder, ignore_errors=True)
    return _received(b"".join(parts))


def _ticks(session: int) -> int:
    """The CPU time of all processes of a session, in ticks."""
    total = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            total += sum(map(int, fields[11:15]))
    return total


def _kill(pid: int) -> None:
    """Ends a child and its group, which it may not have made yet."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)


def _end_with(lifeline: int) -> None:
    """Ends this process and its children as soon as nobody holds the other side of a pipe, however that ended."""
    os.read(lifeline, 1)
    for pid in list(_at_work):
        _kill(pid)
    os._exit(1)


def _send(writer: int, thing) -> None:
    data = pickle.dumps(thing)
    data = len(data).to_bytes(8, "big") + data
    while data:
        data = data[os.write(writer, data) :]


def _received(data: bytes) -> list:
    found = []
    while len(data) >= 8 and len(data) >= 8 + (size := int.from_bytes(data[:8], "big")):
        found.append(pickle.loads(data[8 : 8 + size]))
        data = data[8 + size :]
    return found


class Reached:
    """Which lines of some files a program comes to."""

    def __init__(self, paths):
        self.paths, self.lines = paths, defaultdict(set)

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _call(self, frame, event, argument):
        path = frame.f_code.co_filename
        if path not in self.paths:
            return None
        lines = self.lines[path]

        def line(frame, event, argument):
            lines.add(frame.f_lineno)
            return line

        lines.add(frame.f_lineno)
        return line


def run_item(item, following=None) -> bool:
    """Whether a collected test passes, or is skipped."""
    from _pytest.runner import runtestprotocol

    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


class Warm:
    """A plugin of pytest that takes the place of its loop over tests: a fork for each test, then for each change."""

    def __init__(self, sources, asked, send, wanted):
        self.sources, self.asked, self.send, self.wanted = sources, asked, send, wanted
        self.by_path = {source.path: source for source in sources}

    def pytest_runtestloop(self, session):
        self.items = {item.nodeid: item for item in session.items}
        self.seconds, self.reaching = {}, defaultdict(lambda: defaultdict(set))
        self._unchanged()
        self._functions()
        self.tried, self.kills = defaultdict(int), defaultdict(int)
        for source in self.sources:
            for number, change in enumerate(source.changes):
                if (source.module, number) in self.wanted:
                    began = time.monotonic()
                    chosen = self.tests_of(change)
                    state, test = self._try(source, number, chosen)
                    self.send(("change", (source.module, number), state, test, chosen, time.monotonic() - began))
        return True

    def _unchanged(self) -> None:
        """Each test once, in a fork: its lines, its seconds, and what it imports, which is imported here, too."""
        file = Path(self.asked.kept) if self.asked.kept else None
        kept = pickle.loads(file.read_bytes()) if file and file.exists() else {}
        last = list(self.items)[-1]
        for name, item in self.items.items():
            files = (item.path, *self.by_path)
            digest = hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()

            def work(send, item=item):
                reached, before = Reached(set(self.by_path)), set(sys.modules)
                reached.start()
                began = time.process_time()
                passed = run_item(item)
                seconds = time.process_time() - began
                sys.settrace(None)
                send((passed, seconds, dict(reached.lines), sorted(set(sys.modules) - before)))

            found = kept[name][1] if name in kept and kept[name][0] == digest else in_child(work, 300)
            if not found or not found[0][0]:
                self.send(("failed", name))
                continue
            kept[name] = (digest, found)
            if file and (len(self.seconds) % 20 == 0 or name == last):
                file.write_bytes(pickle.dumps(kept))
            _, self.seconds[name], lines, modules = found[0]
            for module in modules:
                if not module.startswith(("tests.", "_pytest", "__")):
                    try:
                        importlib.import_module(module)
                    except Exception:  # one that only its own package can import
                        pass
            for path, numbers in lines.items():
                for number in numbers:
                    self.reaching[path][number].add(name)
        self.send(("tests", self.seconds, {path: dict(lines) for path, lines in self.reaching.items()}))

    def _functions(self) -> None:
        """The live functions of the sources, the caches of odtc, and no more collection of what is there."""
        gc.unfreeze()  # the tests' conftest freezes what there is
        gc.collect()
        self.live, self.caches = defaultdict(list), []
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType) and thing.__code__.co_filename in self.by_path:
                self.live[thing.__code__.co_filename].append(thing)
            if isinstance(thing, type(cache(len))) and str(thing.__module__).startswith(("odtc", "tests")):
                self.caches.append(thing)
        gc.freeze()

    def tests_of(self, change: Change) -> list[str]:
        """The tests that come to a change, those first that may see it soonest for the time they take."""
        source = next(source for source in self.sources if source.module == change.module)
        lines = self.reaching[source.path]
        if change.kind in ("body", "default"):
            found = {test for at in _span(change.reached_by) for test in lines.get(at, ())}
            found = found or {test for at in _span(change.statement) for test in lines.get(at, ())}
        else:
            found = {test for tests in lines.values() for test in tests}
        place = (change.module, change.function)

        def cost(test):
            likely = (1 + self.kills[place, test]) / (2 + self.tried[place, test])
            return (0.005 + self.seconds[test]) / likely

        return _within(sorted(found, key=cost), self.seconds, self.asked.budget)

    def _try(self, source: Source, number: int, chosen):
        if not chosen:
            return (LIVES, "not reached")
        change = source.changes[number]

        def work(send):
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            try:
                self._place(change, source.code(number))
            except (ValueError, LookupError) as problem:
                send((NO_PLACE, str(problem)))
                return
            except Exception as problem:  # the module cannot be run
                send((SEEN, f"import: {problem}"))
                return
            for test, following in zip(chosen, [*chosen[1:], None]):
                send(("runs", test))
                signal.setitimer(signal.ITIMER_PROF, 2 + PATIENCE * self.seconds[test])
                if not run_item(self.items[test], self.items.get(following)):
                    send((SEEN, test))
                    return
            send((LIVES, ""))

        wall = 30 + 4 * PATIENCE * sum(self.seconds[test] for test in chosen)
        found = in_child(work, wall)
        state, test = found[-1] if found else (SEEN, "died at once")
        ran = [name for state_, name in found if state_ == "runs"]
        for name in ran:
            self.tried[(change.module, change.function), name] += 1
        if state == "runs":
            state, test = SEEN, f"{test} (no end)"
        if state == SEEN and ran:
            self.kills[(change.module, change.function), ran[-1]] += 1
        return state, test

    def _place(self, change: Change, code: CodeType) -> None:
        """Puts the changed code where the unchanged is."""
        for kept in self.caches:
            kept.cache_clear()
        path = self.by_path[_path(change.module)].path
        if change.kind == "body":
            name, first = change.function
            new = {(part.co_qualname, part.co_firstlineno): part for part in _codes(code)}
            put = 0
            for function in self.live[path]:
                key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
                whole = key == (name, first)
                if whole or (key[0].startswith(f"{name}.<locals>.") and _in(change, new.get(key), function)):
                    function.__code__ = new[key]
                    put += 1
            if not put:
                raise LookupError("no live function")
            return
        name = change.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        module, fresh = sys.modules[name], {"__name__": name, "__file__": path, "__package__": name.rpartition(".")[0]}
        if change.kind == "class":
            raise LookupError("a class")
        exec(code, fresh)
        if change.kind == "default":
            part, other = module, fresh
            names = change.function[0].split(".")
            if len(names) > 1:
                raise LookupError("a method")
            part, other = getattr(part, names[0]), other[names[0]]
            part.__defaults__, part.__kwdefaults__ = other.__defaults__, other.__kwdefaults__
            return
        for key, old in list(vars(module).items()):
            if isinstance(old, dict) and not key.startswith("__") and old != fresh.get(key):
                old.clear()
                old.update(fresh[key])
                return
            if key in fresh and type(old) in (int, float, bool) and old != fresh[key]:
                for holder in list(sys.modules.values()):
                    if getattr(holder, "__dict__", {}).get(key, fresh) is old:
                        setattr(holder, key, fresh[key])
                return
        raise LookupError("no plain constant")


def _in(change: Change, code, function) -> bool:
    return code is not None and code != function.__code__


def _codes(code: CodeType):
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _codes(part)


def _span(lines) -> range:
    return range(lines[0], lines[1] + 1)


def _within(tests, seconds, budget: float) -> list[str]:
    """As many of the tests as take the budget together, one at least: file by file, so that what the tests of a file
    share is made once. What the quickest of a file takes is about what they share."""
    files, shared = defaultdict(list), {}
    for test in tests:
        files[_file(test)].append(test)
    for test, own in seconds.items():
        shared[_file(test)] = min(own, shared.get(_file(test), own))
    found, spent = [], 0.0
    for file, members in files.items():
        first = True
        for test in members:
            more = seconds[test] - (0.0 if first else shared[file])
            if not found or spent + more <= budget:
                found.append(test)
                spent, first = spent + more, False
    return found


def _file(test: str) -> str:
    return test.partition("::")[0]


def _path(module: str) -> str:
    return str(ROOT / module)


def _options(tests) -> list[str]:
    words = ["-q", "-x", "-s", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
    return [*words, *tests]


def warm(sources, asked, tests, wanted, told) -> None:
    """Runs `Warm` in a process of its own; `told` is called with each of its messages as it comes."""
    import pytest

    reader, writer = os.pipe()
    lifeline, held = os.pipe()
    if not (pid := os.fork()):
        os.close(reader)
        os.close(held)
        threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
        os.dup2(2, 1)  # what pytest says of itself is no result
        try:
            pytest.main(_options(tests), [Warm(sources, asked, lambda thing: _send(writer, thing), wanted)])
        finally:
            os._exit(0)
    os.close(writer)
    os.close(lifeline)
    data = b""
    while part := os.read(reader, 1 << 20):
        data += part
        while len(data) >= 8 and len(data) >= 8 + (size := int.from_bytes(data[:8], "big")):
            told(pickle.loads(data[8 : 8 + size]))
            data = data[8 + size :]
    os.waitpid(pid, 0)


def run_apart(test: str, paths) -> tuple[float, dict[str, set[int]]] | None:
    """Seconds and lines of a test in a process that imports odtc anew; None if it fails there, too."""

    class Traced:
        passed, seconds = True, 0.0

        def pytest_runtest_protocol(self):
            self.reached, self.began = Reached(set(paths)), time.process_time()
            self.reached.start()

        def pytest_runtest_logreport(self, report):
            self.passed &= not report.failed
            self.seconds = time.process_time() - self.began

    def work(send):
        import pytest

        traced = Traced()
        if not pytest.main(_options([test]), [traced]) and traced.passed:
            sys.settrace(None)
            send((traced.seconds, dict(traced.reached.lines)))

    found = in_child(work, 300)
    return found[0] if found else None


def imported_changed(source: Source, number: int, chosen, seconds) -> tuple[str, str]:
    """The same for a change outside of functions: the tests run in a process that imports the changed module."""

    class First:
        failed = ""

        def pytest_runtest_logreport(self, report):
            if report.failed:
                self.failed = report.nodeid

    def work(send):
        import pytest

        code, plain = source.code(number), importlib.machinery.SourceFileLoader.get_code

        def get_code(loader, name):
            return code if loader.path == source.path else plain(loader, name)

        importlib.machinery.SourceFileLoader.get_code = get_code
        first = First()
        status = pytest.main(_options(chosen), [first])
        send((SEEN if status else LIVES, first.failed))

    found = in_child(work, 60 + 4 * PATIENCE * sum(seconds[test] for test in chosen))
    return found[-1] if found else (SEEN, "no end")


def modules_of(names) -> list[str]:
    found = []
    for name in names:
        path = ROOT / name
        paths = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        found += [one.relative_to(ROOT).as_posix() for one in paths]
    return found


def tests_of(modules, given) -> list[str]:
    if given:
        return given.split(",")
    named = [tests for name, tests in TESTS.items() if any(m == name or m.startswith(name + "/") for m in modules)]
    if not named:
        raise SystemExit(f"no tests are named for {', '.join(modules)}: give them by --tests, or name them in TESTS")
    return sorted({test for tests in named for test in tests if (ROOT / test).exists()})


def row(change: Change, why: str = "") -> str:
    """A survivor as a row of EQUIVALENT.md."""
    function = change.function[0] if change.function else "(module)"
    text = change.text.replace("|", "\\|")
    return f"| {change.module.removeprefix('odtc/')} {function} | `{text}` | {change.words} | {why} |"


def listed() -> set[str]:
    """The rows of the survivors that EQUIVALENT.md explains, without their reasons."""
    lines = [line for line in LISTED.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return {line.rsplit(" | ", 1)[0] for line in lines}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("modules", nargs="+", help="modules or folders, from the repository")
    words.add_argument("--sample", type=int, help="only so many changes, drawn")
    words.add_argument("--seed", type=int, default=0, help="of the drawing")
    words.add_argument("--functions", help="only changes in functions of these qualified names, between commas")
    words.add_argument("--tests", help="test files between commas, in the place of those of the modules")
    words.add_argument("--budget", type=float, default=BUDGET, help="CPU seconds of tests for one change")
    words.add_argument("--out", help="a file for what was found, in lines of JSON")
    words.add_argument("--outside", action="store_true", help="also changes outside of functions: see MUTATION.md")
    words.add_argument("--kept", help="a file for what unchanged tests reach, for the next time")
    words.add_argument("--again", help="only the changes that live in such a file")
    asked = words.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")
    os.environ |= {"PYTHONPATH": str(ROOT), **dict.fromkeys(names, "1")}
    import hypothesis.strategies  # noqa: F401  what each child would import again
    import jinja2  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import scipy.sparse  # noqa: F401
    import sklearn.tree  # noqa: F401
    import typer  # noqa: F401

    modules = modules_of(asked.modules)
    sources = {name: Source(name, _path(name), (ROOT / name).read_text(encoding="utf-8")) for name in modules}
    wanted = [(name, at) for name, source in sources.items() for at in range(len(source.changes))]
    if not asked.outside:
        wanted = [(name, at) for name, at in wanted if sources[name].changes[at].kind == "body"]
    if asked.again:
        lines = [json.loads(line) for line in Path(asked.again).read_text().splitlines()]
        lived = {_key(line) for line in lines if line["state"] == LIVES}
        wanted = [(name, at) for name, at in wanted if _key(_record(sources[name].changes[at])) in lived]
    if asked.functions:
        names = asked.functions.split(",")
        wanted = [(name, at) for name, at in wanted if (sources[name].changes[at].function or ("",))[0] in names]
    if asked.sample:
        wanted = random.Random(asked.seed).sample(wanted, min(asked.sample, len(wanted)))
    found, later, state, failed = {}, [], {}, []
    known, began = listed(), time.monotonic()
    out = open(asked.out, "w") if asked.out else None

    def note(key, result, test, seconds):
        change = sources[key[0]].changes[key[1]]
        found[key] = result
        if result == LIVES:
            print(
                ("  listed: " if row(change).rsplit(" | ", 1)[0] in known else "  lives: ") + row(change, test), end=""
            )
            print(f"  {change.module}:{change.line}", flush=True)
        if out:
            print(json.dumps(_record(change) | {"state": result, "test": test, "seconds": seconds}), file=out)
            out.flush()

    def told(message):
        if message[0] == "failed":
            failed.append(message[1])
        elif message[0] == "tests":
            state["seconds"] = message[1]
            print(f"  {len(message[1])} tests of {sum(message[1].values()):.0f} CPU s", flush=True)
            state["began"] = time.monotonic()
        else:
            _, key, result, test, chosen, seconds = message
            outside = sources[key[0]].changes[key[1]].kind != "body"
            if (chosen and (result == NO_PLACE or (result == LIVES and outside))) or (failed and result == LIVES):
                later.append((key, chosen if result == NO_PLACE or outside else []))
            else:
                note(key, result, test, seconds)

    warm(list(sources.values()), asked, tests_of(modules, asked.tests), set(wanted), told)
    apart = {test: run_apart(test, {source.path for source in sources.values()}) for test in failed}
    for test in (test for test, ran in apart.items() if ran is None):
        print(f"  left out, it fails without a change: {test}", flush=True)
    apart = {test: ran for test, ran in apart.items() if ran is not None}
    seconds = state.get("seconds", {}) | {test: ran[0] for test, ran in apart.items()}
    for key, chosen in later:
        start, change = time.monotonic(), sources[key[0]].changes[key[1]]
        more = [
            test
            for test, (_, lines) in apart.items()
            if lines.get(_path(key[0]), set()) & set(_span(change.reached_by))
        ]
        tests = [*chosen, *_within(sorted(more, key=seconds.get), seconds, asked.budget)]
        result, test = LIVES, "" if tests else "not reached"
        if tests:
            result, test = imported_changed(Source(**_fresh(sources[key[0]])), key[1], tests, seconds)
        note(key, result, test, time.monotonic() - start)
    print("\n| module | seen | changes | share |\n|---|---|---|---|")
    for module in modules:
        own = [result for (name, _), result in found.items() if name == module]
        if own:
            seen = own.count(SEEN)
            print(f"| {module.removeprefix('odtc/')} | {seen} | {len(own)} | {seen / len(own):.1%} |")
    killed = sum(result == SEEN for result in found.values())
    print(f"| all | {killed} | {len(found)} | {killed / max(1, len(found)):.1%} |")
    spent = time.monotonic() - state.get("began", began)
    print(f"{spent / max(1, len(found)):.2f} s a change; {time.monotonic() - began:.0f} s in all")


def _fresh(source: Source) -> dict:
    return {"module": source.module, "path": source.path, "text": source.text}


def _record(change: Change) -> dict:
    return {"module": change.module, "line": change.line, "column": change.column, "words": change.words}


def _key(line: dict) -> tuple:
    return tuple(line[name] for name in ("module", "line", "column", "words"))


if __name__ == "__main__":
    main()
