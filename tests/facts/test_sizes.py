"""Sizes that are given or recorded in a model: what they fix, limit and contradict.

What a rewrite needs of the sizes is written into the model's metadata, merged, honoured, refused.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.arithmetic.size import NMAX, Sizes
from onnxpad.errors import UsageError
from onnxpad.facts import LARGEST_SIZE
from onnxpad.facts.recorded import METADATA, recorded_sizes, shape_of, sizes_of
from onnxpad.finding import Assumption
from onnxpad.graph import Graph
from tests.support import feeds_of, one, onnxpad_runs, run
from tests.support.rows import each_row

W: Final = "float[1, 2, 3, 3] w = {" + ", ".join(str(i % 7 - 3) for i in range(18)) + "}"
SAME: Final = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
OPEN: Final = one(SAME, inputs="float[N, 2, height, width] x", initializers=W)
# The amounts are those of SAME for the size of the other input.
BORROWED: Final = one(
    "s = Shape <start = 2> (z) n = Neg (s) m = Mod (n, two) t = Add (m, one) b = Div (t, two)"
    " e = Sub (t, b) q = Concat <axis = 0> (none, b, none, e) p = Pad (x, q)"
    " y = Conv <strides = [2, 2]> (p, w)",
    inputs="float[1, 2, height, width] x, float[1, 1, height, width] z",
    initializers=f"{W}, int64 two = {{2}}, int64 one = {{1}}, int64[2] none = {{0, 0}}",
)
TWO: Final = one("y = Relu (x)", inputs="float[N, height, ?] x, float[N, 4] z, float[] u")


def declared(model: onnx.ModelProto) -> list[list[int | str]]:
    return [
        [
            d.dim_value if d.HasField("dim_value") else d.dim_param
            for d in i.type.tensor_type.shape.dim
        ]
        for i in model.graph.input
    ]


def agree(before: onnx.ModelProto, after: onnx.ModelProto, *sizes: tuple[int, int]) -> bool:
    """Whether both give the same bits at each height and width."""
    same = []
    for height, width in sizes:
        draw = np.random.default_rng(0)
        shapes = [
            [d.dim_value or {"height": height, "width": width}.get(d.dim_param, 1)
             for d in each.type.tensor_type.shape.dim]
            for each in before.graph.input
        ]  # fmt: skip
        names = [each.name for each in before.graph.input]
        data = [draw.integers(-8, 9, shape).astype(np.float32) for shape in shapes]
        feeds = dict(zip(names, data, strict=True))
        same.append(np.array_equal(run(before, feeds)[0], run(after, feeds)[0]))
    return all(same)


# What is fixed


@pytest.mark.parametrize(
    ("shapes", "dims", "inputs"),
    [
        ({"x": (1, 2, 9, 8)}, {}, [1, 2, 9, 8]),
        ("1x2x9x8", {}, [1, 2, 9, 8]),
        ({"x": " ?, 2 ,9,-1"}, {}, ["N", 2, 9, "width"]),
        ({"x": (None, 2, np.int64(9), None)}, {"height": 9, "width": "8..8"}, ["N", 2, 9, 8]),
        ({}, {"height": 9, "width": "5..11:8"}, ["N", 2, 9, 8]),
    ],
)
def test_a_fixed_size_is_declared(shapes: Any, dims: Any, inputs: list[int | str]) -> None:
    result = onnxpad.fix(OPEN, shapes=shapes, dims=dims)
    assert declared(result.model) == [inputs]
    assert result.declared == {"x": tuple(inputs)}
    if 8 not in inputs:
        assert [f.code for f in result.findings] == ["PAD101"]
        return
    assert [(c.code, c.certificate.sizes) for c in result.changes] == [("PAD101", "size 9x8")]
    feeds = feeds_of(result.model)
    np.testing.assert_array_equal(run(OPEN, feeds)[0], run(result.model, feeds)[0])
    again = onnxpad.fix(result.model, shapes=shapes, validate=False)
    assert (again.changed, again.declared) == (False, {})


def test_a_shape_gives_an_input_axes_and_an_initializer_none() -> None:
    proto = one(SAME, inputs="float[N, 2, height, width] x", initializers=W)
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(proto, shapes={"x": "?,2,9,8"})
    assert declared(result.model) == [["", 2, 9, 8]]
    both = "float[N, 2, height, 8] x, float[O, 2, 3, 3] w"
    proto = one(SAME, inputs=both, initializers=W)
    wrong: list[dict[str, Any]] = [{"shapes": {"w": (1, 2, 3, 3)}}, {"dims": {"O": 1}}]
    wrong += [{"shapes": {"z": "1,2"}}]  # which is no tensor
    sequence = one("y = Relu (x)", inputs="float[2, 3] x, seq(float[2]) z")
    for given, model in zip(wrong, (proto, proto, sequence), strict=True):
        with pytest.raises(UsageError):
            onnxpad.fix(model, **given)
    assert declared(onnxpad.fix(proto, shapes={"": "1,2,9,8"}).model)[0] == [1, 2, 9, 8]
    for shape, sizes in (((1, 2, 32, 32), "size 32x32"), ((1, 2, 32, None), "size 32x?")):
        half = SAME.replace("[2, 2]", "[2, 1]")
        model = one(half, inputs="float[b, 2, h, n] x", initializers=W)
        (change,) = onnxpad.fix(model, shapes=shape, validate=False).changes
        assert change.certificate.sizes == sizes


# Ranges


def test_a_range_is_proved_for_and_not_declared() -> None:
    result = onnxpad.fix(OPEN, dims={"height": "30..64:4", "width": "8..40:8"})
    assert (result.declared, declared(result.model)) == ({}, declared(OPEN))
    (change,) = result.changes
    assert change.after == "Conv H 0+1, W 0+1, pads [0, 0, 1, 1]"
    assert change.certificate.sizes == "height 32..64 in steps of 4, width 8..40 in steps of 8"
    assert not change.certificate.assumptions
    assert drawn(result) == {"1x2x32x8", "2x2x36x16", "1x2x64x40"}
    assert agree(OPEN, result.model, (32, 8), (36, 16), (64, 40))
    assert not agree(OPEN, result.model, (9, 9))  # outside of it nothing is promised
    left = onnxpad.fix(OPEN, dims={"height": "3..64", "width": "2..64:2"})
    assert not left.changed
    (finding,) = left.findings
    assert ["'height'" in finding.reason, "'width'" in finding.reason] == [True, False]


# Names


def test_equal_names_are_trusted_on_request_only() -> None:
    assert not onnxpad.fix(BORROWED, dynamic="auto-pad").changed
    trusting: dict[str, Any] = {"dynamic": "auto-pad", "trust_dim_names": True}
    result = onnxpad.fix(BORROWED, **trusting)
    (change,) = result.changes
    assert change.after == "Conv auto_pad=SAME_UPPER"
    assert change.certificate.assumptions == (Assumption.EQUAL_NAMES,)
    assert "sizes" not in change.certificate.facts
    assert agree(BORROWED, result.model, (7, 8), (1, 1), (12, 5))
    strict = onnxpad.fix(BORROWED, strict=True, **trusting)
    assert [each.reason_code for each in strict.undone] == ["assumption-refused"]
    own = onnx.ModelProto()
    own.CopyFrom(BORROWED)
    own.graph.node[0].input[0] = "x"  # which rests on no names
    changes = onnxpad.fix(own, strict=True, **trusting).changes
    assert [each.certificate.assumptions for each in changes] == [()]
    square = one(SAME, inputs="float[N, 2, s, s] x", initializers=W)
    (change,) = onnxpad.fix(square, dims={"s": "2..64:2"}, trust_dim_names=True).changes
    facts: Any = change.certificate.facts
    even = {"first": 2, "last": 64, "step": 2}
    assert facts["sizes"] == {"s": even, "s (x[3])": even}
    fixed = [
        onnxpad.fix(BORROWED, shapes={"x": "1,2,9,8"}, trust_dim_names=trust).model
        for trust in (True, False)
    ]
    assert [declared(model)[1] for model in fixed] == [[1, 1, 9, 8], [1, 1, "height", "width"]]
    assert declared(onnxpad.fix(BORROWED, dims={"height": 9}).model)[1] == [1, 1, 9, "width"]


# What cannot be


@each_row(
    ("shapes", "dims", "parts"),
    [
        ({"x": "1,2"}, {}, ["'x'", "3 axes", "N,height,?", "has 2", "1,2"]),
        ({"q": "1,2"}, {}, ["'q'", "'x', 'z'"]),
        ({"": "1,2,3"}, {}, ["'x', 'z', 'u'; name the one that it is for"]),
        ({"z": "1,5"}, {}, ["'z'", "axis 1 has size 4 where", "has 5"]),
        ({"z": "0,4"}, {}, ["'z'", "'0'"]),
        ({"z": f"{2**31},4"}, {}, [str(2**31)]),
        ({"z": f"{'9' * 5000},4"}, {}, ["is no size"]),
        ({"z": "3xx4"}, {}, ["'z'", "'3xx4' is no list of sizes"]),
        ({"x": "1x2"}, {}, ["'x'", "3 axes", "has 2"]),
        ({}, {"q": 3}, ["'q'", "'N', 'height', 'x[2]'"]),
        ({}, {"x[1]": 3}, ["'height'"]),
        ({}, {"z[1]": 3}, ["axis 1", "'z'", "4"]),
        ({}, {"N": "9..4"}, ["'9..4'"]),
        ({}, {"N": "33..63:32"}, ["is no size", "33", "63"]),
        ({"x": "2,3,4"}, {"height": 5}, ["axis 1", "'x'", "3", "5"]),
        ({"x": "2,3,4"}, {"height": "1..5"}, ["3", "1..5"]),
        ({"": "1,2,3", "x": "1,2,4"}, {}, []),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    shapes: Mapping[str, str], dims: Mapping[str, str], parts: list[str]
) -> None:
    for call in (onnxpad.fix, onnxpad.check):
        with pytest.raises(UsageError) as error:
            call(TWO, shapes=shapes, dims=dims)
        assert "\n" not in str(error.value)
        assert all(part in str(error.value) for part in parts), str(error.value)


@each_row(
    ("given", "expected"),
    [
        ("1", Sizes(1, 1)), (" 16 ", Sizes(16, 16)), (8, Sizes(8, 8)), (NMAX, Sizes(NMAX, NMAX)),
        (NMAX + 1, None), ("0", None), (True, None), (8.0, None), ("8...9", None),
        ("1..4:2:3", None),
        ("8..16", Sizes(8, 16)), ("1..1", Sizes(1, 1)), ("5..16:4", Sizes(8, 16, 4)),
        ("1..7:4", Sizes(4, 4)), ("1..3:4", None), ("0..4", None), ("9..8", None),
        ("8..16:0", None),
        (f"1..{LARGEST_SIZE}", Sizes(1, LARGEST_SIZE)), (f"1..{LARGEST_SIZE + 1}", None),
        (range(1, 2), Sizes(1, 1)), (range(3, 9, 2), Sizes(3, 7, 2)),
        (range(7, 1, -2), Sizes(3, 7, 2)),
        (range(LARGEST_SIZE, LARGEST_SIZE + 1), Sizes(LARGEST_SIZE, LARGEST_SIZE)),
        (range(1, LARGEST_SIZE + 1), Sizes(1, LARGEST_SIZE)), (range(1, LARGEST_SIZE + 2), None),
        (range(0), None), (range(3), None), (range(-4, 0), None), (range(3, -1, -1), None),
    ],
)  # fmt: skip
def test_what_the_size_of_a_dimension_may_be(given: Any, expected: Sizes | None) -> None:
    if expected is not None:
        assert sizes_of("h", given) == expected
        return
    with pytest.raises(UsageError, match=r"dimension 'h': .*is no size; give"):
        sizes_of("h", given)


@each_row(
    ("given", "expected"),
    [
        ("", ()), ("  ", ()), ("1,3,?,224", (1, 3, None, 224)), ("1,,3", (1, None, 3)),
        ("1x3x?x224", (1, 3, None, 224)), ("1 X 3 X -1", (1, 3, None)), ("-1,2", (None, 2)),
        ([1, None, -1, "?", "", "4"], (1, None, None, None, None, 4)), ((NMAX,), (NMAX,)),
        *((each, None) for each in (
            [NMAX + 1], [0], [2.5], [True], "a", "1x", "x1", "1x2,3x4", "1x3,4", "8..16,3", "1.5",
            [range(1, 3)], range(1, 3), b"12", 5,
        )),
    ],
)  # fmt: skip
def test_what_a_shape_may_be(given: Any, expected: tuple[int | None, ...] | None) -> None:
    if expected is not None:
        assert shape_of("x", given) == expected
        return
    with pytest.raises(UsageError):
        shape_of("x", given)


# The command


# The sizes that a model was rewritten for, in its metadata

RANGES: Final = {"height": "32..1024:32", "width": "2..64:2"}
WRITTEN: Final = {
    "height": {"first": 32, "last": 1024, "step": 32, "axes": [["x", 2]]},
    "width": {"first": 2, "last": 64, "step": 2, "axes": [["x", 3]]},
}
EVEN: Final = {"first": 2, "last": 64, "step": 2, "axes": [["x", 2]]}


def metadata(model: onnx.ModelProto) -> Any:
    texts = [entry.value for entry in model.metadata_props if entry.key == METADATA]
    return json.loads(*texts) if texts else None


def saying(items: Any, model: onnx.ModelProto = OPEN) -> onnx.ModelProto:
    """A model with metadata."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    text = items if isinstance(items, str) else json.dumps(items)
    copy.metadata_props.add(key=METADATA, value=text)
    return copy


