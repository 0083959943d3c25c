"""The program `onnxpad`, also as `python -m onnxpad`. Imports cli, guard and interruption.

All imports are inside, so that an interrupt of them is told as any other.
"""

import os
import sys


def main() -> None:
    """Run the command line; what runs models runs in a process of its own."""
    try:
        from onnxpad import interruption

        interruption.heed()

        from onnxpad.guard import guarded

        # numpy starts a thread a core for matrix products, which nothing here asks for; each spins.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        words = set(sys.argv[1:])
        runs = bool(words & {"fix", "validate"}) and "--no-validate" not in words
        guarded(_run, _tell_of_crash, when=runs)
    except KeyboardInterrupt:  # where the command line, which tells of it, is not at work
        print("error: interrupted", file=sys.stderr, flush=True)
        os._exit(130)  # the interpreter's way out may be interrupted once more


def _tell_of_crash(message: str) -> None:
    from onnxpad.cli.output import Failure, report_failure
    from onnxpad.guard import CRASHED

    report_failure(Failure("crash", message, CRASHED), sys.argv[1:])


def _run() -> None:
    from onnxpad import interruption

    try:
        from onnxpad.cli import app

        app()
    finally:
        interruption.done()


if __name__ == "__main__":
    main()
