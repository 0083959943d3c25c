"""A model file read at wire level, and written: what is damaged is refused, all else survives."""

import os
import random
import resource
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from onnxpad.errors import ModelError, OutputError, UsageError
from onnxpad.file.skeleton import encode, read_bytes
from onnxpad.graph import Graph

MODEL = """
<ir_version: 9, opset_import: ["" : 17]>
agraph (float[1, 1, 5, 5] x) => (float[1, 1, 5, 5] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
{
    a = Pad (x, p)
    y = Conv (a, w)
}
"""


@pytest.fixture
def raw() -> bytes:
    return serialised(onnx.parser.parse_model(MODEL))


def serialised(message: onnx.ModelProto | onnx.GraphProto | onnx.TensorProto) -> bytes:
    return bytes(message.SerializeToString())


def large(megabytes: int) -> onnx.ModelProto:
    model = onnx.parser.parse_model(MODEL)
    values = np.arange(megabytes << 18, dtype=np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(values, "large"))
    return model


class TestReading:
    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(None, id="missing"),
            pytest.param(b"", id="empty"),
            pytest.param(b"hello, this is no model at all", id="text"),
            pytest.param(b"<!DOCTYPE html><html></html>", id="html"),
            pytest.param(b"\n\n<html><body>404</body></html>", id="html-later"),
            pytest.param(b"PK\x03\x04" + bytes(60), id="zip"),
            pytest.param(b"\x1f\x8b\x08" + bytes(60), id="gzip"),
            pytest.param(b"version https://git-lfs.github.com/spec/v1\n", id="lfs"),
            pytest.param(random.Random(1).randbytes(4096), id="random"),
            pytest.param(bytes(4096), id="zeros"),
            pytest.param(b"\x08\x09", id="no-graph"),
            pytest.param(b"\x38\x07\x08\x09", id="graph-that-is-a-number"),
            pytest.param(b"\x3a\x00", id="no-version"),
            pytest.param(b"\x08\x09\x3a\x00", id="empty-graph"),
            pytest.param(b"\x08\x09\x3a\x03\x12\x01g", id="only-a-name"),
            pytest.param(b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", id="negative"),
            pytest.param(b"\x3a\xff\xff\xff\xff\x07abc", id="huge"),
            pytest.param(b"\x08" + b"\xff" * 20, id="endless-number"),
            pytest.param(b"\x13" * 300, id="groups-without-end"),
            pytest.param(b"\x0b\x14", id="group-ended-by-another"),
            pytest.param(b"\x0e\x00", id="no-such-wire-type"),
            pytest.param(b"\x8a\x80\x80\x80\x80\x01\x00", id="tag-too-large"),
        ],
    )
    def test_refuses_in_one_line(self, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "net.onnx"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ModelError) as caught:
            Graph.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_refuses_what_is_no_file(self, raw: bytes, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="is a folder"):
            Graph.load(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelError):
            Graph.load(tmp_path / "pipe")
        (tmp_path / "net.onnx").write_bytes(raw)
        with (tmp_path / "net.onnx").open() as file, pytest.raises(ModelError):
            Graph.load(f"/dev/fd/{file.fileno()}")

    def test_refuses_or_keeps_every_truncation(self, raw: bytes, tmp_path: Path) -> None:
        refused = [not survives(raw[:length], tmp_path) for length in range(len(raw))]
        assert sum(refused) > len(raw) / 2

    def test_refuses_or_keeps_every_damage(self, raw: bytes, tmp_path: Path) -> None:
        generator = random.Random(7)
        kept = 0
        for _ in range(1000):
            damaged = bytearray(raw)
            for _ in range(generator.randint(1, 3)):
                damaged[generator.randrange(len(raw))] = generator.randrange(256)
            kept += survives(bytes(damaged), tmp_path)
        assert 0 < kept < 1000

    def test_refuses_bodies_nested_deeper_than_protobuf_reads(self) -> None:
        body = onnx.parser.parse_model(MODEL).graph.SerializeToString()
        for _ in range(400):
            node = encode(5, b"\x0a\x01g" + encode(6, body)) + b"\x22\x02If" + bytes([18, 1, 121])
            body = encode(1, node)
        model = b"\x08\x09" + encode(7, body)
        with pytest.raises(ModelError, match="damaged"):
            read_bytes(memoryview(model), "net.onnx")

    def test_refuses_a_proto_that_cannot_be_serialised(self) -> None:
        with pytest.raises(ModelError):
            Graph.from_proto(onnx.ModelProto(ir_version=9))
        with pytest.raises(UsageError, match="str"):
            Graph.from_proto("net.onnx")  # type: ignore[arg-type]


def survives(content: bytes, folder: Path) -> bool:
    """Whether a model is read; then it is the same when saved, and all of it can be looked at."""
    path = folder / "net.onnx"
    path.write_bytes(content)
    try:
        graph = Graph.load(path)
    except ModelError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert str(path) in message
        assert "\n" not in message
        return False
    assert graph.model.to_bytes() == content
    for node in graph.nodes:
        for tensor in (*node.inputs, *node.outputs):
            with suppress(ModelError):
                graph.constant(tensor)
            with suppress(ModelError):
                graph.declared(tensor)
        graph.label(node)
    return True


class TestWriting:
    @pytest.mark.parametrize(
        "target", ["none/net.onnx", "file/net.onnx", "folder", "loop", "pipe", "n" * 300]
    )
    def test_refuses_in_one_line(self, raw: bytes, tmp_path: Path, target: str) -> None:
        (tmp_path / "file").touch()
        (tmp_path / "folder").mkdir()
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        os.mkfifo(tmp_path / "pipe")
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(OutputError) as caught:
            Graph.from_proto(onnx.ModelProto.FromString(raw)).model.write(tmp_path / target)
        assert target in str(caught.value)
        assert "\n" not in str(caught.value)
        assert sorted(tmp_path.rglob("*")) == before

    def test_refuses_write_protected_files(
        self, raw: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "net.onnx"
        path.write_bytes(raw)
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
        with pytest.raises(OutputError, match="write-protected"):
            Graph.load(path).model.write(path)

    def test_leaves_nothing_behind_on_a_full_disk(self, tmp_path: Path) -> None:
        path = tmp_path / "net.onnx"
        path.write_bytes(b"old")
        graph = Graph.from_proto(large(1))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, hard))
        try:
            with pytest.raises(OutputError):
                graph.model.write(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_bytes() == b"old"


class TestExternalData:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "a" / "net.onnx"
        path.parent.mkdir()
        onnx.save(large(1), path, save_as_external_data=True, location="net.bin")
        return path

    def test_is_checked_in_bodies_and_functions(self, path: Path) -> None:
        model = onnx.load(path, load_external_data=False)
        tensor = model.graph.initializer.pop()
        next(entry for entry in tensor.external_data if entry.key == "location").value = "gone.bin"
        body = onnx.GraphProto(initializer=[tensor])
        node = onnx.helper.make_node("If", ["x"], ["z"], then_branch=body)
        for place in (model.graph.node, model.functions.add(name="f").node):
            place.append(node)
            path.write_bytes(model.SerializeToString())
            with pytest.raises(ModelError, match=r"gone\.bin"):
                Graph.load(path)
            place.pop()
