"""Fixtures for all tests, and which of them are in the fast tier."""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests import heed_interrupts
from tests.older import gap_of, read_all

SLOW: Final = tuple(Path(__file__).with_name("slow.txt").read_text().splitlines())
"""How the node ids of slow tests begin: of folders, files or single tests."""

read_all()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Tries the same examples each time; `--hypothesis-profile=soak` looks for more.

    A process that only hands tests out starts sooner without hypothesis. Tests send interrupts,
    which are to be heard in the background, too.
    """
    heed_interrupts()
    hands_out = config.getoption("numprocesses", None)
    if hands_out and not config.getoption("--hypothesis-profile"):
        return
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "soak", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=HealthCheck
    )
    settings.register_profile("gate", max_examples=33, deadline=None, derandomize=True)
    settings.load_profile("gate")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Imports no file of which all tests are slow, where the fast tier is asked for."""
    path = collection_path.relative_to(config.rootpath).as_posix()
    return True if config.getoption("markexpr") == "not slow" and path.startswith(SLOW) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks as slow what `slow.txt` names; a test that it does not name is fast.

    What is marked for the night is left out, unless it is asked for.
    """
    if "night" not in config.getoption("markexpr"):
        left = [item for item in items if item.get_closest_marker("night")]
        items[:] = [item for item in items if not item.get_closest_marker("night")]
        config.hook.pytest_deselected(items=left)
    for item in items:
        if item.nodeid.startswith(SLOW):
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
        scheduler._split_scope = _unit_of
    return scheduler


def _unit_of(test: str) -> str:
    """The unit of a test: its file, or the exported model whose results its tests share."""
    file, _, name = test.partition("::")
    model = re.search(r"(?<=\[)\w+", name)
    return f"exported {model[0]}" if model and file.startswith("tests/exported/") else file


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs models in the process of the test."""
    from onnxpad.runtimes import pool, worker
    from tests.support.here import Here

    monkeypatch.setattr(pool, "borrow", Here)
    monkeypatch.setattr(pool, "give_back", lambda _: None)
    monkeypatch.setattr(worker, "bound_memory", lambda _=True: None)


@pytest.fixture
def nothing_printed(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fails a test in which anything is printed, by native code too."""
    yield
    assert capfd.readouterr() == ("", "")


@pytest.fixture(autouse=True)
def unwrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are not wrapped, unless a test is about that. Processes that it starts inherit it."""
    monkeypatch.setenv("COLUMNS", "1000")
