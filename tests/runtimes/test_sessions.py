"""Sessions: quiet, honest about providers, with readable errors; a crash takes nobody with it."""

import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.errors import ModelError, ProviderError
from onnxpad.runtimes import pool
from onnxpad.runtimes.copies import draws, seeded
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.providers import trouble_with
from onnxpad.runtimes.runtime import CrashError, EngineError, Optimisation
from onnxpad.runtimes.sessions import CPU, open_session, read_proto
from tests.support import one, parsed
from tests.support.here import Here
from tests.support.probes import compare_runs

# onnxruntime warns of both the unused initializer and the size of y, unless told not to
NOISY = "g (float[N] x) => (float[3] y) <float[4] unused = {1,2,3,4}> { y = Neg (x) }"


@pytest.mark.usefixtures("nothing_printed")
@pytest.mark.parametrize("optimisation", ["off", "full"])
def test_runs_without_a_word(optimisation: Optimisation, tmp_path: Path) -> None:
    path = tmp_path / "noisy.onnx"
    onnx.save(parsed(NOISY), path)
    data = np.ones(4, np.float32)
    for source in (path, str(path), path.read_bytes(), parsed(NOISY)):
        with open_session(source, optimisation=optimisation) as session:
            outputs = session.run({"x": data})
        assert np.array_equal(np.asarray(outputs["y"]), -data)
        assert session.seconds > 0


def test_external_data_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the path, in a folder that is given, and where the caller works."""
    model = parsed("g (float[4] x) => (float[4] y) <float[4] w = {1,2,3,4}> { y = Add (x, w) }")
    weight = onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    model.graph.initializer[0].CopyFrom(weight)
    path = tmp_path / "external.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert not read_proto(path).graph.initializer[0].raw_data
    for source, folder in ((path, None), (path.read_bytes(), tmp_path), (path.read_bytes(), None)):
        with open_session(source, folder=folder) as session:
            outputs = session.run({"x": np.zeros(4, np.float32)})
        assert np.array_equal(np.asarray(outputs["y"]), np.arange(4))
        monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("run_here")
def test_a_closed_session_is_freed_at_once() -> None:
    gc.disable()
    try:
        with open_session(parsed(NOISY)) as session:
            assert isinstance(session._worker, Here)
            freed = weakref.ref(session._worker.runtime._session)
        assert freed() is None
    finally:
        gc.enable()


CONV = "g (float[1,1,7] x) => (float[1,1,?] y) <float[1,1,3] w = {1,2,3}> { y = Conv <% (x, w) }"
LOADING = {
    CONV.replace("<%", '<auto_pad = "SAME_UPPER", pads = [1,1]>'): "A Conv/ConvTranspose node has",
    CONV.replace("<%", "<pads = [-1,1]>"): "Conv: Attribute pads must not contain negative",
    CONV.replace("float", "double").replace("<%", "<group = 1>"): "Could not find an implem",
    CONV.replace("Conv <%", "Convolve"): "Convolve",
}


@pytest.mark.parametrize("text", LOADING)
def test_errors_of_loading_are_one_readable_line(text: str) -> None:
    with pytest.raises(EngineError) as caught:
        open_session(parsed(text))
    assert LOADING[text] in str(caught.value)
    for clutter in ("\n", "[ONNXRuntimeError]", "onnxruntime_src", "[ShapeInferenceError]", ".h:"):
        assert clutter not in str(caught.value)


def test_errors_of_running_are_one_line() -> None:
    with open_session(parsed(CONV.replace("<%", "<group = 1>"))) as session:
        for feeds in (
            {"x": np.ones((1, 1, 6), np.float32)},
            {"x": np.ones((1, 1, 7))},
            {"z": np.ones((1, 1, 7), np.float32)},
            {},
        ):
            with pytest.raises(EngineError) as caught:
                session.run(feeds)
            assert str(caught.value)
            assert "\n" not in str(caught.value)
    unrun = parsed(CONV.replace("<%", '<auto_pad = "SAME_UPPER", dilations = [2]>'))
    with open_session(unrun) as session, pytest.raises(EngineError):
        session.run({"x": np.ones((1, 1, 7), np.float32)})
    assert len(native.first_line(ValueError("word " * 1000))) <= 300
    assert native.first_line(ValueError("")) == "ValueError"
    assert native.first_line(UnicodeDecodeError("utf-8", b"/\xff", 1, 2, "")) == "/\udcff"


def test_a_type_that_cannot_be_fed_is_named() -> None:
    model = parsed("g (bfloat16[2] x) => (bfloat16[2] y) { y = Identity (x) }")
    data = np.zeros(2, onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16))
    with open_session(model) as session, pytest.raises(EngineError, match=r"no bfloat16.*'x'$"):
        session.run({"x": data})


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="a CUDA device is here and would start")
def test_a_provider_that_does_not_start_is_an_error() -> None:
    for provider in ("NoSuchProvider", "CUDAExecutionProvider"):
        with pytest.raises(ProviderError) as caught:
            open_session(parsed(NOISY), provider=provider)
        assert caught.value.exit_code == 4
        assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("run_here")
def test_a_silent_fallback_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    monkeypatch.setattr(onnxruntime.InferenceSession, "get_providers", lambda _: ["Another"])
    with pytest.raises(ProviderError):
        open_session(parsed(NOISY))


def test_unreadable_models_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "no.onnx"
    with pytest.raises(ModelError):
        read_proto(path)
    path.write_bytes(b"no model at all")
    for source in (path, b"no model at all"):
        with pytest.raises(ModelError):
            read_proto(source)


# Crashes of onnxruntime itself

POOL = "MaxPool <kernel_shape = [5,1], strides = [3,3]> (x)"
CRASHING = parsed(f"g (float[1,16,H,W] x) => (float[1,A,B,C] y) {{ y = {POOL} }}")
"""In blocks of 16 channels, as full optimisation has it, onnxruntime divides by no window."""
PLAIN = parsed(f"g (float[1,N,H,W] x) => (float[1,A,B,C] y) {{ y = {POOL} }}")
FATAL = {"x": np.ones((1, 16, 2, 4), np.float32)}


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
                assert not session.ran_on()
            assert session.run({"x": np.ones((1, 16, 9, 4), np.float32)})["y"] is not None


def test_the_model_and_the_level_of_a_crash_are_told(crash: str) -> None:
    found = onnxpad.validate(PLAIN, CRASHING, inputs=FATAL)
    exact, *_, deployed = found.validation.runs
    assert (exact.ok, exact.optimisation) == (True, "off")
    assert (deployed.ok, deployed.optimisation) == (False, "full")
    assert crash in deployed.note
    for rewritten in (PLAIN, CRASHING):
        found = onnxpad.validate(CRASHING, rewritten, inputs=FATAL)
        assert found.validation.outcome != "failed"
        assert any(crash in warning for warning in found.warnings)


# Crashes that are made: models that are called so end the process that runs them.

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
TOLD = "onnxruntime crashed (SIGSEGV)"


@pytest.fixture
def falling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers that crash on models of certain names."""
    pool._end_all()
    start = pool._START.replace("worker.serve(int(sys.argv[1]))", FALL)
    monkeypatch.setattr(pool, "_START", start)
    yield
    pool._end_all()


