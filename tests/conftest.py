"""Fixtures for all tests, and which of them are in the fast tier."""

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tests import heed_interrupts
from tests.forked import takes_over, unit_of
from tests.older import gap_of, read_all
from tests.record.costs import is_slow

read_all()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Tries the same examples each time; `--hypothesis-profile=soak` looks for more.

    A process that only hands tests out starts sooner without hypothesis. Tests send interrupts,
    which are to be heard in the background, too.
    """
    heed_interrupts()
    hands_out = config.getoption("numprocesses", None) and not takes_over(config)
    if hands_out and not config.getoption("--hypothesis-profile"):
        return
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "soak", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=HealthCheck
    )
    settings.register_profile("gate", max_examples=33, deadline=None, derandomize=True)
    settings.load_profile("gate")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str) -> list[pytest.Item] | None:
    """Makes no cases of a test of which all are slow, where the fast tier is asked for."""
    fast = collector.config.getoption("markexpr") == "not slow"
    return [] if fast and is_slow(f"{collector.nodeid}::{name}") else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks as slow what the record of costs names; a test that it does not know is fast.

    What is marked for the night is left out, unless it is asked for.
    """
    if "night" not in config.getoption("markexpr"):
        left = [item for item in items if item.get_closest_marker("night")]
        items[:] = [item for item in items if not item.get_closest_marker("night")]
        config.hook.pytest_deselected(items=left)
    for item in items:
        if is_slow(item.nodeid):
            item.add_marker(pytest.mark.slow)
        if why := gap_of(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Generator[None, Any, Any]:
    """With `--dist loadfile`, one worker has all tests of an exported model, which share results.

    Each model is a unit of work, as files are, so that they spread over the workers.
    """

    scheduler = yield
    if config.getoption("dist") == "loadfile":
        scheduler._split_scope = unit_of
    return scheduler


@pytest.fixture
def nothing_printed(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fails a test in which anything is printed, by native code too."""
    yield
    assert capfd.readouterr() == ("", "")


@pytest.fixture(autouse=True)
def unwrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are not wrapped, unless a test is about that. Processes that it starts inherit it."""
    monkeypatch.setenv("COLUMNS", "1000")
