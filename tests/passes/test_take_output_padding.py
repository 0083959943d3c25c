"""Pads and output_padding of ConvTranspose: equal pads stay, unequal ones become the least."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxpad
from tests.passes.test_resolve_transposed import attributes, transposed
from tests.passes.test_take_crop import SPREAD, behind
from tests.random_models.measure import Session
from tests.support import assert_same, fixed, one, onnxpad_runs, run


@pytest.mark.parametrize(
    ("written", "pads", "appended"),
    [
        ("strides = [6], pads = [8, 9], output_padding = [4]", [8, 5], []),
        ("strides = [2], pads = [0, 1], output_padding = [1]", [0, 0], []),
        ("strides = [3], pads = [2, 1], output_padding = [2]", [2, 0], [1]),
    ],
)
def test_taken_off_unequal_end_pads(written: str, pads: list[int], appended: list[int]) -> None:
    result = fixed(transposed(written, kernel=7, size="n"))
    assert [change.code for change in result.changes] == ["PAD403"]
    assert attributes(result.model).get("pads", []) == pads
    assert attributes(result.model).get("output_padding", []) == appended


EQUAL = [1, 1, 1, 1]
PYTORCH = "pads = [1, 1, 1, 1], output_padding = [1, 1], strides = [2, 2]"


@pytest.mark.parametrize(
    ("written", "pads", "appended"),
    [
        (PYTORCH, EQUAL, [1, 1]),
        (
            PYTORCH.replace("output_padding = [1, 1]", "output_padding = [0, 1]"),
            [1, 1, 1, 1],
            [0, 1],
        ),
        (PYTORCH.replace("pads = [1, 1, 1, 1]", "pads = [1, 0, 1, 1]"), [1, 0, 0, 0], None),
    ],
)
def test_equal_pads_keep_output_padding(
    written: str, pads: list[int], appended: list[int] | None
) -> None:
    """CUDA runs equal pads only: one axis with unequal ones is enough to write the least form."""
    model = one(
        f"y = ConvTranspose <{written}> (x, w)",
        inputs="float[1, 1, h, 6] x",
        initializers=f"float[1, 1, 3, 3] w = {{{', '.join(map(str, range(9)))}}}",
    )
    result = onnxpad.fix(model)
    assert [change.code for change in result.changes] == ["PAD403"] * (appended is None)
    assert attributes(result.model)["pads"] == pads
    assert attributes(result.model).get("output_padding") == appended
    assert not [each for each in onnxpad.check(result.model).findings if each.code == "PAD403"]
    assert result.changed or result.findings == ()


@pytest.mark.parametrize(
    ("written", "pads", "appended", "sliced"),
    [
        ("strides = [6], pads = [9, 9], output_padding = [4]", [9, 9], [4], False),
        ("strides = [6], pads = [3, 1]", [3, 3], [2], False),
        ("strides = [6], pads = [1, 3]", [1, 1], [], True),
        ("strides = [2], pads = [3, 0], output_padding = [1]", [], [1], True),
        ('strides = [6], auto_pad = "SAME_UPPER"', [], [], True),
        ('strides = [6], auto_pad = "SAME_LOWER"', [1, 1], [1], False),
    ],
)
@pytest.mark.parametrize("asked", [{"style": "symmetric"}, {"symmetric_transpose": True}])
def test_equal_at_both_ends(
    written: str, pads: list[int], appended: list[int], sliced: bool, asked: dict[str, object]
) -> None:
    for opset in (9, 17):
        model = transposed(written, kernel=7, size=5)
        model.opset_import[0].version = opset
        result = fixed(model, **asked)  # type: ignore[arg-type]
        found = attributes(result.model).get("pads", [])
        assert (found if any(found) else []) == pads  # zeros stay where pads were written
        assert attributes(result.model).get("output_padding", []) == appended
        assert ("Slice" in {node.op_type for node in result.model.graph.node}) is sliced
        assert [value.name for value in result.model.graph.output] == ["y"]


@pytest.mark.parametrize(
    ("pads", "sliced"), [([1, 2, 1, 0], True), ([0, 0, 2, 0], False)], ids=["fixed", "open"]
)
def test_a_slice_crops_no_axis_of_which_nothing_may_be_left(pads: list[int], sliced: bool) -> None:
    """onnxruntime refuses a ConvTranspose without a result, and gives an empty Slice.

    Another output does without the ConvTranspose, so the model may be meant for short data too.
    """
    model = one(
        f"y = ConvTranspose <pads = {pads}> (x, w) z = Relu (x)",
        inputs="float[1, 1, h, 12] x",
        outputs="float[] y, float[] z",
        initializers="float[1, 2, 1, 4] w = {1, 2, 3, 4, 5, 6, 7, 8}",
    )
    result = onnxpad.fix(model, style="symmetric")
    assert not result.undone
    assert [change.code for change in result.changes] == ["PAD404"] * sliced
    told = [each.reason_code for each in result.findings if each.code == "PAD404"]
    assert told == ["not-certified"] * (not sliced)
    for height in (1, 2, 3, 5):
        feeds = {"x": np.ones((1, 1, height, 12), np.float32)}
        before, after = (Session(each).run(feeds) for each in (model, result.model))
        assert (before is None) == (after is None) == (height < 3)
        for one_side, other in zip(before or (), after or (), strict=True):
            np.testing.assert_array_equal(one_side, other)


def test_a_crop_behind_that_no_equal_pads_do_stays() -> None:
    model = behind(f"f = {SPREAD} y = Slice (f, s, e, a)")
    result = onnxpad.fix(model, symmetric_transpose=True)
    assert not result.changed
    (finding,) = [each for each in result.findings if each.code == "PAD402"]
    assert finding.reason_code == "crops"
    assert onnxpad.fix(model).changed


@pytest.mark.parametrize("pads", [[0, -1], [1, -1]])
def test_negative_pads_are_mended(pads: list[int]) -> None:
    """tf2onnx writes them for a kernel below the stride; onnxruntime refuses such a model."""
    model = transposed(f"strides = [3], pads = {pads}", kernel=2)
    with pytest.raises(Exception, match="negative"):
        run(model, {"x": np.ones((1, 2, 5), np.float32)})
    result = onnxpad.fix(model)
    (change,) = result.changes
    assert change.certificate.facts["repair"] is True
    assert attributes(result.model)["output_padding"] == [1]
    by_hand = transposed(f"strides = [3], pads = [{pads[0]}, 0], output_padding = [1]", kernel=2)
    assert_same(by_hand, result.model)


def test_nothing_can_be_prepended() -> None:
    model = transposed("strides = [3], pads = [-1, 0]", kernel=2)
    (finding,) = onnxpad.check(model, ignore="PAD6").findings
    assert (finding.code, finding.reason_code) == ("PAD403", "crops")


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(transposed("strides = [6], pads = [3, 1]", kernel=7), path)
    assert onnxpad_runs("check", path).exit_code == 0
    assert onnxpad_runs("check", path, "--target", "onnxruntime-cuda").exit_code == 1
    told = onnxpad_runs("fix", path, "--target", "onnxruntime-cuda", "--format", "json")
    report = json.loads(told.stdout)
    assert [each["code"] for each in report["changes"]] == ["PAD404"]


def test_a_slice_where_the_original_gives_something() -> None:
    """pads (3, 5) and kernel 7 leave nothing of one element, so such data is not meant."""
    model = transposed("strides = [6], pads = [3, 5]", kernel=7, size="n")
    result = fixed(model, symmetric_transpose=True)
    assert [change.code for change in result.changes] == ["PAD404"]
    assert [node.op_type for node in result.model.graph.node] == ["ConvTranspose", "Slice"]


def test_no_slice_where_the_size_is_known_only_at_run_time() -> None:
    model = transposed("strides = [6], pads = [3, 5]", kernel=7)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(model, symmetric_transpose=True, validate=False)
    assert not result.undone
    (finding,) = result.findings
    assert (finding.code, finding.reason_code) == ("PAD404", "not-certified")
