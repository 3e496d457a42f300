"""Single changes of one module against quick tests, all in one process: for modules whose tests are plain functions.

    python -m benchmarks.quick_mutation odtc/verification/against_file.py tests/unit/test_file_rules.py …

Each change is put in the place of the code of the live functions, and the tests run until one fails, the one that saw
the last change first. A test may take `tmp_path`, `monkeypatch` and what it is parametrized with; others, and tests of
hypothesis, are left out, and so are those that fail unchanged. No fork, no pytest: a change takes what the tests take,
some hundredths of a second. What a change leaves behind (caches, files) may be seen by the next: benchmarks.mutation is
without that.
"""

import argparse
import contextlib
import gc
import importlib
import inspect
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from benchmarks.mutation import ROOT, listed, row
from benchmarks.single_changes import Source

PATIENCE = 3.0  # CPU seconds of a test, and twenty times what it took unchanged, after which it counts as failed


class _NoEnd(BaseException):
    """A test that takes too long."""


def _ended(*_) -> None:
    raise _NoEnd


def cases_of(module) -> list[tuple[FunctionType, dict]]:
    """The tests of a module as (function, arguments); `tmp_path` and `monkeypatch` are given when it is called."""
    found = []
    for name, test in vars(module).items():
        marks = getattr(test, "pytestmark", [])
        if not (name.startswith("test_") and isinstance(test, FunctionType)) or hasattr(test, "hypothesis"):
            continue
        if any(mark.name in ("slow", "skipif", "xfail") for mark in marks):
            continue
        calls: list[dict] = [{}]
        for mark in (mark for mark in marks if mark.name == "parametrize"):
            names = [n.strip() for n in mark.args[0].split(",")] if isinstance(mark.args[0], str) else mark.args[0]
            values = [getattr(v, "values", v) if hasattr(v, "marks") else v for v in mark.args[1]]
            rows = [tuple(v) if len(names) > 1 or hasattr(v, "marks") else (v,) for v in values]
            calls = [call | dict(zip(names, given)) for call in calls for given in rows]
        if not set(inspect.signature(test).parameters) - set(calls[0] if calls else {}) - {"tmp_path", "monkeypatch"}:
            found += [(test, call) for call in calls]
    return found


def passes(test: FunctionType, call: dict, seconds: float) -> bool:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with contextlib.ExitStack() as stack:
            given, wanted = dict(call), inspect.signature(test).parameters
            if "tmp_path" in wanted:
                given["tmp_path"] = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            if "monkeypatch" in wanted:
                given["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
            test(**given)
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt):
            raise
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return True


def _codes(code: CodeType):
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _codes(part)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("module")
    words.add_argument("tests", nargs="+", help="test files")
    words.add_argument("--functions", help="only changes in functions of these qualified names, between commas")
    words.add_argument("--least", type=float, default=2.0, help="CPU seconds above which an unchanged test is left out")
    words.add_argument("--sample", type=int, help="only so many changes, drawn")
    words.add_argument("--seed", type=int, default=0, help="of the drawing")
    asked = words.parse_args()
    os.chdir(ROOT)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, _ended)
    path = str(ROOT / asked.module)
    importlib.import_module(asked.module.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    order, seconds = [], {}
    for file in asked.tests:
        for test, call in cases_of(importlib.import_module(file.removesuffix(".py").replace("/", "."))):
            began = time.process_time()
            if not passes(test, call, 60):
                print(f"  left out, it fails without a change: {test.__name__} {call}"[:160])
            elif time.process_time() - began <= asked.least:
                order.append((test, call))
                seconds[id(call)] = time.process_time() - began
    order.sort(key=lambda case: seconds[id(case[1])])
    print(f"  {len(order)} tests of {sum(seconds.values()):.1f} CPU s", flush=True)
    gc.collect()
    live = [f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__.co_filename == path]
    text, known = Path(path).read_text(encoding="utf-8"), listed()
    only, seen, lived, began = asked.functions and asked.functions.split(","), 0, 0, time.process_time()
    changes = [
        (number, change)
        for number, change in enumerate(Source(asked.module, path, text).changes)
        if change.kind == "body" and not (only and change.function[0] not in only)
    ]
    if asked.sample and asked.sample < len(changes):
        changes = sorted(random.Random(asked.seed).sample(changes, asked.sample))
    for number, change in changes:
        parts = _codes(Source(asked.module, path, text).code(number))
        new = {(part.co_qualname, part.co_firstlineno): part for part in parts}
        within, before = f"{change.function[0]}.<locals>.", []
        for function in live:
            key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
            same_shape = key in new and new[key].co_freevars == function.__code__.co_freevars
            if same_shape and (key == tuple(change.function) or key[0].startswith(within)):
                before.append((function, function.__code__))
                function.__code__ = new[key]
        if not before:
            print(f"  no place: {row(change)}")
            continue
        by = next((c for c in order if not passes(*c, PATIENCE + 20 * seconds[id(c[1])])), None)
        for function, code in before:
            function.__code__ = code
        if by is None:
            lived += 1
            print(
                f"  {'listed' if row(change).rsplit(' | ', 1)[0] in known else 'lives'}: {row(change)}  :{change.line}"
            )
        else:
            seen += 1
            order.remove(by)
            order.insert(0, by)
        sys.stdout.flush()
    spent = time.process_time() - began
    print(f"| {asked.module} | {seen} | {seen + lived} | {seen / max(1, seen + lived):.1%} | {spent:.0f} CPU s")


if __name__ == "__main__":
    main()
