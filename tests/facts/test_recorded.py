"""The sizes that a model was rewritten for, in its metadata: written, merged, honoured, refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.facts.recorded import METADATA, recorded_sizes
from onnxpad.graph import Graph
from tests.support import W, one, onnxpad_runs, run

STRIDED = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
OPEN = one(STRIDED, inputs="float[N, 2, height, width] x", initializers=W)
RANGES = {"height": "32..1024:32", "width": "2..64:2"}
TOLD = "height 32..1024 in steps of 32, width 2..64 in steps of 2"
WRITTEN = {
    "height": {"first": 32, "last": 1024, "step": 32, "axes": [["x", 2]]},
    "width": {"first": 2, "last": 64, "step": 2, "axes": [["x", 3]]},
}
EVEN = {"first": 2, "last": 64, "step": 2, "axes": [["x", 2]]}


def metadata(model: onnx.ModelProto) -> Any:
    texts = [entry.value for entry in model.metadata_props if entry.key == METADATA]
    return json.loads(*texts) if texts else None


def saying(text: str, model: onnx.ModelProto = OPEN) -> onnx.ModelProto:
    """A model with metadata."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.metadata_props.add(key=METADATA, value=text)
    return copy


def drawn(result: onnxpad.ValidationResult) -> set[str]:
    """The shapes that a validation fed."""
    return {run.inputs.split()[2].rstrip(",") for run in result.validation.runs}


@pytest.fixture(scope="module")
def rewritten() -> onnx.ModelProto:
    return onnxpad.fix(OPEN, dims=RANGES, validate=False).model


# Writing


def test_a_rewrite_that_needs_a_range_says_so_in_the_model() -> None:
    result = onnxpad.fix(OPEN, dims=RANGES, validate=False)
    assert metadata(result.model) == WRITTEN
    (change,) = result.changes
    assert {name: {**each} for name, each in change.certificate.within.items()} == {
        name: {key: each[key] for key in ("first", "last", "step")}
        for name, each in WRITTEN.items()
    }
    assert (result.notes, result.warnings) == ((), ())


@pytest.mark.parametrize(
    ("body", "dims"),
    [
        pytest.param('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', RANGES, id="holds everywhere"),
        pytest.param(STRIDED, {"height": 32, "width": 64}, id="fixed sizes"),
        pytest.param(STRIDED, {"height": "1..9"}, id="a range that settles nothing"),
        pytest.param("y = Conv (x, w)", {"height": "4..8"}, id="nothing to do"),
    ],
)
def test_where_no_rewrite_needs_a_range_the_model_says_nothing(
    body: str, dims: dict[str, str | int]
) -> None:
    proto = one(body, inputs="float[N, 2, height, width] x", initializers=W)
    assert metadata(onnxpad.fix(proto, dims=dims, validate=False).model) is None


def test_sizes_at_which_only_the_original_stops_are_not_said() -> None:
    proto = one(
        "a = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x)"
        " b = Upsample (a, s) c = Concat <axis = 1> (x, b)"
        ' y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (c)',
        inputs="float[1, 2, height, width] x",
        initializers="float[4] s = {1, 1, 2, 2}",
        opset=9,
    )
    result = onnxpad.fix(proto, validate=False)
    assert [c.certificate.limited_to[:10] for c in result.changes] == ["every size"]
    assert metadata(result.model) is None


def test_a_model_that_is_fixed_again_keeps_to_both() -> None:
    two = one(
        f'{STRIDED} z = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]>'
        " (v)",
        inputs="float[N, 2, height, width] x, float[N, 1, height, 4] v",
        outputs="float[N, 3, a, b] y, float[N, 1, c, d] z",
        initializers=W,
    )
    kept = onnxpad.fix(
        saying(json.dumps({"height": {**EVEN, "axes": [["x", 2], ["v", 2]]}}), two),
        dims={"height": "4..32:4", "width": "2..8:2"},
        validate=False,
    )
    assert len(kept.changes) == 2
    axes = [["x", 2], ["v", 2]]
    assert metadata(kept.model) == {
        "height": {"first": 4, "last": 32, "step": 4, "axes": axes},
        "width": {"first": 2, "last": 8, "step": 2, "axes": [["x", 3]]},
    }


