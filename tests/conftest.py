"""Fixtures for all tests."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def nothing_printed(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fails a test in which anything is printed, by native code too."""
    yield
    assert capfd.readouterr() == ("", "")
