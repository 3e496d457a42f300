"""Plain loops over arrays, compiled by numba, which keeps what it has compiled on disk."""

import types
from collections.abc import Sequence
from typing import Any


def compile_loops(names: Sequence[str], among: dict[str, Any]) -> Any:
    """Functions that call one another by their names, compiled; their modules keep the plain ones.

    Parameters
    ----------
    names : of the functions, each behind those that it calls
    among : dict, the global names that they see, of which the compiled ones take the place

    Returns
    -------
    The last of them, compiled.

    Raises
    ------
    ImportError
        Without numba.
    """
    import numba

    for name in names:
        plain = among[name]
        own = types.FunctionType(plain.__code__, among, name, plain.__defaults__)
        own.__module__, own.__qualname__ = plain.__module__, plain.__qualname__
        among[name] = numba.njit(nogil=True)(own)
        try:
            among[name].enable_caching()
        except (RuntimeError, OSError):  # no place can be written: it is compiled in each process
            pass
    return among[names[-1]]