def test_what_is_recorded_stays_where_a_change_needs_none_of_it() -> None:
    model = onnxpad.fix(OPEN, dims=RANGES, validate=False).model
    node = model.graph.node.add()
    node.CopyFrom(onnx.helper.make_node("MaxPool", ["y"], ["p"], kernel_shape=[1, 1]))
    node.attribute.add(name="auto_pad", type=3, s=b"VALID")
    model.graph.output[0].name = "p"
    again = onnxpad.fix(model, validate=False)
    assert [change.code for change in again.changes] == ["PAD102"]
    assert metadata(again.model) == WRITTEN


def test_a_second_fix_changes_no_byte(rewritten: onnx.ModelProto) -> None:
    data = rewritten.SerializeToString()
    for dims in (None, RANGES, {"height": "64..128:64"}):
        again = onnxpad.fix(data, dims=dims, validate=False)
        assert not again.changed
        assert again._graph.model.to_bytes() == data


# Honouring


def test_sizes_recorded_are_taken_as_given() -> None:
    limited = saying(json.dumps({"h": EVEN, "w": {**EVEN, "axes": [["x", 3]]}}))
    assert [f.severity.value for f in onnxpad.check(OPEN, ignore="PAD6").findings] == ["info"]
    checked = onnxpad.check(limited, ignore="PAD6")
    (finding,) = checked.findings
    assert finding.fixable
    assert finding.sizes == "height 2..64 in steps of 2, width 2..64 in steps of 2"
    result = onnxpad.fix(limited)
    assert len(result.changes) == 1
    assert result.dims == {"height": range(2, 65, 2), "width": range(2, 65, 2)}
    assert result.validation is not None
    assert {run.inputs.split()[2] for run in result.validation.runs} <= {
        "1x2x2x2,", "2x2x4x4,", "1x2x64x64,",
    }  # fmt: skip
    for each in (checked, result):
        (note,) = each.notes
        assert note.endswith(f"(onnxpad.sizes): {finding.sizes}")
        assert each.warnings == ()


def test_validate_draws_nothing_else(rewritten: onnx.ModelProto) -> None:
    found = onnxpad.validate(OPEN, rewritten, samples=3)
    assert found.ok
    assert drawn(found) == {"1x2x32x2", "2x2x64x4", "1x2x1024x64"}
    note = f"sizes drawn as the models' metadata says: {TOLD}"
    assert note in found.notes
    assert found.validation.padding == ()
    bare = onnx.ModelProto()
    bare.CopyFrom(rewritten)
    del bare.metadata_props[:]
    assert not onnxpad.validate(OPEN, bare, samples=3).ok


def test_validate_keeps_to_what_either_model_says(rewritten: onnx.ModelProto) -> None:
    found = onnxpad.validate(rewritten, OPEN, samples=3)
    assert found.ok
    narrow = {"height": {"first": 48, "last": 96, "step": 16, "axes": [["x", 2]]}}
    found = onnxpad.validate(rewritten, saying(json.dumps(narrow)), samples=2)
    assert drawn(found) == {"1x2x64x2", "2x2x96x4"}
    said = "sizes drawn as the models' metadata says: "
    assert [note for note in found.notes if note.startswith(said)] == [
        f"{said}height 64..96 in steps of 32, width 2..64 in steps of 2"
    ]


@pytest.mark.parametrize(
    ("original", "limited"),
    [
        pytest.param(
            saying(json.dumps({"h": {"first": 1025, "last": 2048, "step": 1, "axes": [["x", 2]]}})),
            "1025..2048",
            id="both record",
        ),
        pytest.param(
            one(STRIDED, inputs="float[N, 2, 45, width] x", initializers=W), "45", id="one is fixed"
        ),
    ],
)
def test_models_that_no_size_fits_are_refused(
    original: onnx.ModelProto, limited: str, rewritten: onnx.ModelProto
) -> None:
    with pytest.raises(UsageError):
        onnxpad.validate(original, rewritten)


