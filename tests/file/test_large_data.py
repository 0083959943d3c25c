"""External data of more than 2 GiB, beyond 4 GiB: files of holes, which take no space."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.errors import OutputError
from tests.file.test_external_data import IMAGE, PADS, WEIGHT, refer
from tests.support import Array, onnxpad_runs, run

GIB = 1 << 30
LARGE = 5 * GIB // 2
BEGIN, ROW = 4096, 1024


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with 2.5 GiB of weights, of which the first and last row are not zero."""
    model = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17]>
        g (float[1, 2, 9, 8] x, int64[2] i) => (float[1, 3, 9, 8] y, uint8[2, 1024] z)
        { p = Pad (x, pads) y = Conv (p, w) z = Gather (large, i) }"""
    )
    weight = onnx.TensorProto.FromString(WEIGHT.SerializeToString())
    large = onnx.TensorProto(name="large", data_type=2, dims=[LARGE // ROW, ROW])
    refer(weight, "w.bin", offset=5 * GIB, length=len(WEIGHT.raw_data))
    refer(large, "w.bin", offset=BEGIN, length=LARGE)
    model.graph.initializer.extend([PADS, weight, large])
    path = tmp_path / "a" / "net.onnx"
    path.parent.mkdir()
    path.write_bytes(model.SerializeToString())
    with path.with_name("w.bin").open("wb") as file:
        for position, content in (
            (BEGIN, b"\1" * ROW),
            (BEGIN + LARGE - ROW, b"\2" * ROW),
            (5 * GIB, WEIGHT.raw_data),
        ):
            file.seek(position)
            file.write(content)
        if file.seek(0) or path.with_name("w.bin").stat().st_blocks > 1 << 10:
            pytest.skip("the file system has no holes")
    return path


def outputs(path: Path) -> list[Array]:
    """What onnxruntime computes for one image, and the first and last row of the weights."""
    return run(path, {"x": IMAGE, "i": np.array([0, LARGE // ROW - 1])})


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere files may have no holes")
def test_is_read_and_validated_to_the_end(source: Path) -> None:
    expected = outputs(source)
    assert expected[1].tolist() == [[1] * ROW, [2] * ROW]
    target = source.with_name("out.onnx")
    for options, written in (
        (("-o", target), target),
        (("--in-place",), source),
    ):
        result = onnxpad_runs("fix", source, *options)
        assert result.exit_code == 0
        nodes = onnx.load(written, load_external_data=False).graph.node
        assert [node.op_type for node in nodes] == ["Conv", "Gather"]
        for one, other in zip(outputs(written), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert onnxpad_runs("validate", source, target).exit_code == 0
    with pytest.raises(OutputError):
        onnxpad.fix(source, validate=False).save(target, external_data="inline")
