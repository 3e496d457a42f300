"""Makes a release and tries it: `python -m tests.release`, or with `--trial` one that is not published.

The version stands in odtc/__init__.py alone. The steps, each of which ends the release if it fails:

1. CHANGELOG.md has a section `## [VERSION] - YYYY-MM-DD` (not asked of a trial).
2. dist/ gets the sdist, and a wheel that is built from the unpacked sdist.
3. A new virtual environment installs the wheel with its test dependencies, and nothing of the checkout; that of a trial
   takes the dependencies from the environment that runs it, as these take longer to install than the tests to run.
4. In another folder, beside copies of tests/ and examples/, the quick tests run against the installed wheel.

With `--lowest` (of a trial) that environment has odtc and pytest alone, each dependency in the lowest
version that pyproject.toml allows, and the tests are LOWEST: a bound that nobody has tried is a promise. With
`--trial --lowest` one wheel is tried in both environments.

With `--resolve` only the wheel is built, and `pip download --only-binary` is asked whether it and all that
it needs are there as wheels for each Python of PYTHONS on each platform of PLATFORMS; nothing is installed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from pathlib import Path

from odtc import __version__

ROOT = Path(__file__).resolve().parents[1]
# The tests of a trial; a release runs all quick tests.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Of these PyPI has no wheel; they are pure Python, so pip builds one without a compiler.
PURE = ("liac-arff",)
PLATFORMS = {
    "linux": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "macos": ("macosx_14_0_arm64", "macosx_12_0_arm64", "macosx_11_0_arm64"),
    "windows": ("win_amd64",),
}
TRIAL = (
    "tests/structure",
    "tests/files/test_golden.py",
    "tests/unit/test_importing.py",
    "tests/cli/test_output.py",
)
LOWEST = ("tests/files", "tests/unit/test_known_optima.py", "tests/cli/test_help.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trial", action="store_true", help="no dated section is needed, and fewer tests run")
    parser.add_argument("--lowest", action="store_true", help="a trial with the oldest dependencies that are allowed")
    parser.add_argument("-n", default="auto", help="how many processes the tests take")
    parser.add_argument("--resolve", action="store_true", help="ask only whether all wheels are there, by pip download")
    parser.add_argument("--platform", choices=PLATFORMS, action="append", help="of --resolve; by default all")
    asked = parser.parse_args()
    if asked.resolve:
        sys.exit(_resolve(asked.platform or list(PLATFORMS)))
    if not (asked.trial or asked.lowest):
        _check_changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="odtc-release-", ignore_cleanup_errors=True) as folder:
        wheel = _build(Path(folder) / "source")
        if asked.trial or not asked.lowest:
            _try(wheel, Path(folder) / "elsewhere", asked.trial, False, asked.n)
        if asked.lowest:
            _try(wheel, Path(folder) / "lowest", True, True, asked.n)
    print(f"odtc {__version__}: {', '.join(sorted(path.name for path in (ROOT / 'dist').iterdir()))}")


def _check_changelog(text: str) -> None:
    """Ends the release unless the version has a section with a date."""
    if not re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", text, re.M):
        sys.exit(
            f"expected a section '## [{__version__}] - YYYY-MM-DD' in CHANGELOG.md, found none; "
            "give [Unreleased] the version and the date, and open a new [Unreleased]"
        )


def _build(folder: Path) -> Path:
    """The wheel, in dist/ beside the sdist that it was built from."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", dist, cwd=ROOT)
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", dist, cwd=source)
    (wheel,) = dist.glob("*.whl")
    return wheel


def _lowest() -> list[str]:
    """NAME==VERSION of each dependency of odtc."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [one.replace(">=", "==") for one in project["dependencies"]]


def _try(wheel: Path, folder: Path, trial: bool, lowest: bool, processes: str) -> None:
    """The quick tests, of a trial a few, against the wheel, installed in a new environment, from a folder without the
    source."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    if lowest:
        asked = [str(wheel), *_lowest(), "pytest", "pytest-xdist", "hypothesis"]
        _run(python, "-m", "pip", "install", "-q", "--no-compile", *asked, cwd=folder)
    elif trial:
        (packages,) = (folder / "venv").glob("**/site-packages")
        found = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
        (packages / "dependencies.pth").write_text("\n".join(found) + "\n")  # they come after its own packages
        _run(python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel, cwd=folder)
    else:
        _run(python, "-m", "pip", "install", "-q", f"{wheel}[test]", cwd=folder)
    for name in ("tests", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    ask = [python, "-c", "import odtc; print(odtc.__file__)"]
    where = subprocess.run(ask, cwd=folder, env=_environment(), capture_output=True, text=True, check=True).stdout
    if not Path(where.strip()).is_relative_to(folder.resolve()):
        sys.exit(f"expected the installed odtc, found {where.strip() or 'none'}")
    tests = LOWEST if lowest else TRIAL if trial else ("tests",)
    old = ("-W", "ignore::DeprecationWarning") if lowest else ()  # what old packages use of newer ones
    _run(python, "-m", "pytest", "-q", "-m", "not slow", "-n", processes, *old, *tests, cwd=folder)


def _resolve(platforms: list[str]) -> int:
    """The number of pairs of Python and platform for which pip finds no wheels; says what it found for each."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="odtc-resolve-") as folder:
        wheel, built = _build(Path(folder) / "source"), Path(folder) / "built"
        _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", built, *PURE, cwd=ROOT)
        if native := [path.name for path in built.iterdir() if not path.name.endswith("-none-any.whl")]:
            sys.exit(f"expected pure Python in {', '.join(native)}; take it off PURE")
        for platform in platforms:
            for version in PYTHONS:
                words = [word for tag in PLATFORMS[platform] for word in ("--platform", tag)]
                command = [
                    *(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"),
                    *("--python-version", version, "--implementation", "cp", *words),
                    *("--find-links", str(built)),
                    *("--dest", str(Path(folder) / f"{platform}-{version}"), str(wheel)),
                ]
                done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
                failed += done.returncode != 0
                why = (done.stderr.strip().splitlines() or [""])[-1]
                print(f"{platform:<8}  Python {version}  {'all wheels are there' if not done.returncode else why}")
    return failed


def _environment() -> dict[str, str]:
    """The environment without a path to the checkout."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ODTC_REQUIRE_SOLVERS")}
    return kept | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _run(*command, cwd: Path) -> None:
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=_environment(), check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with exit code {done.returncode}")


if __name__ == "__main__":
    main()
