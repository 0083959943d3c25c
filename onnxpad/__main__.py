"""The program `onnxpad`, also as `python -m onnxpad`. Imports cli and guard."""

import os
import sys

from onnxpad.guard import CRASHED, guarded


def main() -> None:
    """Run the command line; what runs models runs in a process of its own."""
    # numpy starts a thread a core for matrix products, which nothing here asks for, and each spins.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = set(sys.argv[1:])
    runs = bool(words & {"fix", "validate"}) and "--no-validate" not in words
    guarded(_run, _tell_of_crash, when=runs)


def _tell_of_crash(message: str) -> None:
    from onnxpad.cli.output import Failure, report_failure

    report_failure(Failure("crash", message, CRASHED), sys.argv[1:])


def _run() -> None:
    try:
        from onnxpad.cli import app

        app()
    except KeyboardInterrupt:  # before the command line, which tells of it, was there
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
