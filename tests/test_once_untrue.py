"""What was untrue, or ended otherwise than it should, in ways that no other table shows."""

import signal
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.runtimes import pool
from tests.support import W, forks, one, onnxpad_runs

FOLDS = one(
    "q = Pad (x, p) y = Conv (q, w)",
    initializers=f"{W}, int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}",
)


def test_no_line_of_a_report_is_a_command_of_a_workflow(tmp_path: Path) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(FOLDS)
    for node in model.graph.node:
        node.name = "::stop-commands::" + node.op_type
    model.graph.node[0].name = "##[group]"
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    for words in (["fix", "--diff"], ["fix", "--verbose"], ["show", "-v"], ["check", "-v"]):
        command, *options = words
        ran = onnxpad_runs(command, path, *options)
        lines = [line.strip() for line in (ran.stdout + ran.stderr).splitlines()]
        assert not [each for each in lines if each.startswith(("::", "##["))]
    ran = onnxpad_runs("check", path, "--format", "github")
    assert ran.stdout.startswith("::warning ")


def test_an_alarm_of_the_caller_gets_through_while_a_worker_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def alarm(*_: object) -> None:
        raise TimeoutError("mine")

    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr("subprocess.Popen", interrupted)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        with pytest.raises(TimeoutError):
            pool._started()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_fork_waits_for_imports_of_a_first_call() -> None:
    code = """
import multiprocessing, threading, time
import onnxpad

def called():
    onnxpad.check, onnxpad.fix, onnxpad.validate

thread = threading.Thread(target=called, daemon=True)
thread.start()
for _ in range(20):
    child = multiprocessing.get_context("fork").Process(target=called)
    child.start()
    child.join(20)
    assert child.exitcode == 0, child.exitcode
    time.sleep(0.01)
"""
    assert forks.run(code, modules=("onnxpad",)).returncode == 0


def test_small_shares_may_differ_by_roundings_of_one() -> None:
    def model(bias: float, pads: str = "1, 1, 1, 1") -> onnx.ModelProto:
        return one(
            f"q = Conv <pads = [{pads}]> (x, w) s = Add (q, b) y = Sigmoid (s)",
            initializers=f"{W}, float[1] b = {{{bias}}}",
        )

    assert onnxpad.validate(model(-60), model(-60.001)).outcome != "failed"
    assert onnxpad.validate(model(0), model(0, "0, 0, 2, 2")).outcome == "failed"


def test_given_inputs_are_run_in_place_of_drawn_ones() -> None:
    given = {"x": np.zeros((1, 2, 9, 8), np.float32)}
    result = onnxpad.fix(FOLDS, inputs=given)
    assert result.validation is not None
    assert not any("seed" in run.inputs for run in result.validation.runs)
    with pytest.raises(onnxpad.UsageError):
        onnxpad.fix(FOLDS, inputs=given, validate=False)
