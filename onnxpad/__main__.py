"""The program `onnxpad`, also as `python -m onnxpad`. Imports cli, engine and interruption.

All imports are inside, so that an interrupt of them is told as any other.
"""

import os
import sys

_RUNNING = {"doctor", "fix", "validate"}
"""Commands that run models."""


def main() -> None:
    """Run the command line; onnxruntime runs in a process of its own."""
    try:
        from onnxpad import interruption

        interruption.heed()

        # numpy starts a thread a core for matrix products, which nothing here asks for; each spins.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        words = set(sys.argv[1:])
        if words & _RUNNING and not words & {"--no-validate", "--help", "-h"}:
            from onnxpad.engine import pool

            pool.fork_first()
        _run()
    except KeyboardInterrupt:  # where the command line, which tells of it, is not at work
        print("error: interrupted", file=sys.stderr, flush=True)
        os._exit(130)  # the interpreter's way out may be interrupted once more


def _run() -> None:
    from onnxpad import interruption

    try:
        from onnxpad.cli import app

        app()
    finally:
        interruption.done()


if __name__ == "__main__":
    main()