@pytest.mark.parametrize("option", ["--inputs", "--reference"])
@pytest.mark.parametrize("alone", [False, True])
def test_validate_refuses_arrays_of_other_sizes(
    option: str, alone: bool, rewritten: onnx.ModelProto, tmp_path: Path
) -> None:
    before, after, arrays = tmp_path / "a.onnx", tmp_path / "b.onnx", tmp_path / "in.npz"
    onnx.save(OPEN, before)
    onnx.save(rewritten, after)
    models = [after] if alone else [before, after]
    for height, code in ((45, 2), (64, 0)):
        x = np.ones((1, 2, height, 8), np.float32)
        np.savez(arrays, x=x, y=run(OPEN, {"x": x})[0])
        options = [option, arrays, *(["--reference", arrays] if alone else [])]
        result = onnxpad_runs("validate", *models, *options)
        assert result.exit_code == code, result.output
        if code == 0:
            continue
        (line,) = result.stderr.splitlines()
        assert "'x'" in line


def test_arrays_of_other_sizes_are_refused_by_their_place(rewritten: onnx.ModelProto) -> None:
    other = one(STRIDED.replace("x", "q"), inputs="float[N, 2, a, b] q", initializers=W)
    with pytest.raises(UsageError):
        onnxpad.validate(other, rewritten, inputs={"q": np.ones((1, 2, 32, 7), np.float32)})


def test_given_sizes_are_those_recorded_or_fewer(rewritten: onnx.ModelProto) -> None:
    found = onnxpad.validate(OPEN, rewritten, dims={"height": 64, "width": "4..8:4"}, samples=2)
    assert drawn(found) == {"1x2x64x4", "2x2x64x8"}
    assert not any("sizes drawn" in note for note in found.notes)
    narrow = {"height": "64..128:32"}
    found = onnxpad.validate(OPEN, rewritten, dims=narrow)
    assert [note for note in found.notes if "sizes drawn" in note] == [
        "sizes drawn as the models' metadata says: width 2..64 in steps of 2"
    ]
    declared = onnxpad.fix(rewritten, dims={"height": 64, "width": 32}, validate=False).model
    found = onnxpad.validate(OPEN, declared)
    assert drawn(found) == {"1x2x64x32", "2x2x64x32"}
    pinned = onnxpad.fix(rewritten, dims={"height": 64}, validate=False)
    assert pinned.declared == {"x": ("N", 2, 64, "width")}
    # Named once more, though the dimension has no name by now.
    again = onnxpad.fix(pinned.model, dims={"height": "32..64:32"}, validate=False)
    assert not again.changed
    assert again.warnings == ()
    with pytest.raises(UsageError):
        onnxpad.check(pinned.model, dims={"height": 96})


@pytest.mark.parametrize(
    "options",
    [
        ["--dim", "height=33"],
        ["--dim", "height=1..2000"],
        ["--dim", "height=32..64"],
        ["--shape", "1,2,33,2"],
        ["--dim", "width=3..9"],
    ],
)
@pytest.mark.parametrize("name", ["fix", "check", "validate"])
def test_other_sizes_are_refused(
    name: str, options: list[str], rewritten: onnx.ModelProto, tmp_path: Path
) -> None:
    before, after = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(OPEN, before)
    onnx.save(rewritten, after)
    models = [before, after] if name == "validate" else [after]
    result = onnxpad_runs(name, *models, *options)
    assert result.exit_code == 2
    (_line,) = result.stderr.splitlines()


def test_a_dimension_that_is_fixed_goes_by_its_place() -> None:
    pinned = onnxpad.fix(OPEN, dims={"height": 8}, validate=False).model
    with pytest.raises(UsageError) as error:
        onnxpad.fix(pinned, dims={"height": 8})
    assert "'height'" in str(error.value)
    assert not onnxpad.fix(pinned, dims={"x[2]": "4..8"}, validate=False).changed


