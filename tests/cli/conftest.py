"""Fixtures of several modules on the command line."""

import pytest

from tests.browser import CHROMIUM, Browser


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with Browser() as browser:
        yield browser
