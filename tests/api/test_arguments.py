"""What callers hand over: every form that is meant to work, and one line on what is not."""

import io
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import onnxpad
from onnxpad.errors import ModelError, OnnxpadError, OutputError, UsageError
from tests.support import onnxpad_runs
from tests.support.rows import each_row, one_in

TEXT = """<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 1, height, width] image) => (float[1, 1, a, b] y) <float[1, 1, 3, 3] w = {1, 2, 3, 4, 5,
6, 7, 8, 9}, int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}>
{ padded = Pad (image, pads) y = Conv <strides = [2, 2]> (padded, w) }"""

SAME = TEXT.replace("padded = Pad (image, pads) y = Conv <", "y = Conv <auto_pad = SAME_UPPER, ")
SAME = SAME.replace("SAME_UPPER", '"SAME_UPPER"').replace("(padded, w)", "(image, w)")


def model(text: str = TEXT) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


RAW = model().SerializeToString()

CALLS: dict[str, Callable[..., Any]] = {
    "fix": onnxpad.fix,
    "check": onnxpad.check,
    "validate": lambda given, **others: onnxpad.validate(given, given, **others),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    path.write_bytes(RAW)
    return path


class Pathlike:
    """What says where a file is, as some packages do: in bytes."""

    def __init__(self, path: object) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        return self.path


@pytest.mark.parametrize("given", [RAW, bytearray(RAW), memoryview(RAW), model()], ids=type)
def test_a_model_in_memory_is_one_in_any_form(given: Any) -> None:
    result = onnxpad.fix(given)
    assert [change.code for change in result.changes] == ["PAD201"]
    assert result.validation is not None
    assert all(run.comparisons for run in result.validation.runs)
    assert len(onnxpad.check(given, ignore="PAD6").findings) == 1
    assert onnxpad.validate(given, result.model).ok


def test_a_path_is_one_in_any_form(path: Path) -> None:
    for given in (path, str(path), Pathlike(str(path)), Pathlike(bytes(path))):
        assert onnxpad.check(given).findings


@each_row("call", CALLS)
@pytest.mark.parametrize(
    "given",
    [
        None,
        5,
        ["a.onnx", "b.onnx"],
        ("a.onnx",),
        {"a.onnx"},
        {"a": "a.onnx"},
        io.BytesIO(RAW),
        np.frombuffer(RAW, np.uint8),
        model().graph,
        Pathlike(5),
        b"",
        b"net.onnx",
        onnx.ModelProto(),
        onnx.ModelProto(ir_version=8),
        "",
        "n" * 5000,
        "a\0b",
    ],
)
def test_what_is_no_model_is_said_in_one_line(call: str, given: Any) -> None:
    with pytest.raises(OnnxpadError) as caught:
        CALLS[call](given)
    assert "\n" not in str(caught.value)


SIZES = [
    (1, 1, 64, 64),
    [1, 1, 64, 64],
    "1,1,64,64",
    "image=1,1,64,64",
    np.array([1, 1, 64, 64]),
    (np.int64(1), None, np.int32(64), 64),
    {"image": np.array([1, 1, 64, 64])},
    {"": (1, 1, 64, 64)},
]


@pytest.mark.parametrize("shapes", SIZES, ids=str)
def test_sizes_without_a_name_are_those_of_the_only_input(shapes: Any) -> None:
    result = onnxpad.fix(model(SAME), shapes=shapes, validate=False)
    assert result.declared == {"image": (1, 1, 64, 64)}
    assert result.changed
    assert onnxpad.check(model(SAME), shapes=shapes).failing()
    assert "64x64" in onnxpad.validate(RAW, RAW, shapes=shapes).validation.runs[0].inputs


@pytest.mark.parametrize(
    ("dims", "ranges"),
    [
        ({"height": range(32, 1025, 32)}, {"height": range(32, 1025, 32)}),
        ({"height": range(1024, 31, -32)}, {"height": range(32, 1025, 32)}),
        ({"height": range(32, 1000, 32)}, {"height": range(32, 993, 32)}),
        ({"height": range(1, 100, 2)}, {"height": range(1, 100, 2)}),
        ({"height": range(7, 8)}, {}),
        ({"height": np.int64(7)}, {}),
    ],
)
def test_a_range_of_sizes_is_that_of_python(dims: Any, ranges: dict[str, range]) -> None:
    dims = {**dims, "width": 64}
    result = onnxpad.fix(model(SAME), dims=dims, validate=False)
    assert result.dims == ranges
    assert result.changed
    assert onnxpad.validate(model(SAME), result.model, dims=dims).ok
    if "32" in str(ranges):
        text = onnxpad.fix(model(SAME), dims={"height": "32..1024:32", "width": 64}, validate=False)
        assert [str(c.after) for c in text.changes] == [str(c.after) for c in result.changes]


NO_SIZES: list[Any] = [5, True, range(1, 5), b"1", {1, 2}, iter([1]), np.int64(3), ()]
NO_SHAPES: list[Any] = [None, 5, range(1, 5), {"h": 3}, b"1", "n" * 10**6]
NO_RANGES: list[Any] = [range(5, 5), range(10), range(1, 10**9), range(-5, 9), [32], 64.0, True]
NO_RANGES += [None, slice(3), b"3", "n" * 10**6]
NO_DIMS: list[Any] = [5, "height=3", ["height"], range(3), {3: 3}]

WRONG: list[dict[str, Any]] = [
    *({"shapes": it} for it in NO_SIZES),
    *({"shapes": it} for it in [(1, 1, 64.0, 64), (1, 1, True, 64), (1, 1, [2], 3)]),
    *({"shapes": {"image": it}} for it in NO_SHAPES),
    {"shapes": {"image": (1, 1, range(32, 65), 64)}},
    {"shapes": {5: (1,)}},
    {"shapes": [("image", (1, 1, 64, 64))]},
    *({"dims": it} for it in NO_DIMS),
    *({"dims": {"height": it}} for it in NO_RANGES),
]


@each_row("call", CALLS)
@pytest.mark.parametrize("options", WRONG, ids=lambda it: str(it).partition(" at 0x")[0][:60])
def test_what_are_no_sizes_is_said_in_one_line(call: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        CALLS[call](RAW, **options)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_sizes_without_a_name_are_refused_where_there_are_two_inputs() -> None:
    two = model()
    two.graph.input.append(helper.make_tensor_value_info("other", 1, [1]))
    with pytest.raises(UsageError):
        onnxpad.fix(two, shapes=(1, 1, 64, 64))


def test_codes_may_be_one_text() -> None:
    assert onnxpad.check(RAW, select="PAD101,pad2").findings
    assert not onnxpad.check(RAW, select="PAD101").findings
    assert not onnxpad.check(RAW, ignore="PAD2,PAD6").findings
    assert onnxpad.check(RAW, ignore="").findings
    wrong: list[Any] = [5, [5], b"PAD1", ["PAD1,,"], [""]]
    for codes in wrong:
        with pytest.raises(UsageError):
            onnxpad.check(RAW, select=codes)
    with pytest.raises(UsageError):
        onnxpad.check(RAW, select=["PDA101"])


UNFIT: dict[str, list[Any]] = {
    "providers": [5, [], {}, b"cpu", ["cpu", None], ["n" * 10**6]],
    "samples": [0, 1.5, "2", True],
    "seed": [-1, 1.5, "2"],
    "rtol": ["1", [1], -1, float("nan")],
    "inputs": [5, {}, [], [5], {"image": "a"}, {"image": [1, [2]]}, {5: 5}],
    "reference": [5, {}, "nowhere.npz"],
}


@each_row(
    "options", [{name: value} for name, values in UNFIT.items() for value in values], at_once=2
)
def test_validate_says_in_one_line_what_it_cannot_do(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        onnxpad.validate(RAW, RAW, **options)
    assert "\n" not in str(caught.value)


def test_a_result_is_saved_to_a_path_only(tmp_path: Path) -> None:
    result = onnxpad.fix(RAW, validate=False)
    where: Any
    for where in (None, 5, "", "a\0b", str(tmp_path / ("n" * 5000)), tmp_path):
        with pytest.raises((UsageError, OutputError)):
            result.save(where)
    result.save(Pathlike(bytes(tmp_path / "out.onnx")))
    assert (tmp_path / "out.onnx").exists()


# Models that are not what they should be


def test_a_size_beyond_any_memory_is_not_drawn() -> None:
    for size in (2**31, 2**40, 2**62, 2**63 - 1):
        for count in (1, 4):
            huge = model()
            for dim in list(huge.graph.input[0].type.tensor_type.shape.dim)[-count:]:
                dim.dim_value = size
            result = onnxpad.fix(huge)
            assert result.changes
            assert result.validation is not None
            assert not any(run.comparisons for run in result.validation.runs)
            assert result.validation.warnings
            assert not onnxpad.validate(huge, huge).ok


def test_a_weight_that_claims_to_be_huge_is_not_probed() -> None:
    for size in (2**31, 2**40, 2**63 - 1):
        lying = model()
        lying.graph.initializer[0].dims[2] = size
        onnxpad.fix(lying)


@pytest.mark.parametrize("code", [99, -1, 2**31 - 1])
def test_an_element_type_that_is_not_known_is_no_defect(code: int) -> None:
    unknown = model()
    unknown.graph.input[0].type.tensor_type.elem_type = code
    cast = model()
    cast.graph.node.insert(0, helper.make_node("Cast", ["image"], ["other"], to=code))
    cast.graph.node[1].input[0] = "other"
    for each in (unknown, cast):
        onnxpad.check(each)
        onnxpad.fix(each)
        assert not onnxpad.validate(each, each).ok
    with pytest.raises(OnnxpadError):
        onnxpad.validate(unknown, unknown, inputs={"image": np.ones((1, 1, 4, 4), np.float32)})


LONG = "n" * 1_000_000


def named(place: str) -> onnx.ModelProto:
    """A model with a name of a megabyte somewhere."""
    long = model()
    graph = long.graph
    pad, conv = graph.node
    if place == "node":
        pad.name = conv.name = LONG
    elif place == "tensor":
        pad.output[0] = conv.input[0] = LONG
    elif place == "input":
        pad.input[0] = graph.input[0].name = LONG
    elif place == "dimension":
        graph.input[0].type.tensor_type.shape.dim[2].dim_param = LONG
    elif place == "attribute":
        conv.attribute.append(helper.make_attribute(LONG, 1))
    elif place == "operator":
        conv.op_type = LONG
    elif place == "domain":
        conv.domain = LONG
        long.opset_import.add(domain=LONG, version=1)
    elif place == "what is not there":
        pad.input[0] = LONG
    return long


PLACES = ["node", "tensor", "input", "dimension", "attribute", "operator", "domain"]


@pytest.mark.parametrize("place", one_in(4, zip([*PLACES, "what is not there"])))
def test_a_name_of_a_megabyte_takes_seconds_and_is_not_printed(place: str, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(named(place).SerializeToString())
    start = time.process_time()
    for args in (["fix"], ["check"], ["validate", str(path)]):
        result = onnxpad_runs(args[0], path, *args[1:])
        assert result.exit_code in {0, 1, 2, 3, 5}
        assert len(result.output) < 8_000
    assert time.process_time() - start < 25


def test_a_long_name_is_whole_in_the_library() -> None:
    assert onnxpad.fix(named("node")).changes[0].node == LONG


def test_an_error_of_a_long_name_is_short() -> None:
    with pytest.raises(ModelError, match=r"\[999,9\d\d characters\]") as caught:
        onnxpad.check(named("what is not there"))
    assert len(str(caught.value)) < 500


# Did you mean


@each_row(
    ("args", "meant"),
    [
        (["fxi"], "fix"),
        (["fix", "NET", "--stile", "fold"], "--style"),
        (["fix", "NET", "--no-validte"], "--no-validate"),
        (["fix", "NET", "--style", "fodl"], "fold"),
        (["fix", "NET", "--dynamic", "autopad"], "auto-pad"),
        (["fix", "NET", "--format=jsn"], "json"),
        (["fix", "NET", "--dim", "heigth=3"], "height"),
        (["check", "NET", "--dim", "Width=3"], "width"),
        (["validate", "NET", "NET", "--dim", "heigth=3"], "height"),
        (["fix", "NET", "--shape", "imgae=1,1,3,3"], "image"),
        (["check", "NET", "--select", "PDA101"], "PAD101"),
        (["check", "NET", "--fail-on", "warn"], "warning"),
        (["rule", "PDA101"], "PAD101"),
        (["validate", "NET", "NET", "--provider", "cdua"], "cuda"),
    ],
)
def test_what_was_meant_is_said_in_one_line(args: list[str], meant: str, path: Path) -> None:
    result = onnxpad_runs(*(path if arg == "NET" else arg for arg in args))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert len(re.findall("id you mean|Possible options", line)) == 1
    assert meant in line


def test_nothing_is_meant_by_what_is_like_nothing(path: Path) -> None:
    for option in ("--dim=quux=3", "--shape=quux=1,1,3,3", "--xyzzy"):
        result = onnxpad_runs("fix", path, option)
        assert result.exit_code == 2
        assert "mean" not in result.stderr
