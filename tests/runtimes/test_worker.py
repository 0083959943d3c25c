"""What workers answer: the same tensors once, errors of a caller, and no more than memory holds."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from onnxpad.runtimes import pool, worker
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import answers, open_session
from onnxpad.runtimes.worker import Runtime
from tests.support import parsed
from tests.support.rows import each_row

NEG = parsed("g (float[2] x) => (float[2] y) { y = Neg (x) }")
OTHER = parsed("g (float[2] x) => (float[2] y) { y = Abs (x) }")
NONE = parsed("g (float[2] x) => (float[2] y) { y = Nothing (x) }")


def test_answers_of_several_models() -> None:
    fed = [{"x": np.array([1, 2], np.float32)}, {"x": np.ones(3, np.float32)}]

    def told(*models: onnx.ModelProto) -> list[Any]:
        return [
            "error" if isinstance(some, EngineError)
            else [
                "error" if isinstance(each, EngineError) else np.asarray(each["y"]).tolist()
                for each in some
            ]
            for some in [answers(model, ["y"], fed) for model in models]
        ]  # fmt: skip

    assert told(NEG, OTHER) == [[[-1, -2], "error"], [[1, 2], "error"]]
    assert told(NEG) == [[[-1, -2], "error"]]
    assert told(NEG, NONE) == [[[-1, -2], "error"], "error"]


def test_what_a_request_raises_gets_through() -> None:
    with pytest.raises(ValueError, match="'no number'"):
        pool.ask(Runtime.about, int, "no number")
    with pytest.raises(EngineError, match=r"pickle|local object"):
        pool.ask(Runtime.about, eval, "lambda: 0")
    with pytest.raises(Exception, match=r"pickle|local object"):
        pool.ask(Runtime.about, len, lambda: 0)
    assert pool.ask(Runtime.about, len, "next") == 4


@pytest.mark.usefixtures("nothing_printed")
def test_what_a_worker_prints_is_no_part_of_a_report() -> None:
    pool.ask(Runtime.about, print, "loaded no libcudnn.so.9")
    for stream in (1, 2):
        pool.ask(Runtime.about, os.write, stream, b"by native code")


def test_a_large_array_is_sent_and_can_be_written_to() -> None:
    model = parsed("g (float[N] x) => (float[N] y) { y = Neg (x) }")
    data = np.arange(1 << 22, dtype=np.float32)
    with open_session(model) as session:
        found = session.run({"x": data})["y"]
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, -data)
    found[0] = 1


def test_data_of_a_model_in_memory_lies_where_the_caller_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = parsed("g (float[4] x) => (float[4] y) <float[4] w = {1,2,3,4}> { y = Add (x, w) }")
    weight = onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    model.graph.initializer[0].CopyFrom(weight)
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    with open_session(path.read_bytes()) as session:
        outputs = session.run({"x": np.zeros(4, np.float32)})
    assert np.array_equal(outputs["y"], np.arange(4))  # type: ignore[arg-type]


@each_row(
    ("text", "spared"),
    [
        ("MemTotal:  9 kB\nMemAvailable:   5 kB\nSwapFree: 3 kB\nHugePages_Total: 0\n", 8192),
        ("MemAvailable: 5 kB\nSwapTotal: 7 kB\n", 5120),
        (None, None),
    ],
)
def test_what_the_system_can_give(
    text: str | None, spared: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(encoding: str) -> str:
        if text is None:
            raise FileNotFoundError
        return text

    monkeypatch.setattr(worker, "Path", lambda path: SimpleNamespace(read_text=read))
    assert worker.spare() == spared
