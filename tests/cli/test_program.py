"""What the program does around the command line: interrupts told."""

import atexit
import gc
import os
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad import __main__ as program
from onnxpad import cli, process
from onnxpad.cli import output
from tests.support.rows import each_row


class ExitError(BaseException):
    """What ends the process."""


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the program does, in order; `fails` raises what its first element is."""
    found: list[Any] = []

    def noted(name: str) -> Any:
        def called(*arguments: Any) -> None:
            found.append((name, *arguments))
            if name == failing.get("at"):
                raise failing["error"]

        return called

    def leave(code: int) -> None:
        found.append(("exit", code))
        raise ExitError

    failing: dict[str, Any] = {}
    monkeypatch.setattr(program, "failing", failing, raising=False)
    monkeypatch.setattr(process, "heed_signals", noted("heed"))
    monkeypatch.setattr(process, "ignore_signals", noted("done"))
    monkeypatch.setattr(process, "was_interrupted", lambda: failing.get("asked", False))
    monkeypatch.setattr(gc, "set_threshold", noted("threshold"))
    monkeypatch.setattr(cli, "app", noted("app"))
    monkeypatch.setattr(output, "tell_as_json", noted("json"))
    monkeypatch.setattr(atexit, "_run_exitfuncs", noted("atexit"))
    monkeypatch.setattr(sys, "getprofile", lambda: failing.get("profile"))
    monkeypatch.setattr(sys, "gettrace", lambda: failing.get("trace"))
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(os, "environ", {})
    return found


BEGIN, RUN = [("heed",), ("threshold", 50_000)], [("app",), ("done",)]


@each_row(
    ("code", "with_it", "left"),
    [
        (0, {}, 0),
        (2, {}, 2),
        (None, {}, 0),
        ("text", {}, None),
        (0, {"threads": 2}, None),
        (0, {"profile": len}, None),
        (0, {"trace": len}, None),
        (0, {"inspect": True}, None),
        (0, {"stdout": OSError}, None),
        (0, {"stdout": ValueError}, None),
        (3, {"stdout": None}, 3),
    ],
)
def test_the_program_leaves_at_once_if_nothing_but_memory_is_left(
    code: object,
    with_it: dict[str, Any],
    left: int | None,
    done: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done.clear()
    failing: dict[str, Any] = vars(program)["failing"]
    failing.clear()
    failing.update(at="app", error=SystemExit(code), **with_it)
    monkeypatch.setattr(threading, "active_count", lambda: with_it.get("threads", 1))
    os.environ.clear()
    os.environ.update({"PYTHONINSPECT": "1"} if "inspect" in with_it else {})

    def flush() -> None:
        done.append(("flush",))
        if fails := with_it.get("stdout"):
            raise fails

    is_shut = "stdout" in with_it and with_it["stdout"] is None
    monkeypatch.setattr(sys, "stdout", None if is_shut else SimpleNamespace(flush=flush))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(flush=lambda: done.append(("flush",))))
    monkeypatch.setattr(sys, "argv", ["onnxpad", "check", "m"])
    with pytest.raises(SystemExit if left is None else ExitError) as raised:
        program.main()
    ended = [*BEGIN, *RUN]
    if left is not None:
        ended += [("atexit",), *(1 if is_shut else 2) * [("flush",)], ("exit", left)]
    elif "stdout" in with_it:
        ended += [("atexit",), ("flush",)]
    assert done == ended
    assert left is not None or raised.value.args == (code,)
