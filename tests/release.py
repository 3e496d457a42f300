"""Makes a release and tries it: `python -m tests.release`, or with `--trial` one that is not published.

The version stands in odtc/__init__.py alone. The steps, each of which ends the release if it fails:

1. CHANGELOG.md has a section `## [VERSION] - YYYY-MM-DD` (not asked of a trial).
2. dist/ gets the sdist, and a wheel that is built from the unpacked sdist.
3. A new virtual environment installs the wheel with its test dependencies, and nothing of the checkout.
4. In another folder, beside copies of tests/ and examples/, the quick tests run against the installed wheel.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

from odtc import __version__

ROOT = Path(__file__).resolve().parents[1]
# The tests of a trial; a release runs all quick tests.
TRIAL = ("tests/structure", "tests/files/test_golden.py", "tests/unit/test_importing.py", "tests/cli/test_output.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trial", action="store_true", help="no dated section is needed, and fewer tests run")
    parser.add_argument("-n", default="auto", help="how many processes the tests take")
    asked = parser.parse_args()
    if not asked.trial:
        _check_changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="odtc-release-") as folder:
        wheel = _build(Path(folder) / "source")
        _try(wheel, Path(folder) / "elsewhere", TRIAL if asked.trial else ("tests",), asked.n)
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


def _try(wheel: Path, folder: Path, tests: tuple[str, ...], processes: str) -> None:
    """The quick tests against the wheel, installed in a new environment, from a folder without the source."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    _run(python, "-m", "pip", "install", "-q", f"{wheel}[test]", cwd=folder)
    for name in ("tests", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    ask = [python, "-c", "import odtc; print(odtc.__file__)"]
    where = subprocess.run(ask, cwd=folder, env=_environment(), capture_output=True, text=True, check=True).stdout
    if "site-packages" not in where:
        sys.exit(f"expected the installed odtc, found {where.strip() or 'none'}")
    _run(python, "-m", "pytest", "-q", "-m", "not slow", "-n", processes, *tests, cwd=folder)


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
