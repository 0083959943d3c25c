"""One case run in this process, and the text that its record is."""

import contextlib
import difflib
import hashlib
import io
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import numpy_helper

import onnxpad
from onnxpad.cli import app
from onnxpad.runtimes.sessions import Session
from tests.behaviour.cases import Case, inputs_of

_LONGEST: Final = 1000
"""Characters of a line of a model; of longer ones the rest is a checksum."""

_VERSIONS: Final = {each.__name__: each.__version__ for each in (onnxpad, onnx, np)}


def recorded(case: Case) -> str:
    """The record of a case: its command line, exit code, stdout, stderr, and what it wrote."""
    with tempfile.TemporaryDirectory(prefix="behaviour-") as name:
        folder = Path(name).resolve()
        umask = os.umask(0o022)
        try:
            prepare(folder, case)
            before = contents(folder)
            code, out, err = invoked(case.words, case.environment, folder)
            after = contents(folder)
        finally:
            os.umask(umask)
        parts = [f"$ {' '.join([*_settings(case), 'onnxpad', *map(_quoted, case.words)])}\n"]
        parts += [f"exit code {code}\n"]
        parts += [_section(name, text) for name, text in (("stdout", out), ("stderr", err)) if text]
        for path in sorted({*before, *after}):
            if path not in after:
                parts.append(f"== {path}: gone\n")
            elif before.get(path) != after[path]:
                kind, data = after[path]
                told = "" if data is None else _written(path, data, folder, case.source)
                parts.append(_section(f"{path}{kind}", told) if told else f"== {path}{kind}\n")
        return normalised("".join(parts), folder)


def normalised(text: str, folder: Path) -> str:
    """The text without the folder's path, other temporary paths, and versions of packages.

    >>> normalised(f"/x/y/out.onnx by onnxpad {onnxpad.__version__}", Path("/x/y"))
    './out.onnx by onnxpad VERSION'
    """
    text = text.replace(str(folder), ".")
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/[\w.-]+", "TEMPORARY", text)
    for package, version in _VERSIONS.items():
        text = text.replace(f"{package} {version}", f"{package} VERSION")
    return text.replace(f'"version": "{onnxpad.__version__}"', '"version": "VERSION"')


