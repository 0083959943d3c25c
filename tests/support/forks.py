"""Programs in processes forked from a warm interpreter, which has made the imports of them all."""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Self, TextIO

from tests.support.checkout import ROOT

LIGHT: Final = ("onnxpad.__main__", "onnxpad.cli", "onnxpad.finding", "onnxpad.report")
"""What every command imports; numpy and onnx, rich and onnxruntime are not among it."""
HEAVY: Final = (*LIGHT, "onnxpad.api.fix", "onnxpad.api.check")
"""What a command imports that reads models."""

_SERVER: Final = """
import importlib, json, os, socket, sys
door = socket.socket(fileno=int(sys.argv[1]))
for name in sys.argv[2:]:
    importlib.import_module(name)
while True:
    text, streams, *_ = socket.recv_fds(door, 1 << 20, 3)
    if not text:
        sys.exit()
    child = os.fork()
    if not child:
        break
    for each in streams:
        os.close(each)
    door.send(str(child).encode())
    door.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())

# From here on the process is the program's, to the end of the interpreter.
os.setsid()
door.close()
for number, each in enumerate(streams):
    os.dup2(each, number)
    os.close(each)
for number, name in enumerate(("stdin", "stdout", "stderr")):
    raw = open(number, "r" if not number else "w", encoding="utf-8", closefd=False)
    raw.reconfigure(line_buffering=name == "stderr" or raw.isatty())
    setattr(sys, name, raw)
    setattr(sys, f"__{name}__", raw)
if sys.stderr is not None:
    sys.stderr.reconfigure(errors="backslashreplace")
asked = json.loads(text)
os.environ.clear()
os.environ.update(asked["env"])
os.chdir(asked["folder"])
sys.argv = ["-c", *asked["words"]]
exec(compile(asked["code"], "<string>", "exec"), {"__name__": "__main__"})
"""


@dataclass(slots=True)
class Program:
    """A program that runs, in a session of its own; a block ends when it does.

    Attributes:
        pid: The process.
        stdout: What it writes, unless that goes elsewhere.
        stderr: What it says, unless that goes elsewhere.
    """

    pid: int
    stdout: TextIO
    stderr: TextIO
    _door: socket.socket
    _status: int | None = None

    def __enter__(self) -> Self:
        """The program."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Waits for its end, or kills it where something went wrong."""
        if kind is not None and self._status is None:
            self.send_signal(signal.SIGKILL)
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def send_signal(self, number: int) -> None:
        """Sends it a signal."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Its exit status, as `subprocess` tells it."""
        if self._status is None:
            self._door.settimeout(60)
            self._status = int(self._door.recv(64))
        return self._status


@cache
def _server(modules: Sequence[str]) -> socket.socket:
    """A door to an interpreter that has imported these; it ends with this process."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = there.fileno()
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(number), *modules],
        pass_fds=[number],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )
    there.close()
    atexit.register(process.wait)
    atexit.register(here.close)  # what is registered last is done first
    return here


def start(
    code: str,
    *words: str,
    modules: Sequence[str] = HEAVY,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> Program:
    """A program of Python with words for its command line; streams that are not given are pipes.

    One program of a kind of modules runs at a time. The interpreter is no fresh one: what a program
    imports at its start, and how its streams are encoded, is asked of a process of its own.
    """
    pipes: list[TextIO] = []
    ends = [os.open(os.devnull, os.O_RDONLY) if stdin is None else os.dup(stdin)]
    for given in (stdout, stderr):
        if given is None:
            mine, others = os.pipe()
        else:
            mine, others = os.open(os.devnull, os.O_RDONLY), os.dup(given)
        pipes.append(os.fdopen(mine, encoding="utf-8", newline=""))
        ends.append(others)
    asked = {
        "code": code,
        "words": words,
        "folder": str(Path.cwd()),
        "env": dict(os.environ if env is None else env),
    }
    door = _server(tuple(modules))
    door.settimeout(60)
    socket.send_fds(door, [json.dumps(asked).encode()], ends)
    for each in ends:
        os.close(each)
    return Program(int(door.recv(64)), pipes[0], pipes[1], door)


def run(
    code: str,
    *words: str,
    modules: Sequence[str] = HEAVY,
    env: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """What a program of Python does, as `subprocess.run` tells it."""
    if not hasattr(os, "fork"):
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            capture_output=True,
            env=env,
            encoding="utf-8",
            check=False,
        )
    with start(code, *words, modules=modules, env=env) as program:
        told = program.stdout.read(), program.stderr.read()
    return subprocess.CompletedProcess(words, program.wait(), *told)
