"""The program `onnxpad`, also as `python -m onnxpad`.

All imports are inside, so that an interrupt of them is told as any other.
"""

import os
import sys

_RUNNING = {"doctor", "fix", "validate"}
"""Commands that run models."""


def main() -> None:
    """Run the command line; onnxruntime runs in a process of its own."""
    try:
        from onnxpad.process import signals

        signals.heed()

        # numpy starts a thread a core for matrix products, which nothing here asks for; each spins.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        words = set(sys.argv[1:])
        if words & _RUNNING and not words & {"--no-validate", "--help", "-h"}:
            from onnxpad.engine import pool

            pool.fork_first()
        _run()
    except BaseException as error:  # where the command line, which tells of it, is not at work
        if not isinstance(error, KeyboardInterrupt) and not _asked(error):
            raise
        _tell_of_interrupt()
        os._exit(130)  # the interpreter's way out may be interrupted once more


def _asked(error: BaseException) -> bool:
    """Whether an interrupt is behind an error: a class that is made tells it as one of its own."""
    from onnxpad.process import signals

    return isinstance(error, Exception) and signals.asked()


def _tell_of_interrupt() -> None:
    """One line, and the object that a command line asks for which wants JSON."""
    print("error: interrupted", file=sys.stderr, flush=True)
    try:
        from onnxpad.process import signals

        signals.done()  # a second signal means the same

        from onnxpad.cli.output import INTERRUPTION, tell_as_json

        tell_as_json(INTERRUPTION, sys.argv[1:])
    except BaseException:  # modules that are half imported, or a stdout that is gone
        return


def _run() -> None:
    from onnxpad.process import signals

    try:
        from onnxpad.cli import app

        app()
    finally:
        signals.done()


if __name__ == "__main__":
    main()
