"""The whole shell of SCIP, which is inside the library that pyscipopt brings (SCIPrunShell)."""

import ctypes
import glob
import os
from typing import Any


def shell(arguments: Any) -> int:
    import pyscipopt

    folder = os.path.dirname(os.path.dirname(pyscipopt.__file__))
    (library,) = glob.glob(os.path.join(folder, "pyscipopt.libs", "libscip*"))[:1]
    words = [b"scip", *(os.fsencode(argument) for argument in arguments)]
    return ctypes.CDLL(library).SCIPrunShell(len(words), (ctypes.c_char_p * len(words))(*words), b"scip.set")
