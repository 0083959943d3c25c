"""Arrays from files: matched, aligned, refused in one line, and never unpickled."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnxpad.errors import UsageError
from onnxpad.validation.draw import outline
from onnxpad.validation.given import MatchedInputs, matched_inputs
from tests.support.rows import each_row

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
IDS = np.array([1, 0], np.int64)
Y = np.float32(1) + X
MODEL = onnx.parser.parse_model(
    '<ir_version: 9, opset_import: ["" : 17]> g (float[N,3,H,W] x, int64[2] ids) => '
    "(float[N,3,H,W] y, float[N,3,H,W] z) { y = Relu (x) z = Gather (y, ids) }"
)


def fit(inputs: Any = None, reference: Any = None) -> MatchedInputs:
    return matched_inputs(outline(MODEL), inputs, reference)


def saved(path: Path, *arrays: Any, **named: Any) -> Path:
    np.savez(path, *arrays, **named)
    return path


def pb(path: Path, array: Any, name: str = "") -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(onnx.numpy_helper.from_array(array, name).SerializeToString())


@each_row(
    ("named", "says"),
    [
        pytest.param({"x": X, "ids": IDS, "y": Y, "z": Y}, [], id="by name"),
        pytest.param({"z": Y, "y": Y, "ids": IDS, "x": X}, [], id="by name, in any order"),
        pytest.param({"x": X, "ids": IDS, "y": Y}, ["no array for output 'z'"], id="one output"),
        pytest.param(
            {"a": X, "b": IDS, "c": Y, "d": Y},
            ["'a' taken as input 'x', by order", "'d' taken as output 'z'"],
            id="by order",
        ),
        pytest.param(
            {"in": X, "ids": IDS, "y": Y, "out": Y},
            ["'in' taken as input 'x'", "'out' taken as output 'z'"],
            id="the rest by order",
        ),
        pytest.param(
            {"x": np.moveaxis(X, 1, -1), "ids": IDS, "y": Y, "z": Y},
            ["input 'x' 2x4x5x3 as 2x3x4x5: channels moved from last to axis 1"],
            id="channels last",
        ),
    ],
)
def test_a_reference_with_its_inputs(
    named: dict[str, Any], says: list[str], tmp_path: Path
) -> None:
    for source in (saved(tmp_path / "r.npz", **named), named, [named]):
        found = fit(None, source)
        assert np.array_equal(found.draws[0].feeds["x"], X)
        assert np.array_equal(found.draws[0].feeds["ids"], IDS)
        assert np.array_equal(found.expected[0]["y"], Y)
        for text in says:
            assert any(text in note for note in found.notes)
        assert len(found.notes) >= len(says)
        assert says or not found.notes


@pytest.mark.parametrize(("x", "ids"), [("f8", "i4"), ("i8", "f4"), ("f2", "f8")])
@pytest.mark.parametrize(
    ("y", "kind"), [("f8", "f4"), ("i8", "f4"), ("i4", "f4"), ("u2", "f4"), ("f2", "f2")]
)
def test_numbers_of_another_type_are_taken_by_value(x: str, ids: str, y: str, kind: str) -> None:
    found = fit(None, {"x": X.astype(x), "ids": IDS.astype(ids), "y": Y.astype(y), "z": Y})
    for value, wanted in ((found.draws[0].feeds["x"], X), (found.draws[0].feeds["ids"], IDS)):
        assert value.dtype == wanted.dtype
        assert np.array_equal(value, wanted)
    assert found.expected[0]["y"].dtype == kind
    assert np.array_equal(found.expected[0]["y"], Y)
    assert not found.notes
    assert fit(None, ALL | {"x": X.astype("f8") + 1e-12}).notes  # it is rounded


def test_what_is_not_finite_in_a_reference_is_said() -> None:
    holes = Y.copy()
    holes[0, 1, 2, 3] = np.nan
    holes[1, 1, 1, 1] = holes[1, 0, 0, 0] = -np.inf
    (note,) = fit(None, {"x": X, "ids": IDS, "y": holes, "z": Y}).notes
    assert "'y'" in note


def test_positional_arrays_are_in_order(tmp_path: Path) -> None:
    found = fit(None, saved(tmp_path / "r.npz", X, IDS, Y, Y))
    assert np.array_equal(found.draws[0].feeds["x"], X)
    assert len(found.notes) == 4


def test_inputs_and_reference_apart(tmp_path: Path) -> None:
    inputs = saved(tmp_path / "in.npz", x=X, ids=IDS)
    found = fit(inputs, saved(tmp_path / "out.npz", y=Y, z=Y))
    assert np.array_equal(found.draws[0].feeds["x"], X)
    assert found.expected[0].keys() == {"y", "z"}
    # outputs beside the inputs, and inputs beside the outputs, are passed over
    whole = saved(tmp_path / "both.npz", x=X, ids=IDS, y=Y, z=Y)
    assert fit(whole).draws[0].feeds.keys() == {"x", "ids"}
    assert fit(inputs, whole).expected[0].keys() == {"y", "z"}


def test_a_single_array(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[1,3,4,5] x) => (float[1,3,4,5] y) '
        "{ y = Relu (x) }"
    )
    np.save(tmp_path / "x.npy", X[0])
    found = matched_inputs(outline(model), tmp_path / "x.npy", None)
    assert np.array_equal(found.draws[0].feeds["x"], X[:1])
    assert any("axes of size 1 added" in note for note in found.notes)


def test_onnx_test_data(tmp_path: Path) -> None:
    for number in (0, 1, 2, 10):
        pb(tmp_path / f"set_{number}" / "input_0.pb", X + np.float32(number))
        pb(tmp_path / f"set_{number}" / "input_1.pb", IDS, "ids")
        pb(tmp_path / f"set_{number}" / "output_0.pb", Y, "y")
        pb(tmp_path / f"set_{number}" / "output_1.pb", Y)
    found = fit(tmp_path, tmp_path)
    assert [draw.feeds["x"][0, 0, 0, 0] for draw in found.draws] == [0, 1, 2, 10]
    assert [each.keys() for each in found.expected] == [{"y", "z"}] * 4
    assert len(fit(tmp_path / "set_1").draws) == 1
    assert np.array_equal(fit(None, tmp_path / "set_0").draws[0].feeds["ids"], IDS)


ALL = {"x": X, "ids": IDS, "y": Y, "z": Y}


@each_row(
    "named",
    [
        pytest.param({"x": X, "y": Y, "z": Y}, id="a feed lacks"),
        pytest.param({"x": X, "ids": IDS}, id="no output"),
        pytest.param(ALL | {"other": X}, id="too many"),
        pytest.param({"q": X, "y": Y}, id="too few to go by order"),
        pytest.param(ALL | {"x": X > 1}, id="type of an input"),
        pytest.param(ALL | {"x": X.astype("f8") * 1e38}, id="numbers that the type has not"),
        pytest.param(ALL | {"ids": IDS + 0.5}, id="no whole numbers"),
        pytest.param(ALL | {"y": Y > 1}, id="type of an output"),
        pytest.param(ALL | {"y": Y.astype(str)}, id="a text"),
        pytest.param(ALL | {"x": X[:, :2]}, id="shape"),
        pytest.param(ALL | {"ids": IDS[:1]}, id="size"),
        pytest.param(ALL | {"y": np.array([{}])}, id="an object"),
        pytest.param({}, id="empty"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(named: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        fit(None, saved(tmp_path / "r.npz", **named))
    assert str(tmp_path / "r.npz") in str(caught.value)
    assert "\n" not in str(caught.value)


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.write_text, (self.mark, "ran")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    trap = np.array([Trap(mark)], object)
    saved(tmp_path / "a.npz", **(ALL | {"z": trap}))
    np.save(tmp_path / "b.npy", trap)
    (tmp_path / "c.npz").write_bytes(pickle.dumps(Trap(mark)))
    (tmp_path / "d.npy").write_bytes(pickle.dumps(Trap(mark), protocol=2))
    for path in ("a.npz", "b.npy", "c.npz", "d.npy"):
        for pair in ((tmp_path / path, None), (None, tmp_path / path)):
            with pytest.raises(UsageError):
                fit(*pair)
    assert not mark.exists()


@pytest.mark.parametrize("keep", [0, 1, 10, 60, 200, -30, -1])
def test_files_cut_short(keep: int, tmp_path: Path) -> None:
    path = saved(tmp_path / "r.npz", **ALL)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UsageError, match=r"r\.npz") as caught:
        fit(None, path)
    assert "\n" not in str(caught.value)


def test_other_unreadable_files(tmp_path: Path) -> None:
    text = tmp_path / "text.npz"
    text.write_text("no arrays at all")
    huge = tmp_path / "huge.npy"
    np.save(huge, X)
    huge.write_bytes(huge.read_bytes().replace(b"(2, 3, 4, 5)", b"(2,9999999)1"))
    for path in (text, huge, tmp_path / "nowhere.npz", tmp_path):
        with pytest.raises(UsageError) as caught:
            fit(None, path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "pickled" not in str(caught.value)
    pb(tmp_path / "input_0.pb", X)
    (tmp_path / "input_1.pb").write_bytes(b"no tensor")
    with pytest.raises(UsageError):
        fit(tmp_path)


def test_the_other_byte_order() -> None:
    found = fit({"x": X.astype(">f4"), "ids": IDS})
    assert found.draws[0].feeds["x"].dtype.isnative


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param({"a": X, "b": IDS}, id="inputs alone"),
        pytest.param({"a": X, "b": IDS, "c": Y, "d": Y}, id="with outputs"),
        pytest.param({"x": X, "ids": IDS, "c": Y, "d": Y}, id="named, with outputs"),
        pytest.param({"a": X, "b": IDS, "y": Y}, id="with an output by name"),
    ],
)
def test_inputs_are_taken_by_order_as_a_reference_is(inputs: Any) -> None:
    ways = [fit(inputs), fit(inputs, {"e": Y, "f": Y})]
    if len(inputs) == 4:  # a reference with the inputs too, beside inputs of their own
        ways.append(fit({"x": X, "ids": IDS}, inputs))
    for found in ways:
        assert np.array_equal(found.draws[0].feeds["x"], X)
        assert np.array_equal(found.draws[0].feeds["ids"], IDS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes by name")
def test_a_pipe_is_refused_before_its_end_is_awaited(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "input_0.pb")
    for path in (tmp_path / "input_0.pb", tmp_path):
        with pytest.raises(UsageError):
            fit(path)


ONE = onnx.parser.parse_model(
    '<ir_version: 9, opset_import: ["" : 17]> g (float[1,3,5,6] x) => (float[1,3,5,6] y) '
    "{ h = Relu (x) y = Neg (h) }"
)


def test_samples_that_the_model_takes_together_stay_together() -> None:
    found = fit(reference={"x": X, "ids": IDS, "y": Y, "z": Y})
    assert len(found.draws) == 1
    with pytest.raises(UsageError):
        matched_inputs(outline(ONE), None, {"x": np.zeros((4, 3, 5, 7), np.float32), "y": X[:1]})


def test_inner_tensors_beside_the_outputs_are_noted_and_left_out() -> None:
    x = np.zeros((1, 3, 5, 6), np.float32)
    found = matched_inputs(outline(ONE), None, {"x": x, "h": x, "y": x})
    assert [*found.expected[0]] == ["y"]
    assert found.inner == ({},)
    assert "'h'" in str(found.notes)
    with pytest.raises(UsageError):
        matched_inputs(outline(ONE), None, {"x": x, "h": x})
