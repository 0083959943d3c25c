"""The program `onnxpad`, also as `python -m onnxpad`.

All imports are inside functions, so that an interrupt during them is reported like any other.
"""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line; the runtime runs in a process of its own."""
    try:
        from onnxpad.process import heed_signals

        heed_signals()

        # Imports make many objects and drop none: looking for cycles every 700 of them finds none.
        gc.set_threshold(50_000)

        # numpy starts a spinning thread on each core for matrix products, which are not used here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        _run()
    except SystemExit as ended:
        _leave(ended.code)
        raise
    except BaseException as error:  # while the command line, which reports interrupts, is not up
        if not isinstance(error, KeyboardInterrupt) and not _was_interrupted(error):
            raise
        _tell_of_interrupt()
        os._exit(130)  # a normal exit could be interrupted once more


def _leave(code: object) -> None:
    """Ends the process if nothing but memory is left to give back, which the system does at once.

    Python would free each object by itself: seconds after a graph of 100,000 nodes. It has the exit
    to itself where a thread still runs, a stream cannot be written, a profiler waits for the end of
    the program, or the code is no number.
    """
    import atexit
    import threading
    from contextlib import suppress

    if _is_watched() or threading.active_count() > 1 or not isinstance(code, int | None):
        return
    with suppress(OSError, ValueError):  # told in the way that Python tells it
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code or 0)


def _is_watched() -> bool:
    """Whether a profiler, a debugger or a measurement of coverage runs, or `python -i` goes on."""
    if sys.version_info >= (3, 12) and any(map(sys.monitoring.get_tool, range(6))):
        return True
    goes_on = bool(sys.flags.inspect or os.environ.get("PYTHONINSPECT"))
    return goes_on or sys.getprofile() is not None or sys.gettrace() is not None


def _was_interrupted(error: BaseException) -> bool:
    """Whether an interrupt caused an error: creating a class turns it into another exception."""
    from onnxpad.process import was_interrupted

    return isinstance(error, Exception) and was_interrupted()


def _tell_of_interrupt() -> None:
    """Report the interrupt in one line, and as JSON if the command line asks for it."""
    print("error: interrupted", file=sys.stderr, flush=True)
    try:
        from onnxpad.process import ignore_signals

        ignore_signals()  # a second signal adds nothing

        from onnxpad.cli.output import interruption, tell_as_json

        tell_as_json(interruption(), sys.argv[1:])
    except BaseException:  # a half-imported module, or a closed stdout
        return


def _run() -> None:
    from onnxpad.process import ignore_signals

    try:
        from onnxpad.cli import app

        app()
    finally:
        ignore_signals()


if __name__ == "__main__":
    main()
