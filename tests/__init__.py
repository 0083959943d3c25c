"""Tests, and what they share."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn


def run_command(main: Callable[[], int | None]) -> NoReturn:
    """Ends this process with the exit code of `main`; Ctrl-C and SIGTERM let it clean up first.

    Also where a shell has started it in the background, which ignores interrupts.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
