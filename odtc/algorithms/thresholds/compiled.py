"""The kernels of the search: in numpy at first, compiled by numba once a search has gone on for a while.

numba keeps what it has compiled on disk: beside the module; in the user's cache directory if the installation is
read-only; and nowhere, so that each process compiles anew, if that cannot be written either. Files are replaced whole,
so that processes side by side do no harm. Without numba a search goes on in numpy, with the same answers.
The environment variable ODTC_COMPILED settles the choice: "never" or "always".
"""

import importlib.util
import os
import time
import types
from functools import cache
from types import SimpleNamespace

from odtc.algorithms.near_optimal import pair_counts, pair_counts_numpy
from odtc.algorithms.thresholds import binary_pairs, depth_two, depth_two_numpy
from odtc.base import deadline

NAMES = ("take_side", "profile", "totals", "gini_test", "depth_two")  # called from Python
BINARY = ("pair_sums", "best_pair")  # which numpy code does without (odtc.algorithms.thresholds.binary_nodes)
COUNTING = ("pair_counts", "add_products")  # of trees near the best (odtc.algorithms.near_optimal)
VARIABLE = "ODTC_COMPILED"
LOADING = 0.6  # CPU seconds in numpy, after which kernels are loaded that are on disk
COMPILING = 6.0  # CPU seconds in numpy, after which they are compiled
LONG = 30.0  # seconds that must be left to compile


class Kernels:
    """The kernels for one search: `now` is a namespace of the functions NAMES, and `compiled`, bool; if
    that is true, of BINARY too."""

    def __init__(self):
        self.began = time.process_time()
        wish = os.environ.get(VARIABLE, "")
        self.settled = wish == "never" or not available()
        self.now = plain()
        if not self.settled and (wish == "always" or _loaded):
            self.now, self.settled = compiled(), True

    def renew(self) -> None:
        """Takes compiled kernels if the search has gone on for so long that they pay."""
        if self.settled or (spent := time.process_time() - self.began) < LOADING:
            return
        left = deadline.seconds_left()
        if on_disk() or (spent > COMPILING and (left is None or left > LONG)):
            self.now, self.settled = compiled(), True


@cache
def available() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


@cache
def on_disk() -> bool:
    """Whether this version of the kernels was compiled before, so that loading them takes a moment."""
    try:
        return bool(_dispatchers()["depth_two"]._cache._cache_file._load_index())
    except (ImportError, OSError, AttributeError):  # numba shows this in no other way; not knowing costs a few seconds
        return False


@cache
def plain() -> SimpleNamespace:
    """The kernels in numpy."""
    counting = {name: getattr(pair_counts_numpy, name) for name in COUNTING}
    return SimpleNamespace(compiled=False, **{name: getattr(depth_two_numpy, name) for name in NAMES}, **counting)


_loaded: list[bool] = []  # whether the compiled kernels were loaded in this process, so that they cost nothing more


@cache
def compiled() -> SimpleNamespace:
    """The kernels compiled by numba. Raises ImportError if it is not installed."""
    among = _dispatchers()
    _loaded.append(True)
    return SimpleNamespace(compiled=True, **{name: among[name] for name in NAMES + BINARY + COUNTING})


@cache
def _dispatchers() -> dict:
    """The functions of the kernels' modules as numba's, which are compiled or loaded when they are called."""
    import numba

    # They call each other by their module's names: they are compiled among compiled ones, and the module keeps the
    # plain ones.
    among = vars(pair_counts) | vars(binary_pairs) | vars(depth_two)
    for name, function in list(among.items()):
        if isinstance(function, types.FunctionType):
            own = types.FunctionType(function.__code__, among, name, function.__defaults__)
            own.__module__, own.__qualname__, own.__doc__ = function.__module__, function.__qualname__, function.__doc__
            among[name] = _cached(numba.njit(nogil=True)(own))
    return among


def _cached(function):
    try:
        function.enable_caching()
    except (RuntimeError, OSError):  # no place can be written: it is compiled in each process
        pass
    return function