def drawn(result: Any) -> set[str]:
    """The shapes that a validation fed."""
    return {run.inputs.split()[2].rstrip(",") for run in result.validation.runs}


@pytest.fixture(scope="module")
def rewritten() -> onnx.ModelProto:
    return onnxpad.fix(OPEN, dims=RANGES, validate=False).model


def test_a_rewrite_that_needs_a_range_says_so_in_the_model(rewritten: onnx.ModelProto) -> None:
    assert metadata(rewritten) == WRITTEN
    data = rewritten.SerializeToString()
    for dims in (None, RANGES, {"height": "64..128:64"}):
        again = onnxpad.fix(data, dims=dims, validate=False)
        assert (again.changed, again._graph.model.to_bytes()) == (False, data)
    longer = onnx.ModelProto()  # of which a change needs none of it
    longer.CopyFrom(rewritten)
    node = longer.graph.node.add()
    node.CopyFrom(onnx.helper.make_node("MaxPool", ["y"], ["p"], kernel_shape=[1, 1]))
    node.attribute.add(name="auto_pad", type=3, s=b"VALID")
    longer.graph.output[0].name = "p"
    result = onnxpad.fix(longer, validate=False)
    assert [change.code for change in result.changes] == ["PAD102"]
    assert metadata(result.model) == WRITTEN


