"""What a command line says and writes, as text, and where that is kept."""

import difflib
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.behaviour.recording import invoked, model_lines, normalised
from tests.golden.lines import lines
from tests.golden.models import MODELS
from tests.golden.reports import forms
from tests.support import run

FOLDER: Final = Path(__file__).parent / "kept"

_START: Final = "$ onnxpad "
_REPORT: Final = "report "
_SHORT: Final = re.compile(r"\[[^\[\]{}]{1,300}\n *\]|\{[^\[\]{}]{1,200}\n *\}")
_LAYOUT: Final = re.compile(r"<(?!/|span|code|b\b|title|desc)")
_STYLE: Final = re.compile(r"(?s)<!DOCTYPE.*</style>\n")


def said(line: str, folder: Path) -> str:
    """What a command line says, its exit code, and what it writes into a folder.

    Of a report of `reports.py`, all its forms.

    Of a page only what follows its style, of a model what differs from the one it was made of.
    """
    if line.startswith(_REPORT):
        texts = forms(line.removeprefix(_REPORT))
        whole = ["\n".join(_told(text.encode(), suffix, [])) for suffix, text in texts]
        return normalised("\n".join([f"{_START}{line}", *whole, ""]), folder)
    words = tuple(shlex.split(line))
    named = [word for word in words if word.removesuffix(".onnx") in MODELS]
    for name in named:
        (folder / name).write_bytes(MODELS[name.removesuffix(".onnx")].SerializeToString())
    for name in re.findall(r"\b(source|port|mixed|wrong|signed|bare)\.npz", line):
        _recorded(name, folder / f"{name}.npz")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code, out, err = invoked(words, {"COLUMNS": "100"}, folder)
    parts = [f"{_START}{line}\nexit code {code}\n", _SHORT.sub(_in_one_line, out)]
    parts += [f"== stderr\n{err}"] if err else []
    for path in sorted(folder.iterdir()):
        if before.get(path) != (data := path.read_bytes()):
            told = "\n".join(_told(data, path.suffix, named))
            parts.append(f"== {path.name}\n{told}\n")
    return normalised("".join(parts), folder)


def _recorded(name: str, path: Path) -> None:
    """What a model makes of an input of whole numbers; with an error, or bare of inner tensors."""
    given: dict[str, Any] = {"x": np.arange(512, dtype=np.float32).reshape(1, 2, 16, 16) % 7 - 3}
    model = MODELS[{"wrong": "source", "bare": "mixed"}.get(name, name)]
    outputs: dict[str, Any] = dict(zip("yc", run(model, given), strict=True))
    if name == "wrong":
        outputs["y"] = outputs["y"] + 3
    if name == "bare":
        del outputs["c"]
    np.savez(path, **given, **outputs)


def _told(data: bytes, suffix: str, named: list[str]) -> list[str]:
    if suffix != ".onnx":
        return _LAYOUT.sub(r"\n\g<0>", _STYLE.sub("", data.decode())).split("\n")
    source = MODELS[named[0].removesuffix(".onnx")].SerializeToString()
    changed = difflib.unified_diff(model_lines(source), model_lines(data), n=0, lineterm="")
    return list(changed)[2:]


def _in_one_line(found: re.Match[str]) -> str:
    """A short list or object of JSON."""
    return re.sub(r"\n *", " ", found[0])


def file_of(line: str) -> Path:
    """The file with what a command line says: of the first model that it names, or its command."""
    subject = re.search(r"\w+(?=\.onnx)", line) or re.match(r"\w+", line)
    assert subject
    return FOLDER / f"{subject[0]}.txt"


@cache
def kept(path: Path) -> dict[str, str]:
    """What is kept in a file, by command line."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    parts = re.split(rf"(?m)^(?={re.escape(_START)})", text)[1:]
    return {part.partition("\n")[0].removeprefix(_START): part for part in parts}


def files() -> dict[Path, list[str]]:
    """The command lines by file."""
    found: dict[Path, list[str]] = {}
    for line in lines():
        found.setdefault(file_of(line), []).append(line)
    return found
