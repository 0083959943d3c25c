"""A crash of onnxruntime is an error of the model, told, and takes nobody with it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.runtimes import pool
from onnxpad.runtimes.providers import trouble_with
from onnxpad.runtimes.runtime import CrashError, EngineError
from onnxpad.runtimes.sessions import CPU, answers, open_session
from onnxpad.validation.draw import Draw, outline
from onnxpad.validation.lab import Lab, ask
from tests.support import parsed
from tests.support.probes import compare_runs
from tests.support.rows import one_in

POOL = "MaxPool <kernel_shape = [5,1], strides = [3,3]> (x)"
SIGNATURE = "(float[1,%,H,W] x) => (float[1,A,B,C] y)"
CRASHING = parsed(f"g {SIGNATURE.replace('%', '16')} {{ y = {POOL} }}")
"""In blocks of 16 channels, as full optimisation has it, onnxruntime divides by no window."""
PLAIN = parsed(f"g {SIGNATURE.replace('%', 'N')} {{ y = {POOL} }}")
FATAL = {"x": np.ones((1, 16, 2, 4), np.float32)}
FINE = {"x": np.ones((1, 16, 9, 4), np.float32)}


@pytest.fixture(scope="module")
def crash() -> str:
    """How this onnxruntime crashes on the model, as it is told."""
    try:
        with open_session(CRASHING, optimisation="full") as session:
            session.run(FATAL)
    except CrashError as error:
        return str(error)
    pytest.skip("this onnxruntime does not crash")


def test_a_crash_is_an_error_and_the_session_goes_on(crash: str) -> None:
    with open_session(CRASHING, optimisation="full") as session:
        for _ in range(2):
            for _ in range(2):
                with pytest.raises(CrashError):
                    session.run(FATAL)
            assert session.run(FINE)["y"] is not None


@pytest.mark.parametrize("original", [PLAIN, CRASHING], ids=["alone", "alike"])
def test_the_model_and_the_level_are_told(original: onnx.ModelProto, crash: str) -> None:
    found = onnxpad.validate(original, CRASHING, inputs=FATAL)
    exact, *_, deployed = found.validation.runs
    assert exact.ok
    assert exact.optimisation == "off"
    assert deployed.optimisation == "full"
    assert crash in deployed.note
    if original is PLAIN:
        assert not found.ok
        assert not deployed.ok
    else:
        assert found.validation.outcome != "failed"
        assert any(
            warning.endswith(f"with full optimisation the original does not run: {crash}")
            for warning in found.warnings
        )


def test_only_the_original_crashes(crash: str) -> None:
    found = onnxpad.validate(CRASHING, PLAIN, inputs=FATAL)
    assert found.validation.outcome != "failed"
    assert any(crash in warning for warning in found.warnings)


def test_the_command_tells_it_too(crash: str, tmp_path: Path) -> None:
    paths = [tmp_path / "plain.onnx", tmp_path / "crashing.onnx"]
    onnx.save(PLAIN, paths[0])
    onnx.save(CRASHING, paths[1])
    np.savez(tmp_path / "inputs.npz", **FATAL)  # type: ignore[arg-type]
    command = [sys.executable, "-m", "onnxpad", "validate", *map(str, paths), "--format", "json"]
    ended = subprocess.run(
        [*command, "--inputs", str(tmp_path / "inputs.npz")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 3
    runs = json.loads(ended.stdout)["validation"]["runs"]
    assert [crash in run["note"] for run in runs] == [False, True]


NEAR = "k = MaxPool <kernel_shape = [1, 3], pads = [0, 1, 0, 0]> (x)"
SHORT = "MaxPool <kernel_shape = [3, 2]>"


@pytest.mark.parametrize("style", ["pad", "symmetric"])
@pytest.mark.parametrize(
    "body",
    [
        "y = MaxPool <kernel_shape = [4, 2], pads = [1, 0, 0, 0]> (x)",
        f"{NEAR} y = {SHORT} (k)",
        f"{NEAR} y = {SHORT} (x)",
    ],
)
def test_no_pad_makes_halves_be_computed_in_blocks(body: str, style: str) -> None:
    text = "(float16[1, 16, 2, 3] x) => (float16[a, b, c, d] y, float16[e, f, g, h] k)"
    text = text if "k =" in body else text.replace(", float16[e, f, g, h] k", "")
    model = parsed(f"g {text} {{ {body} }}")
    result = onnxpad.fix(model, style=style, validate=False)
    assert [each.reason_code for each in result.findings] == ["kernel-crashes"]
    with open_session(result.model, optimisation="full") as session:
        found = session.run({"x": np.ones((1, 16, 2, 3), np.float16)})["y"]
        assert np.shape(np.asarray(found))[2] == 0


# From here on crashes are made: models that are called so end the process that runs them.

FALL = """
from onnxpad.runtimes.onnxruntime.native import Onnxruntime
import os, signal
open_, run_ = Onnxruntime.open, Onnxruntime.run
def fall(data, name):
    if isinstance(data, bytes) and name in data:
        os.kill(os.getpid(), signal.SIGSEGV)