STOPS: Final = (
    "a = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x) b = Resize (a, , s)"
    " c = Concat <axis = 1> (x, b)"
)


@pytest.mark.parametrize(
    ("body", "dims"),
    [
        ('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', RANGES),  # which holds everywhere
        (SAME, {"height": 32, "width": 64}),
        (SAME, {"height": "1..9"}),  # which settles nothing
        ("y = Conv (x, w)", {"height": "4..8"}),
        # Elsewhere it is only the original that stops.
        (f"{STOPS} y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 2]> (c, v)", {}),
    ],
)  # fmt: skip
def test_where_no_rewrite_needs_a_range_the_model_says_nothing(body: str, dims: Any) -> None:
    wide = f"float[1, 4, 3, 3] v = {{{', '.join(['1'] * 36)}}}"
    given = f"{W}, {wide}, float[4] s = {{1, 1, 2, 2}}"
    proto = one(body, inputs="float[N, 2, height, width] x", initializers=given)
    assert metadata(onnxpad.fix(proto, dims=dims, validate=False).model) is None


def test_a_model_that_is_fixed_again_keeps_to_both() -> None:
    two = one(
        f'{SAME} z = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]>'
        " (v)",
        inputs="float[N, 2, height, width] x, float[N, 1, height, 4] v",
        outputs="float[] y, float[] z",
        initializers=W,
    )
    axes = [["x", 2], ["v", 2]]
    kept = onnxpad.fix(
        saying({"height": {**EVEN, "axes": axes}}, two),
        dims={"height": "4..32:4", "width": "2..8:2"},
        validate=False,
    )
    assert len(kept.changes) == 2
    assert metadata(kept.model) == {
        "height": {"first": 4, "last": 32, "step": 4, "axes": axes},
        "width": {"first": 2, "last": 8, "step": 2, "axes": [["x", 3]]},
    }


