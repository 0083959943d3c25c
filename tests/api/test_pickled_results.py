"""A result goes into another process, and says, has and answers the same there."""

import base64
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.api.fix import FixResult
from onnxpad.errors import ModelError, UsageError, ValidationError
from onnxpad.report import json as as_json
from onnxpad.report.show_json import show_json
from tests.pipeline.test_advice import COMPUTED, net
from tests.support import FEW, MODELS, PADS, W, forks, one, parsed

PADDED: Final = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {PADS}")
PORT: Final = MODELS / "misconverted" / "strided_conv2d.onnx"
REFERENCE: Final = PORT.with_suffix(".npz")


EXPLAINED: Final = onnxpad.explain(PORT, node="/conv/Conv")


def again(result: Any) -> Any:
    """What comes out where a result went in."""
    return pickle.loads(pickle.dumps(result))


def told(result: Any) -> Iterator[str]:
    """All that a result says: text, a line, JSON, a page, a notebook."""
    yield str(result)
    yield repr(result)
    for name in ("to_html", "_repr_html_"):
        if hasattr(result, name):
            yield getattr(result, name)()
    documents: dict[type, Callable[[Any], str]] = {
        onnxpad.FixResult: as_json.fix_json,
        onnxpad.CheckResult: lambda found: as_json.check_json(found.report()),
        onnxpad.ShowResult: show_json,
        onnxpad.ValidationResult: as_json.validate_json,
        onnxpad.RepadResult: as_json.repad_json,
        onnxpad.MatchResult: as_json.match_json,
        type(EXPLAINED): as_json.explain_json,
    }
    yield documents[type(result)](result)


def told_of(result: FixResult) -> Iterator[str]:
    """What the report of a result says, without its model."""
    yield from (str(result), repr(result), result._repr_html_(), as_json.fix_json(result))
    yield from (str(result.next), result.to_html())


CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "fix": lambda model: onnxpad.fix(model, validate=False),
    "fix, pad": lambda model: onnxpad.fix(model, validate=False, style="pad", no_ceil=True),
    "check": lambda model: onnxpad.check(model, convention="keras"),
    "show": onnxpad.show,
    "repad": lambda model: onnxpad.repad(model, "caffe"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("path", FEW[::4], ids=lambda path: path.stem)
def test_it_says_the_same(path: Path, call: str) -> None:
    result = CALLS[call](path)
    loaded = again(result)
    assert list(told(loaded)) == list(told(result))
    if hasattr(result, "save"):
        assert loaded.model.SerializeToString() == result.model.SerializeToString()
    if isinstance(result, FixResult):
        assert [*map(str, loaded.outlines())] == [*map(str, result.outlines())]
        assert (loaded.ok, loaded.next) == (result.ok, result.next)


def test_results_that_ran_models() -> None:
    for result in (
        onnxpad.fix(PADDED),
        onnxpad.validate(PORT, reference=REFERENCE),
        onnxpad.match(PORT, REFERENCE),
        onnxpad.repad(PORT, "tensorflow", reference=REFERENCE),
        EXPLAINED,
    ):
        assert list(told(again(result))) == list(told(result))


def test_another_process_says_the_same() -> None:
    result = onnxpad.fix(net(COMPUTED))
    assert result.next is not None
    data = base64.b64encode(pickle.dumps(result)).decode()
    found = forks.run(
        "import base64, pickle, sys\n"
        f"result = pickle.loads(base64.b64decode({data!r}))\n"
        "sys.stdout.write(f'{result}|{result.next}|{result.to_html()}')"
    )
    assert found.stderr == ""
    assert found.stdout == f"{result}|{result.next}|{result.to_html()}"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(PADDED, id="a proto"),
        pytest.param(PADDED.SerializeToString(), id="bytes"),
        pytest.param(bytearray(PADDED.SerializeToString()), id="a bytearray"),
    ],
)
def test_a_model_in_memory_goes_along(given: Any, tmp_path: Path) -> None:
    result = onnxpad.fix(given, validate=False)
    loaded = again(result)
    made = loaded.as_same_kind()
    assert type(made) is type(given)
    assert made == result.as_same_kind()
    loaded.save(tmp_path / "loaded.onnx")
    result.save(tmp_path / "result.onnx")
    assert (tmp_path / "loaded.onnx").read_bytes() == (tmp_path / "result.onnx").read_bytes()
    assert again(loaded).model == result.model


