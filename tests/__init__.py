"""Tests, and what they share."""

import argparse
import math
import signal
import sys
from collections.abc import Callable
from typing import NoReturn


def heed_interrupts() -> None:
    """Ctrl-C is heard in what a shell has started in the background, too, where it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def natural(text: str) -> int:
    """A number of a command line that counts something: 1 or more."""
    return int(_above(int(text), 1))


def duration(text: str) -> float:
    """A time of a command line: above 0, and an end."""
    return _above(float(text), 0)


def _above(number: float, least: float) -> float:
    if not math.isfinite(number) or number < least or number == 0:
        told = "1 or more" if least else "above 0, and no infinity"
        raise argparse.ArgumentTypeError(f"{number:g}: must be {told}")
    return number


def run_command(main: Callable[[], int | None]) -> NoReturn:
    """Ends this process with the exit code of `main`; Ctrl-C and SIGTERM let it clean up first."""
    heed_interrupts()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
