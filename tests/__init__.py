"""Tests, and what they share."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn


def heed_interrupts() -> None:
    """Ctrl-C is heard in what a shell has started in the background, too, where it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run_command(main: Callable[[], int | None]) -> NoReturn:
    """Ends this process with the exit code of `main`; Ctrl-C and SIGTERM let it clean up first."""
    heed_interrupts()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