def open(self, model, *others, **more):
    self.data = getattr(model, "data", b"")
    fall(self.data, b"falls_when_opened")
    return open_(self, model, *others, **more)
def run(self, feeds, outputs):
    fall(getattr(self, "data", b""), b"falls_when_run")
    return run_(self, feeds, outputs)
Onnxruntime.open, Onnxruntime.run = open, run
worker.serve(int(sys.argv[1]))
"""

made = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are POSIX's")
TOLD = "onnxruntime crashed (SIGSEGV)"


@pytest.fixture
def falling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers that crash on models of certain names."""
    pool._end_all()
    start = pool._START.replace("worker.serve(int(sys.argv[1]))", FALL)
    monkeypatch.setattr(pool, "_START", start)
    yield
    pool._end_all()


def named(name: str, pads: str = "[1,1]", size: str = "7") -> onnx.ModelProto:
    return parsed(
        f"{name} (float[1,1,{size}] x) => (float[1,1,?] y) <float[1,1,3] w = {{1,2,3}}> "
        f"{{ y = Conv <pads = {pads}> (x, w) }}"
    )


MAX = "g (float[1,1,7] x) => (float[1,1,?] y) { y = MaxPool <kernel_shape = [3]> (x) }"
FALLS = one_in(2, [("falls_when_run",), ("falls_when_opened",)])


@made
@pytest.mark.usefixtures("falling")
@pytest.mark.parametrize("name", FALLS)
class TestMade:
    def test_a_probe_of_the_rewritten_side_alone_is_a_difference(self, name: str) -> None:
        found = compare_runs(named("g"), named(name))
        assert (found.ok, found.detail) == (False, f"the rewritten side does not run: {TOLD}")
        assert compare_runs(named("g"), named("g")).runs == 5

    def test_a_probe_of_both_sides_is_none(self, name: str) -> None:
        # the reference evaluator is no oracle for pools
        falls = parsed(MAX.replace("g ", f"{name} ", 1))
        found = compare_runs(falls, falls)
        assert (found.ok, found.runs) == (True, 0)

    def test_a_probe_of_the_original_side_alone(self, name: str) -> None:
        assert compare_runs(named(name), named("g")).runs == 5
        assert not compare_runs(named(name), named("g", "[0,2]")).ok

    def test_where_the_original_is_refused_a_crash_is_worse(self, name: str) -> None:
        text = "(bfloat16[2] x) => (bfloat16[2] y) { y = Identity (x) }"
        refused = parsed(f"g {text}")  # onnxruntime's Python API takes no such data
        assert compare_runs(refused, refused).ok
        found = compare_runs(refused, parsed(f"{name} {text}"))
        assert (found.ok, found.detail) == (False, f"the rewritten side does not run: {TOLD}")

    def test_answers_of_one_side_survive_the_other(self, name: str) -> None:
        fed = [{"x": np.ones((1, 1, 7), np.float32)}] * 2
        first, second, third = [answers(named(each), ["y"], fed) for each in ("g", name, "g")]
        assert isinstance(second, CrashError)
        for some in (first, third):
            assert not isinstance(some, EngineError)
            assert len(some) == 2

    def test_asking_a_whole_model(self, name: str) -> None:
        draws = [Draw({"x": np.ones((1, 1, 7), np.float32)}, "ones")] * 5
        found, _ = ask(named(name), draws, CPU, "off")
        assert [result.error for result in found] == [TOLD] * 5
        assert not any(result.error for result in ask(named("g"), draws, CPU, "off")[0])
        lab = Lab({"original": named(name)}, outline(named(name)), None)
        assert lab.prepare((CPU,), 2, 0) == ("", TOLD)

    def test_a_whole_validation(self, name: str) -> None:
        found = onnxpad.validate(named("g"), named(name))
        assert not found.ok
        assert found.validation.runs
        assert {run.note for run in found.validation.runs} == {
            f"the rewritten model does not run: {TOLD}"
        }
        found = onnxpad.validate(named(name), named(name))
        assert any(TOLD in warning for warning in found.warnings)

    def test_a_provider_that_crashes_does_not_run(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool._end_all()
        monkeypatch.setattr(pool, "_START", pool._START.replace(name, "one_node"))
        assert trouble_with(CPU) == f"{CPU} does not start on this machine: {TOLD}"