def test_sizes_recorded_are_taken_as_given() -> None:
    limited = saying({"h": EVEN, "w": {**EVEN, "axes": [["x", 3]]}})
    checked, result = onnxpad.check(limited, ignore="PAD6"), onnxpad.fix(limited)
    (finding,) = checked.findings
    sizes = "height 2..64 in steps of 2, width 2..64 in steps of 2"
    assert (finding.fixable, finding.sizes) == (True, sizes)
    assert len(result.changes) == 1
    assert result.dims == {"height": range(2, 65, 2), "width": range(2, 65, 2)}
    assert drawn(result) <= {"1x2x2x2", "2x2x4x4", "1x2x64x64"}
    for each in (checked, result):
        assert [note.endswith(f"(onnxpad.sizes): {sizes}") for note in each.notes] == [True]
        assert each.warnings == ()


def test_validate_keeps_to_what_either_model_says(rewritten: onnx.ModelProto) -> None:
    shapes = {"1x2x32x2", "2x2x64x4", "1x2x1024x64"}
    found = onnxpad.validate(OPEN, rewritten, samples=3)
    assert (found.ok, drawn(found)) == (True, shapes)
    assert onnxpad.validate(rewritten, OPEN, samples=3).ok
    bare = onnx.ModelProto()
    bare.CopyFrom(rewritten)
    del bare.metadata_props[:]
    assert not onnxpad.validate(OPEN, bare, samples=3).ok
    narrow = saying({"height": {"first": 48, "last": 96, "step": 16, "axes": [["x", 2]]}})
    assert drawn(onnxpad.validate(rewritten, narrow, samples=2)) == {"1x2x64x2", "2x2x96x4"}
    fewer: dict[str, Any] = {"height": 64, "width": "4..8:4"}
    found = onnxpad.validate(OPEN, rewritten, dims=fewer, samples=2)
    assert drawn(found) == {"1x2x64x4", "2x2x64x8"}
    both = onnxpad.fix(rewritten, dims={"height": 64, "width": 32}, validate=False).model
    assert drawn(onnxpad.validate(OPEN, both)) == {"1x2x64x32", "2x2x64x32"}
    assert onnxpad.check(both, dims={"height": "32..96:32"}).warnings == ()
    with pytest.raises(UsageError):
        onnxpad.check(both, dims={"height": 65})