def named(name: str, pads: str = "[1,1]") -> onnx.ModelProto:
    return parsed(
        f"{name} (float[1,1,7] x) => (float[1,1,?] y) <float[1,1,3] w = {{1,2,3}}> "
        f"{{ y = Conv <pads = {pads}> (x, w) }}"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are POSIX's")
@pytest.mark.usefixtures("falling")
@pytest.mark.parametrize("name", ["falls_when_run", "falls_when_opened"])
class TestMade:
    def test_a_probe_of_one_side(self, name: str) -> None:
        told = f"the rewritten side does not run: {TOLD}"
        found = compare_runs(named("g"), named(name))
        assert (found.ok, found.detail) == (False, told)
        assert compare_runs(named(name), named("g")).runs == 5
        assert not compare_runs(named(name), named("g", "[0,2]")).ok
        # the reference evaluator is no oracle for pools
        pool = "(float[1,1,7] x) => (float[1,1,?] y) { y = MaxPool <kernel_shape = [3]> (x) }"
        both = compare_runs(parsed(f"{name} {pool}"), parsed(f"{name} {pool}"))
        assert (both.ok, both.runs) == (True, 0)
        text = "(bfloat16[2] x) => (bfloat16[2] y) { y = Identity (x) }"  # which nobody can feed
        worse = compare_runs(parsed(f"g {text}"), parsed(f"{name} {text}"))
        assert (worse.ok, worse.detail) == (False, told)

    def test_a_provider_that_crashes(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pool, "_START", pool._START.replace(name, "one_node"))
        assert trouble_with(CPU) == f"{CPU} does not start on this machine: {TOLD}"


def test_seeds_are_of_the_type_of_their_attribute() -> None:
    def seeds(nodes: Any) -> list[dict[str, Any]]:
        get = onnx.helper.get_attribute_value
        return [{each.name: get(each) for each in node.attribute} for node in nodes]

    model = one(
        "a = RandomNormalLike (x) b = Dropout (x, h, t) c = RandomNormalLike <seed = 2.0> (x) "
        "d = Dropout (x) y = Multinomial (x)",
        inputs="float[2] x",
        initializers="float h = {0.5}, bool t = {1}",
    )
    before = model.SerializeToString()
    first, second, *others = seeds(read_proto(seeded(model)).graph.node)
    assert first == others[-1] == {"seed": float(second["seed"])}
    assert type(second["seed"]) is int
    assert others[:2] == [{"seed": 2.0}, {}]
    assert model.SerializeToString() == before
    # In functions that call each other; a seed that a call may set is one.
    model = parsed("""g (float[2] x) => (float[2] y) { a = l.outer (x) y = l.outer <q = 5.0> (a) }
        <domain: "l", opset_import: ["" : 17, "l" : 1]> outer <q> (x) => (y)
        { y = l.inner <s: float = @q> (x) }
        <domain: "l", opset_import: ["" : 17]> inner <s, other> (x) => (y)
        { y = RandomNormalLike <seed: float = @s> (x) }""")
    assert draws(model)
    calm = "c = Constant <value = bool {0}> () d = Dropout (x, h, c) y = mine.RandomNormalLike (d)"
    assert not draws(one(calm, inputs="float[2] x, float h"))
    changed = read_proto(seeded(model))
    assert seeds(changed.functions[1].node) == [first]
    assert seeds(changed.graph.node) == [{}, {"q": 5.0}]
