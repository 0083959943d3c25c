"""Where external data lie, which files are written for them, and what is refused."""

from pathlib import Path, PurePosixPath
from typing import Literal

import onnx
import pytest

from onnxpad.errors import ModelError, OutputError
from onnxpad.file import external
from onnxpad.file.external import (
    _behind_links,
    _length,
    check_external,
    contents,
    reference,
    runnable,
)
from onnxpad.file.proto_walk import is_external, tensors
from onnxpad.file.skeleton import Skeleton, read_file
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


def outside(**entries: str) -> onnx.TensorProto:
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
    tensor = outside(**entries)
    if isinstance(expected, tuple):
        assert reference(tensor) == (PurePosixPath(expected[0]), *expected[1:])
    else:
        with pytest.raises(ModelError) as caught:
            reference(tensor)
        said = f"tensor 'w' keeps its data in '{entries['location']}'{expected}"
        assert str(caught.value) == said


@each_row("entries", [{}, {"location": ""}, {"offset": "3"}, {"location": "?"},
                      {"location": "a", "offset": "?"}])  # fmt: skip
def test_a_reference_to_no_file(entries: dict[str, str]) -> None:
    raw = outside(**entries).SerializeToString().replace(b"?", b"\xff")  # no UTF-8
    with pytest.raises(ModelError) as caught:
        reference(onnx.TensorProto.FromString(raw))
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
        *(({"location": each}, False) for each in ("itself", "outside", "x" * 300, "a\0")),
    ],
)
def test_where_the_data_of_a_file_may_be(
    folder: Path, entries: dict[str, str], is_there: bool
) -> None:
    held = [outside(location="a"), outside(**entries)]
    if is_there:
        check_external(held, folder / "model")
        return
    with pytest.raises(ModelError) as caught:
        check_external(held, folder / "model")
    assert str(caught.value).startswith(f"tensor 'w' keeps its data in '{entries['location']}'")


def test_a_linked_model_finds_data_where_the_link_leads(folder: Path) -> None:
    (folder / "d" / "linked").symlink_to(folder / "model")
    (folder / "d" / "a").symlink_to(folder / "a")
    check_external([outside(location="a")], folder / "d" / "linked")
    with pytest.raises(ModelError):
        check_external([outside(location="a")], folder / "d" / "another")


def test_data_of_an_unknown_length_are_not_read(folder: Path) -> None:
    found = outside(location="a")
    found.data_type = 99
    check_external([found], folder / "model")
    with pytest.raises(ModelError):
        external.internal(found, folder)


How = Literal["copy", "inline"]


def tensor(name: str, location: str = "", begin: int = 0, size: int = 4) -> onnx.TensorProto:
    """A tensor of bytes, in a file if one is named."""
    found = onnx.TensorProto(name=name, data_type=onnx.TensorProto.UINT8, dims=[size])
    if location:
        found.data_location = onnx.TensorProto.EXTERNAL
        found.external_data.add(key="location", value=location)
        found.external_data.add(key="offset", value=str(begin))
    else:
        found.raw_data = b"0123"
    return found


def held(name: str, location: str, begin: int) -> onnx.NodeProto:
    """A Constant with such a tensor."""
    return onnx.helper.make_node("Constant", [], [name], value=tensor(name, location, begin))


def spread() -> onnx.ModelProto:
    """A model with data in two files, of initializers, a node, a function and training."""
    model = onnx.ModelProto(ir_version=9)
    graph = model.graph
    graph.node.append(held("n", "b", 2))
    graph.node.add(op_type="Neg", input=["inside"], output=["y"])
    graph.initializer.extend([tensor("inside"), tensor("i", "a"), tensor("j", "sub/../a", 4)])
    graph.initializer.append(tensor("empty", "a", 8, size=0))
    sparse = graph.sparse_initializer.add(dims=[9])
    sparse.values.CopyFrom(tensor("values", "a", 1))
    sparse.indices.CopyFrom(tensor("indices", "b", 0))
    model.functions.add(name="plain").node.add(op_type="Abs", input=["x"], output=["z"])
    model.functions.add(name="f").node.append(held("f", "a", 3))
    model.training_info.add().algorithm.initializer.append(tensor("t", "b", 1))
    return model


