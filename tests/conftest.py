"""Fixtures shared by the tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test asserts how long a thing takes: a machine that others work on is slow now and then.
settings.register_profile("odtc", deadline=None)
settings.load_profile("odtc")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark data sets; skips the test where there is none."""
    folder = Path(os.environ.get("ODTC_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not (folder / "INDEX.md").is_file():
        pytest.skip(f"no benchmark data in {folder}; set ODTC_DATA to a folder that has INDEX.md")
    return folder
