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


def test_matrix_products_start_no_threads(done: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    done.clear()
    monkeypatch.setattr(sys, "argv", ["onnxpad", "fix", "m"])
    for given, threads in ((None, "1"), ("4", "4")):
        os.environ.clear()
        if given:
            os.environ["OPENBLAS_NUM_THREADS"] = given
        program.main()
        assert os.environ["OPENBLAS_NUM_THREADS"] == threads
    assert done == 2 * [*BEGIN, *RUN]


TOLD = [("done",), ("json", output.INTERRUPTION, ["fix", "m"]), ("exit", 130)]


@each_row(
    ("at", "error", "asked", "then"),
    [
        ("app", KeyboardInterrupt(), False, [("done",), *TOLD]),
        ("heed", KeyboardInterrupt(), False, TOLD),
        ("app", TypeError(), True, [("done",), *TOLD]),
        ("app", TypeError(), False, TypeError),
        ("app", SystemExit("text"), True, SystemExit),
    ],
)
def test_an_interrupt_is_told_and_an_error_raised(
    at: str,
    error: BaseException,
    asked: bool,
    then: Any,
    done: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done.clear()
    monkeypatch.setattr(sys, "argv", ["onnxpad", "fix", "m"])
    failing: dict[str, Any] = vars(program)["failing"]
    failing.update(at=at, error=error, asked=asked)
    with pytest.raises(ExitError if isinstance(then, list) else then):
        program.main()
    said = capsys.readouterr().err
    if isinstance(then, list):
        assert done[done.index(then[0], [name for name, *_ in done].index(at)) :] == then
        assert said == "error: interrupted\n"
    else:
        assert ("exit", 130) not in done
        assert said == ""


def test_a_module_that_is_imported_by_half_does_not_hide_an_interrupt(
    done: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing: dict[str, Any] = vars(program)["failing"]
    failing.update(at="json", error=AttributeError())
    monkeypatch.setattr(program, "_run", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(ExitError):
        program.main()
    assert done[-1] == ("exit", 130)


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


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_a_profiler_of_sys_monitoring_is_waited_for() -> None:
    assert not program._is_watched() or sys.gettrace() or sys.getprofile()
    monitoring: Any = vars(sys)["monitoring"]
    monitoring.use_tool_id(5, "test")
    try:
        assert program._is_watched()
    finally:
        monitoring.free_tool_id(5)


def test_a_profiler_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "getprofile", lambda: print)
    assert program._is_watched()