def test_models_and_data_that_no_size_fits_are_refused(
    rewritten: onnx.ModelProto, tmp_path: Path
) -> None:
    later = {"h": {"first": 1025, "last": 2048, "step": 1, "axes": [["x", 2]]}}
    fixed = one(SAME, inputs="float[N, 2, 45, width] x", initializers=W)
    for original in (saying(later), fixed):
        with pytest.raises(UsageError):
            onnxpad.validate(original, rewritten)
    other = one(SAME.replace("(x", "(q"), inputs="float[N, 2, a, b] q", initializers=W)
    with pytest.raises(UsageError):
        onnxpad.validate(other, rewritten, inputs={"q": np.ones((1, 2, 32, 7), np.float32)})
    before, after, arrays = tmp_path / "a.onnx", tmp_path / "b.onnx", tmp_path / "in.npz"
    onnx.save(OPEN, before)
    onnx.save(rewritten, after)
    for height, code in ((45, 2), (64, 0)):
        np.savez(arrays, x=np.ones((1, 2, height, 8), np.float32))
        assert onnxpad_runs("validate", before, after, "--inputs", arrays).exit_code == code
    for option in ("--dim height=32..64", "--shape 1,2,33,2"):
        for name, models in (("fix", [after]), ("check", [after]), ("validate", [before, after])):
            result = onnxpad_runs(name, *models, *option.split())
            assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    "items",
    [
        "", "no JSON", "[1, 2]", "[" * 100_000, '{"h": ' + "9" * 5000 + "}", " " * 2**21 + "{}",
        {"h": 3}, {"h": {**EVEN, "first": "2"}}, {"h": {**EVEN, "first": True}},
        {"h": {**EVEN, "first": 0}}, {"h": {**EVEN, "first": 65}}, {"h": {**EVEN, "last": 2**24}},
        {"h": {**EVEN, "step": 0}}, {"h": {**EVEN, "axes": "x"}},
        {"h": {**EVEN, "axes": [["x", "2"]]}},
        {"h": {**EVEN, "axes": []}}, {"h": {**EVEN, "axes": [["q", 2], ["x", 4], ["x", -1]]}},
        {"h": {**EVEN, "axes": [["x", 1]], "first": 4}}, dict.fromkeys("abcdef", 1),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_ignored_and_said(items: Any) -> None:
    model = saying(items)
    found = onnxpad.check(model)
    assert found.findings == onnxpad.check(OPEN).findings
    (warning,) = found.warnings
    assert "\n" not in warning
    fixed = onnxpad.fix(model, dims=RANGES, validate=False)
    assert fixed.warnings == (warning,)
    assert metadata(fixed.model) == WRITTEN
    assert warning not in onnxpad.check(fixed.model).warnings


def test_what_can_be_used_beside_it_is() -> None:
    items = {"h": EVEN, "other": {**EVEN, "first": 4, "step": 4}, "odd": {**EVEN, "first": 1}}
    two = one(SAME, inputs="float[] u, float[N, 2, height, width] x", initializers=W)
    found = recorded_sizes(Graph.from_proto(saying({**items, "one": {**EVEN, "last": 2}}, two)))
    assert "'odd' as 1..63 in steps of 2; 'one' as 2" in found.warnings[0]
    assert [*found.entries] == ["h", "other"]
    gone = saying({"height": {**EVEN, "axes": [["x", 2], ["q", 0], ["x", 100]]}})
    model = onnxpad.fix(gone, dims={"width": "2..64:2"}, validate=False).model
    assert [item["axes"] for item in metadata(model).values()] == [[["x", 2]], [["x", 3]]]
    relu = one("y = Relu (x)", inputs="float[N, 2, height, width] x")
    edited = saying({"height": {**EVEN, "axes": [["x", 100]]}}, relu)
    x = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    result = onnxpad.validate(edited, edited, inputs={"x": x})
    assert result.ok
    assert [w for w in result.warnings if "no such axes" in w]
