"""The kernels of the search: in numpy at first, compiled by numba once a search has gone on for a while.

numba keeps what it has compiled on disk: beside the module; in the user's cache directory if the installation is
read-only; and nowhere, so that each process compiles anew, if that cannot be written either. Files are replaced whole,
so that processes side by side do no harm. Where none are on disk, a process apart
compiles them (compile_apart) while the search goes on in numpy. Without numba it stays in numpy, with the same answers.
The environment variable ODTC_COMPILED settles the choice: "never" or "always".
"""

import importlib.util
import math
import sys
import time
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from odtc.algorithms.near_optimal import pair_counts, pair_counts_numpy
from odtc.algorithms.thresholds import (
    binary_pairs,
    binary_triples,
    block_groups,
    depth_two,
    depth_two_numpy,
)
from odtc.base import compile_apart, compiled_loops, deadline, phases, threads
from odtc.base.compiled_loops import AGAIN, VARIABLE, for_numba, is_on_disk, keep_on_disk, wish  # noqa: F401

NAMES = ("take_side", "profile", "totals", "gini_test", "depth_two")  # called from Python
BINARY = ("pair_sums", "best_pair")  # which numpy code does without (odtc.algorithms.thresholds.binary_nodes)
BESIDE = {"best_pair": BINARY, "depth_two": ("gini_test", "depth_two")}  # what is to be on disk with a first kernel
COUNTING = ("pair_counts", "add_products")  # of near-optimal trees (odtc.algorithms.near_optimal)
TALL = ("height_three", "height_four")  # which nothing in numpy replaces: the search goes split by split without them
WIDE = " of int64"  # behind the name of kernels over ranks or splits: for sums that int32 does not hold
STATES = "two_levels"  # of the states of a small dynamic program (odtc.algorithms.dp.side_costs)
LOADING = 0.6  # CPU seconds in numpy, after which kernels are loaded that are on disk
COMPILING = 6.0  # CPU seconds in numpy, after which they are compiled
WAITING = 4.0  # CPU seconds in numpy, after which a search without a limit waits for another process to compile them
# CPU seconds, about
COMPILED_IN = {"best_pair": 2.0, "depth_two": 11.0, "height_three": 5.0, "height_four": 8.0, "pair_counts": 5.0}
REPAID = 2.3  # times that must be left: for the search as long as for compiling, and somewhat more


class Kernels:
    """The kernels for one search: `now` is a namespace of the functions NAMES, and `compiled`, bool; if
    that is true, of BINARY too; of TALL, if `tall` is. A search over splits of two answers (`binary`) needs other
    kernels than one over ranks, and one whose gains are int64 (`wide`) than one of int32: each of them may be on disk
    without the others."""

    def __init__(self, binary: bool = False, wide: bool = False):
        self.first, self.wide = "best_pair" if binary else "depth_two", wide
        self.began, self.early = time.process_time(), -math.inf
        asked = wish()
        self.always = asked == "always"
        self.settled = asked == "never" or not available()
        self.now = plain()
        self.meanwhile: Callable[[], None] = lambda: None  # work while another process compiles these kernels
        if not self.settled and (asked == "always" or (self.first, wide) in _loaded):
            self._take()

    def _take(self) -> None:
        self.now, self.settled = compiled(), True
        _loaded.append((self.first, self.wide))

    def renew(self) -> None:
        """Takes compiled kernels if the search has gone on for so long that they pay."""
        # Where asking for CPU time is a call of the system, it takes as long as a small node.
        if self.settled or time.monotonic() < self.early or threads.is_left():
            return
        if (spent := time.process_time() - self.began) < LOADING:
            self.early = time.monotonic() + (LOADING - spent) / 2
            return
        ready = on_disk(self.first, self.wide)
        if not ready and spent > compile_apart.PAYS and place(self.first):
            compile_apart.begin(__name__, self.first + WIDE * self.wide)
            if spent > WAITING and deadline.seconds_left() is None and compile_apart.goes_on():
                self._wait()
                ready = on_disk(self.first, self.wide)
        if not ready:
            ready = spent > COMPILING and _time_to_compile(self.first)
        if ready and not compile_apart.goes_on():
            self._take()

    def _wait(self) -> None:
        """Waits for the process that compiles the kernels: work in numpy would only take the time from it."""
        phases.begin("compiling kernels, which takes some seconds once after an installation", stays=True)
        self.meanwhile()
        while compile_apart.goes_on():
            deadline.check()
            time.sleep(threads.LOOK)
        _looked.pop((self.first, self.wide), None)

    def expect(self, seconds: float) -> None:
        """Takes compiled kernels at once if so many CPU seconds of work in numpy, that lie ahead, are worth it."""
        self.began, self.early = self.began - seconds, -math.inf
        self.renew()

    def counting(self):
        """The kernels that count trees: as `now`, but in numpy if no time is left to compile them."""
        if not self.now.compiled or self.always or _ready:
            return self.now
        if not (all(on_disk(name) for name in COUNTING) or _time_to_compile(COUNTING[0])):
            return plain()
        _ready.append(True)
        return self.now

    def tall(self, height: int) -> bool:
        """Return whether there is a kernel for trees of this height, 3 or 4, over binary splits: each is compiled
        separately, because these pay sooner."""
        name = TALL[height - 3]
        if not self.now.compiled:
            return False
        if not (self.always or name in _tall or on_disk(name)):
            if time.process_time() - self.began < COMPILING or not _time_to_compile(name):
                return False
        _tall.add(name)
        return True