DATA = {"a": b"abcdefgh", "b": b"ABCDEF"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "from"
    (folder / "sub").mkdir(parents=True)
    for name, data in DATA.items():
        (folder / name).write_bytes(data)
    (folder / "m").write_bytes(spread().SerializeToString())
    (tmp_path / "to").mkdir()
    return folder / "m"


def planned(
    skeleton: Skeleton, source: Path | None, target: Path, how: How
) -> dict[Path, external.Content]:
    return contents(skeleton, source, skeleton.splice({}), target, how, None)[0]


def written(source: Path, target: Path, how: How = "copy") -> dict[str, bytes]:
    """What would be written, by the path from the folder of both."""
    found = planned(read_file(source), source, target, how)
    assert [*found][-1] == target
    return {
        str(path.relative_to(source.parent.parent)): b"".join(each) for path, each in found.items()
    }


def test_data_are_copied_once_for_each_path(source: Path, tmp_path: Path) -> None:
    model, target = source.read_bytes(), tmp_path / "to" / "m"
    expected = {"to/a": b"abcdefgh", "to/b": b"ABCDEF", "to/sub/../a": b"abcdefgh", "to/m": model}
    assert written(source, target) == expected
    # What is there already, whole, stays; the path through a folder that is missing makes that.
    (tmp_path / "to" / "a").write_bytes(b"abcdefgh")
    assert written(source, target) == {name: expected[name] for name in expected if name != "to/a"}
    (tmp_path / "to" / "sub").mkdir()
    assert {*written(source, target)} == {"to/b", "to/m"}
    target.touch()
    assert target in planned(read_file(source), source.with_name("none"), target, "copy")


def test_data_are_embedded_wherever_a_tensor_is(source: Path, tmp_path: Path) -> None:
    found = written(source, tmp_path / "to" / "m", "inline")
    assert [*found] == ["to/m"]
    inside = onnx.ModelProto.FromString(found["to/m"])
    expected = spread()
    spots = {
        "n": (expected.graph.node[0].attribute[0].t, b"CDEF"),
        "i": (expected.graph.initializer[1], b"abcd"),
        "j": (expected.graph.initializer[2], b"efgh"),
        "empty": (expected.graph.initializer[3], b""),
        "values": (expected.graph.sparse_initializer[0].values, b"bcde"),
        "indices": (expected.graph.sparse_initializer[0].indices, b"ABCD"),
        "f": (expected.functions[1].node[0].attribute[0].t, b"defg"),
        "t": (expected.training_info[0].algorithm.initializer[0], b"BCDE"),
    }
    for spot, data in spots.values():
        spot.ClearField("data_location")
        spot.ClearField("external_data")
        spot.raw_data = data
    assert inside == expected


def test_too_many_data(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "_MESSAGE_LIMIT", len(read_file(source).data) + 27)
    with pytest.raises(OutputError):
        written(source, tmp_path / "to" / "m", "inline")


def test_data_that_no_record_needs_any_more_stay_behind(source: Path, tmp_path: Path) -> None:
    skeleton = read_file(source)
    target = tmp_path / "to" / "m"
    model = onnx.ModelProto.FromString(source.read_bytes())
    del model.graph.initializer[2], model.graph.node[0], model.graph.sparse_initializer[0]
    found, _ = contents(skeleton, source, [model.SerializeToString()], target, "copy", None)
    assert [path.name for path in found] == ["a", "b", "m"]  # b of training alone


def test_links_out_of_the_folder(source: Path, tmp_path: Path) -> None:
    held = [*filter(is_external, tensors(spread()))]
    assert not _behind_links(source, held)
    assert runnable(source.read_bytes(), source) == (source.read_bytes(), source.parent)
    cache = tmp_path / "cache"
    cache.mkdir()
    source.with_name("b").rename(cache / "0b")
    source.with_name("b").symlink_to(cache / "0b")
    assert _behind_links(source, held)
    assert not _behind_links(source, [each for each in held if each.name in {"i", "j"}])
    assert [*written(source, source)] == ["from/m"]
    assert written(source, tmp_path / "to" / "m")["to/b"] == b"ABCDEF"
    data, folder = runnable(source.read_bytes(), source)
    assert folder == tmp_path
    found = {
        each.name: {e.key: e.value for e in each.external_data}
        for each in filter(is_external, tensors(onnx.ModelProto.FromString(data)))
    }
    assert found["n"] == {"location": "cache/0b", "offset": "2"}
    assert found["t"] == {"location": "cache/0b", "offset": "1"}
    assert found["j"] == {"location": "from/a", "offset": "4"}
