"""The commands of the tests: how they end."""

import argparse
import os
import re
import signal
from collections.abc import Callable, Iterator

import pytest

from tests import duration, heed_interrupts, natural, run_command
from tests.support import ROOT
from tests.support.manual import manual


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in kept:
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_a_command_lets_it_clean_up(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    cleaned = []

    def main() -> int:
        try:
            os.kill(os.getpid(), number)
            return 0
        finally:
            cleaned.append(number)

    signal.signal(number, signal.SIG_IGN)
    with pytest.raises(SystemExit) as left:
        run_command(main)
    assert left.value.code == 130
    assert cleaned == [number]
    assert capsys.readouterr().err == "interrupted\n"


def test_interrupts_are_heard_in_the_background() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    heed_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def handler(*_: object) -> None: ...

    signal.signal(signal.SIGINT, handler)
    heed_interrupts()
    assert signal.getsignal(signal.SIGINT) is handler


def test_every_command_that_is_told_of_ends_so() -> None:
    """But those that only write tables."""
    told = manual() + (ROOT / "tests" / "README.md").read_text("utf-8")
    names = {*re.findall(r"python -m tests\.(\w+)", told)} - {"forms", "targets"}
    assert len(names) >= 9
    for name in names:
        path = ROOT / "tests" / name
        path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        end = 'if __name__ == "__main__":\n    run_command(main)\n'
        assert path.read_text(encoding="utf-8").endswith(end), name


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (natural, "0"),
        (natural, "-3"),
        (natural, "1.5"),
        (natural, "x"),
        (duration, "nan"),
        (duration, "inf"),
        (duration, "0"),
        (duration, "-1"),
    ],
)
def test_a_number_that_is_nonsense_is_refused(kind: Callable[[str], float], text: str) -> None:
    with pytest.raises((ValueError, argparse.ArgumentTypeError)):
        kind(text)
