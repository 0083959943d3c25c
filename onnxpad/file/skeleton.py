"""A model file read without its weights, and how edits are spliced into it.

The wire format of protobuf comes last: records, and their headers.
Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import onnx
from google.protobuf.message import DecodeError, EncodeError, Message  # type: ignore[import-untyped]
from msgspec import Struct

from onnxpad.errors import ModelError, let_through
from onnxpad.file.proto_walk import HOLDERS, is_external, tensors

GRAPH_FIELD = 7
FUNCTION_FIELD = 25

ELEMENTS = (
    "float_data",
    "int32_data",
    "string_data",
    "int64_data",
    "raw_data",
    "double_data",
    "uint64_data",
)
"""The fields of a tensor that may have its elements."""

PARTS: dict[str, dict[int, str]] = {
    kind: {
        field.number: field.message_type.name if field.message_type else ""
        for field in getattr(onnx, kind).DESCRIPTOR.fields
        if field.name in ELEMENTS or (field.message_type and field.message_type.name in HOLDERS)
    }
    for kind in HOLDERS
}
"""Of each message that may have tensors in it, what its fields hold: another one, or elements."""

_CONTENT = ("node", "input", "output", "initializer", "sparse_initializer")

# The encoded field `data_location = EXTERNAL` of a tensor.
_EXTERNAL = bytes([14 << 3, onnx.TensorProto.DataLocation.EXTERNAL])

MessageT = TypeVar("MessageT", bound=Message)

# Other files that people mistake for a model, by their first bytes.
_MISTAKEN = (
    (b"version https://git-lfs", "is a Git LFS pointer; run 'git lfs pull' to get the model"),
    (b"PK\x03\x04", "is a zip archive: arrays of NumPy, or a checkpoint to export to ONNX"),
    (b"\x1f\x8b", "is compressed with gzip; decompress it first"),
    (b"\x89HDF", "is an HDF5 file; export the model to ONNX (tf2onnx does it for Keras)"),
    (b"ORTM", "is in onnxruntime's ORT format; give the .onnx file that it was made from"),
)

# Paths that are another file, or none, in another process.
_OPEN_HERE = ("/proc/", "/dev/fd/", "/dev/std")

# Field numbers: a node's attributes, and an attribute's name and bodies.
_ATTRIBUTE = 5
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


class Skeleton(Struct, frozen=True):
    """A model as bytes, as the records these consist of, and as a proto without its weights.

    Attributes:
        data: The model file.
        light: The model without the elements of tensors over 1 KiB.
        model: The records of the model.
        main: The main graph.
        external: The tensors whose elements lie in other files.
    """

    data: memoryview
    light: onnx.ModelProto
    model: tuple[Record, ...]
    main: Section
    external: tuple[onnx.TensorProto, ...]

    def functions(self) -> Iterator[Section]:
        """The functions of the model, in file order."""
        records = _by_field(self.model)[FUNCTION_FIELD]
        for light, record in zip(self.light.functions, records, strict=True):
            yield Section(light, (record,), self._fields((record,)))

    def body(self, node: Record, key: str, light: onnx.GraphProto) -> Section:
        """A body of a node, whose attribute is named by `key`, with the index in a list."""
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
        inside = (scan(self.data, each.body, each.end) for each in containers)
        return _by_field(chain.from_iterable(inside))

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

    def splice(self, replaced: Replaced) -> list[Chunk]:
        """The model with other records in the place of some of its own."""
        return self._spliced(0, len(self.data), replaced)

    def rewritten(
        self, record: Record, replaced: Replaced, appended: Sequence[Chunk] = ()
    ) -> list[Chunk]:
        """A record with some of the records inside replaced, and more added at its end."""
        body = [*self._spliced(record.body, record.end, replaced), *appended]
        return [header(record.field, sum(map(len, body))), *body]

    def _spliced(self, begin: int, end: int, replaced: Replaced) -> list[Chunk]:
        chunks: list[Chunk] = []
        for record in sorted(replaced, key=attrgetter("begin")):
            chunks += self.data[begin : record.begin], *replaced[record]
            begin = record.end
        return [*chunks, self.data[begin:end]]


def read_file(path: Path) -> Skeleton:
    """The skeleton of a model file.

    Raises:
        ModelError: There is no such file, or it is not an ONNX model.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelError(
                f"{path} is a folder; name a model (fix and check take folders, validate two)"
            )
        if not stat.S_ISREG(mode) or str(path).startswith(_OPEN_HERE):
            raise ModelError(f"{path} is not a regular file; save the model to a file first")
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist; check the path") from None
    except (OSError, ValueError) as error:
        let_through(error)
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path} cannot be read: {reason}") from None
    return read_bytes(memoryview(data), str(path))


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
    """The skeleton of a serialised model, which messages call by a name.

    Raises:
        ModelError: The bytes are not an ONNX model.
    """
    if not data:
        raise ModelError(f"{name} is empty; export or download it again")
    try:
        model = tuple(scan(data, 0, len(data)))
        graphs = tuple(filter(_is_graph, model))
        parts = [part for each in graphs for part in scan(data, each.body, each.end)]
        others = (each for each in model if not _is_graph(each))
        body = strip(data, others, "ModelProto")
        body += encode(GRAPH_FIELD, strip(data, parts, "GraphProto"))
        light = onnx.ModelProto.FromString(body)
    except WireError as error:
        where = f"at byte {error.position} of {len(data)}"
        where += ", where a record is longer than what is left" * error.is_past
        raise ModelError(_describe(data, name, where)) from None
    except DecodeError:
        raise ModelError(_describe(data, name, "inside a record")) from None
    if not light.ir_version:
        raise ModelError(_describe(data, name, "it has no ir_version"))
    if not any(getattr(light.graph, part) for part in _CONTENT):
        raise ModelError(f"{name} holds no graph, so nothing to run; export it again")
    # Most models have no external data: searching the bytes is faster than visiting every tensor.
    told = b"location" in body or _EXTERNAL in body
    external = tuple(filter(is_external, tensors(light))) if told else ()
    return Skeleton(data, light, model, Section(light.graph, graphs, _by_field(parts)), external)


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
    if all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in begin):
        return f"{name} is text, not an ONNX model in binary form; export or download it again"
    return f"{name} is damaged, cut short or no ONNX model ({where}); export or download it again"


