"""No process of a command imports from the working directory, whatever lies there."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import CHECKOUT, MONKS, environment

# Every name that Python or a package of ours may import, `odtc` itself too.
PACKAGES = (
    *("numpy", "scipy", "numba", "llvmlite", "joblib", "sklearn", "polars", "highspy", "rich", "typer", "click"),
    *("jinja2", "markupsafe", "arff", "threadpoolctl", "dask", "distributed", "tornado", "yaml", "msgpack"),
    *("cloudpickle", "psutil", "tblib", "zict", "matplotlib", "pandas", "pyarrow", "onnx", "isal", "cryptography"),
    *("cuda", "hypothesis", "gurobipy", "cplex", "xpress", "coptpy", "ortools", "pyscipopt"),
    *("sitecustomize", "usercustomize", "_distutils_hack"),
)
NAMES = sorted({*sys.stdlib_module_names, *PACKAGES, "odtc"} - {"__main__"})
FIT = ("fit", "d.csv", "--depth", "2", "-o", "d")
BEFORE = (FIT, ("certify", "d.csv", "--depth", "2", "-o", "c"))
SWEEP = ("sweep", "d.csv", "--model", "dpflow", "--depth", "1,2", "-o", "s")
COMMANDS = [
    pytest.param(("--version",), id="version"),
    pytest.param(FIT, id="fit"),
    pytest.param((*FIT, "--model", "flowoct", "--solver", "highs"), id="fit by a solver in a process"),
    pytest.param((*FIT, "--workers", "2"), id="fit --workers"),
    pytest.param((*FIT, "--cluster", "local", "--workers", "2"), id="fit --cluster local", marks=pytest.mark.slow),
    pytest.param(("show", "d.tree.json"), id="show"),
    pytest.param(("predict", "d.tree.json", "d.csv"), id="predict"),
    pytest.param(("verify", "d"), id="verify"),
    pytest.param(("verify", "--certificate", "c.certificate.json"), id="verify --certificate"),
    pytest.param(("export", "d.tree.json", "--to", "png", "-o", "d.png"), id="export"),
    pytest.param(("report", "d"), id="report"),
    pytest.param(("tune", "d.csv", "--jobs", "2", "--depth", "1,2", "--folds", "2"), id="tune --jobs"),
    pytest.param((*SWEEP, "--cluster", "local", "--jobs", "2"), id="sweep --cluster local", marks=pytest.mark.slow),
    pytest.param(("doctor", "--compile"), id="doctor --compile", marks=pytest.mark.slow),
    pytest.param(("check", "python"), id="check of an exporter", marks=pytest.mark.slow),
]


def run(words, folder, marker, way=("-m", "odtc"), **more):
    return subprocess.run(
        [sys.executable, *way, *words],
        **{"cwd": folder, "env": environment(MARKER=str(marker), **more), "stdin": subprocess.DEVNULL},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A table with a tree and a certificate, made where nothing is planted."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "d.csv").write_bytes((MONKS / "monks-1.csv").read_bytes())
    for words in BEFORE:
        done = run(words, folder, folder / "none", ("-P", "-m", "odtc"))
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def planted(data, tmp_path):
    """A folder with these files, and a module of every name, which leaves a line in `marker` if it is imported."""
    folder = tmp_path / "work"
    folder.mkdir()
    for path in data.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    for name in NAMES:
        plant(folder / f"{name}.py")
    return folder


def plant(path: Path) -> None:
    path.write_text(f"import os\nwith open(os.environ['MARKER'], 'a') as file: file.write({path.name!r} + '\\n')\n")


def imported(marker: Path) -> list[str]:
    return sorted(set(marker.read_text().split())) if marker.exists() else []


def imported_by_python(folder: Path, marker: Path) -> list[str]:
    marker.unlink(missing_ok=True)
    run((), folder, marker, ("-m", "nothing"))
    return imported(marker)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_imports_nothing_from_the_working_directory(words, planted, tmp_path):
    script = tmp_path / "bin" / "odtc"  # as pip writes it
    script.parent.mkdir()
    script.write_text("from odtc.__main__ import program\nif __name__ == '__main__':\n    program()\n")
    done = run(words, planted, tmp_path / "marker", [str(script)])
    assert not imported(tmp_path / "marker")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [pytest.param(FIT, id="fit"), pytest.param((*FIT, "--workers", "2"), id="--workers")])
def test_python_m_odtc_imports_nothing_else_from_the_working_directory(words, planted, tmp_path):
    (planted / "odtc.py").unlink()  # Python itself looks there for what -m names, and for what it needs to look
    (planted / "nothing.py").touch()
    while own := imported_by_python(planted, tmp_path / "own"):
        for name in own:
            (planted / name).unlink()
    done = run(words, planted, tmp_path / "marker")
    assert not imported(tmp_path / "marker")
    assert done.returncode == 0, done.stderr


def test_python_m_odtc_runs_in_a_checkout_that_is_not_installed(data, tmp_path):
    (tmp_path / "odtc").symlink_to(CHECKOUT / "odtc")
    (tmp_path / "d.csv").write_bytes((data / "d.csv").read_bytes())
    done = run((*FIT, "--workers", "2"), tmp_path, tmp_path / "marker", PYTHONPATH="")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", "2")], ids=["", "--workers"])
def test_processes_that_compile_and_prove_import_nothing_from_the_working_directory(more, planted, tmp_path):
    """Enough rows for numpy to work until another process compiles, and for others to be given parts."""
    random = np.random.default_rng(1)
    cells = np.column_stack([random.normal(size=(3000, 6)), random.integers(0, 2, 3000)])
    (planted / "big.csv").write_text("\n".join(["a,b,c,d,e,f,y", *(",".join(map(str, row)) for row in cells)]))
    variables = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    words = ("fit", "big.csv", "--depth", "3", "--time-limit", "8", *more)
    run(words, planted, tmp_path / "marker", ["-P", "-m", "odtc"], **variables)
    assert not imported(tmp_path / "marker")


def test_numba_takes_no_settings_from_the_working_directory(tmp_path):
    """They could name a folder of compiled code, which numba loads by pickle."""
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: planted\n")
    code = "from odtc.base import kernels; kernels._numba(); import numba, yaml; print(repr(numba.config.CACHE_DIR))"
    done = run(("-c", code), tmp_path, tmp_path / "marker", ("-P",))
    assert done.stdout == "''\n" and not done.stderr and not (tmp_path / "planted").exists(), done.stderr


def test_matplotlib_runs_no_latex_because_of_a_file_in_the_working_directory(data, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    for name in ("latex", "dvipng"):
        (tmp_path / name).write_text('#!/bin/sh\necho latex >> "$MARKER"\nexit 1\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    more = {"PATH": f"{tmp_path}:/usr/bin:/bin", "MPLCONFIGDIR": str(tmp_path)}
    words = ("export", str(data / "d.tree.json"), "--to", "png", "-o", "d.png")
    done = run(words, tmp_path, tmp_path / "marker", **more)
    assert done.returncode == 0, done.stderr
    assert not imported(tmp_path / "marker")
