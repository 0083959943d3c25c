"""Calls that a process serves in tests: each does what the name of the model says."""

import ctypes
import os
import time
from pathlib import Path
from typing import Any

from onnxpad.errors import ModelError
from onnxpad.file.external import write_whole
from onnxpad.finding import Severity
from onnxpad.options import Options
from onnxpad.report import CheckReport, FileReport


def behave(model: Path, other: Path | None, log: Path | None = None) -> Any:
    """A report, or whatever else the name says."""
    if log is not None:
        with log.open("a") as file:
            file.write(f"{os.getpid()} {model.name} {os.environ.get('ONNXPAD_THREADS')}\n")
    match model.stem:
        case "crash":
            ctypes.string_at(1)
        case "kill":
            os.kill(os.getpid(), 9)
        case "end":
            os._exit(3)
        case "late":
            time.sleep(60)
        case "defect":
            raise ValueError("a defect")
        case "silent":
            raise ValueError
        case "odd":
            raise OSError("of no system")
        case "changes":
            model.write_text("changed")
        case "model":
            raise ModelError(f"{model}: is damaged")
        case "system":
            (model / "x").read_bytes()
        case "grow":
            vars(ctypes)["kept"] = bytearray(1_100_000_000)
        case "write":
            assert other is not None
            write_whole({other: slowly(other)})
    return CheckReport(Options(), Severity.WARNING, (FileReport(),))


def slowly(target: Path) -> Any:
    target.with_suffix(".begun").touch()
    for _ in range(600):
        yield b"x"
        time.sleep(0.1)
