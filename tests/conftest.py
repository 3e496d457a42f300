"""Fixtures shared by the tests, the markers `slow`, `long` and `every`, and how many examples hypothesis draws.

`pytest` runs at most EXAMPLES examples of a law or property, OF_MANY if it stands there for each of MANY members or
forms, the first of many seeds, and of tests that are costly and cross members one cell in so many, so that it ends in
minutes. `ODTC_ALL_CELLS=1 pytest` runs all seeds and cells, and as many examples as the tests ask for.
`pytest -m "not slow"` is the quick subset: no test that is marked slow, and at most QUICK_EXAMPLES examples.
"""

import gc
import os
import re
import zlib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from odtc.base.wording import on_command_line
from odtc.testing.property import limit_examples

# No test asserts how long a thing takes: a machine that others work on is slow now and then. In CI the draws are the
# same on each run of a commit, so that its verdict is about the commit; everywhere else they are new each time.
settings.register_profile("odtc", deadline=None)
settings.register_profile("odtc-ci", settings.get_profile("odtc"), derandomize=True, database=None)
settings.load_profile("odtc-ci" if os.environ.get("ODTC_REQUIRE_SOLVERS") else "odtc")

QUICK_EXAMPLES, EXAMPLES = 4, 6
MANY, OF_MANY = 20, 3  # most of what forms obey is code that they share, which so many draws together try often enough
HERE = Path(__file__).parent
# Folders and modules whose tests start solvers, a browser, compilers or peers, or that search long. Single tests
# bear the marker themselves.
SLOW = (
    "solvers",
    "docs",
    "stories",
    "laws/test_constraints.py",
    "laws/test_optimum.py",
    "laws/test_exports_run.py",
    "laws/test_solvers.py",
    "unit/test_known_optima.py",
    "cli/test_html_report.py",
)


def pytest_make_parametrize_id(config, val, argname):
    """Name bytes by their number: packed ones hold the time, so that two workers would collect different tests."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.fixture
def told_on_command_line():
    """Sentences name options as a run of the command line does."""
    with on_command_line():
        yield


def is_quick(config) -> bool:
    """Whether the quick subset was asked for."""
    return "not slow" in (config.option.markexpr or "")


def is_long() -> bool:
    """Whether all seeds were asked for."""
    return bool(os.environ.get("ODTC_ALL_CELLS"))


def most_examples(config) -> int | None:
    """How many examples a law or a property has at most; None for as many as it asks for."""
    if is_quick(config):
        return QUICK_EXAMPLES
    return None if is_long() else EXAMPLES


@cache
def is_slow(path: Path) -> bool:
    """Whether all tests of a module are slow."""
    place = path.relative_to(HERE).as_posix()
    return any(place == slow or place.startswith(slow + "/") for slow in SLOW)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests stay to the end: Python looked through all of them again and again for rings to drop, a quarter
    of the time of a collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def law_of(item) -> tuple:
    """What the cells of a test share."""
    return item.path, getattr(item, "originalname", item.name)


def one_in(every: int, names: list[str], law: str) -> set[int]:
    """The places of one name in so many, chosen so that what few of the chosen name is among them.

    The first is another for each law, so that most members meet some law of their kind in each run.
    """
    words = [sorted(set(re.findall(r"[\w.]+", name))) for name in names]  # in an order that all processes share
    met: Counter = Counter()

    def rare(those: list[str]) -> tuple[int, float]:
        return sum(not met[word] for word in those), sum(1 / (1 + met[word]) for word in those)

    first = zlib.crc32(law.encode()) % len(names)
    left = [*range(first, len(names)), *range(first)]
    while len(left) > len(names) - -(-len(names) // every):
        best = max(left, key=lambda place: rare(words[place]))
        met.update(words[best])
        left.remove(best)
    return set(range(len(names))) - set(left)


def left_for_long(items) -> set:
    """The tests that only a long run has: those marked `long`, and of those marked `every(n)` all but one in n."""
    left = {item for item in items if item.get_closest_marker("long")}
    together = defaultdict(list)
    for item in items:
        if item not in left:
            together[law_of(item)].append(item)
    for (_, law), cells in together.items():
        every = cells[0].get_closest_marker("every")
        if every is not None:
            chosen = one_in(every.args[0], [cell.name for cell in cells], law)
            left |= {cell for place, cell in enumerate(cells) if place not in chosen}
    return left


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    most = most_examples(config)
    limit_examples(most)
    if not is_long():
        left = left_for_long(items)
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
    together = Counter(map(law_of, items))
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)
        # A profile cannot lower the number of examples that a test states itself, so its own settings are lowered.
        test = getattr(item, "obj", None)
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is None or most is None:
            continue
        allowed = min(most, OF_MANY) if together[law_of(item)] >= MANY else most
        if own.max_examples > allowed:
            getattr(test, "__func__", test)._hypothesis_internal_use_settings = settings(own, max_examples=allowed)


@pytest.fixture(scope="session", autouse=True)
def time_for_checks():
    """After a limit a certificate is checked for some seconds of the clock: on a busy machine these are too few."""
    from odtc.workflow.provenance import certificates

    certificates.AT_LIMIT = 60.0


@pytest.fixture
def long_run() -> bool:
    """Whether all seeds were asked for: a test that counts its own cases has all of them then."""
    return is_long()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark data sets; skips the test if there is none."""
    folder = Path(os.environ.get("ODTC_DATA") or HERE.parents[1] / "shared" / "data")
    if not (folder / "INDEX.md").is_file():
        pytest.skip(f"no benchmark data in {folder}; set ODTC_DATA to a folder that has INDEX.md")
    return folder