Chunk = bytes | memoryview
Replaced: TypeAlias = Mapping["Record", Sequence[Chunk]]
"""The encoded records that stand in the place of others; none where one is removed."""

PAYLOAD_LIMIT = 1024
"""Records longer than this many bytes are searched for payloads to leave out."""

# Protobuf itself refuses messages nested deeper than this.
_DEPTH_LIMIT = 100

# Kinds of records; of those of a fixed length, that length.
_VARINT, _LENGTH, _GROUP, _GROUP_END = 0, 2, 3, 4
_FIXED = {1: 8, 5: 4}


class WireError(ValueError):
    """Bytes that are not a protobuf message, from the byte at `position` on, or are cut short."""

    def __init__(self, position: int, *, is_past: bool = False) -> None:
        """Stores the position, from the begin of the data, and whether a record is past its end."""
        super().__init__(f"no protobuf message at byte {position}")
        self.position, self.is_past = position, is_past


class Record(Struct, frozen=True, gc=False):
    """One field of a message: its bytes are `begin:end` with tag and length, `body:end` without."""

    field: int
    begin: int
    body: int
    end: int
    delimited: bool
    """Whether a length precedes the body, as for messages, strings, bytes and packed numbers."""


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
        body = position
        if wire == _LENGTH:
            length, body = _varint(data, position, end)
            position = body + length
        else:
            position = _after(data, position, end, tag, 0)
        if position > end or not 8 <= tag < 1 << 32:
            raise WireError(start, is_past=position > end)
        yield Record(tag >> 3, start, body, position, wire == _LENGTH)


def strip(data: memoryview, records: Iterable[Record], kind: str, depth: int = 0) -> bytes:
    """Encodes `records`, those of a message of `kind`, without the elements of large tensors.

    Raises:
        WireError: A record inside is malformed, or messages are nested deeper than protobuf reads.
    """
    fields = PARTS[kind]
    pieces: list[Chunk] = []
    begin = position = 0  # of the records that stay as they are, one after another
    for each in records:
        inner, end = fields.get(each.field), each.end
        is_long = each.delimited and end - each.body > PAYLOAD_LIMIT
        if inner is None or (inner and not is_long):
            if each.begin != position:
                pieces.append(data[begin:position])
                begin = each.begin
            position = end
            continue
        pieces.append(data[begin:position])
        begin = position = end
        if inner:
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


def _after(data: memoryview, position: int, end: int, tag: int, depth: int) -> int:
    """The position after the value at `position`, whose tag has been read."""
    wire = tag & 7
    if wire in _FIXED:
        return position + _FIXED[wire]
    if wire in (_VARINT, _LENGTH):
        value, position = _varint(data, position, end)
        return position + (value if wire == _LENGTH else 0)
    while wire == _GROUP and depth < _DEPTH_LIMIT and position < end:
        inner, position = _varint(data, position, end)
        if inner & 7 == _GROUP_END:
            if inner >> 3 == tag >> 3:
                return position
            break
        position = _after(data, position, end, inner, depth + 1)
    raise WireError(position)
