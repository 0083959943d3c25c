"""What the program does around the command line: a worker forked first, and interrupts told."""

import gc
import os
import sys
from typing import Any

import pytest

from onnxpad import __main__ as program
from onnxpad import cli, process
from onnxpad.cli import output
from onnxpad.runtimes import pool
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
    monkeypatch.setattr(pool, "fork_first", noted("fork"))
    monkeypatch.setattr(cli, "app", noted("app"))
    monkeypatch.setattr(output, "tell_as_json", noted("json"))
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(os, "environ", {})
    return found


BEGIN, RUN = [("heed",), ("threshold", 50_000)], [("app",), ("done",)]


@each_row(
    ("words", "forks"),
    [
        (["fix", "m"], True),
        (["--verbose", "validate", "m"], True),
        (["doctor"], True),
        ([], False),
        (["check", "m"], False),
        (["show", "m"], False),
        (["fix", "m", "--no-validate"], False),
        (["fix", "--help"], False),
        (["validate", "-h"], False),
    ],
)
def test_a_worker_is_forked_where_models_run(
    words: list[str], forks: bool, done: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    done.clear()
    monkeypatch.setattr(sys, "argv", ["fix", *words])
    for given, threads in ((None, "1"), ("4", "4")):
        os.environ.clear()
        if given:
            os.environ["OPENBLAS_NUM_THREADS"] = given
        program.main()
        assert os.environ["OPENBLAS_NUM_THREADS"] == threads
    assert done == 2 * [*BEGIN, *([("fork",)] if forks else []), *RUN]


TOLD = [("done",), ("json", output.INTERRUPTION, ["fix", "m"]), ("exit", 130)]


@each_row(
    ("at", "error", "asked", "then"),
    [
        ("app", KeyboardInterrupt(), False, [("done",), *TOLD]),
        ("fork", KeyboardInterrupt(), False, TOLD),
        ("heed", KeyboardInterrupt(), False, TOLD),
        ("app", TypeError(), True, [("done",), *TOLD]),
        ("app", TypeError(), False, TypeError),
        ("app", SystemExit(2), True, SystemExit),
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
