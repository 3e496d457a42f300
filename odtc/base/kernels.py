"""Kernels: plain loops over arrays, which numba compiles once on a machine.

    @kernel
    def least_pair(order, gain): ...

The compiled code is kept as an object file. A process that finds one runs it with llvmlite, without numba, because
importing numba takes ten times as long as loading all kernels of a search. Files are next to the module; in the user's
cache folder if the installation is read-only; or in $NUMBA_CACHE_DIR. They are replaced whole, so processes that run at
the same time do no harm.

numba fills its tables when it is first used, and a table that Ctrl-C leaves half full breaks everything that is
compiled later. So numba works in a separate thread, which receives no signal, and for which a time limit does not wait.
"""

import ctypes
import functools
import gc
import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import pickle
import platform
import sys
import tempfile
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base import deadline, phases, system, threads

FOLDER = "NUMBA_CACHE_DIR"  # of the environment: the folder of compiled code
HASH = 16  # hexadecimal digits in the name of a file
SCALARS: dict[type, type] = {bool: bool, np.bool_: bool, int: int, float: float}
NATIVE = "numba._helperlib", "numba.core.runtime._nrt_python", "numba._dynfunc"  # parts of numba in C


class Kernel:
    """A function of arrays that Python calls: compiled at the first call with arguments of new types."""

    def __init__(
        self, function: types.FunctionType, written_out: tuple[str, ...] = (), constants: dict[str, Any] | None = None
    ):
        functools.update_wrapper(self, function)
        self.function, self.written_out, self.constants = function, written_out, constants or {}
        self._entries: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *given: Any) -> Any:
        array = np.ndarray
        kinds = tuple(
            [(one.dtype, one.ndim, one.flags.c_contiguous) if type(one) is array else _kind(one) for one in given]
        )
        entry = self._entries.get(kinds) or self._entry(kinds)
        return entry(*given)

    def _entry(self, kinds: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the compiled function for arguments of some types."""
        if (entry := _stored(self, kinds)) is None:
            with _noted():
                entry = threads.apart(_compiled, self, kinds, check=deadline.check_limit)
        self._entries[kinds] = entry
        return entry

    def with_constants(self, **constants: Any) -> "Kernel":
        """Return the same kernel with other values of global names: numba removes the code that these make dead."""
        return Kernel(self.function, self.written_out, constants)

    def functions(self) -> list[types.FunctionType]:
        """Return this function and all functions of odtc that it calls, in a fixed order."""
        found = [self.function]
        for function in found:
            found += [own for own in _called(function).values() if own not in found]
        return found


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a function as a kernel; functions that it calls are compiled with it, and stay plain ones for Python."""
    assert isinstance(function, types.FunctionType)
    return Kernel(function)


def kernel_with(*written_out: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Mark a function as a kernel in which the named functions become a part of each that calls them, so that handing
    over many arrays takes no time."""

    def mark(function: Callable[..., Any]) -> Kernel:
        assert isinstance(function, types.FunctionType)
        return Kernel(function, written_out)

    return mark


def _kind(one: Any) -> Any:
    """Return the type of an argument: of an array (dtype, dimensions, whether it is contiguous)."""
    if type(one) is np.ndarray:
        return one.dtype, one.ndim, one.flags.c_contiguous
    if isinstance(one, tuple):
        return ("tuple", *map(_kind, one))
    known = SCALARS.get(type(one))
    return known or (int if isinstance(one, np.integer) else float)


def _called(function: types.FunctionType) -> dict[str, types.FunctionType]:
    """Return the functions of odtc that a function names."""
    found = {}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        value = value.function if isinstance(value, Kernel) else value
        if isinstance(value, types.FunctionType) and value.__module__.partition(".")[0] == __name__.partition(".")[0]:
            found[name] = value
    return found


# Compilation


_began: list[float] = []  # when each compilation that goes on has begun, of time.monotonic()
_spent: list[float] = []  # seconds of each compilation that has ended, since the last report
_left: list[bool] = []  # an entry for each compilation that was left at a limit or after Ctrl-C, since the last report
_lost: list[Path] = []  # a folder of each compilation that could not be kept, since the last report


@contextmanager
def _noted() -> Iterator[None]:
    phases.begin("compiling kernels, once after an installation")
    _began.append(began := time.monotonic())
    try:
        yield
    except BaseException:
        _left.append(True)
        raise
    finally:
        _began.remove(began)
        _spent.append(seconds := time.monotonic() - began)
        deadline.pause(seconds)


def is_compiling() -> bool:
    """Return whether this process is compiling kernels."""
    return bool(_began)


def report() -> str:
    """Return a sentence on the kernels that this process has compiled since the last report, with the wall seconds; ""
    without any."""
    spent, left, lost = sum(_spent), bool(_left), _lost[:1]
    for noted in (_spent, _left, _lost):
        noted.clear()
    if left:
        return (
            f"compiling kernels, once after an installation, was not done when the run ended ({spent:.1f} s), so a "
            "step that needs them was left out; `odtc doctor --compile` compiles all of them ahead"
        )
    if lost:
        return (
            f"kernels were compiled in {spent:.1f} s, and will be again, because no file can be written in {lost[0]}; "
            f"set {FOLDER} to a folder that can be written"
        )
    return f"kernels were compiled in {spent:.1f} s; later runs load them" if spent else ""


def _compiled(kernel: Kernel, kinds: tuple[Any, ...]) -> Callable[..., Any]:
    """Compile a kernel with numba, keep it on disk, and return it. To be called in a thread apart."""
    if (entry := _stored(kernel, kinds)) is not None:  # another thread has compiled it since
        return entry
    was_enabled = gc.isenabled()
    gc.disable()  # it takes a tenth of the time, and finds nothing
    try:
        dispatcher: Any = _for_numba(kernel, kernel.function, {})
        wanted = tuple(map(_numba_type, kinds))
        with _linked_only(dispatcher.targetctx):
            dispatcher.compile(wanted)
            result = dispatcher.overloads[wanted]
            library = result.library
            library.finalize()
        library._optimize_final_module()
        library._finalize_final_module()
        code: bytes = library._get_compiled_object()
        functions = library._final_module.functions
        facts = {
            "wrapper": result.fndesc.llvm_cpython_wrapper_name,
            "environment": dispatcher.targetctx.get_env_name(result.fndesc),
            "dtypes": [np.dtype(one).str for one in result.environment.consts],
            "needs": [one.name for one in functions if one.is_declaration and not one.name.startswith("llvm.")],
        }
    except (AttributeError, KeyError, TypeError):  # another numba names its parts otherwise
        return _by_numba(kernel)
    finally:
        if was_enabled:
            gc.enable()
    _write(kernel, kinds, facts, code)
    return _loaded(kernel.function.__name__, facts, code) or _by_numba(kernel)


def _by_numba(kernel: Kernel) -> Callable[..., Any]:
    """Return a kernel as a function of numba, which compiles it in its own way at its first call."""
    made: Callable[..., Any] = _for_numba(kernel, kernel.function, {})
    return made


@contextmanager
def _linked_only(context: Any) -> Iterator[None]:
    """Let numba translate functions and link them, without optimising each of them and making it executable.

    numba would do so for each function that a kernel calls, before it links the function to its callers. That takes a
    quarter of the time, and is of no use, because the linked whole goes through the same passes and is all that runs.
    """
    library = context.codegen()._library_class

    def laid_out(self: Any, code: Any) -> None:
        code.data_layout = self._codegen._data_layout

    def linked(self: Any) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def not_executable(self: Any, of: Any, fndesc: Any, environment: Any) -> Any:
        return _native_parts()[2].make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, environment, (of,))

    with _numba().core.compiler_lock.global_compiler_lock, ExitStack() as stack:  # others compile as usual
        for owner, name, instead in (
            (library, "_optimize_functions", laid_out),
            (library, "_optimize_final_module", lambda self: None),
            (library, "_finalize_final_module", linked),
            (type(context), "get_executable", not_executable),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, instead)
        yield


@functools.cache
def _numba() -> Any:
    """Import numba such that it does not change the streams of this process.

    Where colorama is installed, numba exchanges sys.stdout and sys.stderr for each of thousands of messages that it
    words while it compiles. It works in a thread apart, so another thread would print to a stream of an earlier moment.
    """
    numba = _numba_without_settings()
    if hasattr(errors := numba.core.errors, "ColorShell"):
        errors.ColorShell = nullcontext
    return numba


def _numba_without_settings() -> Any:
    """Import numba without the settings file that it reads where a command runs, which could name a folder of code."""
    if "numba" in sys.modules or ".numba_config.yaml" not in os.listdir():
        return importlib.import_module("numba")
    parser = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it cannot read that file
            return importlib.import_module("numba")
    finally:
        del sys.modules["yaml"]
        sys.modules.update({"yaml": parser} if parser is not None else {})


def _for_numba(kernel: Kernel, function: types.FunctionType, made: dict[Any, Any]) -> Any:
    """Return a function of a kernel as numba's, with all that it calls; `made` has those that were made before. Only
    the kernel itself has the way in from Python, which takes a part of the time."""
    if function not in made:
        among = {name: _for_numba(kernel, own, made) for name, own in _called(function).items()}
        named = function.__globals__ | among | kernel.constants
        own = types.FunctionType(function.__code__, named, function.__name__)
        own.__module__, own.__qualname__ = function.__module__, function.__qualname__
        inner = function is not kernel.function
        options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": inner}
        options |= {"inline": "always"} if function.__name__ in kernel.written_out else {}
        made[function] = _numba().njit(**options)(own)
    return made[function]


def _numba_type(kind: Any) -> Any:
    numba = _numba()
    if isinstance(kind, type):
        return {bool: numba.types.boolean, int: numba.types.int64, float: numba.types.float64}[kind]
    if kind[0] == "tuple":
        return numba.types.Tuple(tuple(map(_numba_type, kind[1:])))
    dtype, dimensions, contiguous = kind
    return numba.types.Array(numba.from_dtype(dtype), dimensions, "C" if contiguous else "A")


# Compiled code on disk


def _stored(kernel: Kernel, kinds: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return a kernel as it was compiled before, None if there is none."""
    stored = _read(kernel, kinds)
    return None if stored is None else _loaded(kernel.function.__name__, *stored)


def _read(kernel: Kernel, kinds: tuple[Any, ...]) -> tuple[dict[str, Any], bytes] | None:
    """Return the compiled code of a kernel, and what runs it; None if there is none of these sources. A file that is
    cut short or damaged, as after a crash of the machine, counts as missing."""
    for folder in _folders(kernel.function.__code__.co_filename):
        try:
            head, _, code = (folder / _name(kernel, kinds)).read_bytes().partition(b"\n")
            facts: dict[str, Any] = json.loads(head)
            if facts["sources"] == _sources(kernel) and facts["digest"] == hashlib.sha256(code).hexdigest():
                return facts, code
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _write(kernel: Kernel, kinds: tuple[Any, ...], facts: dict[str, Any], code: bytes) -> None:
    """Store compiled code in the first folder that can be written, if any."""
    facts = facts | {"sources": _sources(kernel), "digest": hashlib.sha256(code).hexdigest()}
    for folder in _folders(kernel.function.__code__.co_filename):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            part = folder / f".kernel.{os.getpid()}.{threading.get_ident()}"
            part.write_bytes(json.dumps(facts).encode() + b"\n" + code)
            os.replace(part, folder / _name(kernel, kinds))
            return
        except OSError:
            continue
    _lost.append(_folders(kernel.function.__code__.co_filename)[-1])


def _folders(file: str) -> list[Path]:
    """Return the folders in which the kernels of a module may be, the preferred one first."""
    if given := os.environ.get(FOLDER):
        return [Path(given)]
    beside = Path(file).parent / "__pycache__"
    return [beside, *filter(Path.is_absolute, [system.cache_folder()])]


def folder_of(file: str) -> Path | None:
    """Return the folder for the kernels of a module; None if no folder can be written."""
    return next((folder for folder in _folders(file) if _can_write(folder)), None)


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _name(kernel: Kernel, kinds: tuple[Any, ...]) -> str:
    """Return the name of a file: it differs for each processor and version, so that a folder may be shared."""
    text = repr((kernel.function.__module__, kernel.constants, kinds, _machine()))
    return f"{kernel.function.__qualname__}-{hashlib.sha256(text.encode()).hexdigest()[:HASH]}.kernel"


@functools.cache
def _machine() -> tuple[str, ...]:
    llvm = _llvm()
    part = os.stat(_native_file(NATIVE[0]))  # of this numba
    processor = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES") or llvm.get_host_cpu_features().flatten()
    versions = sys.version, llvm.get_process_triple(), ".".join(map(str, llvm.llvm_version_info))
    return *versions, processor, features, f"{part.st_size} {part.st_mtime_ns}"


_stamps: dict[Kernel, str] = {}


def _sources(kernel: Kernel) -> str:
    """Return a digest of all functions in a kernel, as this process runs them, and of the constants that they name.

    Their files may have been changed since they were read, for example by an installation while a search runs.
    """
    if kernel not in _stamps:
        text = hashlib.sha256(repr(kernel.written_out).encode())
        for function in kernel.functions():
            text.update(_code_text(function.__code__).encode())
            for name in function.__code__.co_names:
                if isinstance(value := function.__globals__.get(name), (int, float, str, tuple)):
                    text.update(f"{name} {value!r}\n".encode())
        _stamps[kernel] = text.hexdigest()
    return _stamps[kernel]


def _code_text(code: types.CodeType) -> str:
    """Return a text that differs for functions that do not do the same."""
    constants = [_code_text(one) if isinstance(one, types.CodeType) else repr(one) for one in code.co_consts]
    names = code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return repr((code.co_code, names, code.co_exceptiontable, constants))


# Compiled code in memory


def _loaded(name: str, facts: dict[str, Any], code: bytes) -> Callable[..., Any] | None:
    """Return a function of Python that runs compiled code; None if this numba lacks something that it needs."""
    try:
        llvm, parts = _llvm(), _native_parts()
    except (ImportError, AttributeError, OSError):
        return None
    if not all(llvm.address_of_symbol(need) or hasattr(ctypes.pythonapi, need) for need in facts["needs"]):
        return None
    llvm.add_symbol("numba_unpickle", _unpickler().get_function_address("unpickle"))
    try:
        engine = _engine(llvm.parse_assembly(""), llvm.ObjectFileRef.from_data(code))
    finally:  # the functions of others get the one of numba
        llvm.add_symbol("numba_unpickle", parts[0].c_helpers["unpickle"])
    environment = parts[2].Environment({})
    environment.consts.extend(map(np.dtype, facts["dtypes"]))
    held = ctypes.c_void_p.from_address(engine.get_global_value_address(facts["environment"]))
    held.value = id(environment)
    address = engine.get_function_address(facts["wrapper"])
    entry: Callable[..., Any] = parts[2].make_function(sys, name, "", address, environment, (engine,))
    return entry


def _engine(module: Any, *compiled: Any) -> Any:
    """Return the llvmlite engine that runs a module, which it compiles, and compiled code."""
    llvm = _llvm()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    static = {"reloc": "static"} if platform.machine().lower() in ("x86_64", "amd64", "i386", "i686") else {}
    machine = target.create_target_machine(opt=0, codemodel="jitdefault", jit=True, **static)
    engine = llvm.create_mcjit_compiler(module, machine)
    for one in compiled:
        engine.add_object_file(one)
    engine.finalize_object()
    return engine


@functools.cache
def _llvm() -> Any:
    llvm = importlib.import_module("llvmlite.binding")
    with suppress(RuntimeError):  # it is deprecated in new versions, and required in old ones
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def _native_parts() -> list[Any]:
    """Return the modules NATIVE, after their functions were made known to compiled code under the names of numba."""
    parts = [sys.modules.get(name) or _native_module(name) for name in NATIVE]
    named = {f"numba_{name}": address for name, address in parts[0].c_helpers.items()}
    named |= {name if name[0] == "_" else f"NRT_{name}": address for name, address in parts[1].c_helpers.items()}
    for name, address in named.items():
        _llvm().add_symbol(name, address)
    return parts


# object unpickle(char *data, int size, char *digest), with addresses as whole numbers.
UNPICKLE = """
declare i64 @PyBytes_FromStringAndSize(i64, i64)
declare i64 @PyObject_CallOneArg(i64, i64)
declare void @Py_DecRef(i64)

define i64 @unpickle(i64 %data, i32 %size, i64 %digest) {{
  %length = sext i32 %size to i64
  %bytes = call i64 @PyBytes_FromStringAndSize(i64 %data, i64 %length)
  %failed = icmp eq i64 %bytes, 0
  br i1 %failed, label %none, label %some
some:
  %found = call i64 @PyObject_CallOneArg(i64 {loads}, i64 %bytes)
  call void @Py_DecRef(i64 %bytes)
  ret i64 %found
none:
  ret i64 0
}}
"""


@functools.cache
def _unpickler() -> Any:
    """Return compiled code that reads an object inside other compiled code, such as the type of an array that this
    returns.

    numba has the same function in a module that imports all others. A Python function would work, except for Ctrl-C: if
    it came there, the kernel would find no object, and report that instead.
    """
    llvm = _llvm()
    for name in ("PyBytes_FromStringAndSize", "PyObject_CallOneArg", "Py_DecRef"):
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    return _engine(llvm.parse_assembly(UNPICKLE.format(loads=id(pickle.loads))))


def _native_module(name: str) -> Any:
    """Import a part of numba that is written in C, without numba."""
    loader = importlib.machinery.ExtensionFileLoader(name, _native_file(name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _native_file(name: str) -> str:
    package = importlib.util.find_spec("numba")  # the package is not imported
    folders = list(package.submodule_search_locations or []) if package else []
    *inner, last = name.split(".")[1:]
    found = importlib.machinery.PathFinder.find_spec(last, [os.path.join(folder, *inner) for folder in folders])
    if found is None or found.origin is None:
        raise ImportError(f"numba has no {name}")
    return found.origin
