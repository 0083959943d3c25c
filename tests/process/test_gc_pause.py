"""Garbage collection is paused, and left as it was found, also where an error is raised."""

import gc
from collections.abc import Iterator

import pytest

from onnxpad.process.gc_pause import paused, paused_for_good


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("pause", [paused, paused_for_good])
@pytest.mark.parametrize("enabled", [True, False])
def test_is_left_as_it_was(pause: type, enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with pause():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the inner pause ended the outer one"
    assert gc.isenabled() is enabled
    with pytest.raises(KeyError), pause():
        raise KeyError
    assert gc.isenabled() is enabled


def test_what_is_there_at_the_end_is_ignored_for_good() -> None:
    gc.unfreeze()
    with paused():
        pass
    assert gc.get_freeze_count() == 0
    with paused_for_good():
        assert gc.get_freeze_count() == 0
    assert gc.get_freeze_count() > 0
