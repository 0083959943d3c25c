"""The command lines, the model they are asked about, and what they say."""

import contextlib
import re
import shlex
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np
import onnx

import onnxpad
from onnxpad.runtimes.sessions import Session
from tests.case import CASES, cases
from tests.support import BORDER, W, one, onnxpad_runs, run

FOLDER: Final = Path(__file__).parent

COMMANDS: Final = FOLDER / "commands.lines"
"""The name of the file with what a command line prints, and the line; of a name there may be more.

A page that it writes is a file beside it; `fold.pads.3.onnx` is the model of case 3 of `fold/pads`.
"""

MODEL: Final = one(
    """
    [pad] a = Pad (x, p) [conv] b = Conv (a, w)
    [same] c = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
    [mirror] d = Pad <mode = "reflect"> (x, p) [mirrored] e = Conv (d, w)
    [strided] y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (b)
    """,
    inputs="float[1, 2, 8, 8] x",
    outputs="float[] y, float[] c, float[] e",
    initializers=f"{W}, {BORDER}",
)


@cache
def made() -> Mapping[str, str]:
    """The files as they are now, by name."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name).resolve()
        stack.enter_context(contextlib.chdir(folder))
        for clock in ("onnxpad.api.validate.perf_counter", "time.perf_counter"):
            stack.enter_context(mock.patch(clock, return_value=0.0))
        untimed = property(lambda _: 0.0, lambda *_: None)
        stack.enter_context(mock.patch.object(Session, "seconds", untimed))
        stack.enter_context(mock.patch.dict("os.environ", COLUMNS="100"))
        onnx.save(MODEL, "model.onnx")
        Path("sub").mkdir()
        outside = onnx.load("model.onnx")
        onnx.save(outside, "outside.onnx", save_as_external_data=True, size_threshold=0)
        found = dict[str, str]()
        for asked in COMMANDS.read_text(encoding="utf-8").splitlines():
            file, line = asked.split(": ", 1)
            for group, name, place in re.findall(r"(\w+)\.(\w+)\.(\d+)\.onnx", line):
                case = cases(CASES / group / f"{name}.txt")[int(place)]
                onnx.save(case.model, f"{group}.{name}.{place}.onnx")
            ran = onnxpad_runs(*shlex.split(line))
            told = f"$ onnxpad {line}\nexit code {ran.exit_code}\n{ran.stdout}"
            told += f"== stderr\n{ran.stderr}" * bool(ran.stderr)
            found[file] = found.get(file, "") + _same_anywhere(told)
            if line.startswith("repad"):
                _record("other.onnx")
                _record("model.onnx")
        for path in folder.glob("*.html"):
            page = path.read_text(encoding="utf-8")
            page = re.sub("(?s)<style>.*?</style>", "", page)
            found[path.name] = _same_anywhere(re.sub(r"<(?!/|span|code|b\b)", r"\n\g<0>", page))
    return found


def _record(path: str) -> None:
    """What a model makes of an input of whole numbers, beside it."""
    x = np.arange(128, dtype=np.float32).reshape(1, 2, 8, 8) % 7 - 3
    outputs: dict[str, Any] = dict(zip("yce", run(onnx.load(path), {"x": x}), strict=True))
    np.savez(Path(path).with_suffix(".npz"), x=x, **outputs)


def _same_anywhere(text: str) -> str:
    """A text without versions of packages, and with numbers of few digits."""
    text = re.sub(r"\d\.\d{6,}", lambda found: f"{float(found[0]):.3g}", text)
    versions = "|".join(re.escape(each.__version__) for each in (onnxpad, onnx, np))
    return re.sub(rf"(?<![\d.])({versions})(?![\d.])", "VERSION", text).rstrip("\n") + "\n"


def kept() -> Mapping[str, str]:
    """The files as they are kept, by name."""
    return {
        path.name.removesuffix(".txt"): path.read_text(encoding="utf-8")
        for path in FOLDER.iterdir()
        if path.suffix == ".txt"
    }
