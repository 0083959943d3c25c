"""Sessions: quiet, honest about providers, and their errors in one readable line."""

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxpad.errors import ModelError, ProviderError
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.runtime import EngineError, Optimisation
from onnxpad.runtimes.sessions import open_session, read_proto
from tests.support import parsed
from tests.support.here import Here

pytestmark = pytest.mark.usefixtures("nothing_printed")

# onnxruntime warns of both the unused initializer and the size of y, unless told not to
NOISY = "g (float[N] x) => (float[3] y) <float[4] unused = {1,2,3,4}> { y = Neg (x) }"


@pytest.mark.parametrize("optimisation", ["off", "full"])
def test_runs_without_a_word(optimisation: Optimisation, tmp_path: Path) -> None:
    path = tmp_path / "noisy.onnx"
    onnx.save(parsed(NOISY), path)
    data = np.ones(4, np.float32)
    for source in (path, str(path), path.read_bytes(), parsed(NOISY)):
        with open_session(source, optimisation=optimisation) as session:
            outputs = session.run({"x": data})
        assert np.array_equal(outputs["y"], -data)  # type: ignore[arg-type]
        assert session.seconds > 0


def test_external_data_is_found_beside_the_path_and_in_the_folder(tmp_path: Path) -> None:
    model = parsed("g (float[4] x) => (float[4] y) <float[4] w = {1,2,3,4}> { y = Add (x, w) }")
    weight = onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    model.graph.initializer[0].CopyFrom(weight)
    path = tmp_path / "external.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert not read_proto(path).graph.initializer[0].raw_data
    for source, folder in ((path, None), (path.read_bytes(), tmp_path)):
        with open_session(source, folder=folder) as session:
            outputs = session.run({"x": np.zeros(4, np.float32)})
        assert np.array_equal(outputs["y"], np.arange(4))  # type: ignore[arg-type]


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


def test_errors_of_running_name_the_operator() -> None:
    same = '<auto_pad = "SAME_UPPER", dilations = [2]>'
    for name in ("", "stem"):
        model = parsed(CONV.replace("<%", same))
        model.graph.node[0].name = name
        with open_session(model) as session, pytest.raises(EngineError):
            session.run({"x": np.ones((1, 1, 7), np.float32)})


def test_errors_of_feeding_are_one_line() -> None:
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


def test_a_type_that_cannot_be_fed_is_named() -> None:
    model = parsed("g (bfloat16[2] x) => (bfloat16[2] y) { y = Identity (x) }")
    data = np.zeros(2, onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16))
    with open_session(model) as session, pytest.raises(EngineError, match=r"no bfloat16.*'x'$"):
        session.run({"x": data})


def test_what_cannot_be_said_in_a_line_is_cut() -> None:
    assert len(native.first_line(ValueError("word " * 1000))) <= 300
    assert native.first_line(ValueError("")) == "ValueError"


def test_a_provider_that_is_not_installed_is_named_with_those_that_are() -> None:
    with pytest.raises(ProviderError):
        open_session(parsed(NOISY), provider="NoSuchProvider")


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="a CUDA device is here and would start")
def test_a_provider_that_does_not_start_is_an_error() -> None:
    with pytest.raises(ProviderError) as caught:
        open_session(parsed(NOISY), provider="CUDAExecutionProvider")
    assert caught.value.exit_code == 4
    assert "CPUExecutionProvider" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("run_here")
def test_a_silent_fallback_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    monkeypatch.setattr(onnxruntime.InferenceSession, "get_providers", lambda _: ["Another"])
    with pytest.raises(ProviderError):
        open_session(parsed(NOISY))


def test_unreadable_models_are_said_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "no.onnx"
    with pytest.raises(ModelError):
        read_proto(path)
    path.write_bytes(b"no model at all")
    with pytest.raises(ModelError):
        read_proto(path)
    with pytest.raises(ModelError, match="bytes"):
        read_proto(b"no model at all")


def test_importing_validation_does_not_import_onnxruntime() -> None:
    code = "import sys, onnxpad.validation; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
