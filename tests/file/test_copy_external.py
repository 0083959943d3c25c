"""Which files are written for a model with external data, what they hold, and what is refused."""

import os
from pathlib import Path
from typing import Literal

import onnx
import pytest

from onnxpad.errors import OutputError, UsageError
from onnxpad.file import external
from onnxpad.file.external import _are_equal, _behind_links, _copied, contents, runnable
from onnxpad.file.proto_walk import is_external, tensors
from onnxpad.file.skeleton import Skeleton, read_file, read_proto
from tests.support.rows import each_row

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


@pytest.mark.parametrize("name", ["m", "out"])
def test_data_are_shared_in_the_same_folder(source: Path, name: str) -> None:
    target = source.with_name(name)
    assert written(source, target) == {f"from/{name}": source.read_bytes()}
    assert [*written(source, target, "inline")] == [f"from/{name}"]


def test_data_that_no_record_needs_any_more_stay_behind(source: Path, tmp_path: Path) -> None:
    skeleton = read_file(source)
    target = tmp_path / "to" / "m"
    model = onnx.ModelProto.FromString(source.read_bytes())
    del model.graph.initializer[2], model.graph.node[0], model.graph.sparse_initializer[0]
    found, _ = contents(skeleton, source, [model.SerializeToString()], target, "copy", None)
    assert [path.name for path in found] == ["a", "b", "m"]  # b of training alone


def refusal(source: Path | None, target: Path, how: How = "copy") -> str:
    """What is said instead of writing, with paths from the folder of both."""
    skeleton = read_proto(spread()) if source is None else read_file(source)
    with pytest.raises(OutputError) as caught:
        planned(skeleton, source, target, how)
    return str(caught.value).replace(f"{target.parent.parent}/", "")


def test_what_is_in_the_way_is_named(source: Path, tmp_path: Path) -> None:
    to = tmp_path / "to"
    holds = "holds the model's external data; name another file"
    assert refusal(source, source.with_name("b")) == f"from/b {holds}"
    (to / "again").hardlink_to(source.with_name("a"))
    assert refusal(source, to / "again", "inline") == f"to/again {holds}"


def test_without_a_path_data_are_not_found(tmp_path: Path) -> None:
    assert refusal(None, tmp_path / "to" / "m", "inline") == (
        "to/m cannot inline external data of a model that came without a path; load the model by "
        "its path"
    )


def test_without_a_path_a_model_is_written_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "m"
    for model, how in ((spread(), "copy"), (spread(), "copy")):
        found = planned(read_proto(model), None, target, how)  # type: ignore[arg-type]
        assert {path: b"".join(each) for path, each in found.items()} == {
            target: model.SerializeToString()
        }
    inside = onnx.ModelProto(ir_version=9)
    inside.graph.initializer.append(tensor("inside"))
    for how in ("copy", "inline"):
        found = planned(read_proto(inside), None, target, how)  # type: ignore[arg-type]
        assert [*found] == [target]
    with pytest.raises(UsageError):
        planned(read_proto(inside), None, target, "link")  # type: ignore[arg-type]


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


@each_row(
    ("size", "steps"),
    [
        (0, []),
        (1, [(0, 0)]),
        (4, [(2, 2)]),
        (5, [(2, 2), (2, 2)]),
        (9, [(2, 4), (4, 4), (4, 4)]),
    ],
)
def test_blocks_are_counted(
    size: int, steps: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "_BLOCK", 4)
    monkeypatch.setattr(external, "_MEBIBYTE", 2)
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(bytes(range(size)))
    other.write_bytes(bytes(range(size)))
    told: list[tuple[str, int, int]] = []
    assert b"".join(_copied(one, lambda *step: told.append(step))) == bytes(range(size))
    assert told == [("copying one (MiB)", *step) for step in steps]
    assert _are_equal(one, other)
    assert b"".join(_copied(one, None)) == bytes(range(size))
    for place in range(0, size, 3):
        other.write_bytes(bytes(each + (each == place) for each in range(size)))
        assert not _are_equal(one, other)
    other.write_bytes(bytes(range(size + 1)))
    assert not _are_equal(one, other)
    assert _are_equal(one, one)
    assert not _are_equal(tmp_path, other)


def test_a_file_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "_BLOCK", 1 << 18)  # more than is buffered
    path = tmp_path / "w"
    for size in (3 << 18, 1 << 18):

        def change(step: str, done: int, end: int, size: int = size) -> None:
            os.truncate(path, size)

        path.write_bytes(bytes(1 << 19))
        with pytest.raises(OutputError) as caught:
            list(_copied(path, change))
    with pytest.raises(OutputError) as caught:
        list(_copied(tmp_path / "gone", None))
    said = f"{tmp_path / 'gone'} cannot be copied: No such file or directory"
    assert str(caught.value) == said