def test_a_file_is_found_by_its_path_and_must_be_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(PADDED, path)
    monkeypatch.chdir(tmp_path)
    result = onnxpad.fix("m.onnx", validate=False)
    data = pickle.dumps(result)
    assert len(data) < path.stat().st_size + 10_000
    monkeypatch.chdir("/")
    loaded = pickle.loads(data)
    assert loaded.changed
    assert loaded.name == "m.onnx"
    with pytest.raises(UsageError, match="by its path"):
        loaded.as_same_kind()
    loaded.save(path)
    for last in (False, True):
        left = again(pickle.loads(data))  # its model is not asked for
        assert [*told_of(left)] == [*told_of(result)]
        for touch in (
            left.outlines,
            left.functions,
            lambda left=left: left.model,
            lambda left=left: left.save("n.onnx"),
        ):
            with pytest.raises(ModelError, match=r"m\.onnx: is gone or has changed since .* again"):
                touch()
        path.unlink(missing_ok=last)


def test_a_result_goes_whole_where_its_file_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(PADDED, path)
    result = onnxpad.fix(path, validate=False)
    result.save(path)
    for loaded in (again(result), again(again(result))):
        assert list(told(loaded)) == list(told(result))
        assert loaded.model == result.model
    path.unlink()
    assert again(result).outlines() == result.outlines()


def test_external_data_lies_where_it_was(tmp_path: Path) -> None:
    path, copy = tmp_path / "m.onnx", tmp_path / "to" / "m.onnx"
    copy.parent.mkdir()
    model = one(
        "a = Pad (x, p) y = Conv (a, w)",
        inputs="float[1, 64, 9, 9] x",
        initializers=PADS,
    )
    weights = np.ones((64, 64, 3, 3), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=1024)
    loaded = again(onnxpad.fix(path, validate=False))
    assert [each.name for each in loaded.save(copy)] == ["w.bin"]
    assert onnxpad.validate(path, copy).ok


def test_an_object_that_shares_its_weights_stays_where_it_is() -> None:
    onnx_ir = pytest.importorskip("onnx_ir")
    result = onnxpad.fix(onnx_ir.from_proto(PADDED), validate=False)
    loaded = again(result)
    assert list(told(loaded)) == list(told(result))
    with pytest.raises(UsageError, match="in the process that called"):
        loaded.as_same_kind()
    assert loaded.model == result.model


def test_a_failure_is_one_there_too() -> None:
    result = onnxpad.validate(PORT, reference=REFERENCE)
    with pytest.raises(ValidationError, match="differs from the reference"):
        again(result).raise_for_failure()
    repaired = replace(onnxpad.fix(PADDED, validate=False), undone=())
    assert again(repaired).undone == ()


def test_a_body_goes_with_its_model_alone() -> None:
    model = parsed("""
        net (bool c, float[1, 2, 8] x) => (float[1, 2, 8] y)
        { y = If (c) <then_branch = a () => (float[1, 2, 8] t) { t = Relu (x) },
                      else_branch = b () => (float[1, 2, 8] e) { e = Abs (x) }> }
    """)
    from onnxpad.graph import Graph

    graph = Graph.from_proto(model)
    (body, _) = graph.inside()
    with pytest.raises(TypeError, match="with its model"):
        pickle.dumps(body)
    assert np.array_equal(again(graph).model.to_bytes(), graph.model.to_bytes())
