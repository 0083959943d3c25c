"""The commands that write files, each run in forks of this process with a fault at a step."""

import _pyio  # type: ignore[import-not-found]
import functools
import json
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest import mock

import numpy as np
import onnx
from onnx import numpy_helper
from typer.main import get_command

from onnxpad.cli import app
from tests.file.test_external_data import IMAGE, PADS, WEIGHT, computed, everything, split
from tests.steps.injected import FAULTS, Fault, injected

TEMPORARY: Final = re.compile(r"(.*/)?\.[^/]*\.[0-9a-f]{16}\.part")

_OF_A_RUN: Final = re.compile(rb"[\d.]+ m?s\b|, its external data to [^<(]*?(?= \(|<)")
"""In a page: how long it took, and which data were not there yet."""


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by name; pages without what differs by run."""
    return {
        name: _OF_A_RUN.sub(b"", data) if name.endswith(".html") else data
        for name, data in everything(folder).items()
    }


@dataclass(frozen=True, slots=True)
class Command:
    """A command that writes files.

    Attributes:
        words: The command line, in the folder of the case.
        made: The file that it writes last of those that belong together.
        external: Whether the weight and the amounts of the model lie in files of their own.
        older: Whether other files of those names are there before.
    """

    words: str
    made: str = "b/out.onnx"
    external: bool = True
    older: bool = False


_FIX: Final = "fix a/net.onnx --no-validate"
_PAGE: Final = "b/page.html"
COMMANDS: Final = {
    "fix": Command(_FIX, "a/net.fixed.onnx", external=False),
    "fix -o, older": Command(f"{_FIX} -o b/out.onnx --format json", external=False, older=True),
    "fix --in-place": Command(f"{_FIX} --in-place", "a/net.onnx", external=False),
    "fix --in-place, external": Command(f"{_FIX} --in-place", "a/net.onnx"),
    "fix, external": Command(_FIX, "a/net.fixed.onnx"),
    "fix -o, copy": Command(f"{_FIX} -o b/out.onnx"),
    "fix -o, copy, older": Command(f"{_FIX} -o b/out.onnx", older=True),
    "fix, validated": Command("fix a/net.onnx -o b/out.onnx"),
    "repad -o": Command("repad a/net.onnx --to tensorflow -o b/out.onnx"),
    "match -o": Command("match a/net.onnx --reference a/r.npz -o b/out.onnx"),
    "fix --html": Command(f"{_FIX} -o b/out.onnx --html {_PAGE}", older=True),
    "check --html": Command(f"check a/net.onnx --html {_PAGE}", _PAGE, older=True),
    "show --html": Command(f"show a/net.onnx --html {_PAGE}", _PAGE),
    "validate --html": Command(f"validate a/net.onnx a/net.onnx --html {_PAGE}", _PAGE, older=True),
}
"""By the name that the table shows."""

_ELSEWHERE: Final = "t/"
_DATA: Final = {"w": "deep/w.bin", "b": "b.bin"}


@dataclass(frozen=True, slots=True)
class End:
    """How a run of a command ended.

    Attributes:
        code: The exit code; negative if a signal ended it.
        fired: Whether the fault happened.
        steps: The names of its steps; none where it might have died.
        out: What it printed.
        err: The same on stderr.
    """

    code: int
    fired: bool
    steps: tuple[str, ...]
    out: str
    err: str


class Case:
    """A command and the folder in which it runs, which each try finds as it was."""

    def __init__(self, folder: Path, command: Command) -> None:
        """Makes the inputs, and runs the command without a fault."""
        self._command = command
        self._root, self._fresh = folder / "case", folder / "fresh"
        for name in "abt":
            (self._fresh / name).mkdir(parents=True)
        _make_inputs(self._fresh / "a", command)
        self._begin()
        end = self._run()
        self._code, self.steps = end.code, end.steps
        assert self._code in {0, 1}, end
        self._after = contents(self._root)
        if command.older:
            for name in self._after.keys() - contents(self._fresh).keys():
                older = self._after[name] if name.endswith(".bin") else b"<!doctype html>older"
                (self._fresh / name).parent.mkdir(parents=True, exist_ok=True)
                (self._fresh / name).write_bytes(older)
            self._begin()
            self.steps = self._run().steps
            assert contents(self._root) == self._after
        self._before = contents(self._fresh)
        assert self._after[command.made] != self._before.get(command.made)

    def try_step(self, at: int, fault: Fault, *, again: bool = True) -> bool:
        """Whether the fault happened at a step; then all is as promised, also when run again.

        Raises:
            AssertionError: Something is lost, half, left behind or told wrongly.
        """
        self._begin()
        end = self._run(at, fault)
        fired, found = end.fired, contents(self._root)
        told = f"{self._command.words}: {fault} at step {at}: {end.code} {end.err!r}"
        died = fired and fault.how.startswith("dies")
        assert died == (end.code < 0), told
        left = [name for name in found if TEMPORARY.fullmatch(name)]
        # The system's folder for temporary files: only if removing it fails.
        other = [name for name in found if name.startswith(_ELSEWHERE)]
        assert len(other) <= (fired and not died), f"{told}: left {other}"
        may_leave = died or fault.how == "fails from then on"
        assert len(left) <= may_leave, f"{told}: left {left}"
        for name in [*left, *other]:
            del found[name]
        new = {name for name, content in found.items() if content != self._before.get(name)}
        for name in new:
            assert self._is_whole(name, found[name]), f"{told}: {name} is half, or foreign"
        assert self._before.keys() <= found.keys(), f"{told}: lost a file"
        made = self._command.made
        if found.get(made) == self._after[made]:
            data = {name for name in self._after if name.endswith(".bin")}
            assert data <= found.keys(), f"{told}: written without its data"
        elif not may_leave and end.code != self._code:
            new -= self._before.keys()
            assert not new, f"{told}: left {new}"
        if not died:
            self._check_told(end, told, found)
        if again:
            end = self._run()
            assert end.code == self._code, f"{told}: then {end}"
            found = contents(self._root)
            for name in [*left, *other]:
                found.pop(name, None)
            assert found == self._after, f"{told}: another result when run again"
        return fired

    def _is_whole(self, name: str, content: bytes) -> bool:
        """Whether a file has all of its new content; a page tells of what could not be read."""
        if name.endswith(".html"):
            return content.startswith(b"<!DOCTYPE html>") and content.endswith(b"</html>\n")
        return content == self._after.get(name)

    def _check_told(self, end: End, told: str, found: Mapping[str, bytes]) -> None:
        if end.code == self._code:
            whole = [self._is_whole(name, found.get(name, b"")) for name in self._after]
            assert all(whole), f"{told}: not all is written"
            return
        assert end.code == 2, told
        several = "+" if self._command.words.startswith("check") else ""  # of each model, and page
        assert re.fullmatch(rf"(error: [^\n]+\n){several}", end.err), told
        assert "internal error" not in end.err, told
        if end.out and "json" in self._command.words:
            assert json.loads(end.out), told

    def _begin(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)
        shutil.copytree(self._fresh, self._root)

    def _run(self, at: int = -1, fault: Fault = FAULTS[0]) -> End:
        """Runs the command here, or in a fork of this process where it dies."""
        fired: list[bool] = []
        steps: list[str] = []
        if fault.how.startswith("dies") and at >= 0:
            act = functools.partial(_act, self._root, self._command, at, fault)
            code = _in_fork(lambda fired: act(fired)[0], fired)
        else:
            code, steps = _act(self._root, self._command, at, fault, lambda: fired.append(True))
        out, err = (self._root.with_name(name).read_text() for name in ("out", "err"))
        return End(code, bool(fired), tuple(steps), out, err)


def _act(
    root: Path, command: Command, at: int, fault: Fault, fired: Callable[[], object]
) -> tuple[int, list[str]]:
    """Runs the command in this process; returns its exit code and the names of its steps."""
    flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY
    with ExitStack() as stack:
        streams = [os.open(root.with_name(name), flags) for name in ("out", "err")]
        for each in streams:
            stack.callback(os.close, each)
        stack.enter_context(chdir(root))
        stack.enter_context(mock.patch.object(tempfile, "tempdir", str(root / _ELSEWHERE)))
        # Pages tell how long it took.
        stack.enter_context(mock.patch.object(time, "perf_counter", return_value=0.0))
        steps = stack.enter_context(injected(root, at, fault, fired))
        for each, name in zip(streams, ("stdout", "stderr"), strict=True):
            file = _pyio.open(each, "w", closefd=False)
            stack.enter_context(mock.patch.object(sys, name, file))
        steps.open.add(streams[0])
        try:
            _commands()(command.words.split())
        except SystemExit as end:
            return int(end.code or 0), steps.taken
        except Exception as error:
            raise AssertionError(f"{command.words}: a traceback, {fault} at step {at}") from error
    raise AssertionError("the command did not end by itself")


@functools.cache
def _commands() -> Callable[[list[str]], object]:
    """The command line, of which typer builds a new one at each call of `app`."""
    return get_command(app)


def _in_fork(act: Callable[[Callable[[], object]], int], fired: list[bool]) -> int:
    """The exit code of a fork of this process that acts; negative if a signal ended it."""
    told, tell = os.pipe()
    with warnings.catch_warnings():  # the child needs none of the threads of its parent
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        code = 70
        try:
            code = act(lambda: os.write(tell, b"!"))
        finally:
            os._exit(code)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:  # it ends when the child and its worker have ended
        fired += [True] * bool(pipe.read())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _make_inputs(folder: Path, command: Command) -> None:
    """A model, and what it returns where it is padded as TensorFlow does."""
    padded = "p = Pad (x, pads) y = Conv <strides = [2, 2]> (p, w, b)"
    split(_model(padded), folder, _DATA if command.external else {})
    if "--reference" in command.words:
        right = folder / "right.onnx"
        onnx.save(_model("y = Conv <strides = [2, 2], pads = [1, 0, 1, 1]> (x, w, b)"), right)
        np.savez(folder / "r.npz", x=IMAGE, y=computed(right))
        right.unlink()


def _model(nodes: str) -> onnx.ModelProto:
    """With a Pad that stays, about which onnxruntime is asked by way of a temporary folder."""
    model = onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 17]>
        g (float[1, 2, 9, 8] x) => (float[1, 3, 5, 4] y, float[1, 2, 11, 10] z)
        <float[3] b = {{1, 2, 3}}> {{ {nodes} z = Pad <mode = "reflect"> (x, pads) }}"""
    )
    bias = numpy_helper.from_array(numpy_helper.to_array(model.graph.initializer.pop()), "b")
    model.graph.initializer.extend([WEIGHT, PADS, bias])
    return model
