"""Which files are written for a model with external data, what they hold, and what is refused."""

from pathlib import Path
from typing import Literal

import onnx
import pytest

from onnxpad.file import external
from onnxpad.file.external import _behind_links, contents, runnable
from onnxpad.file.proto_walk import is_external, tensors
from onnxpad.file.skeleton import Skeleton, read_file

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
    return contents(skeleton, source, skeleton.splice({}), target, how, None)


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


def test_data_that_no_record_needs_any_more_stay_behind(source: Path, tmp_path: Path) -> None:
    skeleton = read_file(source)
    target = tmp_path / "to" / "m"
    model = onnx.ModelProto.FromString(source.read_bytes())
    del model.graph.initializer[2], model.graph.node[0], model.graph.sparse_initializer[0]
    found = contents(skeleton, source, [model.SerializeToString()], target, "copy", None)
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
