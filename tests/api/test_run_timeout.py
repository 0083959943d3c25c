"""`run_timeout`: what becomes of runs that do not end, and which models have a limit without it."""

import signal
import time
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.api import kinds
from onnxpad.runtimes import pool
from onnxpad.runtimes.runtime import Optimisation
from onnxpad.validation import lab
from onnxpad.validation.lab import Execution, Result
from onnxpad.validation.lab import ask as asking
from tests.support import parsed

LOOP = """Loop (n, k, z) <body = t (int64 i, bool c, float[1,1,H,W] s) => (bool d, float[1,1,H,W] o)
    { o = Identity (s) d = Constant <value = bool {%s}> () }>"""
FED = {"x": np.ones((1, 1, 5, 5), np.float32)}


def model(repeats: int, most: str = "", pads: str = "0,0,1,1,0,0,1,1") -> onnx.ModelProto:
    """A `Pad` and a Conv, and a Loop that stops after one iteration or never."""
    made = parsed(
        f"""g (float[1,1,5,5] x) => (float[1,1,H,W] y)
        <float[1,1,3,3] w = {{1,2,3,4,5,6,7,8,9}}, int64[8] p = {{{pads}}}, bool k = {{1}},
        int64 n = {{{most or 0}}}>
        {{ a = Pad (x, p) z = Conv (a, w) y = {LOOP % repeats} }}"""
    )
    if not most:
        made.graph.node[2].input[0] = ""
    return made


ENDING, ENDLESS = model(0), model(1)


def test_an_original_that_does_not_end_is_not_compared() -> None:
    result = onnxpad.fix(ENDLESS, run_timeout=0.1)
    assert [change.code for change in result.changes] == ["PAD201"]
    assert result.validation is not None
    assert result.validation.outcome == "nothing compared"
    why = "original model, optimisation off: did not end within 0.1 s (run_timeout)"
    assert result.validation.reason == why
    assert not result.ok
    with pytest.raises(onnxpad.ValidationError):
        result.raise_for_failure()
    for given in ({}, {"inputs": FED}):
        found = onnxpad.validate(ENDLESS, ENDING, run_timeout=0.1, **given)  # type: ignore[arg-type]
        assert (found.outcome, found.validation.reason, found.validation.runs) == (
            "nothing compared",
            why,
            (),
        )


def test_a_result_that_does_not_end_has_failed() -> None:
    assert onnxpad.validate(ENDING, ENDING, inputs=FED).ok  # a worker is there, and warm
    found = onnxpad.validate(ENDING, ENDLESS, run_timeout=0.25, inputs=FED)
    assert found.outcome == "failed"
    (run,) = found.validation.runs
    assert "run_timeout" in run.note


def test_a_result_that_takes_longer_has_thrice_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def ask(
        source: Any, draws: Any, provider: str, level: Optimisation, **others: Any
    ) -> Execution:
        limits.append((level, pool._limit.get()))
        if len(limits) == 2:
            late = Result({}, 0.0, "did not end within 9 s", late=True)
            return (late,) * len(draws), {}
        return asking(source, draws, provider, level, **others)

    monkeypatch.setattr(lab, "ask", ask)
    assert onnxpad.validate(ENDING, ENDING, run_timeout=9, inputs=FED).ok
    assert limits == [("off", 9), ("off", 9), ("off", 27), ("full", 9), ("full", 9)]


def test_these_have_one_without_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_MINUTE", 0.1)
    result = onnxpad.fix(ENDLESS)
    assert result.validation is not None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals are POSIX's")
def test_a_limit_of_the_caller_gets_through() -> None:
    def handler(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, handler)
    start = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(TimeoutError):
            onnxpad.fix(ENDLESS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 50  # not the limit of a minute
    assert onnxpad.validate(ENDING, ENDING).ok
