"""Measure the CPU seconds of the parts of one command: Python imports this file first, as PYTHONPATH names its folder.

$ODTC_NET is a JSON object: `out`, the file to write; `parts`, {part: ["module:function", …]}; `cpu_clock`, whether
time.monotonic counts CPU seconds, so that a time limit is the same on a busy machine; `patch`, a Python file to run
first (tests plant faults with it). A part counts what its functions use without the parts called inside; `loading`
counts imports, `compiling` kernels that numba compiles or reads from disk, `other` the rest of the process.
"""

import atexit
import builtins
import importlib.machinery
import json
import os
import resource
import sys
import threading
import time

ASKED = json.loads(os.environ.pop("ODTC_NET", "{}"))
MAIN = threading.get_ident()
spent: dict[str, float] = {}
stack = ["other"]
_process_time = time.process_time


def cpu() -> float:
    """CPU seconds of this process, its threads and the children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return _process_time() + children.ru_utime + children.ru_stime


last = 0.0


def _turn() -> None:
    """Charge what was used since the last turn to the part on top of the stack."""
    global last
    now = cpu()
    spent[stack[-1]] = spent.get(stack[-1], 0.0) + now - last
    last = now


def _counted(part, function):
    def call(*given, **named):
        if threading.get_ident() != MAIN or stack[-1] == part:
            return function(*given, **named)
        _turn()
        stack.append(part)
        try:
            return function(*given, **named)
        finally:
            _turn()
            stack.pop()

    call.__name__, call.__doc__, call.__wrapped__ = getattr(function, "__name__", part), function.__doc__, function
    return call


class _Finder:
    """Finds the modules that the parts name, and wraps their functions after they are loaded."""

    def __init__(self, parts):
        self.by_module: dict[str, list] = {}
        for part, places in parts.items():
            for place in places:
                module, _, name = place.partition(":")
                self.by_module.setdefault(module, []).append((part, name.split(".")))

    def find_spec(self, name, path=None, target=None):
        wanted = self.by_module.pop(name, None)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if wanted else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                for part, words in wanted:
                    owner = module
                    for word in words[:-1]:
                        owner = getattr(owner, word, None)
                    function = getattr(owner, words[-1], None)
                    if function is not None:
                        setattr(owner, words[-1], _counted(part, function))

            spec.loader.exec_module = exec_module
        return spec


def _report() -> None:
    _turn()
    with open(ASKED["out"], "w") as stream:
        json.dump({"parts": spent, "modules": len(sys.modules)}, stream)


if ASKED.get("out"):
    sys.meta_path.insert(0, _Finder(ASKED.get("parts", {})))
    builtins.__import__ = _counted("loading", builtins.__import__)
    atexit.register(_report)
    if ASKED.get("patch"):
        with open(ASKED["patch"]) as stream:
            exec(compile(stream.read(), ASKED["patch"], "exec"), {"__name__": "patch"})
    if ASKED.get("cpu_clock"):
        time.monotonic = _process_time
