"""A model file read without its weights, and how edits are spliced into it.

The wire format of protobuf comes last: records, and their headers.
Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import enum
import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import onnx
from google.protobuf.message import (  # type: ignore[import-untyped]
    DecodeError,
    EncodeError,
    Message,
)
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import ModelError, let_through
from onnxpad.file.external_data import external_tensors

GRAPH_FIELD: Final = 7
FUNCTION_FIELD: Final = 25
INITIALIZER_FIELD: Final = 5

# Names of the fields of the graph and of the model that may hold tensors, by field number.
GRAPH_PARTS: Final = {1: "node", INITIALIZER_FIELD: "initializer", 15: "sparse_initializer"}
MODEL_PARTS: Final = {20: "training_info", FUNCTION_FIELD: "functions"}

_CONTENT: Final = ("node", "input", "output", "initializer", "sparse_initializer")

# The encoded field `data_location = EXTERNAL` of a tensor.
_EXTERNAL: Final = bytes([14 << 3, onnx.TensorProto.DataLocation.EXTERNAL])

MessageT = TypeVar("MessageT", bound=Message)

# Other files that people mistake for a model, by their first bytes.
_MISTAKEN: Final = (
    (b"version https://git-lfs", "is a Git LFS pointer; run 'git lfs pull' to get the model"),
    (b"PK\x03\x04", "is a zip archive; unpack it, or export the checkpoint to ONNX"),
    (b"\x1f\x8b", "is compressed with gzip; decompress it first"),
    (b"\x89HDF", "is an HDF5 file; export the model to ONNX (tf2onnx does it for Keras)"),
    (b"<!DOCTYPE", "is a web page; download the model file itself"),
    (b"<!doctype", "is a web page; download the model file itself"),
    (b"<html", "is a web page; download the model file itself"),
    (b"ORTM", "is in onnxruntime's ORT format; give the .onnx file that it was made from"),
)


_EMPTY: Final = "is empty; export or download it again"

_READ: Final = 64 << 20
"""The most bytes of a file that are read; a larger one is mapped into memory."""

# Field numbers: a node's attributes, and an attribute's name and bodies.
_ATTRIBUTE: Final = 5
_NAME, _BODY, _BODIES = 1, 6, 11


class Section(Struct, frozen=True):
    """A graph or a function of a model, and where its parts are in the file.

    Attributes:
        light: The graph or function without large weights, as in `Skeleton.light`.
        containers: The records that hold it: protobuf merges several into one.
        fields: Its records by field number; they pair with the elements of `light`.
        attribute: For a body, the record of the attribute that holds it; else None.
    """

    light: onnx.GraphProto | onnx.FunctionProto
    containers: tuple[Record, ...]
    fields: Mapping[int, Sequence[Record]]
    attribute: Record | None = None

    def number(self, name: str) -> int:
        """The number of the field of that name; 0 where there is none."""
        field = self.light.DESCRIPTOR.fields_by_name.get(name)
        return 0 if field is None else field.number

    def parts(self, name: str) -> Iterator[tuple[Any, Record]]:
        """The elements of a field of messages, each with its record; none without such a field."""
        number = self.number(name)
        if number:
            yield from zip(getattr(self.light, name), self.fields.get(number, ()), strict=True)


class MappedFile(Struct, frozen=True):
    """A file that is mapped into memory, and what it was like then."""

    path: Path
    inode: int
    size: int
    written: int

    @classmethod
    def of(cls, path: Path, found: os.stat_result) -> MappedFile:
        """The file of a path, as the operating system describes it."""
        return cls(path, found.st_ino, found.st_size, found.st_mtime_ns)

    def require_unchanged(self) -> None:
        """Raises where the file itself was written to; another in its place does no harm.

        Raises:
            ModelError: Its bytes are no longer those that were read.
        """
        try:
            now = self.of(self.path, self.path.stat())
        except OSError:
            return  # removed: the mapping keeps its bytes
        if now.inode == self.inode and now != self:
            raise ModelError(
                f"{self.path}: has been overwritten since it was read; write the new model to "
                "another file, or make the result again"
            )


class Skeleton(Struct, frozen=True):
    """A model as bytes, as the records these consist of, and as a proto without its weights.

    Attributes:
        data: The model file.
        light: The model without the elements of tensors over 1 KiB.
        model: The records of the model.
        graphs: The records of each `graph` field of the model: protobuf merges several into one.
        fields: The records of the graph by field number. They pair with the elements of `light`:
            the first of field 1 is the record of `light.graph.node[0]`.
        external: The tensors whose elements lie in other files.
        mapped: The file that `data` is mapped from; None where `data` is in memory.
    """

    data: memoryview
    light: onnx.ModelProto
    model: tuple[Record, ...]
    graphs: tuple[tuple[Record, ...], ...]
    fields: Mapping[int, Sequence[Record]]
    external: tuple[onnx.TensorProto, ...]
    mapped: MappedFile | None = None

    @property
    def main(self) -> Section:
        """The main graph."""
        containers = tuple(filter(_is_graph, self.model))
        return Section(self.light.graph, containers, self.fields)

    def functions(self) -> Iterator[Section]:
        """The functions of the model, in file order."""
        records = (each for each in self.model if each.field == FUNCTION_FIELD and each.delimited)
        for light, record in zip(self.light.functions, records, strict=True):
            yield Section(light, (record,), self._fields((record,)))

    def body(self, node: Record, key: str, light: onnx.GraphProto) -> Section:
        """A body of a node.

        Args:
            node: The record of the node.
            key: The name of the attribute that has the body, with the index if it holds a list.
            light: The body.
        """
        attribute, _, place = key.rpartition("[")
        for holder in self._fields((node,))[_ATTRIBUTE]:
            fields = self._fields((holder,))
            name = b"".join(self.data[each.body : each.end] for each in fields[_NAME][-1:])
            if name == key.encode() or (attribute and name == attribute.encode()):
                break
        alone = name == key.encode()
        found = fields[_BODY] if alone else [fields[_BODIES][int(place[:-1])]]
        return Section(light, tuple(found), self._fields(found), holder)

    def _fields(self, containers: Iterable[Record]) -> dict[int, list[Record]]:
        """The records inside some containers that have a length, by field number."""
        return _by_field(
            chain.from_iterable(scan(self.data, each.body, each.end) for each in containers)
        )

    def whole(self, record: Record, message: MessageT) -> MessageT:
        """Parses a record in full, with the weights that `light` lacks, into an empty message.

        Raises:
            ModelError: The record is malformed.
        """
        try:
            message.ParseFromString(self.data[record.body : record.end])
        except DecodeError:
            where = f"between bytes {record.begin} and {record.end}"
            raise ModelError(f"the model is damaged {where}; export it again") from None
        return message

    def splice(
        self, replaced: Mapping[Record, Sequence[Chunk]], appended: Sequence[Chunk]
    ) -> Iterator[Chunk]:
        """Yields the model with some of its records replaced, and more at the end of its graph.

        Args:
            replaced: The encoded records that replace a record of the model or of its graph; an
                empty sequence removes it.
            appended: Encoded records to add.
        """
        position = 0
        parts = iter(self.graphs)
        chunks: Sequence[Chunk] | None
        *_, last = filter(_is_graph, self.model)
        for record in self.model:
            if _is_graph(record):
                added = appended if record is last else ()
                edited = {part: replaced[part] for part in next(parts) if part in replaced}
                chunks = self.rewritten(record, edited, added) if edited or added else None
            else:
                chunks = replaced.get(record)
            if chunks is not None:
                yield self.data[position : record.begin]
                yield from chunks
                position = record.end
        yield self.data[position:]

    def light_after(
        self, replaced: Mapping[Record, Sequence[Chunk]], appended: Sequence[Chunk]
    ) -> onnx.ModelProto:
        """The model that `splice` yields, without the elements of large tensors."""
        parts = [(part, MessageKind.GRAPH) for part in chain.from_iterable(self.graphs)]
        parts += [(each, MessageKind.MODEL) for each in self.model if not _is_graph(each)]
        shorter = {
            record: [strip(self.data, [record], kind)]
            for record, kind in parts
            if record.end - record.begin > PAYLOAD_LIMIT
        }
        data = b"".join(self.splice({**shorter, **replaced}, appended))
        return read_bytes(memoryview(data), "the model").light

    def rewritten(
        self,
        record: Record,
        replaced: Mapping[Record, Sequence[Chunk]],
        appended: Sequence[Chunk] = (),
    ) -> list[Chunk]:
        """A record with some of the records inside replaced, and more added at its end."""
        body: list[Chunk] = []
        begin = record.body
        for part in sorted(replaced, key=attrgetter("begin")):
            body.append(self.data[begin : part.begin])
            body.extend(replaced[part])
            begin = part.end
        body.append(self.data[begin : record.end])
        body.extend(appended)
        return [header(record.field, sum(map(len, body))), *body]


def read_file(path: Path) -> Skeleton:
    """The skeleton of a model file.

    A file of over 64 MiB is mapped into memory rather than read, and must not change in place
    meanwhile: where another process truncates it, this one dies of SIGBUS, as with any mapped file.
    Replacing it by another file does no harm.

    Raises:
        ModelError: There is no such file, or it is not an ONNX model.
    """
    mapped = None
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelError(f"{path} is a folder; name the .onnx file in it")
        if not stat.S_ISREG(mode):
            raise ModelError(f"{path} is not a regular file; save the model to a file first")
        if _is_open_here(path):
            raise ModelError(f"{path} is a file that this process has open; give its own path")
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if not found.st_size:
                raise ModelError(f"{path} {_EMPTY}")
            if found.st_size > _READ:
                import mmap

                # Never closed: the view keeps it, and both go with the last reference.
                data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
                mapped = MappedFile.of(path, found)
            else:
                data = memoryview(file.read())
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist; check the path") from None
    except (OSError, ValueError) as error:
        let_through(error)
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path} cannot be read: {reason}") from None
    read = read_bytes(data, str(path))
    return read if mapped is None else replace(read, mapped=mapped)


def _is_open_here(path: Path) -> bool:
    """Whether a path such as `/dev/stdin` means another file in another process."""
    while not (inside := path.parent.resolve().is_relative_to("/proc")) and path.is_symlink():
        path = path.parent / path.readlink()
    return inside


def read_proto(proto: onnx.ModelProto) -> Skeleton:
    """The skeleton of a model in memory, which stays as it is.

    Raises:
        ModelError: It is over 2 GiB, or not a valid model.
    """
    try:
        data = proto.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise ModelError(
            f"the model cannot be serialised ({error}); over 2 GiB, save it with external data "
            "and pass the path"
        ) from None
    return read_bytes(memoryview(data), "the model")


def read_bytes(data: memoryview, name: str) -> Skeleton:
    """The skeleton of a serialised model.

    Args:
        data: The bytes.
        name: The name of the model in messages.

    Raises:
        ModelError: The bytes are not an ONNX model.
    """
    if not data:
        raise ModelError(f"{name} {_EMPTY}")
    try:
        model = tuple(scan(data, 0, len(data)))
        graphs = []
        pieces = []
        for record in model:
            if _is_graph(record):
                graphs.append(tuple(scan(data, record.body, record.end)))
                body = strip(data, graphs[-1], MessageKind.GRAPH)
                pieces += [header(GRAPH_FIELD, len(body)), body]
            else:
                pieces.append(strip(data, [record], MessageKind.MODEL))
        body = b"".join(pieces)
        light = onnx.ModelProto.FromString(body)
    except WireError as error:
        where = f"at byte {error.position} of {len(data)}"
        raise ModelError(_describe(data, name, where)) from None
    except DecodeError:
        raise ModelError(_describe(data, name, "inside a record")) from None
    if not graphs:
        if not light.ir_version:
            raise ModelError(_describe(data, name, "it holds no graph"))
        raise ModelError(f"{name} holds no graph and nothing to run; export it again")
    if not light.ir_version:
        raise ModelError(f"{name} has no ir_version, so it is no ONNX model; export it again")
    if not any(getattr(light.graph, part) for part in _CONTENT):
        raise ModelError(f"{name} holds an empty graph and nothing to run; export it again")
    fields = _by_field(chain.from_iterable(graphs))
    # Most models have no external data: searching the bytes is faster than visiting every tensor.
    told = b"location" in body or _EXTERNAL in body
    external = external_tensors(light) if told else ()
    return Skeleton(data, light, model, tuple(graphs), fields, external)


def _by_field(records: Iterable[Record]) -> dict[int, list[Record]]:
    """The records that have a length, by field number."""
    fields = defaultdict(list)
    for each in records:
        if each.delimited:
            fields[each.field].append(each)
    return fields


def _is_graph(record: Record) -> bool:
    return record.field == GRAPH_FIELD and record.delimited


def _describe(data: memoryview, name: str, where: str) -> str:
    """The message about bytes that are not a model."""
    begin = bytes(data[:64]).lstrip()
    for magic, message in _MISTAKEN:
        if begin.startswith(magic):
            return f"{name} {message}"
    if begin and all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in begin):
        return f"{name} is text, not an ONNX model in binary form; export or download it again"
    return f"{name} is damaged, cut short or no ONNX model ({where}); export or download it again"


Chunk: TypeAlias = bytes | memoryview

PAYLOAD_LIMIT: Final = 1024
"""Records longer than this many bytes are searched for payloads to leave out."""

# Protobuf itself refuses messages nested deeper than this.
_DEPTH_LIMIT: Final = 100

_VARINT, _FIXED64, _LENGTH, _GROUP, _GROUP_END, _FIXED32 = range(6)


class WireError(ValueError):
    """Bytes that are not a protobuf message, from the byte at `position` on."""

    def __init__(self, position: int) -> None:
        """Stores the position, counted from the begin of the data."""
        super().__init__(f"no protobuf message at byte {position}")
        self.position = position


class Record(Struct, frozen=True, gc=False):
    """One field of a message: its bytes are `begin:end` with tag and length, `body:end` without."""

    field: int
    begin: int
    body: int
    end: int
    delimited: bool
    """Whether a length precedes the body, as for messages, strings, bytes and packed numbers."""


class MessageKind(enum.Enum):
    """The kinds of messages that contain elements of tensors, directly or further inside."""

    MODEL = enum.auto()
    TRAINING = enum.auto()
    FUNCTION = enum.auto()
    GRAPH = enum.auto()
    NODE = enum.auto()
    ATTRIBUTE = enum.auto()
    SPARSE = enum.auto()
    TENSOR = enum.auto()
    PAYLOAD = enum.auto()


# Field numbers of onnx.proto.
_PAYLOADS: Final = {
    MessageKind.MODEL: {7: MessageKind.GRAPH, 20: MessageKind.TRAINING, 25: MessageKind.FUNCTION},
    MessageKind.TRAINING: {1: MessageKind.GRAPH, 2: MessageKind.GRAPH},
    MessageKind.FUNCTION: {7: MessageKind.NODE, 11: MessageKind.ATTRIBUTE},
    MessageKind.GRAPH: {1: MessageKind.NODE, 5: MessageKind.TENSOR, 15: MessageKind.SPARSE},
    MessageKind.NODE: {5: MessageKind.ATTRIBUTE},
    MessageKind.ATTRIBUTE: {
        5: MessageKind.TENSOR,
        6: MessageKind.GRAPH,
        10: MessageKind.TENSOR,
        11: MessageKind.GRAPH,
        22: MessageKind.SPARSE,
        23: MessageKind.SPARSE,
    },
    MessageKind.SPARSE: {1: MessageKind.TENSOR, 2: MessageKind.TENSOR},
    MessageKind.TENSOR: dict.fromkeys((4, 5, 6, 7, 9, 10, 11), MessageKind.PAYLOAD),
}


def scan(data: memoryview, begin: int, end: int) -> Iterator[Record]:
    """Yields the records of the message at `begin:end`, in their order.

    Raises:
        WireError: A record is malformed or reaches beyond `end`.
    """
    position = begin
    while position < end:
        start = position
        tag = data[start]
        position += 1
        if tag > 0x7F:
            tag, position = _varint(data, start, end)
        wire = tag & 7
        if wire == _LENGTH:
            length, position = _varint(data, position, end)
            body, position = position, position + length
        else:
            body = position
            position = _skip(data, position, end, tag, 0)
        if position > end or not 8 <= tag < 1 << 32:
            raise WireError(start)
        yield Record(tag >> 3, start, body, position, wire == _LENGTH)


def strip(data: memoryview, records: Iterable[Record], kind: MessageKind, depth: int = 0) -> bytes:
    """Encodes `records`, those of a message of `kind`, without the elements of large tensors.

    Raises:
        WireError: A record inside is malformed, or messages are nested deeper than protobuf reads.
    """
    fields = _PAYLOADS[kind]
    pieces: list[Chunk] = []
    begin = position = 0  # of the records that stay as they are, one after another
    for each in records:
        inner, end = fields.get(each.field), each.end
        is_long = each.delimited and end - each.body > PAYLOAD_LIMIT
        if inner is None or not (is_long or inner is MessageKind.PAYLOAD):
            begin = each.begin if each.begin != position else begin
            position = end
            continue
        pieces.append(data[begin:position])
        begin = position = end
        if inner is not MessageKind.PAYLOAD:
            if depth == _DEPTH_LIMIT:
                raise WireError(each.begin)
            inside = strip(data, scan(data, each.body, end), inner, depth + 1)
            pieces.append(encode(each.field, inside))
    return b"".join([*pieces, data[begin:position]])


def encode(field: int, body: bytes) -> bytes:
    """A record of a field that holds a message."""
    return header(field, len(body)) + body


def header(field: int, length: int) -> bytes:
    """The tag and the length that precede the body of a record that holds a message."""
    return _encode_varint(field << 3 | _LENGTH) + _encode_varint(length)


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    """The number at `position`, and the position after it."""
    if position < end and data[position] < 0x80:
        return data[position], position + 1
    start = position
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError(start)


def _skip(data: memoryview, position: int, end: int, tag: int, depth: int) -> int:
    """The position after the value at `position`, whose tag has been read."""
    wire = tag & 7
    if wire == _VARINT:
        return _varint(data, position, end)[1]
    if wire == _FIXED64:
        return position + 8
    if wire == _FIXED32:
        return position + 4
    if wire == _LENGTH:
        length, position = _varint(data, position, end)
        return position + length
    if wire != _GROUP or depth == _DEPTH_LIMIT:
        raise WireError(position)
    while position < end:
        inner, position = _varint(data, position, end)
        if inner & 7 == _GROUP_END:
            if inner >> 3 == tag >> 3:
                return position
            break
        position = _skip(data, position, end, inner, depth + 1)
    raise WireError(position)
