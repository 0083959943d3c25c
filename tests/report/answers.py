"""What commands answer about the models of the cases, with all facts: a line for each.

`answers.txt` keeps them. An answer is its exit code, its codes, and a checksum of all that it says
in JSON but for sentences, and of the models it writes; `python -m tests.case` shows such a model.
"""

import contextlib
import hashlib
import json
import random
import re
import shlex
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import onnx

from tests.case import CASES, Case, cases
from tests.random_models.draw import draw_model
from tests.support import onnxpad_runs
from tests.support.lines import Lines

_SENTENCE: Final = re.compile("[a-z]{2,} [a-z]{2,} [a-z]{2,}")
_LEFT: Final = {"seconds", "version", "tool", "ulp", "worst", "values", "fed", "detail"}
"""Keys of what is another in each run or version, or on another machine."""


@cache
def _cases(name: str) -> list[Case]:
    return cases(CASES / f"{name}.txt")


def _save(where: str, path: str) -> None:
    name, _, place = where.rpartition("/")
    is_drawn = name == "random"  # by a seed
    case = draw_model(random.Random(int(place))) if is_drawn else _cases(name)[int(place)]
    onnx.save(case.model, path)


def said(line: str) -> str:
    """The line with what is answered now; `validate` compares with another case, but no numbers.

    `prove` takes the options of `fix`, which makes the other model.
    """
    asked = line.partition("  =>  ")[0]
    where, command, *words = shlex.split(asked)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _save(where, "m.onnx")
        if is_run := command == "validate":
            _save(words[0], "other.onnx")
            words[0] = "other.onnx"
        if command == "prove":
            onnxpad_runs("fix", "m.onnx", "-o", "out.onnx", "--no-validate", *words)
            words = ["out.onnx"]
        ran = onnxpad_runs(command, "m.onnx", *words, "--format", "json")
        every = _parts(json.loads(ran.stdout))
        parts = [each for each in every if not (is_run and isinstance(each[1], float))]
        told = json.dumps(parts).encode()
        for path in sorted(Path().glob("out*.onnx")):
            told += onnx.printer.to_text(onnx.load(path)).encode()
    codes = sorted({value for key, value in parts if key in {"code", "reason_code"} and value})
    checksum = hashlib.sha256(told).hexdigest()[:12]
    return f"{asked}  =>  {' '.join([str(ran.exit_code), *codes, checksum])}"


def _parts(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The values of an answer that hold no others, with their keys."""
    if isinstance(value, dict):
        for name in (name for name in value if name not in _LEFT):
            yield from _parts(value[name], name)
    elif isinstance(value, list):
        for each in value:
            yield from _parts(each, key)
    elif not (isinstance(value, str) and _SENTENCE.search(value)):
        yield key, value


LINES: Final = Lines(Path(__file__).with_name("answers.txt"), said)
