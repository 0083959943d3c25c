"""Where an external tensor lies, how long it is, and what is said of a file that is not as told."""

from pathlib import Path, PurePosixPath

import onnx
import pytest

from onnxpad.errors import ModelError
from onnxpad.file.external import _length, check_external, reference
from tests.support.rows import each_row

BITS = {
    "FLOAT": 32, "UINT8": 8, "INT8": 8, "UINT16": 16, "INT16": 16, "INT32": 32, "INT64": 64,
    "BOOL": 8, "FLOAT16": 16, "DOUBLE": 64, "UINT32": 32, "UINT64": 64, "COMPLEX64": 64,
    "COMPLEX128": 128, "BFLOAT16": 16, "FLOAT8E4M3FN": 8, "FLOAT8E4M3FNUZ": 8, "FLOAT8E5M2": 8,
    "FLOAT8E5M2FNUZ": 8, "FLOAT8E8M0": 8, "UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2,
    "INT2": 2,
}  # fmt: skip
"""Bits of an element, of the types of onnx.proto; STRING and UNDEFINED have none."""


@each_row("name", onnx.TensorProto.DataType.keys())
def test_the_bytes_of_elements(name: str) -> None:
    for dims, count in (((), 1), ((0,), 0), ((1,), 1), ((3,), 3), ((2, 3), 6), ((7, 3, 1), 21)):
        tensor = onnx.TensorProto(data_type=onnx.TensorProto.DataType.Value(name), dims=dims)
        bits = BITS.get(name)
        assert _length(tensor) == (None if bits is None else -(-count * bits // 8))
    tensor.dims[:] = [2, -1]
    assert _length(tensor) is None
    tensor.data_type = 99
    assert _length(tensor) is None


def external(**entries: str) -> onnx.TensorProto:
    """A tensor of 6 floats in a file."""
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2, 3])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


OUTSIDE = ", outside the model's folder; save both in one folder"
NO_NUMBER = " at an offset or length that is no number; export it again"


@each_row(
    ("entries", "expected"),
    [
        ({"location": "a"}, ("a", 0, 24)),
        ({"location": "a", "offset": "7"}, ("a", 7, 24)),
        ({"location": "a", "length": "5"}, ("a", 0, 5)),
        ({"location": "a", "length": "0", "offset": "0"}, ("a", 0, 24)),
        ({"offset": "9" * 20, "length": "1", "location": "a"}, ("a", int("9" * 20), 1)),
        ({"location": "d/../a", "checksum": "x"}, ("d/../a", 0, 24)),
        ({"location": "./a"}, ("a", 0, 24)),
        ({"location": "..a"}, ("..a", 0, 24)),
        ({"location": ".."}, OUTSIDE),
        ({"location": "../a"}, OUTSIDE),
        ({"location": "d/../../a"}, OUTSIDE),
        ({"location": "d\\..\\..\\a"}, OUTSIDE),
        ({"location": "/a"}, OUTSIDE),
        ({"location": "c:a"}, OUTSIDE),
        ({"location": "a", "offset": "-1"}, NO_NUMBER),
        ({"location": "a", "offset": ""}, NO_NUMBER),
        ({"location": "a", "offset": "1" * 21}, NO_NUMBER),
        ({"location": "a", "length": "1e3"}, NO_NUMBER),
        ({"location": "a", "length": "\u0663"}, NO_NUMBER),
    ],
)
def test_a_reference(entries: dict[str, str], expected: tuple[str, int, int] | str) -> None:
    tensor = external(**entries)
    if isinstance(expected, tuple):
        assert reference(tensor) == (PurePosixPath(expected[0]), *expected[1:])
    else:
        with pytest.raises(ModelError) as caught:
            reference(tensor)
        said = f"tensor 'w' keeps its data in '{entries['location']}'{expected}"
        assert str(caught.value) == said


@each_row("entries", [{}, {"location": ""}, {"offset": "3"}])
def test_a_reference_to_no_file(entries: dict[str, str]) -> None:
    with pytest.raises(ModelError) as caught:
        reference(external(**entries))
    assert "'w'" in str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`a` of 24 bytes, a folder `d`, links, and a model that is no file."""
    (tmp_path / "a").write_bytes(bytes(range(24)))
    (tmp_path / "d").mkdir()
    (tmp_path / "model").write_bytes(b"x")
    (tmp_path / "inside").symlink_to("a")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "outside").symlink_to(Path(__file__))
    (tmp_path / "itself").symlink_to("model")
    return tmp_path


@each_row(
    ("entries", "is_there"),
    [
        ({"location": "a"}, True),
        ({"location": "inside", "length": "24"}, True),
        ({"location": "a", "offset": "4", "length": "20"}, True),
        ({"location": "d/../a"}, True),
        ({"location": "a", "offset": "1"}, False),
        *(({"location": each}, False) for each in ("b", "d\\a", "e/../a", "d", "nowhere", "model")),
        *(({"location": each}, False) for each in ("itself", "outside", "x" * 300)),
    ],
)
def test_where_the_data_of_a_file_may_be(
    folder: Path, entries: dict[str, str], is_there: bool
) -> None:
    tensors = [external(location="a"), external(**entries)]
    if is_there:
        check_external(tensors, folder / "model")
        return
    with pytest.raises(ModelError) as caught:
        check_external(tensors, folder / "model")
    assert str(caught.value).startswith(f"tensor 'w' keeps its data in '{entries['location']}'")


def test_a_linked_model_finds_data_where_the_link_leads(folder: Path) -> None:
    (folder / "d" / "linked").symlink_to(folder / "model")
    (folder / "d" / "a").symlink_to(folder / "a")
    check_external([external(location="a")], folder / "d" / "linked")
    with pytest.raises(ModelError):
        check_external([external(location="a")], folder / "d" / "another")