def of_states():
    """The kernel STATES, if taking it costs a moment: numba is loaded, and it was compiled before; else None."""
    if wish() == "never" or (wish() != "always" and "numba" not in sys.modules) or not available():
        return None
    return _dispatchers()[STATES] if wish() == "always" or on_disk(STATES) else None


@cache
def available() -> bool:
    """Return whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


def _time_to_compile(name: str) -> bool:
    return compiled_loops.repays(REPAID * COMPILED_IN[name])


def on_disk(name: str = "depth_two", wide: bool = False) -> bool:
    """Whether this version of a kernel was compiled before, so that loading it takes a moment, for gains of int32, or
    int64 if they are `wide`; it is looked for again after a while, as another process may have compiled it."""
    found, until = _looked.get((name, wide), (False, 0.0))
    if not found and time.monotonic() >= until:
        try:
            of, gain = _dispatchers(), "int64" if wide else "int32"
            found = all(is_on_disk(of[one], gain=gain) for one in BESIDE.get(name, (name,)))
        except ImportError:  # a numba that this numpy is too new for
            found = False
        _looked[name, wide] = found, time.monotonic() + AGAIN
    return found


@cache
def plain() -> SimpleNamespace:
    """The kernels in numpy."""
    counting = {name: getattr(pair_counts_numpy, name) for name in COUNTING}
    return SimpleNamespace(compiled=False, **{name: getattr(depth_two_numpy, name) for name in NAMES}, **counting)


_looked: dict[tuple[str, bool], tuple[bool, float]] = {}  # whether a kernel is on disk, and when to look again
_loaded: list[tuple[str, bool]] = []  # what was loaded in this process (first kernel, wide), and costs nothing more
_tall: set[str] = set()  # those of TALL that were
_ready: list[bool] = []  # whether those of COUNTING were


@cache
def compiled() -> SimpleNamespace:
    """The kernels compiled by numba. Raises ImportError if it is not installed."""
    among = _dispatchers()
    return SimpleNamespace(compiled=True, **{name: among[name] for name in NAMES + BINARY + TALL + COUNTING})


@cache
def _dispatchers() -> dict:
    """The functions of the kernels' modules as numba's, which are compiled or loaded when they are called."""
    return threads.apart(_made, check=compiled_loops.limit_of_wait())


def _made() -> dict:
    # They call each other by their module's names: they are compiled among compiled ones, and the module keeps the
    # plain ones.
    among = vars(block_groups) | vars(pair_counts) | vars(binary_triples) | vars(binary_pairs) | vars(depth_two)
    functions = {name: function for name, function in among.items() if isinstance(function, types.FunctionType)}
    for name, function in functions.items():
        own = types.FunctionType(function.__code__, among, name, function.__defaults__)
        own.__module__, own.__qualname__, own.__doc__ = function.__module__, function.__qualname__, function.__doc__
        among[name] = for_numba(own, name in (*NAMES, *BINARY, *TALL, *COUNTING, STATES), name in depth_two.WRITTEN_OUT)
        keep_on_disk(among[name], functions.values())
    return among


def place(name: str) -> Path | None:
    """The folder in which a kernel stays that is compiled; None if no folder can be written."""
    return compiled_loops.place(_dispatchers()[name.removesuffix(WIDE)])


def compile_now(name: str) -> None:
    """Calls the kernels around one on little data."""
    import numpy as np

    from odtc.algorithms.thresholds.rank_search import RankSearch  # which uses this module
    from odtc.algorithms.thresholds.ranks import rank_rows

    random = np.random.default_rng(0)
    rank = random.integers(0, 40 if name.startswith("depth_two") else 2, (200, 8))
    weight = random.integers(2**29, 2**30, 200) if name.endswith(WIDE) else np.ones(200)
    search = RankSearch(rank_rows(rank, np.eye(2)[random.integers(0, 2, 200)] * weight[:, None]))
    search.dive(4)
    search.solve(3)