def invoked(
    words: tuple[str, ...], environment: Mapping[str, str], folder: Path
) -> tuple[int | str, str, str]:
    """The exit code, stdout and stderr of a command in a folder.

    Its clocks stand still, here and in workers: times in words decide where lines are wrapped, so
    that they cannot be normalised in the text.
    """
    out, err = _Stream("TERM" in environment), _Stream(False)
    kept = {k: v for k, v in os.environ.items() if not re.match("ONNXPAD|NO_COLOR|TERM$", k)}
    code: int | str = "none"
    with (
        mock.patch.dict(os.environ, {**kept, "COLUMNS": "80", **environment}, clear=True),
        mock.patch("onnxpad.api.validate.perf_counter", return_value=0.0),  # imported by name
        mock.patch.object(time, "perf_counter", return_value=0.0),
        mock.patch.object(Session, "timed", _timed_run),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            app(list(words), prog_name="onnxpad")
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else str(left.code)
        except Exception as error:  # one command's traceback ends no record
            code = f"none, but {type(error).__name__}: {error}"
    return code, out.getvalue(), err.getvalue()


class _Stream(io.StringIO):
    """Text that claims to be a terminal or not."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__(newline="")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def _timed_run(session: Session, feeds: Any) -> tuple[Any, float]:
    return session.run(feeds), 0.0


def prepare(folder: Path, case: Case) -> None:
    """Copies the model with all that belongs to it, and makes what the command line names."""
    (folder / "sub").mkdir()
    if (source := case.source) is None:
        return
    for suffix in (".onnx", ".npz", ".onnx.data"):
        if (path := source.with_name(source.stem + suffix)).exists():
            shutil.copyfile(path, folder / path.name)  # without its mode: it may be read-only
    named = {word.partition("/")[0] for word in case.words}
    for name in sorted(named & MADE.keys()):
        MADE[name](folder / name, source)


def _split(path: Path, source: Path) -> None:
    """The recorded arrays that are inputs, or those that are not."""
    arrays = np.load(source.with_suffix(".npz"))
    inputs = {each.name for each in inputs_of(onnx.load(source, load_external_data=False))}
    wanted = path.name == "inputs.npz"
    np.savez(path, **{name: arrays[name] for name in arrays if (name in inputs) is wanted})


def _wrong(path: Path, source: Path) -> None:
    """The recorded arrays, with outputs that no padding explains."""
    arrays = dict(np.load(source.with_suffix(".npz")))
    inputs = {each.name for each in inputs_of(onnx.load(source, load_external_data=False))}
    np.savez(path, **{k: v if k in inputs else np.flip(v) * 3 for k, v in arrays.items()})


def _other(path: Path, source: Path) -> None:
    """The model with the elements of its largest initializer moved by one place."""
    model = onnx.load(source)
    if model.graph.initializer:
        weight = max(model.graph.initializer, key=lambda each: int(np.prod(each.dims)))
        moved = np.roll(numpy_helper.to_array(weight), 1)
        weight.CopyFrom(numpy_helper.from_array(moved, weight.name))
    onnx.save(model, path)


def _fixed(path: Path, source: Path) -> None:
    onnxpad.fix(path.with_name(source.name), validate=False).save(path)


MADE: Final[Mapping[str, Callable[[Path, Path], object]]] = {
    "inputs.npz": _split,
    "outputs.npz": _split,
    "wrong.npz": _wrong,
    "other.onnx": _other,
    "fixed.onnx": _fixed,
    "another.onnx": lambda path, source: shutil.copyfile(source.with_name("unet_keras.onnx"), path),
    "empty.onnx": lambda path, source: path.write_bytes(b""),
    "cut.onnx": lambda path, source: path.write_bytes(source.read_bytes()[:2000]),
    "cut.npz": lambda path, source: path.write_bytes(source.with_suffix(".npz").read_bytes()[:99]),
    "notes.onnx": lambda path, source: path.write_text("notes\n"),
    "notes.txt": lambda path, source: path.write_text("notes\n"),
}
"""Files that a command line may name, and what makes them."""


def contents(folder: Path) -> dict[str, tuple[str, bytes | None]]:
    """All below a folder: what is unusual of it, and the bytes of a file."""
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        kind = f", {status.st_nlink} links" * (path.is_file() and status.st_nlink > 1)
        if path.is_symlink():
            kind = f", a link to {path.readlink()}"
        elif (mode := status.st_mode & 0o777) != (0o755 if path.is_dir() else 0o644):
            kind += f", mode {mode:o}"
        name = f"{path.relative_to(folder)}{'/' * path.is_dir()}"
        found[name] = kind, path.read_bytes() if path.is_file() else None
    return found


def _settings(case: Case) -> Iterator[str]:
    return (f"{name}={value}" for name, value in case.environment.items())


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./,=:*-]+", word) else repr(word)


def _section(name: str, text: str) -> str:
    lacks = "" if text.endswith("\n") else "\n\\ no newline at the end\n"
    return f"== {name}\n{text}{lacks}"


def _written(name: str, data: bytes, folder: Path, source: Path | None) -> str:
    """What is told of a file: a page or drawing as text, a model by what differs from its source.

    Line breaks before tags are not in the page; its checksum says whether one came or went.
    """
    if name.endswith(".html"):
        text = normalised(data.decode(), folder)
        return f"{_checksum(text.encode())}\n{text.replace('<', chr(10) + '<')}"
    told = f"{len(data)} bytes, {_checksum(data)}\n"
    if not name.endswith(".onnx") or source is None:
        return told
    try:
        lines = model_lines(data)
    except DecodeError:
        return f"{told}no model\n"
    changed = difflib.unified_diff(_source_lines(source), lines, n=0, lineterm="")
    return told + "".join(f"{line}\n" for line in list(changed)[2:])


@cache
def _source_lines(source: Path) -> list[str]:
    return model_lines(source.read_bytes())


def model_lines(data: bytes) -> list[str]:
    """All of a model as text: a line for each node, tensor, value and other field."""
    lines: list[str] = []

    def tell(place: str, message: Any) -> None:
        for field, value in message.ListFields():
            name = f"{place}{field.name}"
            if field.name == "graph":
                tell("graph.", value)
            else:
                many = value if field.is_repeated else [value]
                lines.extend(f"{name}: {_one_line(each)}" for each in many)

    tell("", onnx.ModelProto.FromString(data))
    return lines


def _one_line(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... {_checksum(text.encode())}"


def _checksum(data: bytes) -> str:
    return f"sha256 {hashlib.sha256(data).hexdigest()[:16]}"