# What cannot be used


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[1, 2]",
        "[" * 100_000,
        '{"h": ' + "9" * 5000 + "}",
        " " * 2**21 + "{}",
        '{"h": 3}',
        json.dumps({"h": {**EVEN, "first": "2"}}),
        json.dumps({"h": {**EVEN, "first": True}}),
        json.dumps({"h": {**EVEN, "first": 0}}),
        json.dumps({"h": {**EVEN, "first": 65}}),
        json.dumps({"h": {**EVEN, "last": 2**24}}),
        json.dumps({"h": {**EVEN, "step": 0}}),
        json.dumps({"h": {**EVEN, "axes": "x"}}),
        json.dumps({"h": {**EVEN, "axes": [["x", "2"]]}}),
        json.dumps({"h": {**EVEN, "axes": []}}),
        json.dumps({"h": {**EVEN, "axes": [["q", 2], ["x", 4], ["x", -1]]}}),
        json.dumps({"h": {**EVEN, "axes": [["x", 1]], "first": 4}}),
        json.dumps(dict.fromkeys("abcdef", 1)),
    ],
)
def test_what_cannot_be_used_is_ignored_and_said(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(saying(text), path)
    plain = onnxpad.check(OPEN)
    found = onnxpad.check(path)
    assert found.findings == plain.findings
    (warning,) = found.warnings
    assert "\n" not in warning
    fixed = onnxpad.fix(path, dims=RANGES, validate=False)
    assert fixed.warnings == (warning,)
    assert metadata(fixed.model) == WRITTEN
    assert warning not in onnxpad.check(fixed.model).warnings
    assert warning in onnxpad.validate(OPEN, path).warnings
    for name in ("check", "fix") if text == "no JSON" else ():
        result = onnxpad_runs(name, path)
        assert result.exit_code == 0
        assert "warning: " in result.stdout
        result = onnxpad_runs(name, path, "--format", "json")
        document = json.loads(result.stdout)
        document = document["files"][0] if name == "check" else document
        assert document["warnings"] == [warning]


def test_what_can_be_used_beside_it_is() -> None:
    items = {
        "h": EVEN,
        "other": {**EVEN, "first": 4, "step": 4},
        "odd": {**EVEN, "first": 1},
    }
    found = recorded_sizes(Graph.from_proto(saying(json.dumps(items))))
    assert "'odd'" in found.warnings[0]
    assert [*found.entries] == ["h", "other"]


def test_an_axis_that_is_gone_does_not_come_back() -> None:
    items = {"height": {**EVEN, "axes": [["x", 2], ["q", 0], ["x", 100]]}}
    model = onnxpad.fix(saying(json.dumps(items)), dims={"width": "2..64:2"}, validate=False).model
    assert [item["axes"] for item in metadata(model).values()] == [[["x", 2]], [["x", 3]]]


def test_an_axis_that_is_not_there_limits_no_command() -> None:
    items = {"height": {**EVEN, "axes": [["x", 100]]}}
    edited = saying(json.dumps(items), one("y = Relu (x)", inputs="float[N, 2, height, width] x"))
    x = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    found = onnxpad.validate(edited, edited, inputs={"x": x})
    assert found.ok
    for each in (onnxpad.check(edited), onnxpad.fix(edited), found):
        assert [w for w in each.warnings if "no such axes" in w]


# What is said


def test_the_commands_say_what_they_take_as_given(
    rewritten: onnx.ModelProto, tmp_path: Path
) -> None:
    before, after = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(OPEN, before)
    onnx.save(rewritten, after)
    note = f"note: sizes taken from the model's metadata (onnxpad.sizes): {TOLD}"
    assert f"{after}: {note}" in onnxpad_runs("check", after).stdout
    assert f"\n{note}\n" in onnxpad_runs("fix", after).stdout
    document = json.loads(onnxpad_runs("fix", after, "--format", "json").stdout)
    assert document["notes"] == [note.removeprefix("note: ")]
