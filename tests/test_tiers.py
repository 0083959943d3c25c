"""What `tests/slow.txt` leaves out of the fast tier is there, and is named once."""

from tests.conftest import SLOW
from tests.support import ROOT


def test_what_is_slow_is_there() -> None:
    for entry in SLOW:
        path, _, name = entry.partition("::")
        assert (ROOT / path).exists(), entry
        if name:
            told = (ROOT / path).read_text(encoding="utf-8")
            assert f"{name.rpartition('::')[2].partition('[')[0]}(" in told, entry


def test_what_is_slow_is_named_once() -> None:
    for entry in SLOW:
        assert [each for each in SLOW if entry.startswith(each)] == [entry]
