"""The protobuf wire format, as far as a model file needs it.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct

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
